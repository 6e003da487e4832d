// Live events for any number of listeners from one look at the table: twice a second while somebody listens, never otherwise. A
// listener that went away says which event it had last, and is told everything since. One that cannot keep up is told so and cut
// off, instead of being remembered for without end: it comes back and reads on from where it was.
import type { Clock } from '../clock.ts'
import type { Db } from '../db/db.ts'
import {
  type EventFilter,
  type EventLine,
  listEvents,
  listNewestIds,
  readFeed,
} from '../db/views/events.ts'
import { MatoolkitError } from '../errors.ts'
import type { Log } from '../log.ts'
import { beginAt, GaplessReader } from './gapless-reader.ts'

const POLL_MS = 500
const PAUSE_AFTER_ERROR_MS = 5_000
const EVENTS_PER_LOOK = 500
/** The holes that matter are of transactions under way: among the last few ids. */
const BEGIN_LOOK = 1_000
const HEARTBEAT_MS = 15_000
/** What may be left unread from one look to the next: some 1,000 events. */
const QUEUED_CHARS_MAX = 512 * 1024
/** For the goodbye to reach a slow listener; then its connection is cut. */
const GOODBYE_MS = 10_000
/** A token is looked at when a listener comes. This is how long it may have been withdrawn meanwhile. */
const LISTEN_MAX_MS = 30 * 60_000
const RETRY_MS = 2_000
const LISTENERS_MAX = 500

export type EventSelection = Pick<EventFilter, 'batchId' | 'memberId' | 'entities'>

export interface ListenRequest {
  readonly wanted: EventSelection
  /** The last event that the listener had; null for one that begins now. */
  readonly after: number | null
  /** Aborts when the listener has gone or the server stops. */
  readonly signal: AbortSignal
}

export interface Stream {
  readonly frames: AsyncIterable<string>
  /** Aborts when the connection is to be cut, because its other end does not read. */
  readonly cut: AbortSignal
}

export interface EventFeed {
  /** Throws LISTENERS_FULL. */
  listen(listen: ListenRequest): Stream
}

interface Listener extends ListenRequest {
  after: number | null
  queue: string[]
  queuedChars: number
  heardAtMs: number
  readonly endsAtMs: number
  /** Why it is sent away; null while it is not. */
  ending: string | null
  readonly cut: AbortController
  wake: () => void
}

export interface FeedOptions {
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
  readonly listenersMax?: number
}

export function openEventFeed(options: FeedOptions): EventFeed {
  const feed = new Feed(options)
  return { listen: (listen) => feed.listen(listen) }
}

const frameOf = (line: EventLine): string => `id: ${line.id}\ndata: ${JSON.stringify(line)}\n\n`
const sayOf = (what: string, reason: string): string =>
  `event: ${what}\ndata: ${JSON.stringify({ reason })}\n\n`

const isWanted = ({ batchId, memberId, entities }: EventSelection, line: EventLine): boolean =>
  (batchId === undefined || line.batchId === batchId) &&
  (memberId === undefined || line.memberId === memberId) &&
  (entities === undefined || entities.includes(line.thing))

class Feed {
  readonly #options: FeedOptions
  /** All that are connected; those that still read what they missed are not live yet. */
  readonly #connected = new Set<Listener>()
  readonly #live = new Set<Listener>()
  #order: GaplessReader | null = null
  /** Visible when the feed began, so no news to whoever came then. */
  #old: ReadonlySet<number> = new Set()
  #begun: Promise<GaplessReader> | null = null

  constructor(options: FeedOptions) {
    this.#options = options
  }

  listen(listen: ListenRequest): Stream {
    const { listenersMax = LISTENERS_MAX, clock } = this.#options
    const count = this.#connected.size
    if (count >= listenersMax) throw new MatoolkitError('LISTENERS_FULL', { count })
    const nowMs = +clock.now()
    const listener: Listener = {
      ...listen,
      queue: [],
      queuedChars: 0,
      heardAtMs: nowMs,
      endsAtMs: nowMs + LISTEN_MAX_MS,
      ending: null,
      cut: new AbortController(),
      wake: () => {},
    }
    if (!listen.signal.aborted) this.#connected.add(listener)
    listen.signal.addEventListener('abort', () => this.#leave(listener))
    return { frames: this.#frames(listener), cut: listener.cut.signal }
  }

  #leave(listener: Listener): void {
    this.#connected.delete(listener)
    this.#live.delete(listener)
    listener.wake()
  }

  async *#frames(listener: Listener): AsyncGenerator<string> {
    try {
      yield `retry: ${RETRY_MS}\n\n`
      yield* this.#missed(listener, await this.#begin())
      while (!listener.signal.aborted) {
        if (listener.queue.length > 0) yield this.#emptied(listener)
        else if (listener.ending !== null) return yield sayOf('end', listener.ending)
        else await this.#woken(listener)
      }
    } finally {
      this.#leave(listener)
    }
  }

  /** What a listener has missed, read from the table up to where the live events begin. It is live when this ends. */
  async *#missed(listener: Listener, order: GaplessReader): AsyncGenerator<string> {
    const { db } = this.#options
    while (listener.after !== null && listener.after < order.last && !listener.signal.aborted) {
      const upTo = order.last
      const filter = { ...listener.wanted, after: listener.after, upTo }
      const page = await listEvents(db, filter, 'oldest', EVENTS_PER_LOOK)
      if (page.length > 0) yield page.map(frameOf).join('')
      listener.after = page.length < EVENTS_PER_LOOK ? upTo : page.at(-1)!.id
    }
    if (!listener.signal.aborted) this.#live.add(listener)
  }

  #emptied(listener: Listener): string {
    const text = listener.queue.join('')
    listener.queue = []
    listener.queuedChars = 0
    return text
  }

  #woken(listener: Listener): Promise<void> {
    return new Promise((resolve) => {
      listener.wake = resolve
    })
  }

  /** The first listener starts the looking; it ends with the last one. */
  #begin(): Promise<GaplessReader> {
    this.#begun ??= this.#firstLook().then(
      (order) => {
        void this.#keepLooking(order)
        return order
      },
      (error: unknown) => {
        this.#begun = null
        throw error
      },
    )
    return this.#begun
  }

  async #firstLook(): Promise<GaplessReader> {
    const newest = await listNewestIds(this.#options.db, BEGIN_LOOK)
    const order = new GaplessReader(beginAt(newest))
    this.#old = new Set(newest.filter((id) => id > order.last))
    this.#order = order
    return order
  }

  async #keepLooking(order: GaplessReader): Promise<void> {
    const { clock, log } = this.#options
    while (this.#connected.size > 0) {
      let pauseMs = POLL_MS
      try {
        // A full look has more behind it; the listeners get their turn while it is read.
        if (await this.#look(order)) pauseMs = 0
      } catch (err) {
        pauseMs = PAUSE_AFTER_ERROR_MS
        log.error({ err, listeners: this.#connected.size }, 'The live events could not be read.')
      }
      this.#lookAfter()
      if (pauseMs > 0) await clock.wait(pauseMs)
      else await new Promise(setImmediate)
    }
    if (this.#order === order) this.#begun = null
  }

  async #look(order: GaplessReader): Promise<boolean> {
    const { db, clock } = this.#options
    const { events, horizon } = await readFeed(db, order.last, EVENTS_PER_LOOK)
    for (const listener of this.#live) {
      if (listener.queuedChars <= QUEUED_CHARS_MAX) continue
      listener.queue = []
      this.#sendAway(listener, 'you read too slowly; come back with Last-Event-ID and read on')
    }
    const told = order.take(events, horizon, clock.now())
    for (const line of told) {
      const frame = frameOf(line)
      const isOld = this.#old.has(line.id)
      for (const listener of this.#live) {
        const isNews = listener.after === null ? !isOld : line.id > listener.after
        if (isNews && isWanted(listener.wanted, line)) this.#push(listener, frame)
      }
    }
    return told.length === EVENTS_PER_LOOK
  }

  #push(listener: Listener, frame: string): void {
    listener.queue.push(frame)
    listener.queuedChars += frame.length
    listener.heardAtMs = +this.#options.clock.now()
    listener.wake()
  }

  #sendAway(listener: Listener, why: string): void {
    const { clock, log } = this.#options
    listener.ending = why
    this.#live.delete(listener)
    listener.wake()
    log.info({ listeners: this.#connected.size, why }, 'A listener was sent away.')
    void clock.wait(GOODBYE_MS, listener.signal).then(() => {
      if (this.#connected.has(listener)) listener.cut.abort()
    })
  }

  /** Heartbeats, so that proxies and listeners know that the line is open; and the end of those who have listened long enough. */
  #lookAfter(): void {
    const nowMs = +this.#options.clock.now()
    for (const listener of this.#live) {
      if (nowMs >= listener.endsAtMs) this.#sendAway(listener, 'come back with a fresh token')
      else if (nowMs - listener.heardAtMs >= HEARTBEAT_MS) this.#push(listener, ': still here\n\n')
    }
  }
}
