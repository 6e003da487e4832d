// The contract that every transport keeps, checked by test/bus/contract.ts: topics, one subscription each (one per worker for
// jobs), at-least-once delivery in no promised order, under a lease that ends by itself. Only what Azure Service Bus can keep
// as well is promised; what one transport can do besides is an optional method. So nothing here is exactly-once: handlers
// recognise what they have already done.
import type { Body, MessageType } from '../domain/messages.ts'

/** What the program needs of a clock here; src/clock.ts has more. */
export interface TimeSource {
  now(): Date
}

export const TOPICS = ['orchestrator-events', 'worker-jobs', 'worker-results'] as const
export type Topic = (typeof TOPICS)[number]

/** A consumer's end of a topic. `worker-{workerId}` gets the messages whose WorkerId property is that worker. */
export interface Subscription {
  readonly topic: Topic
  readonly name: string
}

export const ORCHESTRATOR_EVENTS: Subscription = {
  topic: 'orchestrator-events',
  name: 'orchestrator',
}
export const WORKER_RESULTS: Subscription = { topic: 'worker-results', name: 'orchestrator' }
export const workerJobs = (workerId: string): Subscription => ({
  topic: 'worker-jobs',
  name: `worker-${workerId}`,
})

/** How long a message is a consumer's own before others may take it, unless the transport is told otherwise. */
export const LEASE_MS = 60_000
/** A message taken this often without being settled goes to the dead letters instead of an eleventh consumer. */
export const MAX_DELIVERIES = 10
/** The same message id on the same topic within this time is the same message. */
export const DUPLICATE_WINDOW_MS = 10 * 60_000
/** Counted from when the message becomes visible. A sender may ask for less, never for more. */
export const TIME_TO_LIVE_MAX_MS = 7 * 24 * 3_600_000
/** Body, id and properties together. */
export const MESSAGE_MAX_BYTES = 256 * 1_024
export const RECEIVE_MAX = 1_000

/** Reasons the bus itself gives; consumers add their own. The words are those of Service Bus. */
export const EXPIRED = 'TTLExpiredException'
export const DELIVERED_TOO_OFTEN = 'MaxDeliveryCountExceeded'

type SendOf<T extends MessageType> = {
  readonly topic: Topic
  /** 1 to 128 visible ASCII characters, the same whenever the same thing is said: see domain/messages.ts. */
  readonly messageId: string
  readonly type: T
  /** On worker-jobs: whom it is for. */
  readonly workerId?: string
  readonly body: Body<T>
  /** Nobody gets it before. */
  readonly visibleAt?: Date
  /** Nobody gets it from then on; it goes to the dead letters. */
  readonly expiresAt?: Date
}
export type OutgoingMessage = { [T in MessageType]: SendOf<T> }[MessageType]

export interface ReceivedMessage {
  readonly topic: Topic
  readonly messageId: string
  /** The MessageType property. Foreign senders may leave it out. */
  readonly type: string | null
  readonly properties: Readonly<Record<string, string>>
  /** As it came; domain/messages.ts understands it. */
  readonly body: string
  /** 1 the first time. */
  readonly deliveryCount: number
  readonly enqueuedAt: Date
  readonly lease: MessageLease
}

/** Proof that the message is ours for now. Opaque: only the transport that gave it looks inside. */
export interface MessageLease {
  readonly sequence: string
  readonly token: string
}

export interface Bus {
  /** How long a received message is its consumer's own. Renewing starts it anew: do so well before. */
  readonly leaseMs: number
  /** Durable when it returns. Messages whose id was sent in the last ten minutes are dropped in silence. */
  publish(messages: readonly OutgoingMessage[]): Promise<void>
  /** Up to `limit` messages, leased for `leaseMs`; none when there are none right now. */
  receive(subscription: Subscription, limit: number): Promise<ReceivedMessage[]>
  /** Done with these. Returns those whose lease was lost: they come again, to this consumer or another. */
  ack(messages: readonly ReceivedMessage[]): Promise<ReceivedMessage[]>
  /** Gives them back, each counted as one delivery. With `delayMs` they come again no sooner, where the transport can. */
  abandon(messages: readonly ReceivedMessage[], delayMs?: number): Promise<void>
  /** A fresh lease. Returns those whose lease was lost. */
  renew(messages: readonly ReceivedMessage[]): Promise<ReceivedMessage[]>
  /** Puts them aside for a person. Those whose lease was lost are left to their new holder. */
  deadLetter(
    messages: readonly ReceivedMessage[],
    reason: string,
    description: string,
  ): Promise<void>
  readonly deadLetters: DeadLetters
  /** Calls `heard` when messages may have come. Hints get lost and come for nothing: only ever look sooner because of one. */
  listen?(subscription: Subscription, heard: () => void): Promise<() => Promise<void>>
  /** Takes back what no consumer holds, and returns the ids it got. Their ids stay spent for the ten minutes. */
  withdraw?(topic: 'worker-jobs', messageIds: readonly string[]): Promise<string[]>
  close(): Promise<void>
}

export interface DeadLetterSummary {
  readonly id: string
  readonly subscription: Subscription
  readonly messageId: string
  readonly type: string | null
  readonly deliveryCount: number
  readonly enqueuedAt: Date
  readonly reason: string
  readonly description: string
  readonly deadLetteredAt: Date
}

export interface DeadLetter extends DeadLetterSummary {
  readonly properties: Readonly<Record<string, string>>
  readonly body: string
}

export interface DeadLetterPage {
  readonly items: DeadLetterSummary[]
  /** Give it as `after` to get the next page; null on the last. */
  readonly next: string | null
}

/** What waits for a person, oldest first. Replayed and discarded ones are no longer listed. */
export interface DeadLetters {
  list(subscription: Subscription, limit: number, after?: string): Promise<DeadLetterPage>
  show(id: string): Promise<DeadLetter>
  /** Sends it once more, to its own subscription only, as `{messageId}-replay-{n}` and with a new time to live. Returns that id. */
  replay(id: string, by: string): Promise<string>
  discard(id: string, by: string): Promise<void>
}
