// Results of one batch beside each other, on several connections of a real server: who waits for whom, and who does not.
// Each visit is stopped at a chosen point; nothing here depends on how fast anything is.
import assert from 'node:assert/strict'
import { afterEach, beforeEach, it } from 'node:test'
import type { Db } from '../../src/db/db.ts'
import { type Message, readMessage } from '../../src/domain/messages.ts'
import type { Door } from '../../src/engine/door.ts'
import { handleMessages } from '../../src/engine/messages.ts'
import { holdBatch } from '../../src/engine/operate.ts'
import { openTestPostgres } from '../databases.ts'
import { brokenInvariants } from '../invariants.ts'
import { batchOf, order, phasesOf, runbook, step } from '../scenarios/looking.ts'
import { openWorld, people, type World } from '../scenarios/world.ts'

const LOOKS_MAX = 5_000
let world: World

// A world each: three slots are all there are.
beforeEach(async () => {
  world = await openWorld({ database: await openTestPostgres(), maxOutstanding: 3 })
  world.answer = () => 'silent'
  await world.publish(runbook('wave', { 'prepare T-1h': [step('create'), step('tag')] }))
})

afterEach(() => world.close())

/** A batch with three jobs out, and the ids of those jobs. */
async function wave(members: number): Promise<{ batchId: number; jobs: string[] }> {
  const batchId = await world.batch('wave', people(members), { startsInMin: 60 })
  await world.settle()
  const rows = await world.db.query<{ id: string }>(
    `select job_id as id from waits where batch_id = $1 and what = 'job' order by step_id`,
    [batchId],
  )
  return { batchId, jobs: rows.map(({ id }) => id) }
}

function resultOf(jobId: string): Message {
  const read = readMessage('worker-result', JSON.stringify({ jobId, status: 'Success' }))
  assert.ok(read.ok)
  return read.message
}

const answer = (door: Door, ...jobIds: string[]) => handleMessages(door, jobIds.map(resultOf))

/** A door whose first transaction stops just before it commits. */
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
  const door: Door = { ...world.door, db: { ...db, transaction } }
  return { door, reached: reached.promise, release: released.resolve }
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

it('a result of another member is decided while the first is not committed, up to the counters', async () => {
  const { batchId, jobs } = await wave(3)
  const first = stopping()
  const one = answer(first.door, jobs[0]!)
  await first.reached
  const two = answer(world.door, jobs[1]!)
  await untilWaiting(1)
  const waiting = await world.db.query<{ query: string }>(
    `select query from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
  )
  assert.match(waiting[0]!.query, /update phase_executions/)
  first.release()
  assert.deepEqual([await one, await two], [['settle'], ['settle']])
  const [phase] = await world.db.query(
    'select steps_succeeded, steps_dispatched, steps_pending from phase_executions where batch_id = $1',
    [batchId],
  )
  assert.deepEqual(phase, { steps_succeeded: 2, steps_dispatched: 3, steps_pending: 1 })
  await healthy()
})

it('the same result twice at the same moment counts once', async () => {
  const { jobs } = await wave(3)
  const first = stopping()
  const one = answer(first.door, jobs[0]!)
  await first.reached
  const two = answer(world.door, jobs[0]!)
  await untilWaiting(1)
  first.release()
  await Promise.all([one, two])
  const events = await world.db.query<{ event: string }>(
    `select event from events where step_id = $1 and event in ('succeed', 'stray_result') order by id`,
    [Number(jobs[0]!.slice('step-'.length))],
  )
  assert.deepEqual(
    events.map(({ event }) => event),
    ['succeed', 'stray_result'],
  )
  await healthy()
})

it('a hold waits for who is at it, and whoever comes later waits for the hold', async () => {
  const { batchId, jobs } = await wave(3)
  const first = stopping()
  const one = answer(first.door, jobs[0]!)
  await first.reached
  const hold = holdBatch(world.door, order(batchId))
  await untilWaiting(1)
  const two = answer(world.door, jobs[1]!)
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

it('a freed slot goes to a waiting member once, whoever frees one beside', async () => {
  const { batchId, jobs } = await wave(5)
  const nexts = []
  for (const jobId of jobs) {
    await answer(world.door, jobId)
    nexts.push(`step-${Number(jobId.slice('step-'.length)) + 1}`)
  }
  // Each of these ends its member, so its slot is left for one of the two who wait.
  const first = stopping()
  const one = answer(first.door, nexts[0]!)
  await first.reached
  const two = answer(world.door, nexts[1]!)
  await untilWaiting(1)
  first.release()
  await Promise.all([one, two])
  const out = await world.db.query(`select from waits where batch_id = $1 and what = 'job'`, [
    batchId,
  ])
  assert.equal(out.length, 3)
  assert.match((await phasesOf(world, batchId))[0]!, /dispatched 5/)
  await healthy()
})
