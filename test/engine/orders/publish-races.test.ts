// Publishing while batches change, on a real server with two connections. Each pair runs in both orders with the first one stopped
// just before its commit, and then many times at once.
import assert from 'node:assert/strict'
import { after, before, it } from 'node:test'
import type { Db } from '../../../src/db/connection/db.ts'
import { openPostgres } from '../../../src/db/connection/postgres.ts'
import { lockBatch } from '../../../src/db/state/facts.ts'
import { createBatch } from '../../../src/engine/orders/create.ts'
import { publishRunbook } from '../../../src/engine/orders/publish.ts'
import type { Engine } from '../../../src/engine/transactions/engine.ts'
import { finish } from '../../../src/engine/transactions/finish.ts'
import { begin, changeBatch } from '../../../src/engine/transactions/locking.ts'
import { startDuePhases, upgradeVersions } from '../../../src/orchestrator/timers.ts'
import { openTestPostgres, type TestDatabase } from '../../kit/databases.ts'
import { brokenInvariants } from '../../kit/invariants.ts'
import { rowsOf, runbook, step, versionOf } from '../../stories/looking.ts'
import { openWorld, people, type World } from '../../stories/world.ts'

const ROUNDS = 10
const LOOKS_MAX = 5_000

let database: TestDatabase
let second: Db
let world: World
let other: Engine
let made = 0

before(async () => {
  database = await openTestPostgres()
  second = await openPostgres({ url: database.url! })
  world = await openWorld({ database })
  world.answer = () => 'silent'
  other = { ...world.engine, db: second }
})

after(async () => {
  await second.close()
  await world.close()
})

type Act = (engine: Engine) => Promise<unknown>
const text = (name: string, word: string) =>
  runbook(name, {
    'prepare T-1h': [step('create').replace('function: create', `function: ${word}`)],
  })

const publish =
  (name: string, word: string): Act =>
  (engine) =>
    publishRunbook(engine, { yaml: text(name, word), publishedBy: 'ada' })

/** A new runbook with a batch whose first phase is due in `inSec` seconds. */
async function fresh(inSec: number): Promise<{ name: string; batchId: number }> {
  const name = `wave-${++made}`
  await world.publish(text(name, 'one'))
  const batchId = await world.batch(name, people(2), { startsInMin: 60 + inSec / 60 })
  return { name, batchId }
}

/** An engine whose first transaction stops just before it commits. */
function stopping(engine: Engine) {
  const reached = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  let isFirst = true
  const db: Db = {
    ...engine.db,
    transaction: (work) =>
      engine.db.transaction(async (tx) => {
        const stops = isFirst
        isFirst = false
        const result = await work(tx)
        if (stops) {
          reached.resolve()
          await released.promise
        }
        return result
      }),
  }
  return { engine: { ...engine, db }, reached: reached.promise, release: released.resolve }
}

/** Until a connection waits for another's lock, or the act is done. */
async function untilBlocked(isDone: () => boolean): Promise<void> {
  for (let look = 0; look < LOOKS_MAX && !isDone(); look++) {
    const rows = await world.db.query(
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    )
    if (rows.length > 0) return
  }
}

async function overlap(first: Act, then: Act): Promise<void> {
  const { engine, reached, release } = stopping(world.engine)
  const one = first(engine)
  await Promise.race([reached, one])
  let isDone = false
  const two = then(other).finally(() => {
    isDone = true
  })
  await untilBlocked(() => isDone)
  release()
  await Promise.all([one, two])
}

const WAYS: readonly ((a: Act, b: Act) => Promise<unknown>)[] = [
  overlap,
  (a, b) => overlap(b, a),
  ...Array.from(
    { length: ROUNDS },
    () => (a: Act, b: Act) => Promise.all([a(world.engine), b(other)]),
  ),
]

const healthy = async () =>
  assert.deepEqual(await brokenInvariants(world.db, world.clock.now()), [])

it('publish against a due phase: the phase starts once, in the old version or the new one', async () => {
  for (const way of WAYS) {
    const { name, batchId } = await fresh(0)
    await way(publish(name, 'two'), (engine) => startDuePhases(engine))
    await world.orchestrate()
    const rows = await rowsOf(world, batchId)
    const isOld = rows[0] === 'prepare 1 dispatched'
    assert.deepEqual(
      rows,
      isOld ? rows.slice(0, 1) : ['prepare 1 superseded', 'prepare 2 dispatched'],
    )
    assert.equal(await versionOf(world, batchId), 2)
    await healthy()
  }
})

it('two transactions after a publish: one upgrades the batch', async () => {
  for (const way of WAYS) {
    const { name, batchId } = await fresh(600)
    await publish(name, 'two')(world.engine)
    const batchTx: Act = (engine) => changeBatch(engine, batchId, 'operator', async () => {})
    await way((engine) => upgradeVersions(engine), batchTx)
    assert.deepEqual(await rowsOf(world, batchId), ['prepare 1 superseded', 'prepare 2 pending'])
    await healthy()
  }
})

it('a transaction that waited for the lock decides by the version published meanwhile', async () => {
  const { name, batchId } = await fresh(600)
  const locked = Promise.withResolvers<void>()
  const published = Promise.withResolvers<void>()
  const holder = world.db.transaction(async (tx) => {
    await lockBatch(tx, batchId)
    locked.resolve()
    await published.promise
    const order = { batchIds: [batchId], actor: 'holder', access: 'exclusive' } as const
    await finish(await begin(world.engine, tx, order))
  })
  await locked.promise
  // Its statement starts before the version exists, and ends when the batch is upgraded.
  const waiter = changeBatch(other, batchId, 'waiter', async ({ draft }) => {
    const { runbookVersion, activeVersion } = draft.batch
    return [runbookVersion, activeVersion, ...draft.phases.map(({ status }) => status)]
  })
  await untilBlocked(() => false)
  await publish(name, 'two')(world.engine)
  published.resolve()
  await holder
  assert.deepEqual(await waiter, [2, 2, 'superseded', 'pending'])
  assert.equal(await versionOf(world, batchId), 2)
  await healthy()
})

it('two publishers: two versions, one active, no failure', async () => {
  for (const way of WAYS) {
    const { name, batchId } = await fresh(600)
    await way(publish(name, 'two'), publish(name.toUpperCase(), 'three'))
    const rows = await world.db.query<{ version: number; active: boolean }>(
      'select version, is_active as active from runbooks where lower(name) = $1 order by version',
      [name],
    )
    assert.deepEqual(rows, [
      { version: 1, active: false },
      { version: 2, active: false },
      { version: 3, active: true },
    ])
    await world.orchestrate()
    assert.equal((await rowsOf(world, batchId)).at(-1), 'prepare 3 pending')
    await healthy()
  }
})

it('the same text twice at once becomes one version', async () => {
  for (const way of WAYS) {
    const { name } = await fresh(600)
    await way(publish(name, 'two'), publish(name, 'two'))
    const rows = await world.db.query('select from runbooks where lower(name) = $1', [name])
    assert.equal(rows.length, 2)
  }
})

it('a batch created during a publish starts in one version only', async () => {
  for (const way of WAYS) {
    const { name } = await fresh(600)
    const batches: number[] = []
    const make: Act = async (engine) => {
      const members = people(4).slice(2)
      const made = { runbookName: name, sourceTime: null, members, createdBy: 'ada' }
      batches.push((await createBatch(engine, made)).batchId)
    }
    await way(publish(name, 'two'), make)
    await upgradeVersions(world.engine)
    assert.equal((await rowsOf(world, batches[0]!)).at(-1), 'prepare 2 pending')
    await healthy()
  }
})

it('a crash in between leaves nothing half done, and the next transaction upgrades', async () => {
  const { name, batchId } = await fresh(600)
  await publish(name, 'two')(world.engine)
  const crash = changeBatch(world.engine, batchId, 'operator', async () => {
    throw new Error('the process dies')
  })
  await assert.rejects(crash, /dies/)
  assert.deepEqual(await rowsOf(world, batchId), ['prepare 1 pending'])
  assert.equal(await versionOf(world, batchId), 1)
  await upgradeVersions(world.engine)
  assert.deepEqual(await rowsOf(world, batchId), ['prepare 1 superseded', 'prepare 2 pending'])
  await healthy()
})
