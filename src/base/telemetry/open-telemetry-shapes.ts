// Our spans, events and families in the shapes that OpenTelemetry's exporters take.
import type { OTLPLogExporter } from '@opentelemetry/exporter-logs-otlp-http'
import type { OTLPMetricExporter } from '@opentelemetry/exporter-metrics-otlp-http'
import type { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import type { Resource } from '@opentelemetry/resources'
import type { LogLine } from '../log/log.ts'
import type { MetricFamily, Series } from './metric-family.ts'
import { labelText } from './prometheus.ts'
import type { LifecycleEvent, SpanContext, TraceSpan } from './telemetry.ts'

export type ReadableSpan = Parameters<OTLPTraceExporter['export']>[0][number]
export type LogRecord = Parameters<OTLPLogExporter['export']>[0][number]
export type ResourceMetrics = Parameters<OTLPMetricExporter['export']>[0]
type MetricData = ResourceMetrics['scopeMetrics'][number]['metrics'][number]
type HrTime = [number, number]

/** Who sends, and in which version. */
export interface Sender {
  readonly resource: Resource
  readonly scope: { readonly name: string; readonly version: string }
}

const KINDS = { internal: 0, client: 2, producer: 3, consumer: 4 } as const
const UNSET = 0
const FAILED = 2
const INFO = 9

const timeOf = (at: Date | number): HrTime => {
  const ms = Number(at)
  return [Math.floor(ms / 1_000), Math.round((ms % 1_000) * 1e6)]
}

const contextOf = ({ traceId, spanId, isSampled }: SpanContext) => ({
  traceId,
  spanId,
  traceFlags: isSampled ? 1 : 0,
})

const NOTHING_DROPPED = { droppedAttributesCount: 0, droppedEventsCount: 0, droppedLinksCount: 0 }

export function readableSpan(span: TraceSpan, { resource, scope }: Sender): ReadableSpan {
  const { context, parentId, name, kind, startedAt, attributes, links = [], error = null } = span
  const own = contextOf(context)
  const endedMs = Math.max(+span.endedAt, +startedAt)
  return {
    name,
    resource,
    ...NOTHING_DROPPED,
    instrumentationScope: scope,
    kind: KINDS[kind],
    spanContext: () => own,
    ...(parentId !== null && { parentSpanContext: { ...own, spanId: parentId } }),
    startTime: timeOf(startedAt),
    endTime: timeOf(endedMs),
    duration: timeOf(endedMs - +startedAt),
    status: error === null ? { code: UNSET } : { code: FAILED, message: error },
    attributes: { ...attributes, ...(error !== null && { 'error.type': error }) },
    links: links.map((link) => ({ context: contextOf(link) })),
    events: [],
    ended: true,
  }
}

export function logRecord(
  { name, at, attributes, context }: LifecycleEvent,
  { resource, scope }: Sender,
): LogRecord {
  return {
    resource,
    instrumentationScope: scope,
    droppedAttributesCount: 0,
    hrTime: timeOf(at),
    hrTimeObserved: timeOf(at),
    severityNumber: INFO,
    severityText: 'INFO',
    eventName: name,
    body: name,
    attributes: { ...attributes },
    ...(context && { spanContext: contextOf(context) }),
  }
}

const SEVERITIES: Readonly<Record<string, number>> = { debug: 5, info: INFO, warn: 13, error: 17 }

/** As runbooks and queries of the earlier system name them. */
const CONTEXT: Readonly<Record<string, string>> = {
  workerId: 'WorkerId',
  batchId: 'BatchId',
  stepId: 'StepExecutionId',
  stepExecutionId: 'StepExecutionId',
}

/** A line of the log, redacted before. One with an error is an exception, and so is a failed job. */
export function recordOfLine(line: LogLine, { resource, scope }: Sender): LogRecord {
  const { level, time, msg, failure, err: thrown, ...fields } = line
  const err = thrown ?? (failure && { type: failure, message: msg })
  const at = timeOf(new Date(String(time)))
  const attributes = Object.entries(fields).map(([name, value]) => [
    CONTEXT[name] ?? name,
    typeof value === 'string' || typeof value === 'number' ? value : JSON.stringify(value),
  ])
  return {
    resource,
    instrumentationScope: scope,
    droppedAttributesCount: 0,
    hrTime: at,
    hrTimeObserved: at,
    severityNumber: SEVERITIES[String(level)] ?? INFO,
    severityText: String(level).toUpperCase(),
    body: String(msg ?? ''),
    attributes: { ...Object.fromEntries(attributes), ...(err ? exceptionOf(err) : {}) },
  }
}

function exceptionOf(err: unknown): Record<string, string> {
  const { type, name, message = err, stack } = Object(err) as Record<string, unknown>
  const kind = String(type ?? name ?? 'Error')
  return {
    'exception.type': kind,
    'exception.message': String(message),
    // Azure Monitor drops an exception without one.
    'exception.stacktrace': typeof stack === 'string' ? stack : `${kind}: ${message}`,
  }
}

/** Azure Monitor adds up what it gets, so it is sent only what came since the last push; others get sums since the start. */
export type Temporality = 'delta' | 'cumulative'

const TEMPORALITIES = { delta: 0, cumulative: 1 } as const
const POINTS = { histogram: 0, gauge: 2, counter: 3 } as const

/** Remembers the last push where only the difference is sent. */
export class MetricShaper {
  readonly #temporality: Temporality
  readonly #sender: Sender
  #since: Date
  #last = new Map<string, Series>()

  constructor(temporality: Temporality, sender: Sender, startedAt: Date) {
    this.#temporality = temporality
    this.#sender = sender
    this.#since = startedAt
  }

  shape(families: readonly MetricFamily[], now: Date): ResourceMetrics {
    const { resource, scope } = this.#sender
    const metrics = families.map((family) => this.#metric(family, now))
    if (this.#temporality === 'delta') this.#since = now
    return { resource, scopeMetrics: [{ scope, metrics }] }
  }

  #metric(family: MetricFamily, now: Date): MetricData {
    const { name, help, type, series, bounds = [] } = family
    const times = { startTime: timeOf(this.#since), endTime: timeOf(now) }
    const points = series.map((one) => {
      const { labels, value, count = 0, buckets = [] } = this.#gained(family, one)
      const histogram = { buckets: { boundaries: [...bounds], counts: perBucket(buckets, count) } }
      const shown = type === 'histogram' ? { ...histogram, sum: value, count } : value
      return { ...times, attributes: { ...labels }, value: shown }
    })
    return {
      descriptor: { name, description: help, unit: unitOf(name), valueType: 1 },
      aggregationTemporality: TEMPORALITIES[this.#temporality],
      dataPointType: POINTS[type],
      dataPoints: points,
      ...(type === 'counter' && { isMonotonic: true }),
    } as MetricData
  }

  /** The series itself, or what it has gained since the last push. */
  #gained({ name, type }: MetricFamily, series: Series): Series {
    if (type === 'gauge' || this.#temporality === 'cumulative') return series
    const key = `${name}{${labelText(series.labels)}}`
    const last = this.#last.get(key)
    this.#last.set(key, series)
    if (!last) return series
    return {
      labels: series.labels,
      value: series.value - last.value,
      count: (series.count ?? 0) - (last.count ?? 0),
      buckets: (series.buckets ?? []).map((n, at) => n - (last.buckets?.[at] ?? 0)),
    }
  }
}

/** Prometheus counts up to each bound, OpenTelemetry between two. */
function perBucket(upTo: readonly number[], count: number): number[] {
  const all = [...upTo, count]
  return all.map((n, at) => n - (all[at - 1] ?? 0))
}

/** None for counts: with the unit "1" Prometheus renames a gauge to `…_ratio`. */
const unitOf = (name: string): string =>
  name.includes('_seconds') ? 's' : name.includes('_bytes') ? 'By' : ''
