// Several batches in one transaction, on a server: they share it, nobody waits long for one that is locked, and two such transactions
// over the same batches do not harm each other.
import assert from 'node:assert/strict'
import { afterEach, beforeEach, it } from 'node:test'
import type { Db } from '../../../src/db/connection/db.ts'
import { lockBatch } from '../../../src/db/state/facts.ts'
import { type Message, readMessage } from '../../../src/domain/messages/messages.ts'
import type { Engine } from '../../../src/engine/transactions/engine.ts'
import { handleMessages } from '../../../src/orchestrator/messages.ts'
import { startDuePhases } from '../../../src/orchestrator/timers.ts'
import { openTestPostgres } from '../../kit/databases.ts'
import { brokenInvariants } from '../../kit/invariants.ts'
import { runbook, step } from '../../stories/looking.ts'
import { openWorld, people, type World } from '../../stories/world.ts'

const LOOKS_MAX = 5_000
const BATCHES = 3
const MEMBERS = 2
let world: World

beforeEach(async () => {
  world = await openWorld({ database: await openTestPostgres(), maxOutstanding: 100 })
  world.answer = () => 'silent'
  await world.publish(runbook('wave', { 'prepare T-0': [step('create'), step('tag')] }))
})

afterEach(() => world.close())

async function createBatches(startsInMin: number): Promise<number[]> {
  const everyone = people(BATCHES * MEMBERS)
  const ids: number[] = []
  for (let batch = 0; batch < BATCHES; batch++) {
    const own = everyone.slice(batch * MEMBERS, (batch + 1) * MEMBERS)
    ids.push(await world.batch('wave', own, { startsInMin: startsInMin + batch / 60_000 }))
  }
  return ids
}

/** Batches with an unsettled job of each member, and the ids of these jobs. */
async function sent(): Promise<{ batchIds: number[]; jobs: string[] }> {
  const batchIds = await createBatches(60)
  await world.pass(3_601)
  const rows = await world.db.query<{ id: string }>(
    `select job_id as id from waits where kind = 'job' order by step_id`,
  )
  assert.equal(rows.length, BATCHES * MEMBERS)
  return { batchIds, jobs: rows.map(({ id }) => id) }
}

function resultOf(jobId: string): Message {
  const read = readMessage('worker-result', JSON.stringify({ jobId, status: 'Success' }))
  assert.ok(read.ok)
  return read.message
}

/** An engine that counts its transactions. */
function counting(): { engine: Engine; count: () => number } {
  let transactions = 0
  const transaction: Db['transaction'] = (work) => {
    transactions += 1
    return world.db.transaction(work)
  }
  const engine = { ...world.engine, db: { ...world.db, transaction } }
  return { engine, count: () => transactions }
}

/** How many steps of each batch have passed. */
async function passedIn(batchIds: readonly number[]): Promise<number[]> {
  const rows = await world.db.query<{ id: number; passed: number }>(
    `select batch_id as id, count(*) filter (where status = 'succeeded')::int as passed from step_executions group by 1`,
  )
  return batchIds.map((id) => rows.find((row) => row.id === id)!.passed)
}

async function until(isSo: () => Promise<boolean>): Promise<void> {
  for (let look = 0; look < LOOKS_MAX; look++) if (await isSo()) return
  assert.fail('it never came to that')
}

const healthy = async () =>
  assert.deepEqual(await brokenInvariants(world.db, world.clock.now()), [])

it('starts due phases of all batches in one transaction', async () => {
  await createBatches(60)
  await world.clock.advance(3_601_000)
  const { engine, count } = counting()
  assert.equal(await startDuePhases(engine), BATCHES)
  assert.equal(count(), 1)
  const rows = await world.db.query(`select from phase_executions where status = 'dispatched'`)
  assert.equal(rows.length, BATCHES)
  await healthy()
})

it('settles results of all batches in one transaction, and sends what follows', async () => {
  const { batchIds, jobs } = await sent()
  const { engine, count } = counting()
  const verdicts = await handleMessages(engine, jobs.map(resultOf))
  assert.deepEqual(new Set(verdicts), new Set(['ack']))
  assert.equal(count(), 1)
  assert.deepEqual(await passedIn(batchIds), [MEMBERS, MEMBERS, MEMBERS])
  const next = await world.db.query(`select from waits where kind = 'job'`)
  assert.equal(next.length, BATCHES * MEMBERS)
  await healthy()
})

it('settles the others while one batch is locked, and that one afterwards', async () => {
  const { batchIds, jobs } = await sent()
  const released = Promise.withResolvers<void>()
  const locked = Promise.withResolvers<void>()
  const locking = world.db.transaction(async (tx) => {
    await lockBatch(tx, batchIds[1]!)
    locked.resolve()
    await released.promise
  })
  await locked.promise
  const handling = handleMessages(world.engine, jobs.map(resultOf))
  await until(async () => {
    const [first, , third] = await passedIn(batchIds)
    return first === MEMBERS && third === MEMBERS
  })
  assert.equal((await passedIn(batchIds))[1], 0)
  released.resolve()
  await locking
  assert.deepEqual(new Set(await handling), new Set(['ack']))
  assert.deepEqual(await passedIn(batchIds), [MEMBERS, MEMBERS, MEMBERS])
  await healthy()
})

it('lets two transactions over the same batches, in different order, both settle their members', async () => {
  const { batchIds, jobs } = await sent()
  const first = jobs.filter((_, at) => at % MEMBERS === 0)
  const second = jobs.filter((_, at) => at % MEMBERS === 1).reverse()
  for (let round = 1; round <= 2; round++) {
    const verdicts = await Promise.all(
      [first, second].map((some) => handleMessages(world.engine, some.map(resultOf))),
    )
    assert.deepEqual(new Set(verdicts.flat()), new Set(['ack']))
  }
  assert.deepEqual(await passedIn(batchIds), [MEMBERS, MEMBERS, MEMBERS])
  const settled = await world.db.query(`select from attempts where outcome = 'succeeded'`)
  assert.equal(settled.length, BATCHES * MEMBERS)
  await healthy()
})
