// The database refuses for a while under load, by its disk, its mode or its connections: nothing goes to the dead letters, everything
// finishes, and the orchestrator says once that it waits, why, and that it continues.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import { MAX_DELIVERIES, WORKER_RESULTS } from '../../src/bus/bus.ts'
import type { OutageChange } from '../../src/bus/outage.ts'
import { openPostgresBus } from '../../src/bus/postgres/postgres-bus.ts'
import type { Db } from '../../src/db/connection/db.ts'
import { openPostgres } from '../../src/db/connection/postgres.ts'
import { makeOrchestrator, type Orchestrator } from '../../src/orchestrator/orchestrator.ts'
import { openTestPostgres } from '../kit/databases.ts'
import { attemptsOf, batchOf, runbook, step } from '../stories/looking.ts'
import { story, type World } from '../stories/world.ts'

const YAML = runbook('wave', { 'prepare T-1h': [step('create', 'timeout: 1h')] })
const MEMBERS = 500

/** A batch whose jobs are done, and whose results wait. */
async function begin(world: World): Promise<number> {
  world.answer = () => 'silent'
  await world.publish(YAML)
  const batchId = await world.batch('wave', MEMBERS, { startsInMin: 60 })
  await world.settle()
  for (const job of world.jobs) await world.result(job, { ok: true })
  assert.equal(world.jobs.length, MEMBERS)
  return batchId
}

const WRITES = /^\s*(with|insert|update|delete)\b|claim_bundles|remember_message_ids/i
const ON_BUNDLES = /claim_bundles|update bundles/

/** Writes fail while `refuses` says so. Pages with room take an update even on a full disk: `exceptBundles` lets leases through. */
function refusingDb(db: Db, refuses: () => boolean, code: string, exceptBundles: boolean): Db {
  const unlessRefused = async <T>(sql: string, run: () => Promise<T>): Promise<T> => {
    const isExempt = exceptBundles && ON_BUNDLES.test(sql)
    if (refuses() && WRITES.test(sql) && !isExempt)
      throw Object.assign(new Error('could not extend file "base/5/16384"'), { code })
    return run()
  }
  return {
    ...db,
    query: (sql, values) => unlessRefused(sql, () => db.query(sql, values)),
    transaction: (work) =>
      db.transaction((tx) =>
        work({
          ...tx,
          query: (sql, values) => unlessRefused(sql, () => tx.query(sql, values)),
          change: (sql, values) => unlessRefused(sql, () => tx.change(sql, values)),
        }),
      ),
  }
}

interface Watched {
  readonly orchestrator: Orchestrator
  readonly said: OutageChange[]
  readonly errors: unknown[]
}

/** An orchestrator whose engine and bus use `db`. */
function orchestratorOn(world: World, db: Db): Watched {
  const { clock } = world
  const bus = openPostgresBus({ db, clock, newToken: randomUUID })
  const said: OutageChange[] = []
  const errors: unknown[] = []
  const orchestrator = makeOrchestrator({
    engine: { ...world.engine, db, bus },
    bus,
    clock,
    chunk: 100,
    onOutage: (change) => said.push(change),
    onError: (error) => errors.push(error),
  })
  return { orchestrator, said, errors }
}

/** In small steps: the loops talk to a database, which the virtual clock does not wait for. */
async function advance({ clock, db }: World, seconds: number): Promise<void> {
  for (let step = 0; step < seconds * 2; step += 1) {
    await clock.advance(500)
    await db.query('select 1')
  }
}

async function advanceUntilCompleted(world: World, batchId: number, seconds = 120): Promise<void> {
  for (let second = 0; second < seconds; second += 1) {
    if ((await batchOf(world, batchId)).status === 'completed') return
    await advance(world, 1)
  }
  const { status } = await batchOf(world, batchId)
  assert.fail(`the batch is ${status} ${seconds} seconds after the outage`)
}

/** The virtual clock outruns connections to a real server: on a busy machine a loop's look took 80 virtual seconds. */
const REAL_SERVER_SEC = 1_200

const countLetters = async ({ db }: World): Promise<number> =>
  (await db.query('select 1 from dead_letters')).length

const mostDeliveries = async ({ db }: World): Promise<number> => {
  const [row] = await db.query<{ most: number }>(
    'select coalesce(max(delivery_count), 0) as most from bundles',
  )
  return row!.most
}

describe('an outage of 100 seconds with 500 results waiting', () => {
  for (const [code, why, exceptBundles] of [
    ['53100', 'the disk of the database is full', true],
    ['53100', 'the disk of the database is full', false],
    ['53300', 'the database has no free connection', true],
    ['42501', 'the database role lacks a right', true],
    ['42703', 'the database lacks a table, column or function of this version', false],
  ] as const) {
    const what = exceptBundles ? 'changes' : 'changes and leases'
    it(`${code} on ${what}: nothing is dead-lettered, everything finishes`, async () => {
      await story({}, async (world) => {
        const batchId = await begin(world)
        let isRefusing = true
        const db = refusingDb(world.db, () => isRefusing, code, exceptBundles)
        const { orchestrator, said, errors } = orchestratorOn(world, db)
        orchestrator.start()
        await advance(world, 100)
        assert.equal(orchestrator.whyWaiting(), why)
        assert.deepEqual(
          said.map((change) => change.why),
          [why],
        )
        assert.ok((await mostDeliveries(world)) <= 1)
        isRefusing = false
        await advanceUntilCompleted(world, batchId)
        await orchestrator.stop()
        assert.equal(orchestrator.whyWaiting(), null)
        assert.deepEqual([said.at(-1)!.why, said.length], [null, 2])
        assert.deepEqual(errors, [])
        assert.equal(await countLetters(world), 0)
        const attempts = await attemptsOf(world)
        assert.equal(attempts.filter((line) => line.endsWith('succeeded')).length, MEMBERS)
      })
    })
  }

  it('a server that is read-only for a while: real errors over real connections', async () => {
    const database = await openTestPostgres()
    await story({ database }, async (world) => {
      const batchId = await begin(world)
      const own = await openPostgres({ url: database.url!, poolSize: 4 })
      const [row] = await world.db.query<{ name: string }>('select current_database() as name')
      const setReadOnly = async (value: 'on' | 'off') => {
        await world.db.script(
          `set default_transaction_read_only = off; begin read write; alter database "${row!.name}" set default_transaction_read_only = ${value}; commit`,
        )
        // Sessions take the setting when they begin; the orchestrator's connections are cut like in a failover.
        await world.db.query(
          'select pg_terminate_backend(pid) from pg_stat_activity where datname = $1 and pid <> pg_backend_pid() and application_name = $2',
          [row!.name, 'matoolkit'],
        )
      }
      await setReadOnly('on')
      const { orchestrator, said, errors } = orchestratorOn(world, own)
      orchestrator.start()
      try {
        const isReadOnly = () => orchestrator.whyWaiting() === 'the database is read-only'
        for (let second = 0; second < REAL_SERVER_SEC && !isReadOnly(); second += 1)
          await advance(world, 1)
        assert.ok(isReadOnly(), `waits: ${orchestrator.whyWaiting()}`)
        assert.ok((await mostDeliveries(world)) <= 1)
        await setReadOnly('off')
        await advanceUntilCompleted(world, batchId, REAL_SERVER_SEC)
        assert.equal(said.at(-1)!.why, null)
        assert.deepEqual(errors, [])
        assert.equal(await countLetters(world), 0)
      } finally {
        await orchestrator.stop()
        await own.close()
      }
    })
  })
})

/** Takes all results as often as allowed, and never acks: as processes that die do. */
async function exhaust(world: World): Promise<void> {
  for (let round = 0; round <= MAX_DELIVERIES; round += 1) {
    if (round > 0) await world.clock.advance(61_000)
    await world.bus.receive(WORKER_RESULTS, 1_000)
  }
}

const replays = async ({ db }: World): Promise<string[]> =>
  (
    await db.query<{ line: string }>(
      `select replayed_by || ' ' || count(*) as line from dead_letters where replayed_at is not null group by replayed_by`,
    )
  ).map(({ line }) => line)

describe('a dead-lettered result is not the end', () => {
  it('sends results again that were delivered too often, with an event', () =>
    story({}, async (world) => {
      const batchId = await begin(world)
      await exhaust(world)
      assert.equal(await countLetters(world), MEMBERS)
      const { orchestrator, errors } = orchestratorOn(world, world.db)
      orchestrator.start()
      await advance(world, 70)
      await advanceUntilCompleted(world, batchId)
      await orchestrator.stop()
      assert.deepEqual(errors, [])
      assert.deepEqual(await replays(world), [`orchestrator ${MEMBERS}`])
      const events = await world.db.query<{ because: string }>(
        `select because from events where event = 'dead_letters_replayed'`,
      )
      assert.deepEqual(events, [
        {
          because: `${MEMBERS} messages on worker-results that had been delivered too often: sent again`,
        },
      ])
    }))

  it('stops after three replays; then the rule for lost jobs takes over', () =>
    story({}, async (world) => {
      await begin(world)
      const run = () => world.bus.deadLetters.replayExhausted('orchestrator', 1_000)
      for (const minutes of [1, 10, 60]) {
        await exhaust(world)
        await world.clock.advance(minutes * 60_000 - 1_000)
        assert.deepEqual(await run(), [], `sooner than after ${minutes} min`)
        await world.clock.advance(1_000)
        assert.deepEqual(await run(), [{ topic: 'worker-results', count: MEMBERS }])
        assert.deepEqual(await run(), [])
      }
      await exhaust(world)
      await world.clock.advance(24 * 3_600_000)
      assert.deepEqual(await run(), [])
      await world.orchestrate()
      const attempts = await attemptsOf(world)
      assert.equal(attempts.filter((line) => line.endsWith('lost')).length, MEMBERS)
    }))
})
