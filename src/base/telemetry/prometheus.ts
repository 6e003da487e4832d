// The text format of Prometheus (0.0.4): https://prometheus.io/docs/instrumenting/exposition_formats/
import type { Labels, MetricFamily, Series } from './metric-family.ts'

export const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

export function familyLines(family: MetricFamily): string[] {
  const { name, type, help, series } = family
  return [
    `# HELP ${name} ${help}`,
    `# TYPE ${name} ${type}`,
    ...series.flatMap((one) =>
      type === 'histogram' ? histogramLines(family, one) : [line(name, one)],
    ),
  ]
}

const line = (name: string, { labels, value }: Series): string => {
  const text = labelText(labels)
  return `${name}${text === '' ? '' : `{${text}}`} ${value}`
}

function histogramLines(
  { name, bounds = [] }: MetricFamily,
  { labels, value, count = 0, buckets = [] }: Series,
): string[] {
  const text = labelText(labels)
  return [
    ...bounds.map((bound, at) => `${name}_bucket{${text},le="${bound}"} ${buckets[at] ?? 0}`),
    `${name}_bucket{${text},le="+Inf"} ${count}`,
    `${name}_sum{${text}} ${value}`,
    `${name}_count{${text}} ${count}`,
  ]
}

export const labelText = (labels: Labels): string =>
  Object.entries(labels)
    .map(([name, value]) => `${name}="${escaped(String(value))}"`)
    .join(',')

const escaped = (value: string): string =>
  value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
