// `matoolkit batch rehearse`: what is left of a running batch, rehearsed from where its people are. The live system is only read.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'

import { loadLiveBatch } from '../../../src/api/services/live-batch.ts'
import { childRehearsals } from '../../../src/app/rehearsal/child-process.ts'
import type { RehearsalReport } from '../../../src/app/rehearsal/report.ts'
import { rehearseWhatIf } from '../../../src/app/rehearsal/what-if.ts'
import {
  type ComparedPhase,
  type PhaseEnd,
  type WhatIfReport,
  whatIfHeadline,
} from '../../../src/app/rehearsal/what-if-report.ts'
import { EXIT } from '../../../src/base/errors/errors.ts'
import type { StepPlace } from '../../../src/domain/needs/live-batch.ts'
import {
  changedSlots,
  keptKeys,
  type WhatIf,
  whatIfProblem,
} from '../../../src/domain/plan/what-if.ts'
import { readRunbook } from '../../../src/domain/runbook/read.ts'
import { noStates } from '../../../src/domain/state/person-state.ts'
import { M365_CATALOGUE } from '../../../src/m365/catalogue.ts'
import { example, firstRows, REHEARSAL_HOME, rehearseText } from '../../app/rehearsal/rehearsing.ts'
import { type Cli, openCli } from '../../cli/against-api.ts'
import { openTestPglite } from '../../kit/databases.ts'
import { range } from '../../stories/programme.ts'
import { WORKER } from '../../stories/world.ts'

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
      isPassed: ({ phaseName }: StepPlace) =>
        !['cutover', 'first-morning', 'aftercare', 'clean-up'].includes(phaseName ?? ''),
      endedPhases: new Set(['pre-stage', 'first-look', 'second-look', 'verify']),
      isHeld: true,
    }
    const csv = firstRows(example('full-migration.csv'), 1)
    const report = await rehearseText(example('full-migration.yaml'), csv, { past })
    assert.deepEqual([report.verdict, report.reasons, report.warnings], ['ready', [], []])
    assert.deepEqual(
      report.timeline.map(({ batchId, phase, status }) => [batchId, phase, status]),
      [
        [41, 'cutover', 'completed'],
        [41, 'first-morning', 'completed'],
        [41, 'aftercare', 'completed'],
        [41, 'clean-up', 'completed'],
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
    assert.deepEqual(report.members, { ...noStates(), total: 4, done: 4 })
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

describe('what if', () => {
  /** A minute for the mailboxes of thirty people: one slot is too slow, eight are enough. */
  const SLOW = `name: slow
data_source:
  type: csv
  path: people.csv
  primary_key: Upn
  batch_time_column: Start
  columns: [Upn, Start]
phases:
  - name: prepare
    offset: T-1m
    steps:
      - name: redirect
        worker_id: ${WORKER}
        function: Set-ExchangeHiddenFromAddressLists
        params: {Identity: "{{Upn}}", Hidden: true}
  - name: cutover
    offset: T-0
    steps:
      - name: look
        worker_id: ${WORKER}
        function: Test-EntraAttributeMatch
        params: {UserId: "admin@contoso.example", AttributeName: accountEnabled, ExpectedValue: "true"}
`
  const { runbook, problems } = readRunbook(SLOW, { catalogues: [M365_CATALOGUE], isLinted: true })
  const people = range(1, 30).map((n) => {
    const key = upnOf(`person${n}`)
    return { key, row: { Upn: key, Start: '2030-03-01T20:00:00.000Z' } }
  })
  const compare = async (change: Partial<WhatIf>) => {
    const databases: Awaited<ReturnType<typeof openTestPglite>>[] = []
    try {
      return await rehearseWhatIf({
        yaml: SLOW,
        runbook: runbook!,
        lint: problems,
        people,
        seed: 1,
        tenantSeed: null,
        past: {
          batchId: 41,
          at: '2030-03-01T12:00:00.000Z',
          passed: [],
          endedPhases: [],
          isHeld: false,
        },
        workerSlots: { [WORKER]: 1 },
        assumed: [],
        change: { slots: null, workerSlots: {}, people: null, without: [], faults: [], ...change },
        openDatabase: async () => {
          databases.push(await openTestPglite())
          return databases.at(-1)!.db
        },
      })
    } finally {
      for (const test of databases) await test.close()
    }
  }

  it('says that more slots keep the cut-over', async () => {
    const { headline, phases, asItIs, changed, cutoverAt } = await compare({
      workerSlots: { [WORKER.toUpperCase()]: 8 },
    })
    assert.equal(cutoverAt, '2030-03-01T20:00:00.000Z')
    const [prepare, cutover] = phases
    assert.deepEqual([prepare!.asItIs.misses, prepare!.changed.misses], ['T-0', null])
    assert.equal(prepare!.asItIs.startedAt, prepare!.changed.startedAt)
    assert.ok(prepare!.savedSec! > 60, String(prepare!.savedSec))
    assert.ok(cutover!.asItIs.misses === null && cutover!.changed.misses === null)
    assert.equal(
      headline,
      `With 8 slots of ${WORKER.toUpperCase()}, phase prepare ends ${prepare!.changed.endedAt} instead of ${prepare!.asItIs.endedAt}, before T-0.`,
    )
    assert.deepEqual([asItIs.workerSlots, changed.workerSlots], [{ [WORKER]: 1 }, { [WORKER]: 8 }])
    assert.deepEqual([asItIs.members.done, changed.members.done], [30, 30])
  })

  it('says in one sentence what matters most', () => {
    const end = (endedAt: string | null, misses: string | null = null) => ({
      startedAt: '2030-03-01T19:00:00.000Z',
      endedAt,
      failed: 0,
      misses,
    })
    const phase = (name: string, before: PhaseEnd, after: PhaseEnd, savedSec: number | null) => ({
      phase: name,
      dueAt: null,
      asItIs: before,
      changed: after,
      savedSec,
    })
    const failing = (failed: number) => ({ members: { total: 9, failed } }) as RehearsalReport
    const same = phase('verify', end('21:00'), end('20:00'), 3_600)
    const told = (phases: ComparedPhase[], failed = 0) =>
      whatIfHeadline('With 95 of 100 people', phases, failing(0), failing(failed))
    assert.equal(
      told([same, phase('prepare', end('23:40', 'T-0'), end('23:10', 'T-0'), 1_800)]),
      'With 95 of 100 people, phase prepare ends 23:10 instead of 23:40, still after T-0.',
    )
    assert.equal(
      told([same], 2),
      'With 95 of 100 people, phase verify ends 20:00 instead of 21:00, 1h earlier. 2 people fail instead of 0.',
    )
    assert.equal(
      told([same, phase('prepare', end('19:40'), end(null, 'phase cutover'), null)]),
      'With 95 of 100 people, phase prepare does not end.',
    )
    assert.equal(
      told([phase('prepare', end('19:40'), end('19:40'), 0)]),
      'With 95 of 100 people, every phase ends within a minute of the time it would.',
    )
  })

  it('leaves people out in the order of the batch, and counts every worker', () => {
    const keys = ['ada', 'ben', 'cleo', 'dan']
    const all = { slots: null, workerSlots: {}, people: null, without: [], faults: [] }
    assert.deepEqual(keptKeys({ people: 2, without: [' ADA'] }, keys), ['ben', 'cleo'])
    assert.deepEqual(changedSlots({ slots: 4, workerSlots: { B: 9 } }, { a: 1, b: 2 }), {
      a: 4,
      b: 9,
    })
    const ground = { workerSlots: { a: 1 }, keys }
    const problem = (change: Partial<WhatIf>, isCompared = true) =>
      whatIfProblem({ ...all, ...change }, ground, isCompared)
    assert.equal(problem({ without: keys }), 'no one would be left')
    assert.equal(problem({ people: 3 }), null)
    assert.deepEqual([problem({}), problem({}, false)], ['nothing would change', null])
  })
})

describe('batch rehearse', () => {
  let run: Cli
  let batchId = 0
  /** Ben failed, Cleo left, and Ada and Dan are prepared; the cut-over is a day away. */
  before(async () => {
    const runRehearsal = childRehearsals(join(REHEARSAL_HOME, 'templates'), null)
    run = await openCli({ options: { runRehearsal } })
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
        'batch',
        'members',
        String(batchId),
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

  /** Rows of every table but the audit and the rehearsals themselves. */
  async function rowsOfLive(): Promise<unknown> {
    const { db } = run.api.world
    const tables = await db.query<{ name: string }>(
      `select table_name as name from information_schema.tables
        where table_schema = 'public' and table_type = 'BASE TABLE' and table_name not like 'audit%'
          and table_name not in ('rehearsals', 'idempotency_keys') order by 1`,
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
    assert.partialDeepStrictEqual(report.members, { total: 2, done: 2, failed: 0 })
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
    assert.equal(down.members.done, 2)
    assert.ok(down.timeline[0]!.worstSec! >= 300 && calm.timeline[0]!.worstSec! < 300)
    const refused = await rehearse('--faults', 'permission-missing')
    assert.equal(refused.exit, EXIT.usage)
    assert.match(refused.err, /"permission-missing" would change what has been done/)
  })

  it('holds back who has not passed a step, also after the phase began', async () => {
    const patches = ({ calls }: RehearsalReport) =>
      calls.operations.find(({ operation }) => operation.startsWith('PATCH'))!.calls
    const both = patches(await reportOf())
    const { world } = run.api
    world.answer = ({ parameters }) => (parameters.UserId === 'live-dan' ? 'silent' : { ok: {} })
    await world.pass(24 * 3_600)
    await world.clock.advance(2 * 3_600_000)
    const report = await reportOf()
    assert.deepEqual(report.reasons, [])
    assert.equal(report.members.done, 2)
    assert.deepEqual(
      report.timeline.map(({ phase }) => phase),
      ['cutover'],
    )
    assert.ok(report.timeline[0]!.worstSec! >= 2 * 3_600 - 60, 'since the phase began')
    assert.equal(patches(report), both / 2, 'only Dan has steps to come')
  })

  it('compares the batch as it is with a change, and touches nothing live', async () => {
    const whatIf = (...more: string[]) =>
      run.person(
        { now: run.api.world.clock.now() },
        ...['batch', 'rehearse', String(batchId), '--compare', ...more],
      )
    const { world } = run.api
    const before = await rowsOfLive()
    const jobs = world.jobs.length
    const live = await loadLiveBatch(world.engine, batchId, world.clock.now())
    assert.deepEqual(
      live.people.map(({ key, row }) => [key, row.Target, row.Start === 'as planned']),
      ['ada', 'dan'].map((name) => [upnOf(name), `${name}@contoso.example`, false]),
      'the API reads the same people from its database',
    )
    assert.deepEqual(
      live.past.passed.toSorted(),
      [
        [null, null, 'look'],
        [upnOf('ada'), 'cutover', 'open'],
        [upnOf('ada'), 'cutover', 'tell'],
        [upnOf('ada'), 'prepare', 'create'],
        [upnOf('dan'), 'prepare', 'create'],
      ]
        .map((place) => JSON.stringify(place))
        .toSorted(),
    )
    const said = await whatIf('-o', 'json', '--without', upnOf('DAN'))
    assert.equal(said.exit, EXIT.ok, said.err + said.out)
    const report: WhatIfReport = JSON.parse(said.out)
    assert.deepEqual([report.asItIs.members.total, report.changed.members.total], [2, 1])
    assert.deepEqual(
      report.phases.map(({ phase }) => phase),
      ['cutover'],
      'prepare has ended',
    )
    const crash = await whatIf('-o', 'table', '--faults', 'worker-crash')
    assert.equal(crash.exit, EXIT.ok, crash.err)
    assert.match(crash.out, /^With the faults worker-crash, phase cutover ends .* later\.\n/)
    assert.match(crash.out, /PHASE +DUE +ENDS AS IT IS +WITH THE CHANGE/)
    for (const [flags, why] of [
      [['--people', '2'], /2 people are not fewer than the 2 who are left/],
      [['--without', 'eve'], /"eve" is not among the 2 people who are left/],
      [['--slots', 'elsewhere=4'], /the runbook has no worker "elsewhere"/],
      [['--faults', 'leaver,permission-missing'], /"permission-missing" would change what/],
      [['--slots', 'many'], /--slots is "many"/],
      [['--faults', 'gremlins'], /"gremlins" is not a list of known faults/],
      [[], /nothing would change/],
    ] as const) {
      const refused = await whatIf(...flags)
      assert.equal(refused.exit, EXIT.usage, refused.out)
      assert.match(refused.err, why)
    }
    assert.deepEqual(await rowsOfLive(), before)
    assert.equal(run.api.world.jobs.length, jobs, 'no live job was made')
  })

  it('refuses batches whose phases start by hand, and unknown ones', async () => {
    const manual = await run.cli('batch', 'rehearse', '1')
    assert.equal(manual.exit, EXIT.usage)
    assert.match(manual.err, /Batch 1 cannot be rehearsed: its phases start by hand/)
    assert.equal((await run.cli('batch', 'rehearse', '99')).exit, EXIT.notFound)
    const single = await rehearse('--slots', `${WORKER}=4`)
    assert.equal(single.exit, EXIT.usage)
    assert.match(single.err, /slots of single workers need a comparison/)
    const seed = await rehearse('--seed', 'x')
    assert.equal(seed.exit, EXIT.usage)
    assert.match(seed.err, /whole number from 1 to/)
  })
})
