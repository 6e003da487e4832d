// A metric with its series at one moment: what `/metrics` shows as text and what is pushed to a collector are the same families.

export type Labels = Readonly<Record<string, string | number>>

export interface Series {
  readonly labels: Labels
  /** A counter's sum, a gauge's value, or the sum of what a histogram has observed. */
  readonly value: number
  /** Of a histogram: observations in all, and up to each of its bounds. */
  readonly count?: number
  readonly buckets?: readonly number[]
}

export interface MetricFamily {
  readonly name: string
  readonly type: 'gauge' | 'counter' | 'histogram'
  readonly help: string
  /** Upper bounds of a histogram's buckets. */
  readonly bounds?: readonly number[]
  readonly series: readonly Series[]
}

export const gauge = (name: string, help: string, series: readonly Series[]): MetricFamily => ({
  name,
  type: 'gauge',
  help,
  series,
})
