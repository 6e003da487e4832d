// `matoolkit doctor` and what else shows a worker’s own function with the name of a built-in one: a clash is refused, an override is told.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { EXIT } from '../../../src/base/errors/errors.ts'
import { recordWorker } from '../../../src/db/state/workers.ts'
import type { FunctionFacts } from '../../../src/domain/runbook/function-facts.ts'
import { plain, plainCsv } from '../../api/contract/fixtures.ts'
import { entriesOf } from '../../api/evidence/packs.ts'
import { type Cli, openCli, setEnv } from '../against-api.ts'

const NAME = 'Remove-EntraUser'
const RUNBOOK = plain().replace('Switch-Thing', NAME)

describe('a worker’s own Remove-EntraUser', () => {
  let cli: Cli
  before(async () => {
    cli = await openCli()
  })
  after(() => cli.close())
  const announce = async (more: Partial<FunctionFacts>) => {
    const { db, clock } = cli.api.world
    const facts = { effect: 'changes', isIdempotent: true, undoneBy: [], isCustom: true, ...more }
    const functions = [
      { name: 'New-Thing', parameters: {} },
      { name: NAME, parameters: {}, facts },
    ]
    const hello = { workerId: 'w1', version: '2', slots: 4, functions }
    await db.transaction((tx) => recordWorker(tx, hello, clock.now()))
  }
  const publish = () =>
    cli.cli('runbook', 'publish', cli.file('plain.yaml', RUNBOOK), '--reason', 'because', '--yes')

  it('is refused by publishing and doctor while it does not say that it is meant to run', async () => {
    await announce({})
    const said = await publish()
    assert.notEqual(said.exit, EXIT.ok)
    assert.match(said.err, /Worker "w1" has a function of its own named Remove-EntraUser/)
    const doctor = await cli.cli('doctor')
    assert.equal(doctor.exit, EXIT.failed)
    assert.match(doctor.out, /\nworker w1 +failed +has functions of its own .*: Remove-EntraUser/)
    assert.match(doctor.out, /write "overrides: true" in those that are to run instead/)
  })

  it('is shown in lint, doctor, plan and evidence once it does', async () => {
    await announce({ overrides: true })
    const said = await publish()
    assert.equal(said.exit, EXIT.ok, said.err)
    const lint = await cli.cli('runbook', 'validate', cli.file('plain.yaml', RUNBOOK))
    assert.match(`${lint.out}${lint.err}`, /OWN_FUNCTION_RUNS/)
    const doctor = await cli.cli('doctor')
    assert.match(
      doctor.out,
      /\nworker w1 +ok +is running, with functions of its own .*: Remove-EntraUser/,
    )
    const plan = await cli.cli('runbook', 'plan', 'plain')
    assert.match(plan.out, /Remove-EntraUser \(your own\)/)
    assert.doesNotMatch(plan.out, /New-Thing \(your own\)/)
    await cli.json('batch', 'create', 'plain', cli.file('people.csv', plainCsv('ada@x.example')))
    await cli.json('batch', 'advance', '1', '--yes')
    await cli.api.world.settle()
    const pack = join(cli.folder, 'wave.tar.gz')
    await cli.json('batch', 'export', '1', '--as', 'evidence', '--file', pack)
    const [entry] = (await entriesOf(readFileSync(pack))).filter(({ name }) =>
      name.endsWith('/overrides.json'),
    )
    const [own, ...others] = JSON.parse(entry!.content.toString()) as Record<string, unknown>[]
    assert.deepEqual([own!.workerId, own!.version, own!.functions], ['w1', '2', [NAME]])
    assert.deepEqual(others, [])
  })

  it('names what replaces a setting of the earlier system', async () => {
    setEnv({ Scheduler__SqlConnectionString: 'Server=tcp:x;Password=hidden' })
    try {
      const doctor = await cli.cli('doctor')
      assert.equal(doctor.exit, EXIT.failed)
      assert.match(
        doctor.out,
        /Scheduler__SqlConnectionString +failed +is a setting of the earlier/,
      )
      assert.match(doctor.out, /Set DATABASE_URL instead \(a PostgreSQL server/)
      assert.doesNotMatch(doctor.out, /hidden/)
    } finally {
      setEnv({ Scheduler__SqlConnectionString: undefined })
    }
  })
})
