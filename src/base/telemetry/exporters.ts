// The exporters of OpenTelemetry and of Azure Monitor. Their packages are optional, and loaded only here, once a setting asks for them.
import { loadOptional } from '../run/optional-packages.ts'
import type {
  LogRecord,
  ReadableSpan,
  ResourceMetrics,
  Temporality,
} from './open-telemetry-shapes.ts'

interface Exporter<T> {
  export(items: T, done: (result: { readonly code: number; readonly error?: Error }) => void): void
  shutdown(): Promise<void>
}

/** Where telemetry goes. Each call rejects when it did not arrive. */
export interface Collector {
  readonly name: string
  readonly temporality: Temporality
  sendSpans(spans: ReadableSpan[]): Promise<void>
  sendEvents(events: LogRecord[]): Promise<void>
  /** Lines of the log: rows of `traces` in Application Insights, of `exceptions` with an error. */
  sendLogs(lines: LogRecord[]): Promise<void>
  sendMetrics(metrics: ResourceMetrics): Promise<void>
  close(): Promise<void>
}

/** Says who sends, to either. */
const RESOURCES = '@opentelemetry/resources'
/** The exporter tries again within this time. */
const EXPORT_TIMEOUT_MS = 10_000

export interface OtlpAccess {
  /** Its paths are `/v1/traces`, `/v1/metrics` and `/v1/logs`. */
  readonly endpoint: string
  readonly headers: Readonly<Record<string, string>>
}

export async function openOtlp({ endpoint, headers }: OtlpAccess): Promise<Collector> {
  const [{ OTLPTraceExporter }, { OTLPMetricExporter }, { OTLPLogExporter }] = await loadOptional(
    'TELEMETRY_PACKAGE_MISSING',
    [
      '@opentelemetry/exporter-trace-otlp-http',
      '@opentelemetry/exporter-metrics-otlp-http',
      '@opentelemetry/exporter-logs-otlp-http',
      RESOURCES,
    ],
    () =>
      Promise.all([
        import('@opentelemetry/exporter-trace-otlp-http'),
        import('@opentelemetry/exporter-metrics-otlp-http'),
        import('@opentelemetry/exporter-logs-otlp-http'),
        import('@opentelemetry/resources'),
      ]),
  )
  const at = (signal: string) => ({
    url: `${endpoint.replace(/\/$/, '')}/v1/${signal}`,
    headers: { ...headers },
    timeoutMillis: EXPORT_TIMEOUT_MS,
  })
  return collectorOf('OTLP', 'cumulative', {
    spans: new OTLPTraceExporter(at('traces')),
    metrics: new OTLPMetricExporter(at('metrics')),
    events: new OTLPLogExporter(at('logs')),
  })
}

export interface AzureMonitorAccess {
  readonly connectionString: string
  /** Null where the connection string alone is enough. */
  readonly credential: MonitorCredential | null
}

/** The part of the SDK's TokenCredential that it needs. */
export interface MonitorCredential {
  getToken(): Promise<{ readonly token: string; readonly expiresOnTimestamp: number }>
}

export async function openAzureMonitor(access: AzureMonitorAccess): Promise<Collector> {
  const { connectionString, credential } = access
  const [{ AzureMonitorTraceExporter, AzureMonitorMetricExporter, AzureMonitorLogExporter }] =
    await loadOptional(
      'TELEMETRY_PACKAGE_MISSING',
      ['@azure/monitor-opentelemetry-exporter', RESOURCES],
      () =>
        Promise.all([
          import('@azure/monitor-opentelemetry-exporter'),
          import('@opentelemetry/resources'),
        ]),
    )
  const options = {
    connectionString,
    // What cannot be sent is lost and counted; nothing is left on the disk.
    disableOfflineStorage: true,
    ...(credential && { credential }),
  }
  const collector = collectorOf('Azure Monitor', 'delta', {
    spans: new AzureMonitorTraceExporter(options),
    metrics: new AzureMonitorMetricExporter(options),
    events: new AzureMonitorLogExporter(options),
  })
  return {
    ...collector,
    // Its requests have no name of their own, only that of the operation.
    sendSpans: (spans) =>
      collector.sendSpans(
        spans.map((span) => ({
          ...span,
          attributes: { ...span.attributes, 'ai.operation.name': span.name },
        })),
      ),
    sendEvents: (events) =>
      collector.sendEvents(
        events.map((event) => ({
          ...event,
          // Makes it a row of customEvents instead of traces.
          attributes: { ...event.attributes, 'microsoft.custom_event.name': event.eventName! },
        })),
      ),
  }
}

function collectorOf(
  name: string,
  temporality: Temporality,
  {
    spans,
    events,
    metrics,
  }: {
    readonly spans: Exporter<ReadableSpan[]>
    readonly events: Exporter<LogRecord[]>
    readonly metrics: Exporter<ResourceMetrics>
  },
): Collector {
  return {
    name,
    temporality,
    sendSpans: (items) => sent(spans, items),
    sendEvents: (items) => sent(events, items),
    sendLogs: (items) => sent(events, items),
    sendMetrics: (items) => sent(metrics, items),
    close: async () => {
      await Promise.all([spans.shutdown(), events.shutdown(), metrics.shutdown()])
    },
  }
}

const sent = <T>(exporter: Exporter<T>, items: T): Promise<void> =>
  new Promise((resolve, reject) => {
    exporter.export(items, ({ code, error }) => {
      if (code === 0) resolve()
      else reject(error ?? new Error('the collector did not take it'))
    })
  })
