// A wave of jobs for a real worker in a sandbox tenant. The bus is a list that gives the worker no more than its job limit: slots, and the
// pace that its results show, as the engine computes it. Time is virtual and passes while the sandbox answers.
import { randomUUID } from 'node:crypto'
import type { RequestMade } from '../../../sandbox/journal.ts'
import { type VirtualClock, virtualClock } from '../../../src/base/run/clock.ts'
import {
  type Bus,
  LEASE_MS,
  NO_CAPABILITIES,
  type OutgoingMessage,
  type ReceivedMessage,
} from '../../../src/bus/bus.ts'
import type { AttemptRecord } from '../../../src/domain/decide/draft.ts'
import {
  jobLimitOf,
  jobsShownBy,
  meanAfter,
  type PaceFacts,
  paceAfter,
} from '../../../src/domain/decide/pace.ts'
import { STANDARD_FUNCTIONS } from '../../../src/m365/functions/standard.ts'
import type { JobResult } from '../../../src/worker/jobs/result-cache.ts'
import { Worker } from '../../../src/worker/jobs/worker.ts'
import { UNUSED } from '../../bus/under-test.ts'
import type { Params } from './cases.ts'
import { type Setting, START, type WithinOptions, withinOn } from './setting.ts'

const SLOTS = 4
const MAX_OUTSTANDING = 1_000
/** As `WorkerPace` has it. */
const AHEAD_MS = 150
/** Time that passes while the sandbox takes one turn: little, so that its answers seem quick. */
const TURN_MS = 10
/** As after a phase of ordinary jobs. */
const ORDINARY_JOB_MS = 1_500

export interface Wave {
  readonly setting: Setting<VirtualClock>
  /** Runs one function for each of these, and returns their results in order and the requests that it took. */
  run(
    functionName: string,
    all: readonly Params[],
    options?: { isPolled?: boolean },
  ): Promise<{ readonly results: readonly JobResult[]; readonly requests: readonly RequestMade[] }>
}

export const withinWave = <Told>(
  options: WithinOptions,
  tell: (wave: Wave) => Promise<Told>,
): Promise<Told> =>
  withinOn(virtualClock(START), options, (setting) =>
    tell({
      setting,
      run: async (functionName, all, { isPolled = false } = {}) => {
        const { requests } = setting.sandbox.journal
        const before = requests.at(-1)?.number ?? 0
        const jobs = all.map((parameters) => ({ jobId: randomUUID(), functionName, parameters }))
        const results = await runOnWorker(
          setting,
          jobs.map((job) => messageOf({ ...job, isPolled })),
        )
        return {
          results: jobs.map(({ jobId }) => results.get(jobId)!),
          requests: requests.filter(({ number }) => number > before),
        }
      },
    }),
  )

const messageOf = (job: { readonly jobId: string } & Record<string, unknown>): ReceivedMessage => ({
  topic: 'worker-jobs',
  messageId: job.jobId,
  type: 'worker-job',
  properties: {},
  body: JSON.stringify({ ...job, batchId: 1, workerId: 'w', timeoutSec: 36_000 }),
  deliveryCount: 1,
  enqueuedAt: START,
  lease: { sequence: job.jobId, token: 't' },
})

async function runOnWorker(
  { tenant, clock }: Setting<VirtualClock>,
  jobs: readonly ReceivedMessage[],
): Promise<ReadonlyMap<string, JobResult>> {
  const results = new Map<string, JobResult>()
  const { bus } = windowedBus(jobs, results, clock)
  const errors: unknown[] = []
  const worker = new Worker({
    workerId: 'w',
    version: '1',
    bus,
    clock,
    tenant,
    maxParallelism: SLOTS,
    functions: STANDARD_FUNCTIONS,
    onError: (error) => errors.push(error),
  })
  worker.start()
  while (results.size < jobs.length && errors.length === 0) {
    await clock.advance(TURN_MS)
    await new Promise(setImmediate)
  }
  await worker.stop()
  if (errors.length > 0) throw errors[0]
  return results
}

function windowedBus(
  jobs: readonly ReceivedMessage[],
  results: Map<string, JobResult>,
  clock: VirtualClock,
) {
  const unsent = [...jobs]
  const queue: ReceivedMessage[] = []
  let facts: PaceFacts = { slots: SLOTS, jobMs: ORDINARY_JOB_MS, pace: null }
  let outstanding = 0
  const jobLimit = () => jobLimitOf(facts, MAX_OUTSTANDING, AHEAD_MS)
  const fill = () => {
    const sent = unsent.splice(0, Math.max(0, jobLimit() - outstanding))
    outstanding += sent.length
    queue.push(...sent)
  }
  const bus: Bus = {
    ...UNUSED,
    capabilities: { ...NO_CAPABILITIES, takesBackDeliveries: true },
    leaseMs: LEASE_MS,
    publish: async (messages: readonly OutgoingMessage[]) => {
      for (const message of messages) {
        if (message.type !== 'worker-result') continue
        results.set(message.body.jobId, message.body)
        const isFull = outstanding >= jobLimit()
        outstanding -= 1
        const shown = jobsShownBy(message.body as unknown as AttemptRecord)
        const seen = { jobs: shown, onWayMs: null, isFull, isJoint: shown > 1 }
        const pace = paceAfter(facts, seen, jobLimit(), +clock.now())
        const jobMs = meanAfter(facts.jobMs, shown, message.body.durationMs / shown)
        facts = { ...facts, jobMs, pace }
      }
    },
    receive: async (_subscription, limit) => {
      fill()
      return queue.splice(0, limit)
    },
    ack: async () => [],
    abandon: async () => {},
    release: async (messages) => void queue.unshift(...messages),
    renew: async () => [],
    deadLetter: async (messages, reason) => {
      throw new Error(`${reason} ${messages[0]?.messageId}`)
    },
    close: async () => {},
  }
  return { bus }
}
