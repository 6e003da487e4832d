// `matoolkit batch rehearse`: what is left of a running batch, rehearsed from where its people are. The live system is only read.
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import type { StepPlace } from '../../../src/app/rehearsal/past.ts'
import type { RehearsalReport } from '../../../src/app/rehearsal/report.ts'
import { EXIT } from '../../../src/errors.ts'
import { type Cli, openCli, setEnv } from '../../cli/against-api.ts'
import { WORKER } from '../../scenarios/world.ts'
import { example, firstRows, REHEARSAL_HOME, rehearseText } from './rehearsing.ts'

const YAML = `name: wave
data_source:
  type: csv
  path: people.csv
  primary_key: Upn
  batch_time_column: Start
  columns: [Upn, Target, Nick, Start]
init:
  - name: look
    worker_id: ${WORKER}
    function: Test-EntraAttributeMatch
    params: {UserId: "admin@contoso.example", AttributeName: accountEnabled, ExpectedValue: "true"}
phases:
  - name: prepare
    offset: T-1d
    steps:
      - name: create
        worker_id: ${WORKER}
        function: New-EntraUser
        params: {DisplayName: "{{Nick}}", UserPrincipalName: "{{Target}}", MailNickname: "{{Nick}}"}
        output_params: {Id: Id}
  - name: cutover
    offset: T-0
    steps:
      - name: open
        worker_id: ${WORKER}
        function: Enable-EntraUser
        params: {UserId: "{{Id}}"}
      - name: tell
        worker_id: ${WORKER}
        function: Set-EntraUserAttribute
        params: {UserId: "{{Id}}", AttributeName: department, Value: Sales}
`
const NAMES = ['ada', 'ben', 'cleo', 'dan']
const upnOf = (name: string) => `${name}@fabrikam.example`
const PEOPLE = NAMES.map((name) => ({
  key: upnOf(name),
  data: { Upn: upnOf(name), Target: `${name}@contoso.example`, Nick: name, Start: 'as planned' },
}))

describe('a rehearsal with a past', () => {
  it('finds the moves that pre-staging has begun, and rehearses the cut-over', async () => {
    const past = {
      batchId: 41,
      at: new Date('2030-03-01T12:00:00Z'),
      isPassed: ({ phaseName }: StepPlace) => phaseName !== 'cutover' && phaseName !== 'aftercare',
      endedPhases: new Set(['pre-stage', 'verify']),
      isHeld: true,
    }
    const csv = firstRows(example('full-migration.csv'), 1)
    const report = await rehearseText(example('full-migration.yaml'), csv, { past })
    assert.deepEqual([report.verdict, report.reasons, report.warnings], ['ready', [], []])
    assert.deepEqual(
      report.timeline.map(({ batchId, phase, status }) => [batchId, phase, status]),
      [
        [41, 'cutover', 'completed'],
        [41, 'aftercare', 'completed'],
      ],
    )
    const calls = report.calls.operations.map(({ operation }) => operation)
    assert.ok(calls.includes('Set-MigrationUser') && !calls.includes('New-MigrationBatch'))
    assert.match(report.assumptions.join('\n'), /on hold\. It is taken to resume now/)
  })

  it('keeps the jobs of steps to come for longer than a message lives', async () => {
    const past = {
      batchId: 41,
      at: new Date('2030-03-20T12:00:00Z'),
      isPassed: ({ memberKey }: StepPlace) => memberKey !== upnOf('ada'),
      endedPhases: new Set<string>(),
      isHeld: false,
    }
    const rows = PEOPLE.map(({ data }) => [data.Upn, data.Target, data.Nick].join(','))
    const csv = rows.map((row) => `${row},2030-03-01T20:00:00Z`).join('\n')
    const yaml = YAML.replace(/^init:[\s\S]*^phases:/m, 'phases:')
    const report = await rehearseText(yaml, `Upn,Target,Nick,Start\n${csv}`, { past })
    assert.deepEqual(report.members, {
      total: 4,
      ...{ migrated: 4, inProgress: 0, stopped: 0, failed: 0, removed: 0 },
    })
    const created = report.calls.operations.find(
      ({ operation }) => operation === 'POST /v1.0/users',
    )
    assert.equal(created!.calls, 1, 'only Ada was to come')
  })

  it('says who could not be brought to where they are', async () => {
    const past = {
      batchId: 41,
      at: new Date('2030-03-01T12:00:00Z'),
      isPassed: () => true,
      endedPhases: new Set<string>(),
      isHeld: false,
    }
    const yaml = example('first-migration.yaml')
    const report = await rehearseText(yaml, example('first-migration.csv'), { past })
    assert.equal(report.verdict, 'not ready')
    assert.match(report.reasons.join('\n'), /^1 member could not be brought to where they are now/m)
  })
})

describe('batch rehearse', () => {
  let run: Cli
  let batchId = 0
  /** Ben failed, Cleo left, and Ada and Dan are prepared; the cut-over is a day away. */
  before(async () => {
    run = await openCli()
    setEnv({ MATOOLKIT_HOME: REHEARSAL_HOME })
    const { world } = run.api
    await world.publish(YAML)
    await world.batch('wave', [{ ...PEOPLE[0]!, key: 'other@fabrikam.example' }], { manual: true })
    batchId = await world.batch('wave', PEOPLE, { startsInMin: 2 * 24 * 60 })
    world.answer = ({ functionName, parameters }) => {
      if (functionName === 'New-EntraUser' && parameters.MailNickname === 'ben')
        return { fail: 'no licence' }
      return { ok: { Id: `live-${String(parameters.MailNickname)}` } }
    }
    await world.settle()
    await world.pass(24 * 3_600 + 60)
    const cleo = (
      await run.json<{ members: { id: number; memberKey: string }[] }>(
        ...['batch', 'members', String(batchId)],
      )
    ).members.find(({ memberKey }) => memberKey === upnOf('cleo'))!
    const leaves = ['batch', 'remove-member', String(batchId), String(cleo.id)]
    await run.json(...leaves, '--reason', 'left', '--yes')
    await world.settle()
  })
  after(() => run.close())

  const rehearse = (...more: string[]) =>
    run.person({ now: run.api.world.clock.now() }, 'batch', 'rehearse', String(batchId), ...more)
  const reportOf = async (...more: string[]): Promise<RehearsalReport> =>
    JSON.parse((await rehearse('-o', 'json', ...more)).out)

  /** Rows of every table but the audit of reads. */
  async function rowsOfLive(): Promise<unknown> {
    const { db } = run.api.world
    const tables = await db.query<{ name: string }>(
      `select table_name as name from information_schema.tables
        where table_schema = 'public' and table_type = 'BASE TABLE' and table_name not like 'audit%' order by 1`,
    )
    const counts: [string, unknown][] = []
    for (const { name } of tables)
      counts.push([
        name,
        await db.query(
          `select count(*)::int as n, md5(string_agg(t::text, '|' order by t::text)) as sum from ${name} t`,
        ),
      ])
    return counts
  }

  it('rehearses those who are left from where they are, and touches nothing live', async () => {
    const before = await rowsOfLive()
    const jobs = run.api.world.jobs.length
    const said = await rehearse('-o', 'json')
    assert.equal(said.exit, EXIT.ok, said.err + said.out)
    const report: RehearsalReport = JSON.parse(said.out)
    assert.deepEqual(report.reasons, [])
    assert.partialDeepStrictEqual(report.members, { total: 2, migrated: 2, failed: 0 })
    assert.deepEqual(
      report.batches.map(({ id, status }) => [id, status]),
      [[batchId, 'completed']],
    )
    assert.deepEqual(
      report.timeline.map(({ phase, members, status }) => [phase, members, status]),
      [['cutover', 2, 'completed']],
      'prepare has ended',
    )
    assert.equal(report.startedAt, run.api.world.clock.now().toISOString(), 'from now on')
    const calls = report.calls.operations.map(({ operation }) => operation)
    assert.ok(
      calls.some((one) => one.startsWith('PATCH')),
      'the cut-over was rehearsed',
    )
    assert.ok(!calls.includes('POST /v1.0/users'), 'what has been done is not counted')
    assert.match(report.assumptions.join('\n'), /Passed steps were repeated/)
    assert.deepEqual(await rowsOfLive(), before)
    assert.equal(run.api.world.jobs.length, jobs, 'no live job was made')
  })

  it('meets faults from now on, and refuses those that would change the past', async () => {
    const calm = await reportOf()
    const down = await reportOf('--faults', 'worker-crash')
    assert.equal(down.members.migrated, 2)
    assert.ok(down.timeline[0]!.worstSec! >= 300 && calm.timeline[0]!.worstSec! < 300)
    const refused = await rehearse('--faults', 'permission-missing')
    assert.equal(refused.exit, EXIT.usage)
    assert.match(refused.err, /"permission-missing" would change what has been done/)
  })

  it('holds back who has not passed a step, also after the phase began, and writes the page', async () => {
    const patches = ({ calls }: RehearsalReport) =>
      calls.operations.find(({ operation }) => operation.startsWith('PATCH'))!.calls
    const both = patches(await reportOf())
    const { world } = run.api
    world.answer = ({ parameters }) => (parameters.UserId === 'live-dan' ? 'silent' : { ok: {} })
    await world.pass(24 * 3_600)
    await world.clock.advance(2 * 3_600_000)
    const page = join(run.folder, 'page.html')
    const report = await reportOf('--report', page)
    assert.deepEqual(report.reasons, [])
    assert.equal(report.members.migrated, 2)
    assert.deepEqual(
      report.timeline.map(({ phase }) => phase),
      ['cutover'],
    )
    assert.ok(report.timeline[0]!.worstSec! >= 2 * 3_600 - 60, 'since the phase began')
    assert.equal(patches(report), both / 2, 'only Dan has steps to come')
    assert.ok(existsSync(page))
  })

  it('refuses batches whose phases start by hand, and unknown ones', async () => {
    const manual = await run.cli('batch', 'rehearse', '1')
    assert.equal(manual.exit, EXIT.usage)
    assert.match(manual.err, /Batch 1 cannot be rehearsed: its phases start by hand/)
    assert.equal((await run.cli('batch', 'rehearse', '99')).exit, EXIT.notFound)
    const seed = await rehearse('--seed', 'x')
    assert.equal(seed.exit, EXIT.usage)
    assert.match(seed.err, /whole number from 1 to/)
  })
})
