// Results of one batch under the shared lock, on several connections of a real server: which transaction waits, and which does not.
// Each transaction is stopped at a chosen point; nothing here depends on speed.
import assert from 'node:assert/strict'
import { afterEach, beforeEach, it } from 'node:test'
import type { Db } from '../../../src/db/connection/db.ts'
import { type Message, readMessage } from '../../../src/domain/messages/messages.ts'
import { holdBatch } from '../../../src/engine/orders/batch-actions.ts'
import type { Engine } from '../../../src/engine/transactions/engine.ts'
import { expandLarge } from '../../../src/engine/transactions/expand.ts'
import { handleMessages } from '../../../src/orchestrator/messages.ts'
import { expandPhases, fillWorkers, startDuePhases } from '../../../src/orchestrator/timers.ts'
import { openTestPostgres } from '../../kit/databases.ts'
import { brokenInvariants } from '../../kit/invariants.ts'
import { batchOf, order, phasesOf, runbook, step } from '../../stories/looking.ts'
import { openWorld, people, type World } from '../../stories/world.ts'

const LOOKS_MAX = 5_000
let world: World

// A new world per test: there are only three slots.
beforeEach(async () => {
  world = await openWorld({ database: await openTestPostgres(), maxOutstanding: 3 })
  world.answer = () => 'silent'
  await world.publish(runbook('wave', { 'prepare T-1h': [step('create'), step('tag')] }))
  await world.publish(
    runbook('long', {
      'prepare T-1h': [step('create')],
      'move T-0': [step('go')],
      'end T-0': [step('tidy')],
    }),
  )
})

afterEach(() => world.close())

/** A batch with three unsettled jobs, and the ids of those jobs. */
async function wave(members: number, name = 'wave'): Promise<{ batchId: number; jobs: string[] }> {
  const batchId = await world.batch(name, people(members), { startsInMin: 60 })
  await world.settle()
  const rows = await world.db.query<{ id: string }>(
    `select job_id as id from waits where batch_id = $1 and kind = 'job' order by step_id`,
    [batchId],
  )
  return { batchId, jobs: rows.map(({ id }) => id) }
}

function resultOf(jobId: string): Message {
  const read = readMessage('worker-result', JSON.stringify({ jobId, status: 'Success' }))
  assert.ok(read.ok)
  return read.message
}

const answer = (engine: Engine, ...jobIds: string[]) => handleMessages(engine, jobIds.map(resultOf))

/** An engine whose first transaction stops just before it commits. */
function stopping() {
  const reached = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  let isFirst = true
  const { db } = world
  const transaction: Db['transaction'] = (work) =>
    db.transaction(async (tx) => {
      const stops = isFirst
      isFirst = false
      const result = await work(tx)
      if (stops) reached.resolve()
      if (stops) await released.promise
      return result
    })
  const engine: Engine = { ...world.engine, db: { ...db, transaction } }
  return { engine, reached: reached.promise, release: released.resolve }
}

/** Until so many connections wait for a lock. */
async function untilWaiting(count: number): Promise<void> {
  for (let look = 0; look < LOOKS_MAX; look++) {
    const rows = await world.db.query(
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    )
    if (rows.length >= count) return
  }
  assert.fail(`${count} connections never waited`)
}

const statusOf = async (jobId: string): Promise<string> => {
  const rows = await world.db.query<{ status: string }>(
    'select status from step_executions where id = $1',
    [Number(jobId.slice('step-'.length))],
  )
  return rows[0]!.status
}

const healthy = async () =>
  assert.deepEqual(await brokenInvariants(world.db, world.clock.now()), [])

it("decides another member's result before the first commits, up to the counters", async () => {
  const { batchId, jobs } = await wave(3)
  const first = stopping()
  const one = answer(first.engine, jobs[0]!)
  await first.reached
  const two = answer(world.engine, jobs[1]!)
  await untilWaiting(1)
  const waiting = await world.db.query<{ query: string }>(
    `select query from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
  )
  assert.match(waiting[0]!.query, /update phase_executions/)
  first.release()
  assert.deepEqual([await one, await two], [['ack'], ['ack']])
  const [phase] = await world.db.query(
    'select steps_succeeded, steps_dispatched, steps_pending from phase_executions where batch_id = $1',
    [batchId],
  )
  assert.deepEqual(phase, { stepsSucceeded: 2, stepsDispatched: 3, stepsPending: 1 })
  await healthy()
})

it('counts the same result once when it comes twice at the same moment', async () => {
  const { jobs } = await wave(3)
  const first = stopping()
  const one = answer(first.engine, jobs[0]!)
  await first.reached
  const two = answer(world.engine, jobs[0]!)
  await untilWaiting(1)
  first.release()
  await Promise.all([one, two])
  const events = await world.db.query<{ event: string }>(
    `select event from events where step_id = $1 and event in ('succeed', 'unexpected_result') order by id`,
    [Number(jobs[0]!.slice('step-'.length))],
  )
  assert.deepEqual(
    events.map(({ event }) => event),
    ['succeed', 'unexpected_result'],
  )
  await healthy()
})

it('a hold waits for earlier sharers, and later sharers wait for the hold', async () => {
  const { batchId, jobs } = await wave(3)
  const first = stopping()
  const one = answer(first.engine, jobs[0]!)
  await first.reached
  const hold = holdBatch(world.engine, order(batchId))
  await untilWaiting(1)
  const two = answer(world.engine, jobs[1]!)
  await untilWaiting(2)
  assert.equal(await statusOf(jobs[1]!), 'dispatched')
  first.release()
  await Promise.all([one, hold, two])
  assert.ok((await batchOf(world, batchId)).held)
  assert.equal(await statusOf(jobs[1]!), 'succeeded')
  const sent = await world.db.query<{ sent: number }>(
    `select count(*) as sent from events e
      where batch_id = $1 and event = 'dispatch'
        and id > (select id from events where batch_id = $1 and event = 'held')`,
    [batchId],
  )
  assert.deepEqual(sent, [{ sent: 0 }])
  await healthy()
})

const jobsOut = async (batchId: number): Promise<number> => {
  const out = `select from waits where batch_id = $1 and kind = 'job'`
  return (await world.db.query(out, [batchId])).length
}

it('gives a freed slot to one waiting member only', async () => {
  const { batchId, jobs } = await wave(5)
  const nexts = []
  for (const jobId of jobs) {
    await answer(world.engine, jobId)
    nexts.push(`step-${Number(jobId.slice('step-'.length)) + 1}`)
  }
  // Each of these ends its member, so its slot goes to one of the two waiting members.
  const first = stopping()
  const one = answer(first.engine, nexts[0]!)
  await first.reached
  const two = answer(world.engine, nexts[1]!)
  await untilWaiting(1)
  first.release()
  await Promise.all([one, two])
  assert.equal(await jobsOut(batchId), 3)
  assert.match((await phasesOf(world, batchId))[0]!, /dispatched 5/)
  await healthy()
})

/** More members than one transaction expands, three of them with a job of the first phase; the second phase has begun. */
async function movingWave(): Promise<{ batchId: number; jobs: string[] }> {
  const made = await wave(501, 'long')
  await world.clock.advance(3_600_000)
  await startDuePhases(world.engine)
  return made
}

/** The wait of the step after this job. */
async function nextWait(jobId: string, stepName = 'go'): Promise<string | undefined> {
  const rows = await world.db.query<{ kind: string }>(
    `select w.kind from step_executions done
       join step_executions next on next.batch_member_id = done.batch_member_id and next.step_name = $2
       join waits w on w.step_id = next.id
      where done.id = $1`,
    [Number(jobId.slice('step-'.length)), stepName],
  )
  return rows[0]?.kind
}

/** The first member passed the second phase before its expansion, as a member moved from another batch may have. */
async function passEarly(batchId: number): Promise<void> {
  await world.db.query(
    `with phase as (
       update phase_executions set steps_skipped = 1, members_total = 1, members_passed = 1
        where batch_id = $1 and phase_name = 'move' returning id),
     passed as (
     insert into step_executions (batch_id, kind, phase_execution_id, batch_member_id, runbook_version, step_name, step_index,
       worker_id, is_poll_step, max_retries, retry_interval_sec, retry_backoff, timeout_sec, status, completed_at)
     select s.batch_id, 'phase', phase.id, s.batch_member_id, s.runbook_version, 'go', 0, s.worker_id, false, s.max_retries,
            s.retry_interval_sec, s.retry_backoff, s.timeout_sec, 'skipped', $2
       from phase, (select * from step_executions where batch_id = $1 order by id limit 1) as s
     returning id, batch_member_id, phase_execution_id)
     insert into events (at, batch_id, batch_member_id, phase_id, step_id, entity, event, from_status, to_status, actor, because)
     select $2, $1, batch_member_id, phase_execution_id, id, 'step', 'skip', 'pending', 'skipped', 'test', 'done elsewhere'
       from passed`,
    [batchId, world.clock.now()],
  )
}

it('expands two phases at once: the second sees how far the first is', async () => {
  const { batchId, jobs } = await movingWave()
  await passEarly(batchId)
  await answer(world.engine, jobs[0]!)
  const [move, tidy] = (
    await world.db.query<{ id: number }>(
      `select id from phase_executions where batch_id = $1 and status = 'dispatched' and expanded_at is null order by id`,
      [batchId],
    )
  ).map(({ id }) => id)
  const first = stopping()
  const one = expandLarge(first.engine, { batchId, id: move! }, 'timer')
  await first.reached
  const two = expandLarge(world.engine, { batchId, id: tidy! }, 'timer')
  await untilWaiting(1)
  first.release()
  await Promise.all([one, two])
  assert.equal(await nextWait(jobs[0]!, 'tidy'), 'slot')
  while ((await expandPhases(world.engine)) > 0);
  await healthy()
})

it('a member that waited for its steps continues with them', async () => {
  const { jobs } = await movingWave()
  const first = stopping()
  const writing = expandPhases(first.engine)
  await first.reached
  // It has read how far the second phase is expanded, and now waits for its member.
  const result = answer(world.engine, jobs[0]!)
  await untilWaiting(1)
  first.release()
  await Promise.all([writing, result])
  assert.equal(await nextWait(jobs[0]!), 'job')
  while ((await expandPhases(world.engine)) > 0);
  await healthy()
})

it("writes a member's steps only after the transaction that has the member, and the member continues", async () => {
  const { jobs } = await movingWave()
  const first = stopping()
  const result = answer(first.engine, jobs[0]!)
  await first.reached
  const writing = expandPhases(world.engine)
  await untilWaiting(1)
  assert.equal(await nextWait(jobs[0]!), undefined)
  first.release()
  await Promise.all([writing, result])
  assert.equal(await nextWait(jobs[0]!), 'slot')
  while ((await expandPhases(world.engine)) > 0);
  await healthy()
})

it('two expansions of one phase write its steps once', async () => {
  const { batchId } = await movingWave()
  const first = stopping()
  const one = expandPhases(first.engine)
  await first.reached
  const two = expandPhases(world.engine)
  await untilWaiting(1)
  first.release()
  await Promise.all([one, two])
  while ((await expandPhases(world.engine)) > 0);
  assert.match((await phasesOf(world, batchId))[1]!, /dispatched 501/)
  await healthy()
})

it('fills free slots next to an uncommitted result, up to the counters, with unlocked members', async () => {
  const { batchId, jobs } = await wave(7)
  await world.db.query('update workers set max_outstanding = 5')
  const first = stopping()
  const one = answer(first.engine, jobs[0]!)
  await first.reached
  const filling = fillWorkers(world.engine)
  await untilWaiting(1)
  first.release()
  await Promise.all([one, filling])
  assert.equal(await jobsOut(batchId), 5)
  await healthy()
})
