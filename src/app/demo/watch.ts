// Follows a batch by its counters and events and shows it: as a picture that is redrawn on a terminal, else as lines. It reads
// through two functions that it is given, so it knows neither database nor engine.

import type { Io } from '../../cli/terminal/io.ts'
import { type NewsItem, newsLine, newsOf } from '../../cli/terminal/progress-text.ts'
import type { Screen } from '../../cli/terminal/screen.ts'
import {
  EMPTY_TALLY,
  type Progress,
  type ProgressEvent,
  type Tally,
  tallyEvents,
} from '../../domain/progress.ts'
import { frameLines, statusLine } from './view.ts'

export interface ProgressSource {
  progress(): Promise<Progress>
  /** The events after this one, in order. Fewer than the limit when those were all. */
  events(after: number, limit: number): Promise<ProgressEvent[]>
}

const HAPPENINGS_PER_READ = 1_000
const NEWS_KEPT_MAX = 50
const FAILURES_KEPT_MAX = 100
/** Without a terminal a line a second says enough. */
const LINE_EVERY_MS = 1_000
/** A log wraps by itself; only a runaway text is cut. */
const PLAIN_WIDTH = 200

export class DemoWatcher {
  readonly #source: ProgressSource
  readonly #io: Io
  readonly #screen: Screen | null
  #after = 0
  #fresh: NewsItem[] = []
  #news: NewsItem[] = []
  #saidAtMs = Number.NEGATIVE_INFINITY
  #saidLast = ''
  progress: Progress | null = null
  tally: Tally = EMPTY_TALLY
  /** The steps that failed for good, one for each member who failed. */
  readonly failures: NewsItem[] = []

  constructor(source: ProgressSource, io: Io, screen: Screen | null) {
    this.#source = source
    this.#io = io
    this.#screen = screen
  }

  /** Reads what is new. */
  async refresh(): Promise<Progress> {
    const progress = await this.#source.progress()
    this.progress = progress
    for (;;) {
      const happenings = await this.#source.events(this.#after, HAPPENINGS_PER_READ)
      this.#after = happenings.at(-1)?.id ?? this.#after
      this.tally = tallyEvents(this.tally, happenings)
      this.#note(happenings)
      if (happenings.length < HAPPENINGS_PER_READ) return progress
    }
  }

  #note(happenings: readonly ProgressEvent[]): void {
    for (const happening of happenings) {
      const item = newsOf(happening)
      if (!item) continue
      this.#fresh.push(item)
      const isEnd = happening.event === 'fail' || happening.event === 'time_out'
      const isOfMember = happening.entity === 'step' && happening.stepKind === 'phase'
      if (isEnd && isOfMember && this.failures.length < FAILURES_KEPT_MAX) this.failures.push(item)
    }
  }

  /** Shows what was read. `realMs` is the watcher's own time, of which a log gets a line each second. */
  show(now: Date, realMs: number, clockFactor: number, isSkipping: boolean): void {
    const { progress, tally } = this
    if (progress === null) return
    this.#news = [...this.#news, ...this.#fresh].slice(-NEWS_KEPT_MAX)
    const sight = { progress, tally, now, news: this.#news, clockFactor, isSkipping }
    if (this.#screen) {
      const { width, height } = this.#screen
      this.#screen.draw(frameLines(sight, { width, height }, this.#io.paint))
    } else {
      for (const item of this.#fresh) this.#io.out(newsLine(item, PLAIN_WIDTH, this.#io.paint))
      this.#sayStatus(statusLine(sight), realMs)
    }
    this.#fresh = []
  }

  #sayStatus(line: string, realMs: number): void {
    if (realMs - this.#saidAtMs < LINE_EVERY_MS || line === this.#saidLast) return
    this.#saidAtMs = realMs
    this.#saidLast = line
    this.#io.out(line)
  }
}
