// A hold of the system on a real server with two connections: against a transaction that sends, and while a batch is locked.
import assert from 'node:assert/strict'
import { after, before, it } from 'node:test'
import type { Db, Tx } from '../../../src/db/connection/db.ts'
import { openPostgres } from '../../../src/db/connection/postgres.ts'
import { lockBatch } from '../../../src/db/state/facts.ts'
import {
  finishHolds,
  type HoldOrder,
  holdScope,
  resumeScope,
} from '../../../src/engine/orders/holds.ts'
import { beginEpoch } from '../../../src/engine/orders/restores.ts'
import type { Engine } from '../../../src/engine/transactions/engine.ts'
import { expandPhases, fillWorkers, startDuePhases } from '../../../src/orchestrator/timers.ts'
import { openTestPostgres } from '../../kit/databases.ts'
import { brokenInvariants } from '../../kit/invariants.ts'
import { runbook, step } from '../../stories/looking.ts'
import { openWorld, people, type World } from '../../stories/world.ts'

const EVERYTHING: HoldOrder = { scope: 'system', target: '', actor: 'operator', reason: 'stop' }
const LOOKS_MAX = 5_000

let second: Db
let world: World
let other: Engine

before(async () => {
  const database = await openTestPostgres()
  second = await openPostgres({ url: database.url! })
  world = await openWorld({ database, maxOutstanding: 1000 })
  other = { ...world.engine, db: second }
  await world.publish(runbook('wave', { 'prepare T-1h': [step('create')] }))
})

after(async () => {
  await second.close()
  await world.close()
})

/** A batch whose members wait for a slot. */
async function readyBatch(first: number, members: number): Promise<number> {
  const list = people(first + members).slice(first)
  const batchId = await world.batch('wave', list, { startsInMin: 60 - first / 60 })
  await startDuePhases(world.engine)
  await expandPhases(world.engine)
  return batchId
}

const jobsOf = async (batchId: number): Promise<number> =>
  (await world.db.query(`select from waits where batch_id = $1 and kind = 'job'`, [batchId])).length

/** Runs the first transaction of `act` up to its commit, then `meanwhile`, then lets it commit. */
async function stoppedBeforeCommit(
  act: (engine: Engine) => Promise<unknown>,
  meanwhile: (release: () => void) => Promise<void>,
): Promise<void> {
  const reached = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  let isFirst = true
  const transaction: Db['transaction'] = (work) =>
    world.db.transaction(async (tx) => {
      const stops = isFirst
      isFirst = false
      const result = await work(tx)
      if (stops) reached.resolve()
      if (stops) await released.promise
      return result
    })
  const acting = act({ ...world.engine, db: { ...world.db, transaction } })
  await Promise.race([reached.promise, acting])
  await meanwhile(released.resolve)
  await acting
}

async function untilFound(sql: string): Promise<void> {
  for (let look = 0; look < LOOKS_MAX; look++) if ((await world.db.query(sql)).length > 0) return
}

it('waits for the transaction that sends, and withdraws what it sent', async () => {
  const batchId = await readyBatch(0, 3)
  await stoppedBeforeCommit(fillWorkers, async (release) => {
    const holding = holdScope(other, EVERYTHING)
    await untilFound(
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    )
    assert.equal((await world.db.query('select from holds')).length, 0)
    release()
    assert.deepEqual((await holding).withdrawn, 3)
  })
  await fillWorkers(world.engine)
  assert.equal(await jobsOf(batchId), 0)
  await resumeScope(world.engine, EVERYTHING)
  await fillWorkers(world.engine)
  assert.equal(await jobsOf(batchId), 3)
  assert.deepEqual(await brokenInvariants(world.db, world.clock.now()), [])
})

it('withdraws the jobs of several batches at a time', async () => {
  const batchIds = [await readyBatch(130, 1), await readyBatch(131, 1), await readyBatch(132, 1)]
  await fillWorkers(world.engine)
  let [open, most] = [0, 0]
  const transaction: Db['transaction'] = (work) =>
    second.transaction(async (tx) => {
      open += 1
      most = Math.max(most, open)
      const result = await work(tx)
      open -= 1
      return result
    })
  await holdScope({ ...other, db: { ...second, transaction } }, EVERYTHING)
  assert.ok(most >= batchIds.length, `${most} at once`)
  for (const batchId of batchIds) assert.equal(await jobsOf(batchId), 0)
  await resumeScope(world.engine, EVERYTHING)
})

it('takes effect within 2 s while a batch is locked', async () => {
  const busy = await readyBatch(10, 1)
  await fillWorkers(world.engine)
  const waiting = await readyBatch(20, 2)
  const lock = ({ db }: Engine) => db.transaction((tx) => lockBatch(tx, busy))
  await stoppedBeforeCommit(lock, async (release) => {
    const startedMs = performance.now()
    const holding = holdScope(other, EVERYTHING)
    await untilFound('select from holds')
    const tookMs = performance.now() - startedMs
    assert.ok(tookMs < 2_000, `${Math.round(tookMs)} ms`)
    await fillWorkers(world.engine)
    assert.equal(await jobsOf(waiting), 0)
    release()
    assert.ok((await holding).withdrawn > 0)
  })
  assert.equal(await jobsOf(busy), 0)
  await resumeScope(world.engine, EVERYTHING)
})

/** Runs `act` until it looks for steps to send, after it has read the batch and its epoch; then `meanwhile`. */
async function stoppedBeforeSending(
  act: (engine: Engine) => Promise<unknown>,
  meanwhile: (release: () => void) => Promise<void>,
): Promise<void> {
  const reached = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  const stopping = (tx: Tx): Tx => ({
    ...tx,
    query: async (sql, values) => {
      if (sql.includes('for update skip locked')) {
        reached.resolve()
        await released.promise
      }
      return tx.query(sql, values)
    },
  })
  const transaction: Db['transaction'] = (work) => world.db.transaction((tx) => work(stopping(tx)))
  const acting = act({ ...world.engine, db: { ...world.db, transaction } })
  await Promise.race([reached.promise, acting])
  await meanwhile(released.resolve)
  await acting
}

it('sends nothing under the old epoch once a new one has begun, and the resume waits for the sender', async () => {
  const batchId = await readyBatch(30, 2)
  let resuming: Promise<unknown> | undefined
  await stoppedBeforeSending(fillWorkers, async (release) => {
    await beginEpoch(other, { actor: 'ann', because: 'the disk was lost' })
    resuming = resumeScope(other, EVERYTHING)
    await untilFound(
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    )
    assert.equal((await world.db.query('select from holds')).length, 1)
    release()
  })
  await resuming
  await fillWorkers(world.engine)
  const jobs = await world.db.query<{ id: string }>(
    `select job_id as id from waits where batch_id = $1 and kind = 'job'`,
    [batchId],
  )
  assert.equal(jobs.length, 2)
  for (const { id } of jobs) assert.match(id, /^step-\d+~\w+$/)
  assert.deepEqual(await brokenInvariants(world.db, world.clock.now()), [])
})

it('is answered within 2 s on a machine so slow that it cannot withdraw all jobs by then, and timers withdraw the rest', async () => {
  const batchIds: number[] = []
  for (let number = 0; number < 8; number += 1) batchIds.push(await readyBatch(140 + number, 1))
  await fillWorkers(world.engine)
  const startedMs = +other.clock.now()
  let nowMs = startedMs
  const now = () => {
    // Each look at the clock costs the time of a busy machine.
    nowMs += 100
    return new Date(nowMs)
  }
  const clock = { ...other.clock, now }
  const { withdrawn } = await holdScope({ ...other, clock }, EVERYTHING)
  const left = async () => (await Promise.all(batchIds.map(jobsOf))).filter((jobs) => jobs > 0)
  assert.ok(withdrawn > 0)
  assert.ok((await left()).length > 0)
  assert.ok(nowMs - startedMs < 2_000, `${nowMs - startedMs} ms`)
  await finishHolds(world.engine)
  assert.deepEqual(await left(), [])
  await resumeScope(world.engine, EVERYTHING)
})
