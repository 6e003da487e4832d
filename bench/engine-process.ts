// One process of the engine's benchmark: `node bench/engine-process.ts orchestrator|worker <database url>`. The worker does
// nothing: it takes jobs in chunks, answers each with one output, and acknowledges.
import { randomUUID } from 'node:crypto'
import { WORKER_RESULTS, workerJobs } from '../src/bus/bus.ts'
import { makeConsumer } from '../src/bus/consumer.ts'
import { openPostgresBus } from '../src/bus/postgres/postgres-bus.ts'
import { realClock } from '../src/clock.ts'
import type { Db } from '../src/db/db.ts'
import { openPostgres } from '../src/db/postgres.ts'
import { messageIdOf, parseJobId, readMessage } from '../src/domain/messages.ts'
import type { Engine } from '../src/engine/engine.ts'
import { RunbookCache } from '../src/engine/runbook-cache.ts'
import { WorkerPace } from '../src/engine/worker-pace.ts'
import { makeOrchestrator } from '../src/orchestrator/orchestrator.ts'
import type { Service } from '../src/service.ts'
import { RESULT_BYTES_MAX } from '../src/worker/fit-result.ts'

export const WORKER_ID = 'bench'
export const POLL = 'Poll'
export const NEVER = 'Never'
export const BIG = 'Big'
const CHUNK = 500
/** Enough for both sides to have a chunk each; the default of 1,000 would leave one of them waiting. */
const MAX_OUTSTANDING = 2_000
const clock = realClock()

const fail = (error: unknown) => {
  console.error(error)
  process.exitCode = 1
}

export const benchDoor = (db: Db): Engine => ({
  db,
  clock,
  runbooks: new RunbookCache(),
  random: Math.random,
  pace: new WorkerPace(MAX_OUTSTANDING),
  queueLimitSec: 21_600,
  seen: { event: null },
  bus: openPostgresBus({ db, clock, newToken: randomUUID }),
})

export function benchOrchestrator(db: Db): Service {
  const bus = openPostgresBus({ db, clock, newToken: randomUUID })
  return makeOrchestrator({ engine: benchDoor(db), bus, clock, chunk: CHUNK, onError: fail })
}

/** The first look of `Poll` is not complete, the second is; `Never` never is. `Big` gives the largest result that a worker sends. */
function resultOf(functionName: string, jobId: string) {
  if (functionName === BIG) return { value: 'x'.repeat(RESULT_BYTES_MAX - 100) }
  if (functionName === NEVER)
    return { complete: false, data: { Status: 'Syncing', Percent: parseJobId(jobId)!.poll } }
  if (functionName === POLL && parseJobId(jobId)!.poll === 0) return { complete: false }
  return { value: jobId }
}

export function benchWorker(db: Db): Service {
  const bus = openPostgresBus({ db, clock, newToken: randomUUID })
  return makeConsumer({
    name: 'bench worker',
    bus,
    subscription: workerJobs(WORKER_ID),
    clock,
    chunk: CHUNK,
    onError: fail,
    handle: async (messages) => {
      const timestamp = clock.now().toISOString()
      const results = messages.map(({ body }) => {
        const read = readMessage('worker-job', body)
        if (!read.ok) throw new Error(read.reason)
        const { jobId, batchId, functionName, correlationData } = read.message
        return {
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
            timestamp,
            correlationData: correlationData as never,
          },
        }
      })
      await bus.publish(results)
      return messages.map(() => 'ack' as const)
    },
  })
}

if (import.meta.main) {
  const [role, url] = process.argv.slice(2)
  const db = await openPostgres({ url: url!, poolSize: 10 })
  const service = role === 'worker' ? benchWorker(db) : benchOrchestrator(db)
  service.start()
  process.send?.({ ready: true })
  process.on('message', () => process.send?.({ rssMb: process.memoryUsage().rss / 2 ** 20 }))
  process.on('SIGTERM', async () => {
    await service.stop()
    await db.close()
    process.disconnect()
  })
}
