// Topics, subscriptions and their messages as Service Bus keeps them: peek-lock, delivery counts, time to live, dead letters, scheduled
// messages and duplicate detection. Knows neither AMQP links nor a clock: the caller gives the time.
import { randomUUID } from 'node:crypto'
import type { Message } from 'rhea'
import { type Matches, matcherOf, type RuleFilter } from './filters.ts'

export interface SubscriptionSettings {
  readonly lockMs: number
  readonly maxDeliveries: number
  readonly timeToLiveMs: number
  readonly isDeadLetteredOnExpiry: boolean
}

export interface TopicSettings {
  readonly duplicateWindowMs: number | null
  readonly timeToLiveMs: number
}

export const SUBSCRIPTION_DEFAULTS: SubscriptionSettings = {
  lockMs: 60_000,
  maxDeliveries: 10,
  timeToLiveMs: 14 * 24 * 3_600_000,
  isDeadLetteredOnExpiry: false,
}

export const TOPIC_DEFAULTS: TopicSettings = {
  duplicateWindowMs: null,
  timeToLiveMs: 14 * 24 * 3_600_000,
}

/** A message in a subscription or among its dead letters. */
export interface Entry {
  readonly sequence: number
  message: Message
  readonly enqueuedAtMs: number
  readonly expiresAtMs: number
  /** Deliveries that ended without success. */
  deliveries: number
  lock: Lock | null
}

export interface Lock {
  readonly token: string
  untilMs: number
  /** The consumer that got it; a lost connection frees its locks at once. */
  readonly holder: object
}

const byOldest = (a: Entry, b: Entry): number => a.sequence - b.sequence

/** A subscription's messages, or its dead letters: those have no queue of dead letters and never expire. */
export class Queue {
  readonly path: string
  settings: SubscriptionSettings
  readonly deadLetters: Queue | null
  readonly #all = new Map<number, Entry>()
  readonly #locked = new Map<string, Entry>()
  #ready: Entry[] = []
  /** Before this time no lock and no message runs out. */
  #quietUntilMs = Number.POSITIVE_INFINITY
  /** Called when a message can be taken. */
  onReady: () => void = () => {}

  constructor(path: string, settings: SubscriptionSettings, isDead = false) {
    this.path = path
    this.settings = settings
    this.deadLetters = isDead ? null : new Queue(`${path}/$DeadLetterQueue`, settings, true)
  }

  add(entry: Entry): void {
    this.#all.set(entry.sequence, entry)
    this.#ready.push(entry)
    this.#quietUntilMs = Math.min(this.#quietUntilMs, entry.expiresAtMs)
    this.onReady()
  }

  take(holder: object, nowMs: number): Entry | null {
    this.tick(nowMs)
    const entry = this.#ready.shift()
    if (!entry) return null
    const lock = { token: randomUUID(), untilMs: nowMs + this.settings.lockMs, holder }
    entry.lock = lock
    this.#locked.set(lock.token, entry)
    this.#quietUntilMs = Math.min(this.#quietUntilMs, lock.untilMs)
    return entry
  }

  /** Null when the lock is lost. */
  locked(token: string, nowMs: number): Entry | null {
    this.tick(nowMs)
    return this.#locked.get(token) ?? null
  }

  renew(token: string, nowMs: number): number | null {
    const entry = this.locked(token, nowMs)
    if (!entry?.lock) return null
    entry.lock.untilMs = nowMs + this.settings.lockMs
    return entry.lock.untilMs
  }

  complete(entry: Entry): void {
    this.#unlock(entry)
    this.#all.delete(entry.sequence)
  }

  abandon(entry: Entry): void {
    this.#unlock(entry)
    if (this.deadLetters) entry.deliveries += 1
    if (this.deadLetters && entry.deliveries >= this.settings.maxDeliveries) {
      const why = `Message could not be consumed after ${entry.deliveries} delivery attempts.`
      this.#bury(entry, 'MaxDeliveryCountExceeded', why)
      return
    }
    this.#ready.push(entry)
    this.#ready.sort(byOldest)
    this.onReady()
  }

  deadLetter(entry: Entry, reason: string, description: string): void {
    this.#unlock(entry)
    this.#bury(entry, reason, description)
  }

  /** The consumer is gone: what it had is free again, and counts as delivered. */
  drop(holder: object): void {
    for (const entry of [...this.#locked.values()])
      if (entry.lock?.holder === holder) this.abandon(entry)
  }

  /** Locks that ran out, messages that expired. */
  tick(nowMs: number): void {
    if (nowMs < this.#quietUntilMs) return
    for (const entry of [...this.#locked.values()])
      if (entry.lock!.untilMs <= nowMs) this.abandon(entry)
    if (this.deadLetters) this.#expire(nowMs)
    this.#quietUntilMs = [...this.#locked.values(), ...this.#ready].reduce(
      (least, { lock, expiresAtMs }) => Math.min(least, lock?.untilMs ?? expiresAtMs),
      Number.POSITIVE_INFINITY,
    )
  }

  #expire(nowMs: number): void {
    const expired = this.#ready.filter(({ expiresAtMs }) => expiresAtMs <= nowMs)
    if (expired.length === 0) return
    this.#ready = this.#ready.filter(({ expiresAtMs }) => expiresAtMs > nowMs)
    for (const entry of expired) {
      if (this.settings.isDeadLetteredOnExpiry)
        this.#bury(entry, 'TTLExpiredException', 'The message expired and was dead lettered.')
      else this.#all.delete(entry.sequence)
    }
  }

  peek(fromSequence: number, count: number): Entry[] {
    return [...this.#all.values()]
      .sort(byOldest)
      .filter(({ sequence }) => sequence >= fromSequence)
      .slice(0, count)
  }

  get size(): number {
    return this.#all.size
  }

  #unlock(entry: Entry): void {
    if (entry.lock) this.#locked.delete(entry.lock.token)
    entry.lock = null
  }

  #bury(entry: Entry, reason: string, description: string): void {
    this.#all.delete(entry.sequence)
    const { message } = entry
    const properties = {
      ...message.application_properties,
      DeadLetterReason: reason,
      DeadLetterErrorDescription: description,
    }
    const buried = { ...message, application_properties: properties }
    this.deadLetters?.add({ ...entry, message: buried, expiresAtMs: Number.POSITIVE_INFINITY })
  }
}

interface Rule {
  readonly filter: RuleFilter
  readonly matches: Matches
}

export class SubscriptionEntity {
  readonly queue: Queue
  readonly rules = new Map<string, Rule>()

  constructor(path: string, settings: SubscriptionSettings) {
    this.queue = new Queue(path, settings)
    this.setRule('$Default', { always: true })
  }

  setRule(name: string, filter: RuleFilter): void {
    this.rules.set(name, { filter, matches: matcherOf(filter) })
  }

  takes(message: Message): boolean {
    return [...this.rules.values()].some(({ matches }) => matches(message))
  }
}

interface Scheduled {
  readonly sequence: number
  readonly message: Message
  readonly atMs: number
}

export class TopicEntity {
  readonly name: string
  settings: TopicSettings
  readonly subscriptions = new Map<string, SubscriptionEntity>()
  readonly #seen = new Map<string, number>()
  #scheduled: Scheduled[] = []
  #sequence = 0

  constructor(name: string, settings: TopicSettings) {
    this.name = name
    this.settings = settings
  }

  /** Returns the sequence number. A duplicate is accepted and dropped. */
  publish(message: Message, nowMs: number): number {
    this.tick(nowMs)
    this.#sequence += 1
    if (this.#isDuplicate(message, nowMs)) return this.#sequence
    const annotated = message.message_annotations?.['x-opt-scheduled-enqueue-time']
    const atMs = annotated === undefined ? 0 : +new Date(annotated)
    if (atMs > nowMs) this.#scheduled.push({ sequence: this.#sequence, message, atMs })
    else this.#deliver(message, this.#sequence, nowMs)
    return this.#sequence
  }

  cancel(sequence: number): boolean {
    const left = this.#scheduled.filter((scheduled) => scheduled.sequence !== sequence)
    const isFound = left.length < this.#scheduled.length
    this.#scheduled = left
    return isFound
  }

  tick(nowMs: number): void {
    const due = this.#scheduled.filter(({ atMs }) => atMs <= nowMs)
    if (due.length > 0) this.#scheduled = this.#scheduled.filter(({ atMs }) => atMs > nowMs)
    for (const { message, atMs } of due) this.#deliver(message, ++this.#sequence, atMs)
    for (const { queue } of this.subscriptions.values()) queue.tick(nowMs)
  }

  #isDuplicate(message: Message, nowMs: number): boolean {
    const { duplicateWindowMs } = this.settings
    const id = message.message_id
    if (duplicateWindowMs === null || id === undefined) return false
    const seenMs = this.#seen.get(String(id))
    if (seenMs !== undefined && nowMs < seenMs + duplicateWindowMs) return true
    this.#seen.set(String(id), nowMs)
    return false
  }

  #deliver(message: Message, sequence: number, enqueuedAtMs: number): void {
    for (const subscription of this.subscriptions.values()) {
      if (!subscription.takes(message)) continue
      const { queue } = subscription
      const livesMs = Math.min(
        message.ttl ?? Number.POSITIVE_INFINITY,
        this.settings.timeToLiveMs,
        queue.settings.timeToLiveMs,
      )
      const expiresAtMs = enqueuedAtMs + livesMs
      queue.add({ sequence, message, enqueuedAtMs, expiresAtMs, deliveries: 0, lock: null })
    }
  }
}

/** A namespace's topics. Names are found in any casing, as in Azure. */
export class Namespace {
  readonly #topics = new Map<string, TopicEntity>()

  get topics(): TopicEntity[] {
    return [...this.#topics.values()]
  }

  addTopic(name: string, settings: Partial<TopicSettings> = {}): TopicEntity {
    const topic = new TopicEntity(name, { ...TOPIC_DEFAULTS, ...settings })
    this.#topics.set(name.toLowerCase(), topic)
    return topic
  }

  addSubscription(
    topic: TopicEntity,
    name: string,
    settings: Partial<SubscriptionSettings> = {},
  ): SubscriptionEntity {
    const path = `${topic.name}/Subscriptions/${name}`
    const subscription = new SubscriptionEntity(path, { ...SUBSCRIPTION_DEFAULTS, ...settings })
    topic.subscriptions.set(name.toLowerCase(), subscription)
    return subscription
  }

  topic(name: string): TopicEntity | null {
    return this.#topics.get(name.toLowerCase()) ?? null
  }

  removeTopic(name: string): boolean {
    return this.#topics.delete(name.toLowerCase())
  }

  subscription(topic: string, name: string): SubscriptionEntity | null {
    return this.topic(topic)?.subscriptions.get(name.toLowerCase()) ?? null
  }

  /** The queue behind `topic/Subscriptions/name` and its `/$DeadLetterQueue`. */
  queue(path: string): Queue | null {
    const match = /^([^/]+)\/subscriptions\/([^/]+)(\/\$deadletterqueue)?$/i.exec(path)
    if (!match) return null
    const queue = this.subscription(match[1]!, match[2]!)?.queue ?? null
    return match[3] ? (queue?.deadLetters ?? null) : queue
  }

  tick(nowMs: number): void {
    for (const topic of this.topics) topic.tick(nowMs)
  }
}
