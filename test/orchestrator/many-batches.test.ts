// The cost of a batch does not grow with the number of other batches, and batches that take turns all get theirs. Counted in
// transactions and statements, so the speed of the machine is no matter.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Db, Queryable } from '../../src/db/connection/db.ts'
import { openTestPglite, type TestDatabase } from '../kit/databases.ts'
import { runbook, step } from '../stories/looking.ts'
import { people, story, type World } from '../stories/world.ts'

const YAML = runbook('wave', { 'prepare T-0': [step('create'), step('tag')] })
const MEMBERS = 4
const STEPS = 2
/** Enough for sixteen batches at a time. */
const WINDOW = 16 * MEMBERS

interface Counts {
  transactions: number
  statements: number
}

async function countingDatabase(): Promise<{ database: TestDatabase; counts: Counts }> {
  const database = await openTestPglite()
  const counts = { transactions: 0, statements: 0 }
  const query =
    (on: Queryable): Queryable['query'] =>
    (sql, values) => {
      counts.statements += 1
      return on.query(sql, values)
    }
  const db: Db = {
    ...database.db,
    kind: database.db.kind,
    query: query(database.db),
    transaction: (work) => {
      counts.transactions += 1
      return database.db.transaction((tx) => work({ ...tx, query: query(tx) }))
    },
  }
  return { database: { ...database, db }, counts }
}

/** Batches, all due at the same moment. */
async function createBatches(world: World, batches: number, members = MEMBERS): Promise<void> {
  const everyone = people(batches * members)
  for (let batch = 0; batch < batches; batch++) {
    const own = everyone.slice(batch * members, (batch + 1) * members)
    await world.batch('wave', own, { startsInMin: 60 + batch / 60_000 })
  }
}

async function costOf(batches: number): Promise<Counts> {
  const { database, counts } = await countingDatabase()
  let cost = counts
  await story({ maxOutstanding: WINDOW, database }, async (world) => {
    await world.publish(YAML)
    await createBatches(world, batches)
    await world.settle()
    const before = { ...counts }
    await world.pass(3_601)
    cost = {
      // The worker of this world sends every result by itself.
      transactions: (counts.transactions - before.transactions) / batches - MEMBERS * STEPS,
      statements: (counts.statements - before.statements) / batches,
    }
    const open = await world.db.query(`select id from batches where status <> 'completed'`)
    assert.deepEqual(open, [])
  })
  return cost
}

it('costs the same per batch with 40 batches as with 18', async () => {
  const few = await costOf(18)
  const many = await costOf(40)
  const said = JSON.stringify({ few, many })
  assert.ok(many.transactions <= few.transactions * 1.1, said)
  assert.ok(many.statements <= few.statements * 1.1, said)
  // Batches share their transactions: start, write steps, fill, two results, and the end of the phase were 7 for each.
  assert.ok(many.transactions <= 1, said)
})

it('lets batches take turns: each has begun with a member before one begins with its second', () =>
  story({ maxOutstanding: 16 }, async (world) => {
    await world.publish(YAML)
    await createBatches(world, 24, 3)
    await world.clock.advance(3_601_000)
    await world.orchestrate()
    while ((await world.work(4)) > 0) {
      await world.orchestrate()
      const [out] = await world.db.query<{ jobs: number }>(
        `select count(*)::int as jobs from waits where kind = 'job'`,
      )
      assert.ok(out!.jobs <= 16, `${out!.jobs} jobs are out`)
    }
    const first = world.jobs.filter(({ functionName }) => functionName === 'create')
    assert.equal(first.length, 24 * 3)
    for (const turn of [0, 1, 2]) {
      const batches = first.slice(24 * turn, 24 * (turn + 1)).map(({ batchId }) => batchId)
      assert.equal(new Set(batches).size, 24, `turn ${turn + 1}: ${batches}`)
    }
    const open = await world.db.query(`select id from batches where status <> 'completed'`)
    assert.deepEqual(open, [])
  }))
