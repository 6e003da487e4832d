// `matoolkit runbook validate` with and without an API: the workers' own functions, and a check that waits for nobody.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { EXIT } from '../../../../src/base/errors/errors.ts'
import { recordWorker } from '../../../../src/db/state/workers.ts'
import { plain } from '../../../api/contract/fixtures.ts'
import { type Cli, nowhere, openCli, setEnv } from '../../against-api.ts'

const parameters = {
  type: 'object',
  properties: { UserPrincipalName: {} },
  additionalProperties: false,
}
const THINGS = ['New-Thing', 'Switch-Thing'].map((name) => ({ name, parameters }))

describe('runbook validate with the workers of an API', () => {
  let cli: Cli
  const announce = (workerId: string, functions: unknown) => {
    const { db, clock } = cli.api.world.engine
    const hello = { workerId, version: '1', slots: 4, functions }
    return db.transaction((tx) => recordWorker(tx, hello, clock.now()))
  }
  before(async () => {
    cli = await openCli()
    await announce('w1', THINGS)
    // More than a page of them.
    for (let number = 10; number < 35; number += 1) await announce(`other-${number}`, [])
    await announce('zone', [{ name: 'Do-Zone', parameters }])
    cli.file('own.yaml', plain())
    cli.file(
      'wrong.yaml',
      plain()
        .replace('Switch-Thing', 'Swich-Thing')
        .replace('UserPrincipalName:', 'UserPrincipalNam:'),
    )
    // Of a worker that never announced itself: one with this function may be started.
    cli.file(
      'last.yaml',
      plain()
        .replaceAll('w1', 'new')
        .replaceAll(/\w+-Thing/g, 'Do-Zone'),
    )
  })
  after(() => cli.close())

  const validate = async (name: string, ...more: string[]) => {
    const said = await cli.cli('runbook', 'validate', `${cli.folder}/${name}`, ...more)
    const codes = [...said.out.matchAll(/warning (UNKNOWN_\w+)/g)].map(([, code]) => code)
    return { ...said, codes }
  }

  it('knows their functions and parameters, on every page', async () => {
    for (const name of ['own.yaml', 'last.yaml']) {
      const { exit, codes, err } = await validate(name)
      assert.deepEqual([exit, codes, err], [EXIT.ok, [], ''], name)
    }
  })

  it('names a function and a parameter that the worker lacks, with what was meant', async () => {
    const { exit, codes, out, err } = await validate('wrong.yaml')
    assert.deepEqual([exit, codes, err], [EXIT.ok, ['UNKNOWN_PARAMETER', 'UNKNOWN_FUNCTION'], ''])
    assert.match(
      out,
      /New-Thing has no parameter "UserPrincipalNam"\. Did you mean "UserPrincipalName"\?/,
    )
    assert.match(out, /Worker "w1" has no function "Swich-Thing"\. Did you mean "Switch-Thing"\?/)
  })

  it('says in JSON which API was asked', async () => {
    const file = `${cli.folder}/own.yaml`
    const asked = await cli.json('runbook', 'validate', file)
    assert.equal(asked.api, cli.api.url)
    assert.equal((await cli.json('runbook', 'validate', file, '--offline')).api, null)
  })

  it('asks nobody with --offline, and says what that leaves unknown', async () => {
    const { exit, codes, err } = await validate('own.yaml', '--offline')
    assert.deepEqual([exit, codes], [EXIT.ok, ['UNKNOWN_FUNCTION', 'UNKNOWN_FUNCTION']])
    assert.equal(err, 'note: only the standard functions are known here. --offline was given.\n')
  })

  it('does without an API of the settings that is away, but not without one that a flag names', async () => {
    const away = await nowhere()
    setEnv({ MATOOLKIT_API_URL: away })
    try {
      const { exit, codes, err } = await validate('own.yaml')
      assert.deepEqual([exit, codes.length], [EXIT.ok, 2])
      assert.match(err, /^note: only the standard functions are known here\. The API at .* answer/)
      const standard = cli.file(
        'standard.yaml',
        plain().replaceAll(/\w+-Thing/g, '"{{UserPrincipalName}}"'),
      )
      assert.equal((await cli.cli('runbook', 'validate', standard)).err, '')
      const asked = await validate('own.yaml', '--api-url', away)
      assert.deepEqual([asked.exit, asked.out], [EXIT.unavailable, ''])
      const back = await validate('own.yaml', '--api-url', cli.api.url)
      assert.deepEqual([back.exit, back.codes], [EXIT.ok, []])
    } finally {
      setEnv({ MATOOLKIT_API_URL: cli.api.url })
    }
  })

  it('tries no address when no API is set and none runs', async () => {
    setEnv({ MATOOLKIT_API_URL: undefined })
    try {
      const { exit, codes, err } = await validate('own.yaml')
      assert.deepEqual([exit, codes.length], [EXIT.ok, 2])
      assert.match(err, /^note: only [^\n]* No API is set, and none runs here\. Name one [^\n]*\n$/)
    } finally {
      setEnv({ MATOOLKIT_API_URL: cli.api.url })
    }
  })
})
