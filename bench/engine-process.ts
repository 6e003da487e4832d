// One process of the engine's benchmarks: `node bench/engine-process.ts orchestrator|worker <database url> [connection string]`. The worker
// does nothing: it takes jobs in chunks, answers each with one output, and acknowledges. With a connection string of a Service Bus namespace
// messages go there, and a worker opens no database.
import { randomUUID } from 'node:crypto'
import { MACHINE, realClock } from '../src/base/run/clock.ts'
import type { Service } from '../src/base/run/service.ts'
import { type Bus, type ReceivedMessage, WORKER_RESULTS, workerJobs } from '../src/bus/bus.ts'
import { makeConsumer } from '../src/bus/consumer.ts'
import { openPostgresBus } from '../src/bus/postgres/postgres-bus.ts'
import { makeRelayLoop } from '../src/bus/relay-loop.ts'
import { openServiceBus } from '../src/bus/servicebus/servicebus-bus.ts'
import type { Db } from '../src/db/connection/db.ts'
import { openPostgres } from '../src/db/connection/postgres.ts'
import {
  type Message,
  messageIdOf,
  parseJobId,
  readMessage,
} from '../src/domain/messages/messages.ts'
import type { Engine } from '../src/engine/transactions/engine.ts'
import { FunctionBook } from '../src/engine/transactions/function-book.ts'
import { RunbookCache } from '../src/engine/transactions/runbook-cache.ts'
import { WorkerPace } from '../src/engine/transactions/worker-pace.ts'
import { makeOrchestrator } from '../src/orchestrator/orchestrator.ts'
import { RESULT_BYTES_MAX } from '../src/worker/jobs/fit-result.ts'

export const WORKER_ID = 'bench'
export const POLL = 'Poll'
export const NEVER = 'Never'
export const BIG = 'Big'
export const CHUNK = 500
/** Enough for both sides to have a chunk each; the default of 1,000 would leave one of them waiting. */
export const MAX_OUTSTANDING = 2_000
const clock = realClock()

const fail = (error: unknown) => {
  console.error(error)
  process.exitCode = 1
}

export const outbox = (db: Db): Bus => openPostgresBus({ db, clock, newToken: randomUUID })

export const benchDoor = (db: Db, bus = outbox(db)): Engine => ({
  db,
  clock,
  runbooks: new RunbookCache(),
  functions: new FunctionBook(),
  random: Math.random,
  pace: new WorkerPace(MAX_OUTSTANDING),
  queueLimitSec: 21_600,
  seen: { event: null },
  bus,
})

export function benchOrchestrator(db: Db, bus = outbox(db)): Service {
  const engine = benchDoor(db, bus)
  return makeOrchestrator({ engine, bus, clock, chunk: CHUNK, onError: fail })
}

/** The first look of `Poll` is not complete, the second is; `Never` never is. `Big` gives the largest result that a worker sends. */
function resultOf(functionName: string, jobId: string) {
  if (functionName === BIG) return { value: 'x'.repeat(RESULT_BYTES_MAX - 100) }
  if (functionName === NEVER)
    return { complete: false, data: { Status: 'Syncing', Percent: parseJobId(jobId)!.poll } }
  if (functionName === POLL && parseJobId(jobId)!.poll === 0) return { complete: false }
  return { value: jobId }
}

export interface BenchWorker extends Service {
  /** Milliseconds from a result to the same member's next job, for those that came to this process, since the last call. */
  takeLatencies(): number[]
}

export function benchWorker(bus: Bus): BenchWorker {
  const answeredAt = new Map<string, number>()
  let latencies: number[] = []
  const consumer = makeConsumer({
    name: 'bench worker',
    bus,
    subscription: workerJobs(WORKER_ID),
    clock,
    chunk: CHUNK,
    onError: fail,
    handle: async (messages) => {
      const jobs = messages.map(jobOf)
      const nowMs = MACHINE.steadyMs()
      for (const { parameters } of jobs) {
        const sinceMs = answeredAt.get(String(parameters.A))
        if (sinceMs !== undefined) latencies.push(nowMs - sinceMs)
      }
      await bus.publish(jobs.map(answerOf))
      const answeredMs = MACHINE.steadyMs()
      for (const { parameters } of jobs) answeredAt.set(String(parameters.A), answeredMs)
      return messages.map(() => 'ack' as const)
    },
  })
  return {
    ...consumer,
    takeLatencies: () => {
      const taken = latencies
      latencies = []
      answeredAt.clear()
      return taken
    },
  }
}

function jobOf({ body }: ReceivedMessage): Message<'worker-job'> {
  const read = readMessage('worker-job', body)
  if (!read.ok) throw new Error(read.reason)
  return read.message
}

const answerOf = ({ jobId, batchId, functionName, correlationData }: Message<'worker-job'>) => ({
  topic: WORKER_RESULTS.topic,
  messageId: messageIdOf.workerResult(jobId),
  type: 'worker-result' as const,
  body: {
    jobId,
    batchId,
    workerId: WORKER_ID,
    functionName,
    status: 'Success' as const,
    resultType: 'Object',
    result: resultOf(functionName, jobId),
    error: null,
    durationMs: 1,
    timestamp: clock.now().toISOString(),
    correlationData: correlationData as never,
  },
})

/** Of one of the processes: its services, and how to close what they use. */
async function openRole(role: string, url: string, connectionString: string | undefined) {
  const needsDb = role !== 'worker' || connectionString === undefined
  const db = needsDb ? await openPostgres({ url, poolSize: 10 }) : null
  const bus =
    connectionString === undefined
      ? outbox(db!)
      : await openServiceBus({ db, clock, newToken: randomUUID, access: { connectionString } })
  const worker = role === 'worker' ? benchWorker(bus) : null
  const { relay } = bus.capabilities
  const relayLoop = worker || !relay ? [] : [makeRelayLoop({ relay, clock, onError: fail })]
  const services = [...relayLoop, worker ?? benchOrchestrator(db!, bus)]
  const close = async () => {
    for (const service of services) await service.stop()
    await bus.close()
    await db?.close()
  }
  return { services, worker, close }
}

if (import.meta.main) {
  const [role, url, connectionString] = process.argv.slice(2)
  const { services, worker, close } = await openRole(role!, url!, connectionString)
  for (const service of services) service.start()
  process.send?.({ ready: true })
  process.on('message', () =>
    process.send?.({
      rssMb: process.memoryUsage().rss / 2 ** 20,
      latencies: worker?.takeLatencies() ?? [],
    }),
  )
  process.on('SIGTERM', async () => {
    await close()
    if (process.connected) process.disconnect()
  })
}
