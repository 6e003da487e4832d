// What a worker may do that reaches the system through the API only: take its own jobs, keep, end or give back those it has, and send results
// in its own name. Nothing is kept in memory: leases lie in the database, so that any API continues what another began.
import type { MessageLease, ReceivedMessage } from './bus.ts'

/** Messages of one call. */
export const GATEWAY_MAX = 100

/** What such a worker may send. */
export const SENT_BY_WORKERS = ['worker-result', 'worker-hello'] as const

export interface SentMessage {
  readonly messageId: string
  readonly type: (typeof SENT_BY_WORKERS)[number]
  /** JSON, as it is stored. */
  readonly body: string
}

export type JobEnd =
  | { readonly as: 'done' }
  /** Counted as a delivery, or as if it had not come. */
  | { readonly as: 'given-back'; readonly isCounted: boolean; readonly delayMs: number }
  | { readonly as: 'dead'; readonly reason: string; readonly description: string }

/** Of a clock. */
export type ClockWait = (ms: number, signal: AbortSignal) => Promise<void>

export interface WorkerGateway {
  readonly leaseMs: number
  /** Up to `limit` jobs of this worker, leased for `leaseMs`. */
  take(workerId: string, limit: number): Promise<ReceivedMessage[]>
  /** Resolves with true when a job may be there, and with false when `signal` aborts. Has no connection while it waits, and takes nothing. */
  awaitJob(workerId: string, signal: AbortSignal, wait: ClockWait): Promise<boolean>
  /** Starts new leases. Returns the places of those that are lost. Throws LEASE_OF_ANOTHER. */
  renew(workerId: string, leases: readonly MessageLease[]): Promise<number[]>
  /** Returns the places of the leases that were lost before. Throws LEASE_OF_ANOTHER. */
  end(workerId: string, leases: readonly MessageLease[], end: JobEnd): Promise<number[]>
  /** Stores the messages in the worker's name, those that came before once. Throws what a sender gets for a message that no bus carries. */
  send(workerId: string, messages: readonly SentMessage[]): Promise<void>
}

/** How a worker reaches it. */
export interface ApiAccess {
  /** The origin of the API. https, or http on this machine. */
  readonly apiUrl: string
  /** What to send as bearer token. `isRefused`: the last one was refused, read it again. */
  token(isRefused: boolean): Promise<string>
}
