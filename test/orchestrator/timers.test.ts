// Thousands of timers that fall due in the same second are handled in a few calls, in chunks, with as many statements as the chunks
// need.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Db } from '../../src/db/connection/db.ts'
import { fillWorkers, settleLostJobs, wakeWaits } from '../../src/orchestrator/timers.ts'
import { openTestPostgres } from '../kit/databases.ts'
import { brokenInvariants } from '../kit/invariants.ts'
import { batchOf, runbook, step } from '../stories/looking.ts'
import { openWorld } from '../stories/world.ts'

const MANY = 10_000
const CHUNKS = 20
/** What a chunk of 500 may take. A statement per step would be 500 of each kind. */
const STATEMENTS_A_CHUNK_MAX = 40

/** The database, and how many statements it got. */
function counting(db: Db): { db: Db; count: () => number } {
  let statements = 0
  const counted = <Args extends unknown[], Answer>(run: (...args: Args) => Answer) => {
    return (...args: Args): Answer => {
      statements += 1
      return run(...args)
    }
  }
  const transaction: Db['transaction'] = (work) =>
    db.transaction((tx) =>
      work({ ...tx, query: counted(tx.query) as typeof tx.query, change: counted(tx.change) }),
    )
  return {
    db: { ...db, query: counted(db.query) as Db['query'], transaction },
    count: () => statements,
  }
}

it('settles ten thousand jobs that are lost together in one call, set by set', async () => {
  const room = { maxOutstanding: 2 * MANY, slots: MANY }
  const world = await openWorld({ database: await openTestPostgres(), ...room })
  const yaml = runbook(
    'wave',
    { 'prepare T-1h': [step('create', 'timeout: 5m')] },
    'safeguards: { max_failed_percent: 100 }',
  )
  await world.publish(yaml)
  const batchId = await world.batch('wave', MANY, { startsInMin: 60 })
  await world.orchestrate()
  // The jobs are gone, and no result of them came.
  await world.db.query('delete from bundles')
  await world.clock.advance(7 * 60_000)
  const { db, count } = counting(world.db)
  assert.equal(await settleLostJobs({ ...world.engine, db }), MANY)
  assert.ok(count() < CHUNKS * STATEMENTS_A_CHUNK_MAX, `${count()} statements`)
  const { failed, status } = await batchOf(world, batchId)
  assert.deepEqual({ failed, status }, { failed: MANY, status: 'failed' })
  assert.deepEqual(await brokenInvariants(world.db, world.clock.now()), [])
  await world.close()
})

it('wakes and sends hundreds of polls that are due in one second, each once, set by set', async () => {
  const POLLS = 600
  const room = { maxOutstanding: 2 * POLLS, slots: POLLS }
  const world = await openWorld({ database: await openTestPostgres(), ...room })
  await world.publish(
    runbook('wave', { 'sync T-1h': [step('sync', 'poll: { interval: 60s, timeout: 1h }')] }),
  )
  await world.batch('wave', POLLS, { startsInMin: 60 })
  world.answer = () => ({ ok: { complete: false } })
  await world.settle()
  assert.equal(world.jobs.length, POLLS)
  await world.clock.advance(60_000)
  const { db, count } = counting(world.db)
  const engine = { ...world.engine, db }
  while ((await wakeWaits(engine)) + (await fillWorkers(engine)) > 0);
  const chunks = Math.ceil((2 * POLLS) / 500)
  assert.ok(count() < chunks * STATEMENTS_A_CHUNK_MAX, `${count()} statements`)
  const out = await db.query<{ jobs: number; polls: number; sent: number }>(
    `select count(*)::int as jobs, (count(*) filter (where job_id like '%-poll-1'))::int as polls,
            (select sum(size) from bundles where topic = 'worker-jobs')::int as sent from waits where kind = 'job'`,
  )
  assert.deepEqual(out, [{ jobs: POLLS, polls: POLLS, sent: POLLS }])
  assert.deepEqual(await brokenInvariants(world.db, world.clock.now()), [])
  await world.close()
})
