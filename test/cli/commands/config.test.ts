import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { EXIT } from '../../../src/base/errors/errors.ts'
import { localTokenFor, registerInstance } from '../../../src/cli/connection/instances.ts'
import { say, setEnv, WIDE } from '../against-api.ts'

describe('matoolkit config', () => {
  const home = mkdtempSync(join(tmpdir(), 'matoolkit-config-'))
  const config = (...args: string[]) => say({ width: WIDE }, ['config', ...args])
  before(() => setEnv({ MATOOLKIT_HOME: home }))
  after(() => {
    setEnv({ MATOOLKIT_HOME: undefined })
    rmSync(home, { recursive: true })
  })

  it('prints the path of the file, and shows defaults without one', async () => {
    const { out } = await config('show')
    assert.ok(out.startsWith(`profile default, stored in ${join(home, 'config.json')}\n`), out)
    assert.match(out, /\napi-url +http:\/\/127\.0\.0\.1:7420 +default\nissuer +not set\n/)
  })

  it('keeps values in profiles that only their owner can read', async () => {
    const set = await config('set', 'api-url', 'https://one.example/')
    assert.equal(set.out, 'api-url is https://one.example/ in profile default.\n')
    await config('set', 'api-url', 'https://two.example', '--profile', 'two')
    await config('set', 'client-id', 'cli', '--profile', 'two')
    if (process.platform !== 'win32') {
      assert.equal(statSync(join(home, 'config.json')).mode & 0o777, 0o600)
    }
    const shown = await config('show', '--profile', 'two', '--output', 'json')
    assert.deepEqual(JSON.parse(shown.out), {
      profile: 'two',
      profiles: ['default', 'two'],
      file: join(home, 'config.json'),
      values: [
        { key: 'api-url', value: 'https://two.example', from: 'profile two' },
        { key: 'issuer', value: null, from: 'not set' },
        { key: 'tenant-id', value: null, from: 'not set' },
        { key: 'client-id', value: 'cli', from: 'profile two' },
        { key: 'api-scope', value: null, from: 'not set' },
        { key: 'output', value: null, from: 'not set' },
        { key: 'zone', value: null, from: 'not set' },
      ],
    })
    await config('use', 'two')
    assert.match((await config('show')).out, /^profile two, /)
    await config('set', 'client-id', '--unset')
    assert.match((await config('show')).out, /\nclient-id +not set\n[\s\S]*other profiles: default/)
  })

  it('takes a flag over the environment and the environment over the profile', async () => {
    setEnv({ MATOOLKIT_API_URL: 'https://env.example', MATOOLKIT_PROFILE: 'default' })
    const valueAndFrom = async (...args: string[]) =>
      /api-url +(\S+) +(.+)\n/.exec((await config('show', ...args)).out)!.slice(1)
    assert.deepEqual(await valueAndFrom(), ['https://env.example', 'MATOOLKIT_API_URL'])
    assert.deepEqual(await valueAndFrom('--api-url', 'https://f.example/'), [
      'https://f.example',
      '--api-url',
    ])
    setEnv({ MATOOLKIT_API_URL: undefined })
    assert.deepEqual(await valueAndFrom(), ['https://one.example', 'profile default'])
    setEnv({ MATOOLKIT_PROFILE: undefined })
  })

  const WRONG: [args: string[], code: string][] = [
    [['set', 'api-uri', 'https://x.example'], 'USAGE'],
    [['set', 'api-url', 'x.example'], 'CLIENT_SETTING_INVALID'],
    [['set', 'tenant-id', 'contoso'], 'CLIENT_SETTING_INVALID'],
    [['use', 'three'], 'PROFILE_UNKNOWN'],
    [['show', '--profile', 'three'], 'PROFILE_UNKNOWN'],
    [['show', '--api-url', 'ftp://x.example'], 'CLIENT_SETTING_INVALID'],
  ]
  for (const [args, code] of WRONG) {
    it(`refuses ${args.join(' ')}`, async () => {
      const said = await config(...args)
      assert.equal(said.exit, EXIT.usage)
      assert.match(said.err, new RegExp(`\\(${code}\\)\n$`))
    })
  }

  it('sends the token of an instance to its own address only', async () => {
    const tokenFile = join(home, 'api-token')
    writeFileSync(tokenFile, 'secret\n', { mode: 0o600 })
    registerInstance({
      folder: home,
      url: 'http://127.0.0.1:7001',
      pid: process.pid,
      tokenFile,
      startedAt: '2030-03-01T20:00:00.000Z',
    })
    assert.equal(localTokenFor('http://127.0.0.1:7001'), 'secret')
    for (const other of [
      'http://127.0.0.1:7002',
      'https://127.0.0.1:7001',
      'http://x.example:7001',
    ]) {
      assert.equal(localTokenFor(other), null, other)
    }
    rmSync(tokenFile)
    assert.equal(localTokenFor('http://127.0.0.1:7001'), null)
  })

  it('reads the flat file of the earlier command line, and keeps every value of it when it writes', async () => {
    const file = join(home, 'config.json')
    const tenant = '11111111-1111-1111-1111-111111111111'
    const flat = {
      API_URL: 'https://earlier.example',
      'tenant-id': tenant,
      scope: 'api://x',
      THEME: 'dark',
    }
    writeFileSync(file, JSON.stringify(flat))
    const shown = await config('show')
    assert.match(shown.out, /\napi-url +https:\/\/earlier\.example +profile default\n/)
    assert.deepEqual(JSON.parse(readFileSync(file, 'utf8')), flat)
    await config('set', 'zone', 'utc')
    assert.deepEqual(JSON.parse(readFileSync(file, 'utf8')), {
      THEME: 'dark',
      profile: 'default',
      profiles: {
        default: {
          'api-url': 'https://earlier.example',
          'tenant-id': tenant,
          'api-scope': 'api://x',
          zone: 'utc',
        },
      },
    })
    writeFileSync(file, '["api-url"]')
    assert.match((await config('set', 'zone', 'utc')).err, /must hold one JSON object/)
  })

  it('never overwrites a file that it cannot read', async () => {
    writeFileSync(join(home, 'config.json'), '{ "profiles": {')
    const said = await config('set', 'api-url', 'https://x.example')
    assert.match(said.err, /not valid JSON/)
    assert.equal(readFileSync(join(home, 'config.json'), 'utf8'), '{ "profiles": {')
  })
})
