// Live events for any number of listeners from one query, run twice a second while at least one listener is connected. A listener
// that reconnects names its last event and gets everything since. A listener that reads too slowly is disconnected rather than
// buffered without limit.
import type { Clock } from '../../clock.ts'
import type { Db } from '../../db/db.ts'
import {
  type EventFilter,
  type EventLine,
  listEvents,
  listNewestIds,
  readFeed,
} from '../../db/views/events.ts'
import { MatoolkitError } from '../../errors.ts'
import type { Log } from '../../log.ts'
import { GaplessReader, startingPoint } from './gapless-reader.ts'

const POLL_MS = 500
const PAUSE_AFTER_ERROR_MS = 5_000
const EVENTS_PER_READ = 500
/** Gaps that may still fill belong to running transactions, so they lie among the newest ids. */
const NEWEST_IDS_READ = 1_000
const HEARTBEAT_MS = 15_000
/** Unread text that a listener may have when the next read starts: about 1,000 events. */
const QUEUED_CHARS_MAX = 512 * 1024
/** How long a slow listener may take to read the closing frame before its connection is cut. */
const CLOSING_MS = 10_000
/** Tokens are checked on connecting, so this bounds how long a revoked token keeps listening. */
const LISTEN_MAX_MS = 30 * 60_000
const RETRY_MS = 2_000
const LISTENERS_MAX = 500

export type EventSelection = Pick<EventFilter, 'batchId' | 'memberId' | 'entities'>

export interface ListenRequest {
  readonly selection: EventSelection
  /** The listener's last event; null to start with new ones. */
  readonly after: number | null
  /** Aborts when the listener disconnects or the server stops. */
  readonly signal: AbortSignal
}

export interface EventStream {
  readonly frames: AsyncIterable<string>
  /** Aborts to cut the connection of a listener that does not read. */
  readonly cut: AbortSignal
}

export interface EventFeed {
  /** Throws LISTENERS_FULL. */
  listen(request: ListenRequest): EventStream
}

interface Listener extends ListenRequest {
  after: number | null
  queue: string[]
  queuedChars: number
  lastFrameAtMs: number
  readonly endsAtMs: number
  /** Why the feed closes the connection; null while it is open. */
  closingBecause: string | null
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
  return { listen: (request) => feed.listen(request) }
}

const frameOf = (line: EventLine): string => `id: ${line.id}\ndata: ${JSON.stringify(line)}\n\n`
const closingFrame = (reason: string): string =>
  `event: end\ndata: ${JSON.stringify({ reason })}\n\n`

const isSelected = ({ batchId, memberId, entities }: EventSelection, line: EventLine): boolean =>
  (batchId === undefined || line.batchId === batchId) &&
  (memberId === undefined || line.memberId === memberId) &&
  (entities === undefined || entities.includes(line.entity))

class Feed {
  readonly #options: FeedOptions
  /** All listeners; those still catching up on missed events are not live yet. */
  readonly #connected = new Set<Listener>()
  readonly #live = new Set<Listener>()
  #reader: GaplessReader | null = null
  /** Ids already visible when the feed started: not new to a listener that starts now. */
  #visibleAtStart: ReadonlySet<number> = new Set()
  #started: Promise<GaplessReader> | null = null

  constructor(options: FeedOptions) {
    this.#options = options
  }

  listen(request: ListenRequest): EventStream {
    const { listenersMax = LISTENERS_MAX, clock } = this.#options
    const count = this.#connected.size
    if (count >= listenersMax) throw new MatoolkitError('LISTENERS_FULL', { count })
    const nowMs = +clock.now()
    const listener: Listener = {
      ...request,
      queue: [],
      queuedChars: 0,
      lastFrameAtMs: nowMs,
      endsAtMs: nowMs + LISTEN_MAX_MS,
      closingBecause: null,
      cut: new AbortController(),
      wake: () => {},
    }
    if (!request.signal.aborted) this.#connected.add(listener)
    request.signal.addEventListener('abort', () => this.#disconnect(listener))
    return { frames: this.#frames(listener), cut: listener.cut.signal }
  }

  #disconnect(listener: Listener): void {
    this.#connected.delete(listener)
    this.#live.delete(listener)
    listener.wake()
  }

  async *#frames(listener: Listener): AsyncGenerator<string> {
    try {
      yield `retry: ${RETRY_MS}\n\n`
      yield* this.#missed(listener, await this.#start())
      while (!listener.signal.aborted) {
        if (listener.queue.length > 0) yield this.#drain(listener)
        else if (listener.closingBecause !== null)
          return yield closingFrame(listener.closingBecause)
        else await this.#nextWake(listener)
      }
    } finally {
      this.#disconnect(listener)
    }
  }

  /** Reads the events a listener missed, up to where the live events start; then the listener is live. */
  async *#missed(listener: Listener, reader: GaplessReader): AsyncGenerator<string> {
    const { db } = this.#options
    while (listener.after !== null && listener.after < reader.last && !listener.signal.aborted) {
      const upTo = reader.last
      const filter = { ...listener.selection, after: listener.after, upTo }
      const page = await listEvents(db, filter, 'oldest', EVENTS_PER_READ)
      if (page.length > 0) yield page.map(frameOf).join('')
      listener.after = page.length < EVENTS_PER_READ ? upTo : page.at(-1)!.id
    }
    if (!listener.signal.aborted) this.#live.add(listener)
  }

  #drain(listener: Listener): string {
    const text = listener.queue.join('')
    listener.queue = []
    listener.queuedChars = 0
    return text
  }

  #nextWake(listener: Listener): Promise<void> {
    return new Promise((resolve) => {
      listener.wake = resolve
    })
  }

  /** The first listener starts the polling; it stops after the last one. */
  #start(): Promise<GaplessReader> {
    this.#started ??= this.#openReader().then(
      (reader) => {
        void this.#poll(reader)
        return reader
      },
      (error: unknown) => {
        this.#started = null
        throw error
      },
    )
    return this.#started
  }

  async #openReader(): Promise<GaplessReader> {
    const newest = await listNewestIds(this.#options.db, NEWEST_IDS_READ)
    const reader = new GaplessReader(startingPoint(newest))
    this.#visibleAtStart = new Set(newest.filter((id) => id > reader.last))
    this.#reader = reader
    return reader
  }

  async #poll(reader: GaplessReader): Promise<void> {
    const { clock, log } = this.#options
    while (this.#connected.size > 0) {
      let pauseMs = POLL_MS
      try {
        // A full page means more events wait: read on without a pause.
        if (await this.#readOnce(reader)) pauseMs = 0
      } catch (err) {
        pauseMs = PAUSE_AFTER_ERROR_MS
        log.error({ err, listeners: this.#connected.size }, 'Reading live events failed')
      }
      this.#closeOrPing()
      if (pauseMs > 0) await clock.wait(pauseMs)
      else await new Promise(setImmediate)
    }
    if (this.#reader === reader) this.#started = null
  }

  async #readOnce(reader: GaplessReader): Promise<boolean> {
    const { db, clock } = this.#options
    const { events, horizon } = await readFeed(db, reader.last, EVENTS_PER_READ)
    for (const listener of this.#live) {
      if (listener.queuedChars <= QUEUED_CHARS_MAX) continue
      listener.queue = []
      this.#close(listener, 'you read too slowly; reconnect with Last-Event-ID')
    }
    const released = reader.take(events, horizon, clock.now())
    for (const line of released) {
      const frame = frameOf(line)
      const wasVisible = this.#visibleAtStart.has(line.id)
      for (const listener of this.#live) {
        const isNew = listener.after === null ? !wasVisible : line.id > listener.after
        if (isNew && isSelected(listener.selection, line)) this.#push(listener, frame)
      }
    }
    return released.length === EVENTS_PER_READ
  }

  #push(listener: Listener, frame: string): void {
    listener.queue.push(frame)
    listener.queuedChars += frame.length
    listener.lastFrameAtMs = +this.#options.clock.now()
    listener.wake()
  }

  #close(listener: Listener, reason: string): void {
    const { clock, log } = this.#options
    listener.closingBecause = reason
    this.#live.delete(listener)
    listener.wake()
    log.info({ listeners: this.#connected.size, reason }, 'Closed event stream')
    void clock.wait(CLOSING_MS, listener.signal).then(() => {
      if (this.#connected.has(listener)) listener.cut.abort()
    })
  }

  /** Sends heartbeats, so that proxies keep the connection, and closes listeners at their time limit. */
  #closeOrPing(): void {
    const nowMs = +this.#options.clock.now()
    for (const listener of this.#live) {
      if (nowMs >= listener.endsAtMs)
        this.#close(listener, 'time limit reached; reconnect with a fresh token')
      else if (nowMs - listener.lastFrameAtMs >= HEARTBEAT_MS)
        this.#push(listener, ': still here\n\n')
    }
  }
}
