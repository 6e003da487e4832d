// A batch as evidence: written through the API, checked offline, and checked with tools of others.
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { EXIT } from '../../../src/base/errors/errors.ts'
import { plain, plainCsv } from '../../api/contract/fixtures.ts'
import { archiveOf, entriesOf } from '../../api/evidence/packs.ts'
import { type Cli, nowhere, openCli, setEnv } from '../against-api.ts'

const SECRET = 'hunter2-and-more'

interface Verdict {
  readonly isIntact: boolean
  readonly isKeyNamed: boolean
  readonly verdict: string
  readonly signedBy: string
  readonly tables: Readonly<Record<string, number>>
  readonly findings: readonly string[]
  readonly hasChanged: boolean
}

describe('matoolkit batch evidence', () => {
  let run: Cli
  let pack: string
  let fingerprint: string
  before(async () => {
    run = await openCli()
    const { world } = run.api
    world.answer = ({ parameters, functionName }) =>
      functionName === 'Switch-Thing' && /bob/.test(String(parameters.UserPrincipalName))
        ? { fail: `no licence, password=${SECRET}` }
        : { ok: { InitialPassword: SECRET, Mail: parameters.UserPrincipalName ?? null } }
    await world.publish(plain())
    const file = run.file('people.csv', plainCsv('ada@x.example', 'bob@x.example'))
    await run.json('batch', 'create', 'plain', file)
    await run.json('batch', 'advance', '1', '--yes')
    await world.settle()
    await run.json('hold', '--batch', '1', '--reason', 'a look first')
    await run.json('resume', '--batch', '1', '--reason', 'all is well')
    await run.json('batch', 'advance', '1', '--yes')
    await world.settle()
    pack = join(run.folder, 'wave.tar.gz')
    const written = await run.json<Verdict>(
      'batch',
      'export',
      '1',
      '--as',
      'evidence',
      '--file',
      pack,
    )
    assert.deepEqual([written.isIntact, written.isKeyNamed], [true, true])
    ;({ fingerprint } = await run.json<{ fingerprint: string }>('evidence', 'key'))
  })
  after(() => run.close())
  const contentOf = async (name: string) =>
    (await entriesOf(readFileSync(pack)))
      .filter((entry) => entry.name.startsWith(`evidence/${name}`))
      .map(({ content }) => content.toString())
      .join('')
  const rowsOf = async (name: string) =>
    (await contentOf(`${name}/`))
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Record<string, unknown>)

  it('has members, steps, attempts, decisions, versions and audit, for its owner only', async () => {
    assert.equal(statSync(pack).mode & 0o777, 0o600)
    const keys = (await rowsOf('members')).map(({ member_key: key }) => key)
    assert.deepEqual(keys, ['ada@x.example', 'bob@x.example'])
    const steps = await rowsOf('steps')
    assert.deepEqual(steps.map(({ status }) => status).toSorted(), [
      'failed',
      'succeeded',
      'succeeded',
      'succeeded',
    ])
    assert.equal((await rowsOf('attempts')).length, 4)
    const events = (await rowsOf('events')).map(({ because }) => String(because)).join('\n')
    assert.match(events, /a look first/)
    const actions = (await rowsOf('audit')).map(({ action }) => action)
    for (const action of ['batch.create', 'batch.advance', 'hold.set', 'hold.end'])
      assert.ok(actions.includes(action), action)
    assert.match(await contentOf('runbooks/plain-v1.yaml'), /^name: plain$/m)
    assert.match(await contentOf('batch.json'), /"status": "completed"/)
  })

  it('has no secret, and keeps people', async () => {
    const everything = (await entriesOf(readFileSync(pack)))
      .map(({ content }) => content.toString())
      .join('')
    assert.ok(!everything.includes(SECRET))
    assert.match(everything, /\[redacted\]/)
    assert.match(everything, /bob@x\.example/)
  })

  it('is checked without an API, and says whose key it was', async () => {
    const { MATOOLKIT_API_URL: url } = process.env
    setEnv({ MATOOLKIT_API_URL: await nowhere() })
    const verify = async (...flags: string[]) => {
      const said = await run.cli('evidence', 'verify', pack, '--output', 'json', ...flags)
      return { ...said, verdict: JSON.parse(said.out) as Verdict }
    }
    const any = await verify()
    assert.deepEqual([any.exit, any.verdict.isIntact, any.verdict.isKeyNamed], [0, true, false])
    assert.equal(any.verdict.verdict, 'intact, signed by a key that you did not name')
    assert.match(any.err, /^warning: The pack is signed by a key that you did not name\./)
    const named = await verify('--fingerprint', fingerprint.toUpperCase())
    assert.deepEqual(
      [named.exit, named.err, named.verdict.verdict, named.verdict.hasChanged],
      [0, '', 'intact', false],
    )
    assert.equal(named.verdict.tables.members, 2)
    const other = await verify('--fingerprint', 'a'.repeat(64))
    assert.deepEqual([other.exit, other.verdict.verdict], [EXIT.failed, 'NOT INTACT'])
    assert.match(other.err, /^error: it is signed by the key /)
    setEnv({ MATOOLKIT_API_URL: url })
  })

  it('names what was changed, with exit code 1', async () => {
    const entries = await entriesOf(readFileSync(pack))
    const changed = entries.map((entry) =>
      entry.name.endsWith('members/00001.jsonl')
        ? { ...entry, content: Buffer.from(entry.content.toString().replace('bob@', 'eve@')) }
        : entry,
    )
    const file = join(run.folder, 'changed.tar.gz')
    writeFileSync(file, await archiveOf(changed))
    const said = await run.cli('evidence', 'verify', file)
    assert.equal(said.exit, EXIT.failed)
    assert.match(said.out, /^verdict +NOT INTACT$/m)
    assert.equal(said.err, 'error: members/00001.jsonl was changed\n')
  })

  it('takes the key as a file, and refuses wrong usage with exit code 2', async () => {
    const pem = join(run.folder, 'key.pem')
    await run.json('evidence', 'key', '--out', pem)
    const { exit, out } = await run.cli('evidence', 'verify', pack, '--key', pem)
    assert.deepEqual([exit, /^verdict +intact$/m.test(out)], [EXIT.ok, true])
    for (const args of [
      [pack, '--key', pem, '--fingerprint', fingerprint],
      [pack, '--fingerprint', 'abc'],
      [join(run.folder, 'nothing.tar.gz')],
      [run.folder],
    ])
      assert.equal((await run.cli('evidence', 'verify', ...args)).exit, EXIT.usage, args.join(' '))
    const again = await run.cli('batch', 'export', '1', '--as', 'evidence', '--file', pack)
    assert.deepEqual([again.exit, /FILE_EXISTS/.test(again.err)], [EXIT.conflict, true])
    const none = await run.cli(
      'batch',
      'export',
      '9',
      '--as',
      'evidence',
      '--file',
      join(run.folder, 'none.tar.gz'),
    )
    assert.equal(none.exit, EXIT.notFound)
    assert.ok(!existsSync(join(run.folder, 'none.tar.gz')))
  })

  it('is verified by tools of others, as its README says', (test) => {
    const missing = ['tar', 'openssl', 'sha256sum'].filter(
      (tool) => spawnSync(tool, ['--version']).error !== undefined,
    )
    const version = missing.length > 0 ? '' : execFileSync('openssl', ['version']).toString()
    if (!/^OpenSSL [3-9]/.test(version))
      return test.skip(`needs tar, sha256sum and OpenSSL 3: ${missing.join(', ') || version}`)
    const folder = join(run.folder, 'unpacked')
    mkdirSync(folder)
    execFileSync('tar', ['-xzf', pack, '-C', folder])
    const cwd = join(folder, 'evidence')
    const commands = [
      ...readFileSync(join(cwd, 'README.txt'), 'utf8').matchAll(
        /^ {2}((?:openssl|sha256sum) .+)$/gm,
      ),
    ]
    const said = commands.map(([, command]) =>
      execFileSync('sh', ['-c', command!], { cwd }).toString(),
    )
    assert.equal(said.length, 4)
    assert.match(said[0]!, /^Signature Verified Successfully$/m)
    assert.equal(said[1]!.split(' ')[0], fingerprint)
    assert.match(said[2]!, /^members\/00001\.jsonl: OK$/m)
    const { files } = JSON.parse(readFileSync(join(cwd, 'manifest.json'), 'utf8')) as {
      files: { name: string; sha256: string }[]
    }
    const sums = files.find(({ name }) => name === 'SHA256SUMS')
    assert.equal(said[3]!.split(' ')[0], sums?.sha256)
    writeFileSync(join(cwd, 'batch.json'), '{}')
    assert.notEqual(spawnSync('sha256sum', ['--check', 'SHA256SUMS'], { cwd }).status, 0)
  })
})
