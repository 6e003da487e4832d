// What a process measures about itself: counters and histograms, kept in memory, shown at `/metrics` and pushed to a collector if one is set. Names and labels are
// declared here once; a label has few values (a function, a status), never a person, a batch or a job, so series stay few.
import type { Labels, MetricFamily } from './metric-family.ts'
import { familyLines, labelText } from './prometheus.ts'

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
  matoolkit_jobs_sent_total: {
    help: 'Jobs sent to workers: first ones, retries and polls.',
    labels: ['worker', 'kind'],
  },
  matoolkit_jobs_settled_total: {
    help: 'Jobs whose end was recorded, by how they ended.',
    labels: ['worker', 'outcome'],
  },
  matoolkit_telemetry_lost_total: {
    help: 'Spans, events and pushes of metrics that no collector took.',
    labels: ['signal'],
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

interface Counted {
  readonly labels: Labels
  count: number
  sum: number
  readonly buckets: number[]
}

/** The measures of this process. */
export class Measures {
  readonly #series = new Map<Measure, Map<string, Counted>>()

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

  /** Only what has been measured. */
  families(): MetricFamily[] {
    return [...this.#series].map(([name, byLabels]) => {
      const { help, bucketsSec: bounds }: Declared = MEASURES[name]
      const series = [...byLabels.values()]
      if (!bounds) {
        const counted = series.map(({ labels, sum }) => ({ labels, value: sum }))
        return { name, type: 'counter', help, series: counted }
      }
      const observed = series.map(({ labels, sum, count, buckets }) => {
        return { labels, value: sum, count, buckets: [...buckets] }
      })
      return { name, type: 'histogram', help, bounds, series: observed }
    })
  }

  lines(): string[] {
    return this.families().flatMap(familyLines)
  }

  #of(name: Measure, labels: Labels): Counted {
    const byLabels = this.#series.get(name) ?? new Map<string, Counted>()
    this.#series.set(name, byLabels)
    const key = labelText(labels)
    const declared: Declared = MEASURES[name]
    const one = byLabels.get(key) ?? {
      labels,
      count: 0,
      sum: 0,
      buckets: (declared.bucketsSec ?? []).map(() => 0),
    }
    byLabels.set(key, one)
    return one
  }
}
