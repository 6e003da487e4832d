// Sends spans, events and metrics to the collectors of the settings. A collector that is slow or away costs telemetry and nothing else:
// queues are bounded, nobody waits for them, and stopping sends what is left within a few seconds.

import type { LogLine } from '../log/log.ts'
import type { Clock } from '../run/clock.ts'
import { everyLoop, type Loop, type Service } from '../run/service.ts'
import { ExportQueue } from './export-queue.ts'
import type { Collector } from './exporters.ts'
import type { Measures } from './measures.ts'
import type { MetricFamily } from './metric-family.ts'
import {
  logRecord,
  MetricShaper,
  readableSpan,
  recordOfLine,
  type Sender,
} from './open-telemetry-shapes.ts'
import { isTraceSampled, type LifecycleEvent, type Telemetry, type TraceSpan } from './telemetry.ts'

/** At 7,500 steps a second a queue takes about a second of spans. */
const QUEUE_MAX = 30_000
const SENT_AT_ONCE = 2_000
const SEND_INTERVAL_MS = 5_000
const PUSH_INTERVAL_MS = 60_000
/** For one request; not every exporter has a limit of its own. */
const SEND_LIMIT_MS = 15_000
/** Of the time that a process has to stop. */
const LAST_FLUSH_MS = 3_000

export interface ExportingOptions {
  readonly collectors: readonly Collector[]
  readonly sender: Sender
  readonly messagingSystem: string
  readonly clock: Clock
  /** The share of traces that is sent, from 0 to 1. */
  readonly ratio: number
  readonly measures: Measures
  /** Everything to push besides the measures of this process. */
  families(now: Date): Promise<readonly MetricFamily[]>
  /** Called for the first of several failures in a row. */
  onError(error: unknown, collector: string): void
}

/** Telemetry that is on. As a service it is started first and stopped last. */
export interface Exporting extends Telemetry, Service {
  /** Takes a finished line of the log. */
  logLine(line: LogLine): void
}

export function exportTo(options: ExportingOptions): Exporting {
  const { clock, ratio } = options
  const startedAt = clock.now()
  const outlets = options.collectors.map((collector) => new Outlet(collector, options, startedAt))
  return {
    name: 'telemetry',
    messagingSystem: options.messagingSystem,
    isSampled: (traceId) => isTraceSampled(traceId, ratio),
    span: (span) => {
      if (span.context.isSampled) for (const outlet of outlets) outlet.span(span)
    },
    event: (event) => {
      if (event.context?.isSampled === false) return
      for (const outlet of outlets) outlet.event(event)
    },
    logLine: (line) => {
      for (const outlet of outlets) outlet.logLine(line)
    },
    start: () => {
      for (const outlet of outlets) outlet.start()
    },
    stop: async () => {
      const over = new AbortController()
      const all = Promise.all(outlets.map((outlet) => outlet.stop())).finally(() => over.abort())
      await Promise.race([all, clock.wait(LAST_FLUSH_MS, over.signal)])
    },
  }
}

/** One collector with its queues. */
class Outlet {
  readonly #collector: Collector
  readonly #options: ExportingOptions
  readonly #spans: ExportQueue<TraceSpan>
  readonly #events: ExportQueue<LifecycleEvent>
  readonly #logs: ExportQueue<LogLine>
  readonly #shaper: MetricShaper
  readonly #sendLoop: Loop
  readonly #pushLoop: Loop

  constructor(collector: Collector, options: ExportingOptions, startedAt: Date) {
    const { clock, sender, measures } = options
    this.#collector = collector
    this.#options = options
    this.#shaper = new MetricShaper(collector.temporality, sender, startedAt)
    const queue = <T>(signal: string, send: (items: readonly T[]) => Promise<void>) =>
      new ExportQueue<T>({
        max: QUEUE_MAX,
        atOnce: SENT_AT_ONCE,
        send: (items) => inTime(clock, send(items)),
        onFull: () => this.#sendLoop.nudge(),
        onLost: (count) => measures.count('matoolkit_telemetry_lost_total', { signal }, count),
      })
    this.#spans = queue('spans', (items) =>
      collector.sendSpans(items.map((span) => readableSpan(span, sender))),
    )
    this.#events = queue('events', (items) =>
      collector.sendEvents(items.map((event) => logRecord(event, sender))),
    )
    this.#logs = queue('logs', (items) =>
      collector.sendLogs(items.map((line) => recordOfLine(line, sender))),
    )
    const loop = (name: string, intervalMs: number, runOnce: (now: Date) => Promise<void>) =>
      everyLoop({
        name: `${name} to ${collector.name}`,
        clock,
        intervalMs,
        runOnce,
        onError: (error, inARow) => {
          if (inARow === 1) options.onError(error, collector.name)
        },
      })
    this.#sendLoop = loop('spans', SEND_INTERVAL_MS, () => this.#flush())
    this.#pushLoop = loop('metrics', PUSH_INTERVAL_MS, async (now) =>
      this.#push(await options.families(now), now),
    )
  }

  span(span: TraceSpan): void {
    this.#spans.push(span)
  }

  event(event: LifecycleEvent): void {
    this.#events.push(event)
  }

  logLine(line: LogLine): void {
    this.#logs.push(line)
  }

  start(): void {
    this.#sendLoop.start()
    this.#pushLoop.start()
  }

  /** Sends what is left. */
  async stop(): Promise<void> {
    const { clock, onError } = this.#options
    await Promise.all([this.#sendLoop.stop(), this.#pushLoop.stop()])
    // What is in the database is not read any more.
    const last = [this.#flush(), this.#push([], clock.now())]
    for (const { status, reason } of (await Promise.allSettled(last)) as PromiseRejectedResult[])
      if (status === 'rejected') onError(reason, this.#collector.name)
    await this.#collector.close()
  }

  async #flush(): Promise<void> {
    await this.#spans.flush()
    await this.#events.flush()
    await this.#logs.flush()
  }

  async #push(families: readonly MetricFamily[], now: Date): Promise<void> {
    const { measures, clock } = this.#options
    const all = [...measures.families(), ...families]
    if (all.length === 0) return
    try {
      await inTime(clock, this.#collector.sendMetrics(this.#shaper.shape(all, now)))
    } catch (error) {
      measures.count('matoolkit_telemetry_lost_total', { signal: 'metrics' })
      throw error
    }
  }
}

async function inTime(clock: Clock, sending: Promise<void>): Promise<void> {
  const answered = new AbortController()
  const late = clock.wait(SEND_LIMIT_MS, answered.signal).then(() => {
    if (!answered.signal.aborted)
      throw new Error(`the collector did not answer within ${SEND_LIMIT_MS / 1_000} s`)
  })
  try {
    await Promise.race([sending, late])
  } finally {
    answered.abort()
  }
}
