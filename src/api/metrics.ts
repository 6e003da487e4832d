// Metrics in Prometheus text format: requests answered by this process, and the amount of work. Work metrics are read from counters
// and small tables on each scrape, so they cost nothing in between and are the same from every process.
import type { BusDepth, TopicCount } from '../bus/bus.ts'
import type { WorkFigures } from '../db/views/metrics.ts'

const BUCKETS_MS = [5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 10_000]

interface Series {
  count: number
  sumMs: number
  readonly buckets: number[]
}

export interface AnsweredRequest {
  readonly method: string
  readonly route: string
  readonly status: number
  readonly ms: number
}

export interface Meter {
  begin(): void
  end(answered: AnsweredRequest): void
  /** Requests being answered. */
  inFlight(): number
  lines(): string[]
}

/** One series per route and status, so callers cannot make their number grow. */
export function createMeter(): Meter {
  const series = new Map<string, Series>()
  let inFlight = 0
  return {
    begin: () => {
      inFlight += 1
    },
    end: ({ method, route, status, ms }) => {
      inFlight -= 1
      const key = labels({ method, route, status })
      const one = series.get(key) ?? { count: 0, sumMs: 0, buckets: BUCKETS_MS.map(() => 0) }
      series.set(key, one)
      one.count += 1
      one.sumMs += ms
      for (const [index, limit] of BUCKETS_MS.entries()) if (ms <= limit) one.buckets[index]! += 1
    },
    inFlight: () => inFlight,
    lines: () => [
      ...head('matoolkit_http_in_flight', 'gauge', 'Requests being answered.'),
      `matoolkit_http_in_flight ${inFlight}`,
      ...head('matoolkit_http_request_seconds', 'histogram', 'How long requests took.'),
      ...[...series].flatMap(([key, one]) => seriesLines(key, one)),
    ],
  }
}

const head = (name: string, type: string, help: string): string[] => [
  `# HELP ${name} ${help}`,
  `# TYPE ${name} ${type}`,
]

const labels = (values: Readonly<Record<string, string | number>>): string =>
  Object.entries(values)
    .map(([name, value]) => `${name}="${value}"`)
    .join(',')

function seriesLines(key: string, { count, sumMs, buckets }: Series): string[] {
  const name = 'matoolkit_http_request_seconds'
  return [
    ...buckets.map((n, at) => `${name}_bucket{${key},le="${BUCKETS_MS[at]! / 1_000}"} ${n}`),
    `${name}_bucket{${key},le="+Inf"} ${count}`,
    `${name}_sum{${key}} ${sumMs / 1_000}`,
    `${name}_count{${key}} ${count}`,
  ]
}

export function busFigures({ messages, deadLetters }: BusDepth): WorkFigures {
  const valuesOf = (counts: readonly TopicCount[]) =>
    counts.map(({ topic, count }) => ({ of: topic, count }))
  return {
    messages: { help: 'Messages on the bus by topic.', label: 'topic', values: valuesOf(messages) },
    dead_letters: {
      help: 'Dead letters that wait for a person, by topic.',
      label: 'topic',
      values: valuesOf(deadLetters),
    },
  }
}

/** One gauge per figure, with one label such as a status or a topic. */
export function workLines(figures: WorkFigures): string[] {
  return Object.entries(figures).flatMap(([name, { help, label, values }]) => [
    ...head(`matoolkit_${name}`, 'gauge', help),
    ...values.map(({ of, count }) => `matoolkit_${name}{${label}="${of}"} ${count}`),
  ])
}

export function processLines(memory: NodeJS.MemoryUsage, uptimeSec: number): string[] {
  return [
    ...head('process_resident_memory_bytes', 'gauge', 'Memory of this process.'),
    `process_resident_memory_bytes ${memory.rss}`,
    ...head('nodejs_heap_size_used_bytes', 'gauge', 'JavaScript heap in use.'),
    `nodejs_heap_size_used_bytes ${memory.heapUsed}`,
    ...head('process_uptime_seconds', 'gauge', 'Since this process started.'),
    `process_uptime_seconds ${Math.round(uptimeSec)}`,
  ]
}
