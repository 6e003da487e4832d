// Receiving from one subscription. A consumer that listens gets a stream: the broker sends as many messages as may be under way here, and
// one more for each that is settled; `receive` takes what has come, and a consumer at work finds all that came meanwhile (16,949 a second
// were measured so, 444 by asking for 20 at a time). Without a listener `receive` asks the broker.
import type { ServiceBusReceivedMessage, ServiceBusReceiver } from '@azure/service-bus'
import type { ReceivedMessage, Subscription, TimeSource } from '../bus.ts'
import type { ServiceBusConnection } from './connection.ts'
import { type Leased, lease } from './leases.ts'
import { receivedFrom } from './wire.ts'

/** Messages of an orchestrator under way at once. A worker has one per slot. */
const STREAM_MAX = 1_000
/** The broker answers at once what it has; the SDK only needs a number. */
const ASK_MS = 1
/** A message that waited here so long that its lock is about to end is left to the broker. */
const LOCK_LEFT_MIN_MS = 10_000

/** A stream that brings nothing for so long although messages are there is replaced. */
const SILENCE_MAX_MS = 60_000

interface Stream {
  readonly generation: number
  readonly receiver: ServiceBusReceiver
  /** Set by the SDK's first error. It may recover or hang, so a new stream replaces it. */
  problem: unknown
  /** When something last came, or was looked for. */
  heardAtMs: number
  close(): Promise<void>
}

interface Waiting {
  readonly message: ServiceBusReceivedMessage
  readonly leased: Leased
}

export class Intake {
  readonly #connection: ServiceBusConnection
  readonly #subscription: Subscription
  readonly #clock: TimeSource
  readonly #listeners = new Set<() => void>()
  #stream: Promise<Stream> | null = null
  #waiting: Waiting[] = []
  readonly #open = new Set<Leased>()
  /** The largest number that a consumer asked for: a worker's slots. */
  #asked = 0
  #isHinting = false
  /** One question at a time: the SDK refuses a second. */
  #asking: Promise<unknown> = Promise.resolve()

  constructor(connection: ServiceBusConnection, subscription: Subscription, clock: TimeSource) {
    this.#connection = connection
    this.#subscription = subscription
    this.#clock = clock
  }

  async receive(limit: number): Promise<ReceivedMessage[]> {
    if (limit <= 0) return []
    this.#asked = Math.max(this.#asked, limit)
    if (this.#listeners.size === 0) return this.#ask(limit)
    await this.#checkStream(await this.#ensureStream())
    return this.arrived(limit)
  }

  /** What has come over the stream; empty without one. */
  arrived(limit: number): ReceivedMessage[] {
    this.#forgetLapsed()
    const { topic } = this.#subscription
    return this.#waiting
      .splice(0, limit)
      .map(({ message, leased }) => lease(receivedFrom(topic, message), leased))
  }

  /** Hears of messages as they come. Returns how to stop. */
  listen(heard: () => void): () => Promise<void> {
    this.#listeners.add(heard)
    // A consumer that has asked before would wait for its next poll otherwise.
    if (this.#asked > 0) void this.#ensureStream().then(heard, heard)
    return async () => {
      this.#listeners.delete(heard)
      if (this.#listeners.size === 0) await this.#closeStream()
    }
  }

  #ask(limit: number): Promise<ReceivedMessage[]> {
    const { topic, name } = this.#subscription
    const asked = this.#asking.then(async () => {
      const { generation } = this.#connection
      const receiver = this.#connection.receiver(this.#subscription, 'calls')
      const messages = await this.#connection.call(`receiving from ${name}`, () =>
        receiver.receiveMessages(limit, { maxWaitTimeInMs: ASK_MS }),
      )
      const [makeRoom, done] = [() => {}, () => {}]
      const subscription = this.#subscription
      return messages.map((message) =>
        lease(receivedFrom(topic, message), {
          message,
          receiver,
          subscription,
          generation,
          makeRoom,
          done,
        }),
      )
    })
    this.#asking = asked.catch(() => {})
    return asked
  }

  async #ensureStream(): Promise<Stream> {
    this.#stream ??= this.#openStream()
    const opening = this.#stream
    const stream = await opening.catch((error: unknown) => {
      if (this.#stream === opening) this.#stream = null
      throw error
    })
    if (stream.generation === this.#connection.generation) return stream
    this.#leave(stream)
    return this.#ensureStream()
  }

  /** Leaves a stream that failed or fell silent; throws what went wrong, so that the consumer pauses. */
  async #checkStream(stream: Stream): Promise<void> {
    if (this.#waiting.length > 0) return
    const { problem } = stream
    if (problem !== null) {
      this.#leave(stream)
      const what = `receiving from ${this.#subscription.name}`
      await this.#connection.call(what, () => Promise.reject(problem))
    }
    const nowMs = +this.#clock.now()
    if (this.#open.size > 0 || nowMs < stream.heardAtMs + SILENCE_MAX_MS) return
    stream.heardAtMs = nowMs
    if (await this.#connection.glance(this.#subscription)) this.#leave(stream)
  }

  async #openStream(): Promise<Stream> {
    const { generation } = this.#connection
    // The SDK would try to reach it forever, without a word when the connection hangs.
    await this.#connection.glance(this.#subscription)
    const receiver = this.#connection.receiver(this.#subscription, 'stream')
    const isWorkers = this.#subscription.topic === 'worker-jobs'
    const stream: Stream = {
      generation,
      receiver,
      problem: null,
      heardAtMs: +this.#clock.now(),
      close: async () => {},
    }
    const { close } = receiver.subscribe(
      {
        processMessage: (message) => this.#come(stream, message),
        processError: async ({ error, errorSource }) => {
          if (errorSource !== 'receive') return
          stream.problem ??= error
          this.#hint()
        },
      },
      {
        autoCompleteMessages: false,
        maxConcurrentCalls: isWorkers ? Math.min(this.#asked, STREAM_MAX) : STREAM_MAX,
      },
    )
    stream.close = close
    return stream
  }

  /** Resolves when the message is settled, or occupies no slot here: then the broker may send another. */
  #come(stream: Stream, message: ServiceBusReceivedMessage): Promise<void> {
    const { receiver, generation } = stream
    stream.heardAtMs = +this.#clock.now()
    return new Promise((resolve) => {
      const leased: Leased = {
        message,
        receiver,
        subscription: this.#subscription,
        generation,
        makeRoom: resolve,
        done: () => {
          this.#open.delete(leased)
          resolve()
        },
      }
      this.#open.add(leased)
      this.#waiting.push({ message, leased })
      this.#hint()
    })
  }

  /** Once for all that come in the same turn. */
  #hint(): void {
    if (this.#isHinting) return
    this.#isHinting = true
    setImmediate(() => {
      this.#isHinting = false
      for (const heard of this.#listeners) heard()
    })
  }

  /** Messages that nobody settled, or that waited too long: the broker gives them to the next. */
  #forgetLapsed(): void {
    const nowMs = +this.#clock.now()
    const endsAt = ({ message }: { readonly message: ServiceBusReceivedMessage }) =>
      +(message.lockedUntilUtc ?? 0)
    const isStale = (waiting: Waiting) => endsAt(waiting) < nowMs + LOCK_LEFT_MIN_MS
    for (const { leased } of this.#waiting.filter(isStale)) leased.done()
    this.#waiting = this.#waiting.filter((waiting) => !isStale(waiting))
    if (this.#waiting.length > 0) return
    for (const leased of this.#open) if (endsAt(leased) < nowMs) leased.done()
  }

  /** Messages under way are settled by their lock, without the link. */
  #leave(stream: Stream): void {
    this.#stream = null
    for (const leased of this.#open) leased.done()
    void stream.receiver.close().catch(() => {})
  }

  /** What waits here goes back to the broker. */
  async #closeStream(): Promise<void> {
    const stream = await this.#stream?.catch(() => null)
    this.#stream = null
    if (!stream) return
    const waiting = this.#waiting.splice(0)
    await stream.close().catch(() => {})
    for (const { message, leased } of waiting) {
      await leased.receiver.abandonMessage(message).catch(() => {})
      leased.done()
    }
  }

  close(): Promise<void> {
    this.#listeners.clear()
    return this.#closeStream()
  }
}
