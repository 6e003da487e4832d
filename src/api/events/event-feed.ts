// Live events for any number of listeners from one query, run twice a second while at least one listener is connected. A listener
// that reconnects names its last event and gets everything since. A listener that reads slowly stops being live and reads pages at its
// own pace until it has caught up, so that it misses nothing and costs little memory.

import { MatoolkitError } from '../../base/errors/errors.ts'
import type { Log } from '../../base/log/log.ts'
import type { Clock } from '../../base/run/clock.ts'
import type { Db } from '../../db/connection/db.ts'
import {
  type EventLine,
  type EventSelection,
  listEvents,
  listNewestIds,
  readFeed,
} from '../../db/views/events.ts'
import { GaplessReader, startingPoint } from './gapless-reader.ts'

const POLL_MS = 500
const PAUSE_AFTER_ERROR_MS = 5_000
const EVENTS_PER_READ = 500
/** While nobody wants all events, most are only counted. */
const EVENTS_PASSED_BY_PER_READ = 5_000
/** With more different ones, everything is read and each listener's events are picked here. */
const SELECTIONS_MAX = 50
/** For one listener that catches up: as many as fit into QUEUED_CHARS_MAX. 200 slow ones once took the API to 500 MB. */
const EVENTS_PER_PAGE = 100
const EVENTS_FIRST = 25
/** Gaps that may still fill belong to running transactions, so they lie among the newest ids. */
const NEWEST_IDS_READ = 1_000
const HEARTBEAT_MS = 15_000
/** Unread text that a live listener may have: about 100 events. */
const QUEUED_CHARS_MAX = 64 * 1024
/** How long a listener may take to read the closing frame before its connection is cut. */
const CLOSING_MS = 10_000
/** Tokens are checked on connecting, so this bounds how long a revoked one keeps listening. */
const LISTEN_MAX_MS = 30 * 60_000
const RETRY_MS = 2_000
const LISTENERS_MAX = 500
/** One person with many browser tabs must not take the streams of all others. */
const LISTENERS_PER_PERSON_MAX = 20

export interface ListenRequest {
  readonly selection: EventSelection
  /** The id of the caller. */
  readonly person: string
  /** When the caller's token ends, and with it the stream; null if it does not. */
  readonly tokenEndsAt: Date | null
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
  /** Throws LISTENERS_FULL or LISTENERS_OF_PERSON_FULL. */
  listen(request: ListenRequest): EventStream
}

interface Listener extends ListenRequest {
  /** Events up to this id are delivered; null before the first one of a listener that starts with new ones. */
  after: number | null
  queue: EventFrame[]
  queuedChars: number
  lastFrameAtMs: number
  readonly endsAtMs: number
  /** Why the feed closes the connection; null while it is open. */
  closingBecause: string | null
  readonly cut: AbortController
  wake: () => void
}

/** A heartbeat has no id. */
interface EventFrame {
  readonly id: number | null
  readonly text: string
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

const isEverything = ({ batchId, memberId, entities }: EventSelection): boolean =>
  batchId === undefined && memberId === undefined && entities === undefined

function distinctSelections(listeners: Iterable<Listener>): EventSelection[] {
  const found = new Map<string, EventSelection>()
  for (const { selection } of listeners) found.set(JSON.stringify(selection), selection)
  const all = [...found.values()]
  return all.length > SELECTIONS_MAX || all.some(isEverything) ? [{}] : all
}

interface Page {
  readonly text: string
  readonly count: number
  /** Everything up to this id has been read. */
  readonly lastId: number
}

const fittingSize = (chars: number): number =>
  Math.max(1, Math.min(EVENTS_PER_PAGE, Math.floor(QUEUED_CHARS_MAX / chars)))

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
    const own = [...this.#connected].filter(({ person }) => person === request.person)
    if (own.length >= LISTENERS_PER_PERSON_MAX) {
      throw new MatoolkitError('LISTENERS_OF_PERSON_FULL', { count: own.length })
    }
    const nowMs = +clock.now()
    const tokenEndsAtMs = +(request.tokenEndsAt ?? Number.POSITIVE_INFINITY)
    const listener: Listener = {
      ...request,
      queue: [],
      queuedChars: 0,
      lastFrameAtMs: nowMs,
      endsAtMs: Math.min(nowMs + LISTEN_MAX_MS, tokenEndsAtMs),
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
      const reader = await this.#start()
      yield* this.#missed(listener, reader)
      while (!listener.signal.aborted) {
        if (listener.queue.length > 0) yield this.#drain(listener)
        else if (listener.closingBecause !== null)
          return yield closingFrame(listener.closingBecause)
        else if (!this.#live.has(listener)) yield* this.#missed(listener, reader)
        else await this.#nextWake(listener)
      }
    } finally {
      this.#disconnect(listener)
    }
  }

  /** Reads the events a listener missed, up to where the live events start; then the listener is live. */
  async *#missed(listener: Listener, reader: GaplessReader): AsyncGenerator<string> {
    const isOpen = () => !listener.signal.aborted && listener.closingBecause === null
    let size = EVENTS_FIRST
    while (listener.after !== null && listener.after < reader.last && isOpen()) {
      const { text, count, lastId } = await this.#readPage(listener, reader.last, size)
      // Only the text stays while a slow listener takes its time: the rows kept with it doubled what 200 of them cost.
      if (text !== '') yield text
      listener.after = lastId
      if (count > 0) size = fittingSize(text.length / count)
    }
    if (isOpen()) this.#live.add(listener)
  }

  /** At most so many events, up to this id. */
  async #readPage({ selection, after }: Listener, upTo: number, size: number): Promise<Page> {
    const filter = { ...selection, after: after!, upTo }
    const page = await listEvents(this.#options.db, filter, 'oldest', size)
    const lastId = page.length < size ? upTo : page.at(-1)!.id
    return { text: page.map(frameOf).join(''), count: page.length, lastId }
  }

  #drain(listener: Listener): string {
    const text = listener.queue.map((frame) => frame.text).join('')
    listener.after = listener.queue.findLast(({ id }) => id !== null)?.id ?? listener.after
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
    const asked = new Set(this.#connected)
    const selections = distinctSelections(asked)
    const size = selections.some(isEverything) ? EVENTS_PER_READ : EVENTS_PASSED_BY_PER_READ
    const lastBefore = reader.last
    const { ids, lastId, events, horizon } = await readFeed(db, lastBefore, size, selections)
    if (ids === null) reader.advanceTo(lastId)
    else reader.take(ids, horizon, clock.now())
    for (const line of events) if (line.id <= reader.last) this.#release(line, asked)
    if (reader.last > lastBefore) this.#sendBack(asked, lastBefore)
    return reader.last === lastId && lastId - lastBefore >= size
  }

  #release(line: EventLine, asked: ReadonlySet<Listener>): void {
    const frame = { id: line.id, text: frameOf(line) }
    const wasVisible = this.#visibleAtStart.has(line.id)
    for (const listener of this.#live) {
      const isNew = listener.after === null ? !wasVisible : line.id > listener.after
      if (isNew && asked.has(listener) && isSelected(listener.selection, line))
        this.#push(listener, frame)
    }
  }

  /** A listener that joined during a read was not asked about: it reads that page itself. */
  #sendBack(asked: ReadonlySet<Listener>, lastBefore: number): void {
    for (const listener of this.#live) {
      if (asked.has(listener)) continue
      listener.after ??= lastBefore
      this.#live.delete(listener)
      listener.wake()
    }
  }

  #push(listener: Listener, frame: EventFrame): void {
    listener.queue.push(frame)
    listener.queuedChars += frame.text.length
    listener.lastFrameAtMs = +this.#options.clock.now()
    if (listener.queuedChars > QUEUED_CHARS_MAX) this.#fallBehind(listener)
    listener.wake()
  }

  /** Drops what is queued: the listener reads it from the database when it gets there. */
  #fallBehind(listener: Listener): void {
    const first = listener.queue.find(({ id }) => id !== null)
    if (first) listener.after = first.id! - 1
    listener.queue = []
    listener.queuedChars = 0
    this.#live.delete(listener)
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
    for (const listener of this.#connected) {
      const isDue = nowMs >= listener.endsAtMs && listener.closingBecause === null
      if (isDue) this.#close(listener, 'time limit reached; reconnect with a fresh token')
      else if (this.#live.has(listener) && nowMs - listener.lastFrameAtMs >= HEARTBEAT_MS)
        this.#push(listener, { id: null, text: ': still here\n\n' })
    }
  }
}
