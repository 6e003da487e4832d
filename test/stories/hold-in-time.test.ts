// A hold and a cancel take effect within two seconds on every transport: nothing starts later, although many more jobs are out, and jobs
// that did not start cost no retry. Real time, because two sides of a network are part of the promise.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import { z } from 'zod'
import { realClock } from '../../src/base/run/clock.ts'
import type { Service } from '../../src/base/run/service.ts'
import type { Bus } from '../../src/bus/bus.ts'
import { openPostgresBus } from '../../src/bus/postgres/postgres-bus.ts'
import { makeRelayLoop } from '../../src/bus/relay-loop.ts'
import { openServiceBus } from '../../src/bus/servicebus/servicebus-bus.ts'
import type { Db } from '../../src/db/connection/db.ts'
import { cancelBatch, holdBatch, resumeBatch } from '../../src/engine/orders/batch-actions.ts'
import { createBatch } from '../../src/engine/orders/create.ts'
import { publishRunbook } from '../../src/engine/orders/publish.ts'
import type { Engine } from '../../src/engine/transactions/engine.ts'
import { FunctionBook } from '../../src/engine/transactions/function-book.ts'
import { RunbookCache } from '../../src/engine/transactions/runbook-cache.ts'
import { WorkerPace } from '../../src/engine/transactions/worker-pace.ts'
import { makeOrchestrator } from '../../src/orchestrator/orchestrator.ts'
import { defineFunction, TOUCHES_NOTHING } from '../../src/worker/functions/catalogue.ts'
import { Worker } from '../../src/worker/jobs/worker.ts'
import { openTestPglite } from '../kit/databases.ts'
import { openNamespace } from '../kit/namespace.ts'
import { order, runbook, step } from './looking.ts'
import { people } from './world.ts'

const LIMIT_MS = 2_000
const MEMBERS = 64
/** With four slots all jobs take four seconds. */
const JOB_MS = 250
const SLOTS = 4

interface Opened {
  /** Of the process with the database, and of the worker's. */
  readonly buses: readonly [Bus, Bus]
  close(): Promise<void>
}

const clock = realClock()
const TRANSPORTS: Readonly<Record<string, (db: Db) => Promise<Opened>>> = {
  postgres: async (db) => {
    const bus = openPostgresBus({ db, clock, newToken: randomUUID })
    return { buses: [bus, bus], close: bus.close }
  },
  servicebus: async (db) => {
    const namespace = await openNamespace(clock, ['w1'])
    const open = (own: Db | null) =>
      openServiceBus({ db: own, clock, newToken: randomUUID, access: namespace })
    const [bus, workers] = [await open(db), await open(null)]
    const close = async () => {
      await Promise.all([bus.close(), workers.close()])
      await namespace.broker.close()
    }
    return { buses: [bus, workers], close }
  },
}

interface System {
  readonly db: Db
  readonly engine: Engine
  readonly batchId: number
  /** Job ids and times, as functions begin. */
  readonly starts: { readonly jobId: string; readonly at: Date }[]
  until(isSo: () => boolean | Promise<boolean>): Promise<void>
}

async function running(transport: string, test: (system: System) => Promise<void>): Promise<void> {
  const database = await openTestPglite()
  const { db } = database
  const { buses, close } = await TRANSPORTS[transport]!(db)
  const [bus, workerBus] = buses
  const engine: Engine = {
    db,
    clock,
    bus,
    runbooks: new RunbookCache(),
    functions: new FunctionBook(),
    random: () => 0.5,
    queueLimitSec: 21_600,
    // Everything is sent at once: the job limit would hide what is not stopped.
    pace: new WorkerPace(1_000, { aheadMs: 600_000 }),
    seen: { event: null },
  }
  const starts: System['starts'] = []
  const create = defineFunction({
    ...TOUCHES_NOTHING,
    name: 'create',
    description: 'Takes a moment.',
    parameters: z.looseObject({}),
    run: async ({ jobId }) => {
      starts.push({ jobId, at: clock.now() })
      await clock.wait(JOB_MS)
      return true
    },
  })
  const errors: unknown[] = []
  const onError = (error: unknown) => void errors.push(error)
  const { relay } = bus.capabilities
  const services: Service[] = [
    ...(relay ? [makeRelayLoop({ relay, clock, onError })] : []),
    makeOrchestrator({ engine, bus, clock, chunk: 100, onError }),
    new Worker({
      workerId: 'w1',
      version: '1',
      bus: workerBus,
      clock,
      functions: [create],
      onError,
      maxParallelism: SLOTS,
    }),
  ]
  for (const service of services) service.start()
  try {
    const yaml = runbook('wave', { 'prepare T-0': [step('create')] })
    await publishRunbook(engine, { yaml, publishedBy: 'author' })
    const given = { runbookName: 'wave', sourceTime: clock.now(), createdBy: 'tester' }
    const { batchId } = await createBatch(engine, { ...given, members: people(MEMBERS) })
    const until: System['until'] = async (isSo) => {
      while (!(await isSo())) await clock.wait(20)
    }
    await test({ db, engine, batchId, starts, until })
    assert.deepEqual(errors, [])
  } finally {
    for (const service of services.toReversed()) await service.stop()
    await close()
    await database.close()
  }
}

const countOf = async (db: Db, sql: string): Promise<number> =>
  (await db.query<{ n: number }>(`select count(*)::int as n from ${sql}`))[0]!.n

for (const transport of Object.keys(TRANSPORTS)) {
  describe(`hold and cancel on ${transport}`, () => {
    const lastStart = ({ starts }: System) => +starts.at(-1)!.at
    const jobsOut = ({ db }: System) => countOf(db, `waits where kind = 'job'`)

    it('start nothing two seconds after a hold, use no retry, and send again after it ends', () =>
      running(transport, async (system) => {
        const { db, engine, batchId, starts, until } = system
        await until(() => starts.length >= 2 * SLOTS)
        const heldAt = +clock.now()
        await holdBatch(engine, order(batchId))
        await until(async () => (await jobsOut(system)) === 0)
        assert.ok(lastStart(system) - heldAt <= LIMIT_MS, `${lastStart(system) - heldAt} ms`)
        const begun = starts.length
        assert.ok(begun < MEMBERS, 'most did not start')
        const ended = await countOf(db, `step_executions where status = 'succeeded'`)
        assert.equal(ended, begun, 'what started has ended')
        assert.equal(await countOf(db, `waits where kind = 'slot'`), MEMBERS - begun)
        assert.equal(await countOf(db, 'step_executions where retry_count > 0'), 0)
        await resumeBatch(engine, order(batchId))
        await until(() => starts.length >= begun + SLOTS)
        assert.ok(starts.slice(begun).every(({ jobId }) => jobId.endsWith('-retry-1')))
        await cancelBatch(engine, order(batchId))
      }))

    it('start nothing two seconds after a cancel', () =>
      running(transport, async (system) => {
        const { db, engine, batchId, starts, until } = system
        await until(() => starts.length >= SLOTS)
        const cancelledAt = +clock.now()
        await cancelBatch(engine, order(batchId))
        await until(async () => (await jobsOut(system)) === 0)
        assert.ok(lastStart(system) - cancelledAt <= LIMIT_MS)
        assert.ok(starts.length < MEMBERS, 'most did not start')
        assert.equal(await countOf(db, `batches where status = 'cancelled'`), 1)
      }))
  })
}
