// Change windows: nothing that changes a tenant is sent outside them, reads are sent, and people hear once of each closing and opening.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { z } from 'zod'
import { loadPhases } from '../../src/db/state/facts.ts'
import { recordWorker } from '../../src/db/state/workers.ts'
import { listMembers } from '../../src/db/views/members.ts'
import { waveOf } from '../../src/domain/state/person-state.ts'
import type { ChangeWindows } from '../../src/domain/windows/change-windows.ts'
import { noteDeadLetters } from '../../src/engine/needs/dead-letters.ts'
import { cancelBatch } from '../../src/engine/orders/batch-actions.ts'
import { overrideWindow } from '../../src/engine/orders/change-windows.ts'
import { removeMembers } from '../../src/engine/orders/member-actions.ts'
import { undoMembers } from '../../src/engine/orders/undo.ts'
import { runTimers } from '../../src/orchestrator/timers.ts'
import { defineFunction, TOUCHES_NOTHING } from '../../src/worker/functions/catalogue.ts'
import { Worker } from '../../src/worker/jobs/worker.ts'
import { attemptsOf, batchOf, because, calls, memberId, runbook, step, waitsOf } from './looking.ts'
import { beginWave, people, START, story, type World } from './world.ts'

/** The story begins at 08:00 UTC on a Monday. Open from 10:00 to 12:00. */
const MORNING = 'windows: { time_zone: UTC, hours: [{ from: "10:00", to: "12:00" }] }'
const READ =
  '{ name: look, worker_id: w1, function: Test-EntraLicense, params: { Upn: "{{UserPrincipalName}}" } }'
const HOUR = 3_600

const at = (world: World) => world.clock.now().toISOString().slice(11, 16)
const override = (world: World, batchId: number, untilHour: number | null) =>
  overrideWindow(world.engine, {
    batchId,
    actor: 'operator',
    reason: 'the bank agreed',
    until: untilHour === null ? null : new Date(+START + untilHour * HOUR * 1_000),
  })

it('lets reads go, and sends changes when the window opens, with one event each', () =>
  story({}, async (world) => {
    const yaml = runbook('wave', { 'prepare T-1h': [READ, step('create')] }, MORNING)
    const batchId = await beginWave(world, yaml, 3)
    await world.settle()
    assert.deepEqual(calls(world), [
      'Test-EntraLicense user1',
      'Test-EntraLicense user2',
      'Test-EntraLicense user3',
    ])
    for (let minutes = 0; minutes < 119; minutes += 17) await world.pass(17 * 60)
    assert.equal(at(world), '09:59')
    const wave = waveOf('active', await loadPhases(world.db, batchId))
    const page = { sort: 'id', after: null, limit: 1, wave } as const
    const [member] = await listMembers(world.db, batchId, {}, page)
    const { waitsFor, wakeAt } = member!.step!
    assert.deepEqual([waitsFor, new Date(wakeAt!)], ['window', new Date('2026-03-02T10:00:00Z')])
    assert.equal(world.jobs.length, 3)
    assert.deepEqual(await because(world, 'window_closed'), [
      '3 steps wait for the change window, which opens Mon 02 Mar 2026 10:00 UTC (UTC)',
    ])
    await world.pass(60)
    assert.deepEqual(calls(world, 3), ['create user1', 'create user2', 'create user3'])
    assert.equal((await because(world, 'window_opened')).length, 1)
    assert.equal((await because(world, 'window_closed')).length, 1)
    assert.equal((await batchOf(world, batchId)).status, 'completed')
  }))

it('sends the reads that a custom function announces as such, and keeps a function back that announces nothing', () =>
  story({}, async (world) => {
    const facts = { effect: 'reads', isIdempotent: true, undoneBy: [] }
    const announce = (functions: readonly object[]) =>
      world.db.transaction((tx) =>
        recordWorker(
          tx,
          { workerId: 'w1', version: '2', slots: 1000, functions },
          world.clock.now(),
        ),
      )
    await announce([
      { name: 'Ask-Payroll', parameters: {}, facts },
      { name: 'Ask-Badge', parameters: {} },
    ])
    await world.pass(1)
    const ask = (name: string, functionName: string) =>
      `{ name: ${name}, worker_id: w1, function: ${functionName} }`
    const yaml = runbook(
      'wave',
      { 'prepare T-1h': [ask('payroll', 'Ask-Payroll'), ask('badge', 'Ask-Badge')] },
      MORNING,
    )
    await beginWave(world, yaml, 2)
    await world.settle()
    const functionsCalled = () => world.jobs.map(({ functionName }) => functionName)
    assert.deepEqual(functionsCalled(), ['Ask-Payroll', 'Ask-Payroll'])
    // A new program of the worker takes the claim back: what is not sent yet waits like any change.
    await announce([
      { name: 'Ask-Payroll', parameters: {}, facts: { ...facts, effect: 'changes' } },
    ])
    await world.pass(60)
    await world.batch('wave', people(4).slice(2), { startsInMin: 60 })
    await world.settle()
    assert.equal(world.jobs.length, 2)
    await world.pass(2 * HOUR)
    assert.equal(functionsCalled().filter((name) => name === 'Ask-Badge').length, 4)
  }))

it('takes untaken jobs back when the window closes, without a retry, and lets no worker start one later', () =>
  story({ slots: 2 }, async (world) => {
    const closing = 'windows: { time_zone: UTC, hours: [{ from: "08:00", to: "08:30" }] }'
    await beginWave(world, runbook('wave', { 'prepare T-1h': [step('create')] }, closing), 8)
    world.answer = () => 'silent'
    await world.work(1)
    const [running] = world.jobs
    // The bus would not hand it out after the window's end either.
    assert.equal(running!.notAfter, '2026-03-02T08:30:00.000Z')
    await world.pass(30 * 60)
    assert.equal(world.jobs.length, 1)
    const withdrawn = (await attemptsOf(world)).filter((line) => line.endsWith('withdrawn'))
    assert.ok(withdrawn.length > 0)
    const [told] = await because(world, 'window_closed')
    assert.match(told!, /^7 steps wait for the change window.*; 1 job has begun and ends$/)
    // What had begun ends, and its result counts.
    world.answer = () => ({ ok: true })
    await world.result(running!, { ok: true })
    await world.pass(HOUR)
    assert.equal(world.jobs.length, 1)
    await world.pass(22.5 * HOUR)
    assert.equal(world.jobs.length, 8)
    assert.deepEqual(
      await world.db.query(
        'select max(retry_count) as used, bool_or(error_message is not null) as failed from step_executions',
      ),
      [{ used: 0, failed: false }],
    )
  }))

/** A real worker that is asked for its jobs by hand. Its function ends when the story says so. */
function workerByHand({ bus, clock }: World, maxParallelism: number) {
  const begun: string[] = []
  const ended = Promise.withResolvers<void>()
  const create = defineFunction({
    ...TOUCHES_NOTHING,
    name: 'create',
    description: 'Waits until the story lets it end.',
    parameters: z.looseObject({ Upn: z.string() }),
    result: z.boolean(),
    undo: null,
    run: async ({ params: { Upn } }) => {
      begun.push(Upn)
      await ended.promise
      return true
    },
  })
  const worker = new Worker({
    workerId: 'w1',
    version: '1',
    bus,
    clock,
    maxParallelism,
    functions: [create],
    onError: (error) => assert.fail(String(error)),
  })
  return { worker, begun, end: ended.resolve }
}

it('calls nobody when a worker is handed jobs just after the close: they come back without a dead letter', () =>
  story({ slots: 8 }, async (world) => {
    const closing = 'windows: { time_zone: UTC, hours: [{ from: "08:00", to: "08:30" }] }'
    await beginWave(world, runbook('wave', { 'prepare T-1h': [step('create')] }, closing), 8)
    await world.orchestrate()
    const [early, late] = [workerByHand(world, 2), workerByHand(world, 3)]
    await world.clock.advance(29.5 * 60_000)
    await early.worker.takeJobs()
    assert.equal(early.begun.length, 2)
    // The window closes, and the worker looks before the orchestrator does.
    await world.clock.advance(30_000)
    assert.equal(await late.worker.takeJobs(), 3)
    await late.worker.idle()
    await late.worker.sendResults()
    assert.deepEqual(late.begun, [])
    await runTimers(world.engine)
    const [told] = await because(world, 'window_closed')
    assert.match(told!, /^6 steps wait for the change window.*; 2 jobs have begun and end$/)
    await world.orchestrate()
    assert.deepEqual(await world.db.query('select reason from dead_letters'), [])
    assert.deepEqual(await noteDeadLetters(world.engine), [])
    early.end()
    await early.worker.idle()
    await early.worker.sendResults()
    await world.orchestrate()
    assert.deepEqual((await attemptsOf(world)).map((line) => line.split(' ')[1]).sort(), [
      'succeeded',
      'succeeded',
      ...Array.from({ length: 6 }, () => 'withdrawn'),
    ])
    await world.pass(23.75 * HOUR)
    assert.deepEqual(
      await world.db.query(
        `select count(*)::int as passed, max(retry_count) as used from step_executions where status = 'succeeded'`,
      ),
      [{ passed: 8, used: 0 }],
    )
  }))

it('keeps retries, rollbacks and cleanup waiting', () =>
  story({}, async (world) => {
    const steps = [step('create', 'on_failure: undo, retry: { max_retries: 1, interval: 30m }')]
    const more = `${MORNING}\nrollbacks: { undo: [${step('uncreate')}] }\non_member_removed: [${step('clean')}]`
    const batchId = await beginWave(world, runbook('wave', { 'prepare T-1h': steps }, more), 2)
    world.answer = ({ functionName }) => (functionName === 'create' ? { fail: 'no' } : { ok: true })
    await world.pass(2 * HOUR)
    assert.deepEqual(calls(world), ['create user1', 'create user2'])
    // The second attempts begin at 10:30 and answer after the window has closed.
    world.answer = () => 'silent'
    await world.pass(HOUR / 2)
    assert.equal(world.jobs.length, 4)
    await world.pass(1.6 * HOUR)
    assert.equal(at(world), '12:06')
    for (const job of world.jobs.slice(2)) await world.result(job, { fail: 'no' })
    await removeMembers(world.engine, {
      batchId,
      actor: 'operator',
      reason: 'left',
      memberIds: [await memberId(world, batchId, 2)],
    })
    await world.pass(4 * HOUR)
    assert.equal(world.jobs.length, 4)
    assert.deepEqual(await waitsOf(world), ['uncreate slot', 'uncreate slot'])
    world.answer = () => ({ ok: true })
    await world.pass(18 * HOUR)
    assert.deepEqual(calls(world, 4).sort(), ['clean user2', 'uncreate user1', 'uncreate user2'])
  }))

it('does not time a poll out whose repetition waits for the window', () =>
  story({}, async (world) => {
    const opening = 'windows: { time_zone: UTC, hours: [{ from: "08:00", to: "09:00" }] }'
    const polled = step('sync', 'poll: { interval: 40m, timeout: 2h }')
    const batchId = await beginWave(
      world,
      runbook('wave', { 'prepare T-1h': [polled] }, opening),
      1,
    )
    world.answer = () => ({ ok: { complete: false } })
    await world.settle()
    await world.pass(40 * 60)
    // 08:00, 08:40; 09:20 waits until 08:00 of the next day.
    for (let hours = 0; hours < 20; hours += 1) await world.pass(HOUR)
    assert.equal(world.jobs.length, 2)
    assert.equal((await batchOf(world, batchId)).failed, 0)
    world.answer = () => ({ ok: { complete: true } })
    await world.pass(HOUR * 3.5)
    assert.equal(world.jobs.length, 3)
    assert.equal((await batchOf(world, batchId)).status, 'completed')
    assert.deepEqual(await because(world, 'time_out'), [])
  }))

it('needs the window of the system and of the runbook', () => {
  const windows: ChangeWindows = {
    timeZone: 'UTC',
    hours: [{ days: ['mon', 'tue', 'wed'], fromMin: 11 * 60, toMin: 13 * 60 }],
    freezes: [{ from: '2026-03-03', to: '2026-03-03', reason: 'quarter end' }],
  }
  return story({ windows }, async (world) => {
    const steps = [step('create'), step('tag')]
    await beginWave(world, runbook('wave', { 'prepare T-1h': steps }, MORNING), 1)
    await world.pass(3 * HOUR - 1)
    assert.equal(world.jobs.length, 0)
    world.answer = () => 'silent'
    await world.pass(1)
    assert.deepEqual(calls(world), ['create user1'])
    await world.pass(HOUR)
    world.answer = () => ({ ok: true })
    await world.result(world.jobs[0]!, { ok: true })
    await world.pass(23 * HOUR)
    assert.equal(world.jobs.length, 1, 'Tuesday is frozen')
    assert.match((await because(world, 'window_closed')).at(-1)!, /opens Wed 04 Mar 2026 11:00 UTC/)
    await world.pass(24 * HOUR)
    assert.deepEqual(calls(world, 1), ['tag user1'])
  })
})

it('is overridden until an end, by one batch only, and closes again', () =>
  story({ slots: 1 }, async (world) => {
    const steps = [step('create'), step('tag')]
    const batchId = await beginWave(world, runbook('wave', { 'prepare T-1h': steps }, MORNING), 1)
    await world.publish(runbook('other', { 'prepare T-1h': [step('move')] }, MORNING))
    await world.batch('other', 1, { startsInMin: 60 })
    await world.settle()
    assert.equal(world.jobs.length, 0)
    await assert.rejects(override(world, batchId, 0), /has passed/)
    await assert.rejects(override(world, batchId, null), /has no override/)
    world.answer = () => 'silent'
    await override(world, batchId, 1)
    await world.settle()
    assert.deepEqual(calls(world), ['create user1'])
    assert.equal(world.jobs[0]!.notAfter, '2026-03-02T09:00:00.000Z')
    await world.pass(HOUR)
    world.answer = () => ({ ok: true })
    await world.result(world.jobs[0]!, { ok: true })
    await world.settle()
    assert.equal(world.jobs.length, 1)
    assert.deepEqual(await because(world, 'window_overridden'), [
      'until 2026-03-02T09:00:00.000Z: the bank agreed',
    ])
    await override(world, batchId, 1.5)
    await override(world, batchId, null)
    await world.settle()
    // A commit sends what the slots that it has freed allow, and an override frees none.
    assert.deepEqual(calls(world), ['create user1'])
    await override(world, batchId, 1.5)
    await world.settle()
    assert.deepEqual(calls(world), ['create user1', 'tag user1'])
    assert.deepEqual(await because(world, 'window_override_ended'), ['the bank agreed'])
  }))

it('does not keep another batch from the worker', () =>
  story({ slots: 2 }, async (world) => {
    await beginWave(world, runbook('wave', { 'prepare T-1h': [step('create')] }, MORNING), 600)
    await world.publish(runbook('other', { 'prepare T-1h': [step('move')] }))
    await world.batch('other', 40, { startsInMin: 60 })
    await world.settle()
    assert.equal(world.jobs.length, 40)
    assert.equal(
      world.jobs.every(({ functionName }) => functionName === 'move'),
      true,
    )
  }))

it('follows a new version whose windows are open', () =>
  story({}, async (world) => {
    const batchId = await beginWave(
      world,
      runbook('wave', { 'prepare T-1h': [step('create')] }, MORNING),
      2,
    )
    await world.settle()
    assert.equal(world.jobs.length, 0)
    const opensAt = async () =>
      (await world.db.query<{ at: Date }>('select window_opens_at as at from batches'))[0]!.at
    assert.deepEqual(await opensAt(), new Date('2026-03-02T10:00:00Z'))
    const later = MORNING.replace('10:00', '11:00')
    await world.publish(runbook('wave', { 'prepare T-1h': [step('create')] }, later))
    await world.settle()
    assert.deepEqual(await opensAt(), new Date('2026-03-02T11:00:00Z'))
    assert.equal((await because(world, 'window_closed')).length, 1, 'told once')
    await world.publish(runbook('wave', { 'prepare T-1h': [step('create')] }))
    await world.settle()
    assert.equal(world.jobs.length, 2)
    assert.equal((await batchOf(world, batchId)).status, 'completed')
  }))

it('keeps the undo of a cancelled batch waiting, says so, and lets an override send it', () =>
  story({}, async (world) => {
    const open = 'windows: { time_zone: UTC, hours: [{ from: "08:00", to: "08:30" }] }'
    const yaml = runbook('wave', { 'prepare T-1h': [step('create')] }, open)
    const inverse = { functionName: 'uncreate', parameters: { Upn: 'user1@contoso.example' } }
    const effect = { changed: true, target: 'user1', before: {}, undo: inverse }
    world.answer = () => ({ ok: true, effect })
    const batchId = await beginWave(world, yaml, 1)
    await world.publish(
      runbook('wave', { 'prepare T-1h': [step('create')], 'cutover T+1d': [step('switch')] }, open),
    )
    await world.settle()
    const order = { batchId, actor: 'operator', reason: 'the wave is off' }
    await cancelBatch(world.engine, order)
    await world.pass(HOUR)
    await undoMembers(world.engine, { ...order, memberIds: [await memberId(world, batchId, 1)] })
    await world.pass(HOUR)
    assert.deepEqual(calls(world), ['create user1'], 'an undo is a change')
    assert.deepEqual(await because(world, 'window_closed'), [
      '1 step waits for the change window, which opens Tue 03 Mar 2026 08:00 UTC (UTC)',
    ])
    await override(world, batchId, 4)
    await world.settle()
    assert.deepEqual(calls(world), ['create user1', 'uncreate user1'])
    await assert.rejects(override(world, batchId, 5), /batch 1 is already cancelled/)
  }))

it('tells of the second closing when nobody looked while the window was open', () =>
  story({}, async (world) => {
    const twice = 'hours: [{ from: "09:00", to: "09:10" }, { from: "12:00", to: "13:00" }]'
    const windows = `windows: { time_zone: UTC, ${twice} }`
    const yaml = runbook('wave', { 'prepare T-1h': [step('create')] }, windows)
    const batchId = await beginWave(world, yaml, 1)
    await world.settle()
    // The orchestrators are down from 08:00 to 09:30.
    await world.clock.advance(1.5 * HOUR * 1_000)
    await world.settle()
    assert.equal((await because(world, 'window_closed')).length, 2)
    assert.deepEqual(
      await world.db.query('select window_closed_at from batches where id = $1', [batchId]),
      [{ windowClosedAt: new Date('2026-03-02T09:30:00Z') }],
    )
    assert.equal(world.jobs.length, 0)
  }))
