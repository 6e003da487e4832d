// The text format of Prometheus (0.0.4): https://prometheus.io/docs/instrumenting/exposition_formats/

export type Labels = Readonly<Record<string, string | number>>

export const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8'

export const head = (name: string, type: string, help: string): string[] => [
  `# HELP ${name} ${help}`,
  `# TYPE ${name} ${type}`,
]

export const labelText = (labels: Labels): string =>
  Object.entries(labels)
    .map(([name, value]) => `${name}="${escaped(String(value))}"`)
    .join(',')

const escaped = (value: string): string =>
  value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
