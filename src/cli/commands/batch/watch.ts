// `matoolkit batch watch`: follows a batch until it ends. On a terminal a live screen that follows the window size, in a pipe a line
// per change, with `--output` a record per event and per new state. Stopping the watch does not affect the batch.

import { EXIT, MatoolkitError, messageOf } from '../../../base/errors/errors.ts'
import { fullTimeText } from '../../../base/text/zoned-time.ts'
import { PERSON_STATES, stateWord } from '../../../domain/state/person-state.ts'
import { followEvents, type LiveEvent } from '../../connection/event-stream.ts'
import { type CommandContext, durationMs } from '../../program/command-context.ts'
import { interruptible } from '../../terminal/interrupt.ts'
import { type NewsItem, newsLine } from '../../terminal/progress-text.ts'
import { openScreen, type Screen, type Terminal } from '../../terminal/screen.ts'
import type { Column } from '../../terminal/show.ts'
import { sayFailures } from '../next-commands.ts'
import { BATCH_ENDED } from './lists.ts'
import { type NamedBatch, namedBatch } from './named.ts'
import { newsFrom, type Summary, type WatchFrame, watchLine, watchLines } from './watch-view.ts'

const POLL_MS = 2_000
const EVENTS_PER_READ = 50
const NEWS_KEPT_MAX = 100
/** A log wraps; only a runaway text is cut. */
const PLAIN_WIDTH = 200
/** At two seconds per poll: two minutes, longer than a server restart. */
const FAILED_POLLS_MAX = 60

export interface WatchOptions {
  readonly terminal: Terminal | null
  readonly interrupted: AbortSignal
  /** Registers a function that redraws after the window size changed. */
  onResize(draw: () => void): void
}

export async function runWatch(context: CommandContext, [id]: readonly string[]): Promise<void> {
  const { io, show } = context
  let redraw = () => {}
  const resized = () => redraw()
  process.stdout.on('resize', resized)
  try {
    await interruptible((interrupted) =>
      followBatch(context, id!, {
        terminal: io.width === null || show.format !== 'table' ? null : process.stdout,
        interrupted,
        onResize: (draw) => {
          redraw = draw
        },
      }),
    )
  } finally {
    process.stdout.off('resize', resized)
  }
}

/** Polls and shows until the batch ends, the timeout is reached or the person interrupts. */
async function followBatch(
  context: CommandContext,
  id: string,
  options: WatchOptions,
): Promise<void> {
  const { clock, flags, io } = context
  const limitMs = durationMs('--timeout', flags.timeout) ?? Number.POSITIVE_INFINITY
  const startedMs = +clock.now()
  const watcher = new BatchWatcher(context, id, options.terminal && openScreen(options.terminal))
  options.onResize(() => watcher.draw())
  const over = new AbortController()
  try {
    await watcher.listen(AbortSignal.any([over.signal, options.interrupted]))
    while (!options.interrupted.aborted) {
      const status = await watcher.refresh(options.interrupted)
      await watcher.show()
      if (BATCH_ENDED.includes(status)) {
        if (status !== 'completed') io.exitCode = EXIT.failed
        watcher.end()
        return await sayFailures(context, id)
      }
      if (+clock.now() - startedMs >= limitMs) {
        const seconds = Math.round(limitMs / 1_000)
        const command = `matoolkit batch get ${id}`
        throw new MatoolkitError('WAIT_TIMED_OUT', {
          seconds,
          what: `The end of batch ${id}`,
          command,
        })
      }
      await clock.wait(POLL_MS, options.interrupted)
    }
  } finally {
    over.abort()
    watcher.end()
  }
  io.exitCode = EXIT.interrupted
  io.err(`You stopped watching; batch ${id} continues.`)
}

/** A record: an event, or the state of the batch. */
interface Entry {
  readonly at: string
  readonly event?: LiveEvent
  readonly summary?: Summary
}

const ENTRY: readonly Column<Entry>[] = [
  ['AT', 'at'],
  ['WHAT', ({ event }) => (event ? `${event.entity} ${event.event}` : 'batch')],
  ['TO', 'event.toStatus'],
  ['STATUS', ({ summary }) => summary?.batch.status],
  ['MEMBER', 'event.memberKey'],
  ['PHASE', 'event.phaseName'],
  ['STEP', 'event.stepName'],
  ['BECAUSE', 'event.because'],
  ...PERSON_STATES.map(
    (state): Column<Entry> => [
      stateWord(state).toUpperCase(),
      ({ summary }) => summary?.batch.members[state],
    ],
  ),
]

class BatchWatcher {
  readonly #context: CommandContext
  readonly #batch: NamedBatch
  readonly #screen: Screen | null
  #frame: WatchFrame | null = null
  #news: NewsItem[] = []
  #fresh: LiveEvent[] = []
  #lastEventId: number | null = null
  #lastLine = ''
  #failedPolls = 0

  constructor(context: CommandContext, id: string, screen: Screen | null) {
    this.#context = context
    this.#batch = namedBatch(id)
    this.#screen = screen
  }

  /** Reads the summary and returns the status of the batch; empty while the server is unreachable. */
  async refresh(signal: AbortSignal): Promise<string> {
    const { client, clock, io } = this.#context
    try {
      const given = { params: this.#batch }
      const endpoint = 'GET /api/batches/{batchId}/summary'
      const summary = await client.call(endpoint, given, { signal })
      const { status } = summary.batch
      if (BATCH_ENDED.includes(status)) await this.#catchUp()
      this.#failedPolls = 0
      const shown = { summary, news: this.#news, now: clock.now() }
      this.#frame = { ...shown, trouble: null, zone: io.zone }
      return status
    } catch (error) {
      this.#failedPolls += 1
      const isAway = error instanceof MatoolkitError && error.code === 'API_UNREACHABLE'
      if (!isAway || this.#frame === null || this.#failedPolls > FAILED_POLLS_MAX) {
        if (signal.aborted) return ''
        throw error
      }
      this.#frame = { ...this.#frame, now: clock.now(), trouble: messageOf(error) }
      return ''
    }
  }

  /** Reads the newest events once: at the start for the past, at the end for what the stream has not delivered. */
  async #catchUp(): Promise<void> {
    const given = {
      params: this.#batch,
      query: { limit: EVENTS_PER_READ, sort: 'newest' },
    } as const
    const endpoint = 'GET /api/batches/{batchId}/events'
    const { events } = await this.#context.client.call(endpoint, given)
    const isFirst = this.#lastEventId === null
    for (const event of events.toReversed()) this.#note(event, isFirst)
    this.#lastEventId ??= 0
  }

  #note(event: LiveEvent, isPast: boolean): void {
    if (event.id <= (this.#lastEventId ?? 0)) return
    this.#lastEventId = event.id
    const item = newsFrom(event)
    if (item) this.#news = [...this.#news, item].slice(-NEWS_KEPT_MAX)
    // A log starts now; the past is in `matoolkit events`.
    if (!isPast && this.#screen === null) this.#fresh.push(event)
  }

  /** Follows the events in the background. */
  async listen(signal: AbortSignal): Promise<void> {
    await this.#catchUp()
    const { client, clock } = this.#context
    const after = this.#lastEventId ?? 0
    void followEvents({ client, clock, query: this.#batch, after, signal }, (event) =>
      this.#note(event, false),
    )
  }

  /** Redraws the screen, if there is one. */
  draw(): void {
    if (this.#frame === null || this.#screen === null) return
    const { width, height } = this.#screen
    this.#screen.draw(watchLines(this.#frame, { width, height }, this.#context.io.paint))
  }

  /** Draws the screen, or prints what is new. */
  async show(): Promise<void> {
    if (this.#screen) return this.draw()
    if (this.#frame === null) return
    const { io, show } = this.#context
    const fresh = this.#fresh
    this.#fresh = []
    const line = this.#frame.trouble ?? watchLine(this.#frame)
    const isNew = line !== this.#lastLine
    this.#lastLine = line
    if (show.format === 'table') {
      const news = fresh.map(newsFrom).filter((item) => item !== null)
      for (const item of news) io.out(newsLine(item, PLAIN_WIDTH, io.paint, io.zone, fullTimeText))
      if (isNew) io.out(`${fullTimeText(this.#frame.now, io.zone)} ${line}`)
      return
    }
    for (const event of fresh) await show.entry<Entry>({ at: event.at, event }, ENTRY)
    const { trouble, summary, now } = this.#frame
    if (isNew && trouble !== null) io.err(trouble)
    else if (isNew) await show.entry<Entry>({ at: now.toISOString(), summary }, ENTRY)
  }

  end(): void {
    this.#screen?.end()
  }
}
