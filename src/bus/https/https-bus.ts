// The transport `https`: a worker that has neither database nor Service Bus takes its jobs and sends its results through the API. It is one
// worker's side of the bus; everybody else reaches the bus itself. Leases lie in the database behind the API, so that any API continues
// what another began.

import { MatoolkitError } from '../../base/errors/errors.ts'
import type { Clock } from '../../base/run/clock.ts'
import {
  addressOf,
  type Bus,
  LEASE_MS,
  type MessageLease,
  NO_CAPABILITIES,
  NO_STORED_JOBS,
  type OutgoingMessage,
  type ReceivedMessage,
  type Subscription,
  workerJobs,
} from '../bus.ts'
import { rowOf } from '../outbox.ts'
import { type ApiAccess, GATEWAY_MAX, type JobEnd, type SentMessage } from '../worker-gateway.ts'
import { ApiCalls } from './api-calls.ts'
import { JobWatch } from './job-watch.ts'

export interface HttpsBusOptions {
  readonly workerId: string
  readonly access: ApiAccess
  readonly clock: Clock
  /** As the API has it; `LEASE_MS` unless a test says otherwise. */
  readonly leaseMs?: number
}

/** Of one request: the API takes 2 MB, and JSON in JSON may double. */
const SEND_MAX_CHARS = 1_000_000
/** An ended stop must not wait for the answer of a dead network. */
const CLOSE_MS = 5_000

/** A job as the API gives it. */
interface TakenJob {
  readonly messageId: string
  readonly type: string | null
  readonly body: string
  readonly deliveryCount: number
  readonly enqueuedAt: string
  readonly lease: MessageLease
}

export function openHttpsBus(options: HttpsBusOptions): Bus {
  return new HttpsTransport(options).bus()
}

class HttpsTransport {
  readonly #options: HttpsBusOptions
  readonly #calls: ApiCalls
  readonly #watch: JobWatch
  readonly #closing = new AbortController()

  constructor(options: HttpsBusOptions) {
    this.#options = options
    this.#calls = new ApiCalls(options.access)
    this.#watch = new JobWatch((body, limits) =>
      this.#calls.post('/api/worker/jobs/wait', body, limits),
    )
  }

  bus(): Bus {
    const { leaseMs = LEASE_MS } = this.#options
    return {
      leaseMs,
      publish: (messages) => this.#publish(messages),
      receive: (subscription, limit) => this.#receive(subscription, limit),
      ack: (messages) => this.#end(messages, { as: 'done' }),
      abandon: async (messages, delayMs = 0) =>
        void (await this.#end(messages, { as: 'given-back', isCounted: true, delayMs })),
      release: async (messages, delayMs) =>
        void (await this.#end(messages, { as: 'given-back', isCounted: false, delayMs })),
      renew: (messages) => this.#inParts(messages, '/api/worker/jobs/renew', {}),
      deadLetter: async (messages, reason, description) =>
        void (await this.#end(messages, { as: 'dead', reason, description })),
      deadLetters: NOT_HERE,
      locate: async (_topic, ids) => ids.map(() => ({ is: 'unknown' })),
      isReady: async () => {
        await this.#calls.get('/api/worker', { signal: this.#closing.signal })
        return true
      },
      depth: async () => ({ messages: [], deadLetters: [] }),
      sweep: async () => {},
      listen: async (subscription, heard) => {
        this.#requireOwn(subscription)
        return this.#watch.listen(heard)
      },
      // Its jobs are stored at the other end.
      storedJobs: NO_STORED_JOBS,
      capabilities: { ...NO_CAPABILITIES, takesBackDeliveries: true },
      close: async () => {
        this.#watch.close()
        this.#closing.abort()
      },
    }
  }

  #requireOwn(subscription: Subscription): void {
    const { workerId } = this.#options
    if (addressOf(subscription) === addressOf(workerJobs(workerId))) return
    const reason = `worker ${workerId} cannot reach ${addressOf(subscription)} through the API`
    throw new MatoolkitError('INTERNAL', { reason })
  }

  async #receive(subscription: Subscription, limit: number): Promise<ReceivedMessage[]> {
    this.#requireOwn(subscription)
    if (limit <= 0 || this.#watch.isWatching()) return []
    const { workerId } = this.#options
    const body = { workerId, limit: Math.min(limit, GATEWAY_MAX) }
    const limits = { signal: this.#closing.signal }
    const { jobs } = await this.#calls.post<{ jobs: TakenJob[] }>(
      '/api/worker/jobs/take',
      body,
      limits,
    )
    if (jobs.length === 0) this.#watch.begin()
    return jobs.map((job) => receivedFrom(job, workerId))
  }

  async #publish(messages: readonly OutgoingMessage[]): Promise<void> {
    const now = this.#options.clock.now()
    // The same refusals as at any other sender, before anything leaves.
    const rows = messages.map((message) => rowOf(message, now))
    const sent = rows.map(({ message_id, message_type, body }) => ({
      messageId: message_id,
      body,
      type: message_type as SentMessage['type'],
    }))
    for (const part of partsOf(sent))
      await this.#calls.post('/api/worker/results', { messages: part }, this.#limits())
  }

  #end(messages: readonly ReceivedMessage[], end: JobEnd): Promise<ReceivedMessage[]> {
    return this.#inParts(messages, '/api/worker/jobs/end', { end })
  }

  /** Returns the messages whose lease was lost. */
  async #inParts(
    messages: readonly ReceivedMessage[],
    path: string,
    more: object,
  ): Promise<ReceivedMessage[]> {
    const gone: ReceivedMessage[] = []
    for (let start = 0; start < messages.length; start += GATEWAY_MAX) {
      const part = messages.slice(start, start + GATEWAY_MAX)
      const body = { leases: part.map(({ lease }) => lease), ...more }
      const { lost } = await this.#calls.post<{ lost: number[] }>(path, body, this.#limits())
      gone.push(...lost.map((place) => part[place]!))
    }
    return gone
  }

  /** What ends a job goes out even while the bus closes. */
  #limits() {
    const isClosing = this.#closing.signal.aborted
    return { signal: new AbortController().signal, ...(isClosing && { timeoutMs: CLOSE_MS }) }
  }
}

const receivedFrom = (
  { messageId, type, body, deliveryCount, enqueuedAt, lease }: TakenJob,
  workerId: string,
): ReceivedMessage => ({
  topic: 'worker-jobs',
  messageId,
  type,
  body,
  deliveryCount,
  lease,
  properties: { ...(type !== null && { MessageType: type }), WorkerId: workerId },
  enqueuedAt: new Date(enqueuedAt),
})

function* partsOf(messages: readonly SentMessage[]): Iterable<readonly SentMessage[]> {
  let part: SentMessage[] = []
  let chars = 0
  for (const message of messages) {
    const more = JSON.stringify(message).length
    if (part.length >= GATEWAY_MAX || (part.length > 0 && chars + more > SEND_MAX_CHARS)) {
      yield part
      part = []
      chars = 0
    }
    part.push(message)
    chars += more
  }
  if (part.length > 0) yield part
}

const refuse = async (): Promise<never> => {
  throw new MatoolkitError('INTERNAL', { reason: 'a worker cannot read dead letters' })
}
const NOT_HERE: Bus['deadLetters'] = {
  list: refuse,
  show: refuse,
  replay: refuse,
  replayExhausted: refuse,
  discard: refuse,
  listWorkers: refuse,
  listUnnoticedJobs: refuse,
  markNoticed: refuse,
}
