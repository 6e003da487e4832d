// What a process measures about itself: counters and histograms, kept in memory and shown at `/metrics`. Names and labels are
// declared here once; a label has few values (a function, a status), never a person, a batch or a job, so series stay few.
import { head, type Labels, labelText } from './prometheus.ts'

interface Declared {
  readonly help: string
  readonly labels: readonly string[]
  /** Upper bounds in seconds: a histogram. Without them it is a counter. */
  readonly bucketsSec?: readonly number[]
}

const FAST_SEC = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10]
const SLOW_SEC = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]

export const MEASURES = {
  matoolkit_http_request_seconds: {
    help: 'How long requests to the API took.',
    labels: ['method', 'route', 'status'],
    bucketsSec: FAST_SEC,
  },
  matoolkit_job_seconds: {
    help: 'How long jobs took, from start to result.',
    labels: ['worker', 'function', 'status'],
    bucketsSec: SLOW_SEC,
  },
  matoolkit_jobs_refused_total: {
    help: 'Jobs that a worker refused: nothing ran.',
    labels: ['worker', 'reason'],
  },
  matoolkit_throttled_total: {
    help: 'How often a service of the tenant said that there are too many calls.',
    labels: ['worker', 'service'],
  },
  matoolkit_throttled_seconds_total: {
    help: 'How long the service let no call through, summed up.',
    labels: ['worker', 'service'],
  },
  matoolkit_errors_total: {
    help: 'Errors that a role survived; the log has them.',
    labels: ['role'],
  },
} as const satisfies Readonly<Record<string, Declared>>

type Measure = keyof typeof MEASURES
type Histogram = {
  [Name in Measure]: (typeof MEASURES)[Name] extends { bucketsSec: readonly number[] }
    ? Name
    : never
}[Measure]
type LabelsOf<Name extends Measure> = Readonly<
  Record<(typeof MEASURES)[Name]['labels'][number], string | number>
>

interface Series {
  count: number
  sum: number
  readonly buckets: number[]
}

/** The measures of this process. */
export class Measures {
  readonly #series = new Map<Measure, Map<string, Series>>()

  count<Name extends Exclude<Measure, Histogram>>(
    name: Name,
    labels: LabelsOf<Name>,
    by = 1,
  ): void {
    this.#of(name, labels).sum += by
  }

  observe<Name extends Histogram>(name: Name, labels: LabelsOf<Name>, ms: number): void {
    const sec = ms / 1_000
    const one = this.#of(name, labels)
    one.count += 1
    one.sum += sec
    for (const [index, limit] of MEASURES[name].bucketsSec.entries())
      if (sec <= limit) one.buckets[index]! += 1
  }

  /** Only what has been measured; without a series a measure has no lines. */
  lines(): string[] {
    return [...this.#series].flatMap(([name, byLabels]) => {
      const declared: Declared = MEASURES[name]
      const type = declared.bucketsSec ? 'histogram' : 'counter'
      return [
        ...head(name, type, declared.help),
        ...[...byLabels].flatMap(([labels, one]) => seriesLines(name, declared, labels, one)),
      ]
    })
  }

  #of(name: Measure, labels: Labels): Series {
    const byLabels = this.#series.get(name) ?? new Map<string, Series>()
    this.#series.set(name, byLabels)
    const key = labelText(labels)
    const declared: Declared = MEASURES[name]
    const one = byLabels.get(key) ?? {
      count: 0,
      sum: 0,
      buckets: (declared.bucketsSec ?? []).map(() => 0),
    }
    byLabels.set(key, one)
    return one
  }
}

function seriesLines(
  name: string,
  { bucketsSec }: Declared,
  labels: string,
  { count, sum, buckets }: Series,
): string[] {
  if (!bucketsSec) return [`${name}{${labels}} ${sum}`]
  return [
    ...buckets.map((n, at) => `${name}_bucket{${labels},le="${bucketsSec[at]!}"} ${n}`),
    `${name}_bucket{${labels},le="+Inf"} ${count}`,
    `${name}_sum{${labels}} ${sum}`,
    `${name}_count{${labels}} ${count}`,
  ]
}
