// Follows a batch by its counters and events, and shows it: a live screen on a terminal, lines elsewhere. It reads through a
// ProgressSource, so it knows neither database nor engine.

import type { Io } from '../../cli/terminal/io.ts'
import { type NewsItem, newsLine, newsOf } from '../../cli/terminal/progress-text.ts'
import type { Screen } from '../../cli/terminal/screen.ts'
import {
  EMPTY_TALLY,
  type Progress,
  type ProgressEvent,
  type Tally,
  tallyEvents,
} from '../../domain/forecast/progress.ts'
import { isBatchEnded } from '../../domain/state/transitions.ts'
import { demoLines, statusLine } from './view.ts'

export interface ProgressSource {
  progress(): Promise<Progress>
  /** The events after this id, in order; fewer than the limit at the end. */
  events(after: number, limit: number): Promise<ProgressEvent[]>
  /** Polls so far. Most leave no event. */
  polls(): Promise<number>
}

const EVENTS_PER_READ = 1_000
/** Counting polls reads every step: at each refresh it doubled the time of the demonstration. */
const REFRESHES_PER_POLL_COUNT = 50
const NEWS_KEPT_MAX = 50
const FAILURES_KEPT_MAX = 100
/** In a log, one line a second is enough. */
const LINE_EVERY_MS = 1_000
/** A log wraps; only a runaway text is cut. */
const PLAIN_WIDTH = 200

export class DemoWatcher {
  readonly #source: ProgressSource
  readonly #io: Io
  readonly #screen: Screen | null
  #after = 0
  #refreshes = 0
  #fresh: NewsItem[] = []
  #news: NewsItem[] = []
  #printedAtMs = Number.NEGATIVE_INFINITY
  #printedLast = ''
  progress: Progress | null = null
  tally: Tally = EMPTY_TALLY
  /** The final failures, one per failed member. */
  readonly failures: NewsItem[] = []

  constructor(source: ProgressSource, io: Io, screen: Screen | null) {
    this.#source = source
    this.#io = io
    this.#screen = screen
  }

  /** Reads the progress and the new events. */
  async refresh(): Promise<Progress> {
    const progress = await this.#source.progress()
    this.progress = progress
    const isEnded = isBatchEnded(progress.batch.status)
    if (isEnded || this.#refreshes++ % REFRESHES_PER_POLL_COUNT === 0)
      this.tally = { ...this.tally, polls: await this.#source.polls() }
    for (;;) {
      const events = await this.#source.events(this.#after, EVENTS_PER_READ)
      this.#after = events.at(-1)?.id ?? this.#after
      this.tally = tallyEvents(this.tally, events)
      this.#note(events)
      if (events.length < EVENTS_PER_READ) return progress
    }
  }

  #note(events: readonly ProgressEvent[]): void {
    for (const event of events) {
      const item = newsOf(event)
      if (!item) continue
      this.#fresh.push(item)
      const isEnd = event.event === 'fail' || event.event === 'time_out'
      const isOfMember = event.entity === 'step' && event.stepKind === 'phase'
      if (isEnd && isOfMember && this.failures.length < FAILURES_KEPT_MAX) this.failures.push(item)
    }
  }

  /** Draws what was read. `realMs` is the viewer's time: a log gets a line each second of it. */
  show(now: Date, realMs: number, clockFactor: number, isSkipping: boolean): void {
    const { progress, tally } = this
    const { zone } = this.#io
    if (progress === null) return
    this.#news = [...this.#news, ...this.#fresh].slice(-NEWS_KEPT_MAX)
    const frame = { progress, tally, now, news: this.#news, clockFactor, isSkipping, zone }
    if (this.#screen) {
      const { width, height } = this.#screen
      this.#screen.draw(demoLines(frame, { width, height }, this.#io.paint))
    } else {
      for (const item of this.#fresh)
        this.#io.out(newsLine(item, PLAIN_WIDTH, this.#io.paint, zone))
      this.#printStatus(statusLine(frame), realMs)
    }
    this.#fresh = []
  }

  #printStatus(line: string, realMs: number): void {
    if (realMs - this.#printedAtMs < LINE_EVERY_MS || line === this.#printedLast) return
    this.#printedAtMs = realMs
    this.#printedLast = line
    this.#io.out(line)
  }
}
