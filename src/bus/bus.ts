// The contract of a transport, checked by test/bus/contract.ts: at-least-once delivery in no promised order, under a lease that
// ends on its own. It promises only what Azure Service Bus can keep too; anything more is one of its `capabilities`. Nothing here is
// exactly-once, so handlers recognise work they have already done.
import type { Db, Tx } from '../db/connection/db.ts'
import type { Body, MessageType } from '../domain/messages/messages.ts'

/** The part of a clock that a transport needs; src/base/run/clock.ts has more. */
export interface TimeSource {
  now(): Date
  comingJumpMs?(): number
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

/** Every process of the worker reads all of it; nobody takes anything away. */
export const workerControl = (workerId: string): Subscription => ({
  topic: 'worker-jobs',
  name: `control-${workerId}`,
})

export const addressOf = ({ topic, name }: Subscription): string => `${topic}/${name}`

/** How long a received message is leased, unless the transport is opened with another lease. */
export const LEASE_MS = 60_000
/** A message delivered this often without an ack goes to the dead letters instead of an eleventh delivery. */
export const MAX_DELIVERIES = 10
/** Within this time the same message id on the same topic is the same message. */
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
  /** 1 to 128 visible ASCII characters, deterministic: see domain/messages.ts. */
  readonly messageId: string
  readonly type: T
  /** On worker-jobs: the worker that gets it. */
  readonly workerId?: string
  readonly body: Body<T>
  /** Not delivered before this time. */
  readonly visibleAt?: Date
  /** From this time on it is not delivered; it goes to the dead letters. */
  readonly expiresAt?: Date
}
export type OutgoingMessage = { [T in MessageType]: SendOf<T> }[MessageType]

export interface ReceivedMessage {
  readonly topic: Topic
  readonly messageId: string
  /** The MessageType property. Foreign senders may leave it out. */
  readonly type: string | null
  readonly properties: Readonly<Record<string, string>>
  /** Unparsed; `readMessage` in domain/messages.ts reads it. */
  readonly body: string
  /** 1 at the first delivery. */
  readonly deliveryCount: number
  readonly enqueuedAt: Date
  readonly lease: MessageLease
}

/** Proof of the lease. Opaque: only the transport that issued it reads it. */
export interface MessageLease {
  readonly sequence: string
  readonly token: string
}

/** Where a message is. */
export type MessagePlace =
  /** Nobody has it: it was not received yet, or given back. It may not be visible yet. */
  | { readonly is: 'queued' }
  /** A consumer has it, and its lease lasts. */
  | { readonly is: 'leased' }
  /** A consumer had it and let its lease lapse. The next receive takes it. */
  | { readonly is: 'lapsed'; readonly renewedAt: Date }
  /** Among the dead letters and not marked as noticed. */
  | { readonly is: 'dead' }
  /** Acked, withdrawn, noticed as a dead letter, or never sent. */
  | { readonly is: 'gone' }
  /** The transport cannot tell. */
  | { readonly is: 'unknown' }

/** What every transport is opened with. `db` is the state's database: the outbox that transports take from lies in it. */
export interface TransportOptions {
  readonly db: Db
  readonly clock: TimeSource
  /** A new UUID for every receive. Injected, so that a simulation replays. */
  readonly newToken: () => string
  /** `LEASE_MS` unless given; tests of takeovers cannot wait that long. */
  readonly leaseMs?: number
}

export interface Bus {
  /** How long a received message is leased. `renew` starts a new lease: call it well before the old one ends. */
  readonly leaseMs: number
  /** Durable when it returns. Messages whose id was sent within `DUPLICATE_WINDOW_MS` are dropped silently. */
  publish(messages: readonly OutgoingMessage[]): Promise<void>
  /**
   * Up to `limit` messages, leased for `leaseMs`; empty when none is visible. With a limit of 0 a worker only notes what it must find
   * again later; where jobs are stored, a receive fails once the database is an older copy.
   */
  receive(subscription: Subscription, limit: number): Promise<ReceivedMessage[]>
  /** Removes handled messages. Returns those whose lease was lost: they are delivered again, here or elsewhere. */
  ack(messages: readonly ReceivedMessage[]): Promise<ReceivedMessage[]>
  /** Returns messages to the queue; each counts as one delivery. `delayMs` postpones them where the transport can. */
  abandon(messages: readonly ReceivedMessage[], delayMs?: number): Promise<void>
  /**
   * Returns messages as if this delivery had not taken place, also after their lease has lapsed; another consumer that has one keeps
   * it. Without `takesBackDeliveries` it is `abandon`.
   */
  release(messages: readonly ReceivedMessage[], delayMs: number): Promise<void>
  /** Starts a new lease. Returns the messages whose lease was lost. */
  renew(messages: readonly ReceivedMessage[]): Promise<ReceivedMessage[]>
  /** Moves messages to the dead letters. Messages whose lease was lost stay with their new consumer. */
  deadLetter(
    messages: readonly ReceivedMessage[],
    reason: string,
    description: string,
  ): Promise<void>
  readonly deadLetters: DeadLetters
  /** Where each of these messages is now, in their order. */
  locate(topic: Topic, messageIds: readonly string[]): Promise<MessagePlace[]>
  /** Whether the transport answers now. May reject instead of returning false. */
  isReady(): Promise<boolean>
  /** Messages and undecided dead letters per topic. Topics without any may be missing. */
  depth(): Promise<BusDepth>
  /** Housekeeping, called every few seconds by the orchestrator. Does nothing where a broker does it itself. */
  sweep(): Promise<void>
  /** Calls `heard` when messages may have come. Hints can be lost or false: they only make a consumer poll sooner. */
  listen(subscription: Subscription, heard: () => void): Promise<() => Promise<void>>
  /** Null where jobs are at a broker: workers learn by `control` what not to start. */
  readonly storedJobs: StoredJobs | null
  readonly capabilities: Capabilities
  close(): Promise<void>
}

/** What transports can do beyond the contract. Each states all of it; what it cannot do is false or null as a whole. */
export interface Capabilities {
  /** A released delivery is not counted, so a consumer may receive more than it can start. */
  readonly takesBackDeliveries: boolean
  /** Where a broker sends messages by itself, as many as the consumer has slots. Null where consumers ask. */
  readonly stream: MessageStream | null
  /** Reaches every process of a worker: it tells which jobs not to start. Null where all jobs are stored. */
  readonly control: Control | null
  /** Takes messages from the outbox to a broker. Null where consumers read the outbox themselves, and without a database. */
  readonly relay: Relay | null
}

export const NO_CAPABILITIES: Capabilities = {
  takesBackDeliveries: false,
  stream: null,
  control: null,
  relay: null,
}

/** Jobs that lie in the state's database, where a transaction can take them back. Only of these `locate` says that their lease has lapsed. */
export interface StoredJobs {
  /**
   * Removes the jobs that no worker has leased, as part of `tx`, and returns their ids. The ids stay spent for `DUPLICATE_WINDOW_MS`.
   * `lapsed` removes instead those whose worker let its lease lapse.
   */
  withdrawIn(tx: Tx, jobIds: readonly string[], which?: 'unleased' | 'lapsed'): Promise<string[]>
  /** How many of the jobs a worker has taken and neither answered nor given up. `resultIds` are the ids of their results. */
  countRunningIn(tx: Tx, jobIds: readonly string[], resultIds: readonly string[]): Promise<number>
  /**
   * After a restore from a backup the jobs belong to a time that is gone: where all are stored, removes every one, leased or not, and
   * forgets all ids, as part of `tx`. Jobs at a broker run, and their results change nothing.
   */
  discardIn(tx: Tx): Promise<void>
  /** Before the time jumps forward: what is leased now stays leased, for a whole lease after the jump. */
  keepLeases(jumpMs: number): Promise<void>
}

export interface MessageStream {
  /** What the broker has sent and nobody has received, up to `limit`: a slot was free when it was sent. Asks for nothing. */
  arrived(subscription: Subscription, limit: number): ReceivedMessage[]
  /** These received messages occupy no slot while they wait for others like them: as many more may come. */
  makeRoom(messages: readonly ReceivedMessage[]): void
}

export interface Control {
  /** The bodies of `worker-stop` messages for this worker, newer than `after`, and the place of the last. */
  read(workerId: string, after: string | null): Promise<ControlPage>
}

export interface ControlPage {
  readonly bodies: readonly string[]
  readonly last: string | null
}

export interface Relay {
  /** Forwards what is due, and returns how many messages. Several processes may do so at the same time. */
  forward(): Promise<number>
  /** What it has not forwarded yet, which the database knows alone. */
  waiting(): Promise<readonly TopicDepth[]>
  /** Calls `heard` when messages may have come into the outbox. */
  listen(heard: () => void): Promise<() => Promise<void>>
}

export interface BusDepth {
  readonly messages: readonly TopicDepth[]
  readonly deadLetters: readonly TopicCount[]
  /** What the relay has not forwarded yet; part of `messages`. A transport without a relay leaves it out. */
  readonly outbox?: readonly TopicDepth[]
}

export interface TopicDepth extends TopicCount {
  /** When the oldest message that is due became so; null if none is due. A transport that cannot tell leaves it out. */
  readonly oldestAt?: Date | null
}

export interface TopicCount {
  readonly topic: Topic
  readonly count: number
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

/** A job among the dead letters. A job's message id is its job id, also after a replay. */
export interface DeadJob {
  readonly id: string
  readonly jobId: string
  /** The worker it was sent to. */
  readonly workerId: string | null
  readonly reason: string
  readonly description: string
  /** 0: no consumer ever received it. */
  readonly deliveryCount: number
}

/** Messages that wait for a person, oldest first. Replayed and discarded ones are not listed. */
export interface DeadLetters {
  list(subscription: Subscription, limit: number, after?: string): Promise<DeadLetterPage>
  show(id: string): Promise<DeadLetter>
  /** Sends it again, to its own subscription only, as `{messageId}-replay-{n}` with a new time to live. Returns that id. */
  replay(id: string, by: string): Promise<string>
  discard(id: string, by: string): Promise<void>
  /**
   * Sends messages to orchestrators again that were delivered too often: 1 minute, 10 minutes and 1 hour after each such end, then no
   * more. Returns how many per topic.
   */
  replayExhausted(by: string, limit: number): Promise<TopicCount[]>
  /** Workers whose jobs are among the undecided dead letters, sorted; empty where the transport cannot tell. */
  listWorkers(): Promise<string[]>
  /** Dead jobs that are not marked as noticed, oldest first, whether or not a person has decided on them. */
  listUnnoticedJobs(limit: number): Promise<DeadJob[]>
  /**
   * Marks dead jobs whose steps are settled, as part of `tx` where the transport can. Where it marks at once and `tx` rolls back,
   * the job's deadline settles the step. With `decidedBy` nobody has to decide on them any more: a replay would run a job that no step
   * waits for.
   */
  markNoticed(ids: readonly string[], decidedBy: string | null, tx?: Tx): Promise<void>
}
