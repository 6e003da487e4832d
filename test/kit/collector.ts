// A collector on loopback: takes OTLP over HTTP in its JSON encoding, and what Azure Monitor's exporter sends, strictly. Field names and
// forms are those of opentelemetry-proto 1.x (trace.proto, metrics.proto, logs.proto, "JSON Protobuf Encoding").
import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { buffer } from 'node:stream/consumers'
import { gunzipSync } from 'node:zlib'

export interface SeenSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId: string | null
  readonly name: string
  readonly kind: number
  readonly startMs: number
  readonly endMs: number
  readonly attributes: Readonly<Record<string, string | number | boolean>>
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[]
  readonly error: string | null
}

export interface SeenEvent {
  readonly name: string
  readonly traceId: string | null
  readonly attributes: SeenSpan['attributes']
}

export interface SeenMetric {
  readonly name: string
  readonly unit: string
  readonly type: 'gauge' | 'sum' | 'histogram'
  readonly points: readonly {
    readonly attributes: SeenSpan['attributes']
    readonly value: number
    readonly count: number | null
    readonly buckets: readonly number[] | null
  }[]
}

/** An envelope of Application Insights: https://learn.microsoft.com/azure/azure-monitor/app/data-model-complete */
export interface Envelope {
  readonly name: string
  readonly iKey: string
  readonly tags: Readonly<Record<string, string>>
  readonly data: {
    readonly baseType: string
    readonly baseData: {
      readonly name?: string
      readonly id?: string
      readonly properties?: Readonly<Record<string, string>>
      readonly metrics?: readonly { readonly name: string; readonly value: number }[]
    }
  }
}

export interface TestCollector {
  readonly url: string
  readonly spans: SeenSpan[]
  readonly events: SeenEvent[]
  /** By name, as pushed last. */
  readonly metrics: Map<string, SeenMetric>
  readonly envelopes: Envelope[]
  readonly resources: Set<string>
  /** Everything that came, as text: what must not be in it. */
  text(): string
  headers: IncomingMessage['headers'] | null
  /** Answers all further requests with this status; null: never answers. */
  status: number | null
  close(): Promise<void>
}

type Raw = Readonly<Record<string, unknown>>

/** With a key and a certificate it speaks https, as Azure's exporter insists. */
export async function openCollector(tls?: {
  readonly key: string
  readonly cert: string
}): Promise<TestCollector> {
  const texts: string[] = []
  const listen: RequestListener = async (request, response) => {
    const bytes = await buffer(request)
    const isZipped = request.headers['content-encoding'] === 'gzip'
    const text = (isZipped ? gunzipSync(bytes) : bytes).toString()
    texts.push(text)
    collector.headers = request.headers
    if (collector.status === null) return
    response.writeHead(collector.status, { 'content-type': 'application/json' })
    if (collector.status !== 200) return void response.end('{}')
    const answer = take(collector, request.url!, text)
    response.end(JSON.stringify(answer))
  }
  const server = tls ? createTlsServer(tls, listen) : createServer(listen)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const collector: TestCollector = {
    url: `${tls ? 'https' : 'http'}://127.0.0.1:${(server.address() as { port: number }).port}`,
    spans: [],
    events: [],
    metrics: new Map(),
    envelopes: [],
    resources: new Set(),
    text: () => texts.join('\n'),
    headers: null,
    status: 200,
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return collector
}

function take(collector: TestCollector, path: string, text: string): Raw {
  switch (path) {
    case '/v1/traces':
      for (const span of unpack(collector, text, 'Spans', 'spans'))
        collector.spans.push(spanFrom(span))
      return {}
    case '/v1/logs':
      for (const record of unpack(collector, text, 'Logs', 'logRecords'))
        collector.events.push(eventFrom(record))
      return {}
    case '/v1/metrics':
      for (const metric of unpack(collector, text, 'Metrics', 'metrics')) {
        const seen = metricFrom(metric)
        collector.metrics.set(seen.name, seen)
      }
      return {}
    default: {
      assert.match(path, /^\/v2(?:\.1)?\/track/, 'no other path is asked for')
      const found = (
        text.startsWith('[') ? JSON.parse(text) : text.split('\n').map(parse)
      ) as Envelope[]
      collector.envelopes.push(...found)
      return { itemsReceived: found.length, itemsAccepted: found.length, errors: [] }
    }
  }
}

const parse = (line: string): unknown => JSON.parse(line)

function unpack({ resources }: TestCollector, text: string, signal: string, items: string): Raw[] {
  const body = JSON.parse(text) as Record<string, Record<string, unknown>[]>
  return body[`resource${signal}`]!.flatMap(({ resource, [`scope${signal}`]: scopes }) => {
    resources.add(JSON.stringify(attributesOf((resource as Raw).attributes)))
    return (scopes as Record<string, Raw[]>[]).flatMap((scope) => scope[items]!)
  })
}

const SPAN_FIELDS = [
  'traceId',
  'spanId',
  'traceState',
  'parentSpanId',
  'flags',
  'name',
  'kind',
  'startTimeUnixNano',
  'endTimeUnixNano',
  'attributes',
  'droppedAttributesCount',
  'events',
  'droppedEventsCount',
  'links',
  'droppedLinksCount',
  'status',
]

function spanFrom(raw: Raw): SeenSpan {
  for (const field of Object.keys(raw)) assert.ok(SPAN_FIELDS.includes(field), field)
  assert.match(raw.traceId as string, /^(?!0{32})[0-9a-f]{32}$/)
  assert.match(raw.spanId as string, /^(?!0{16})[0-9a-f]{16}$/)
  const status = raw.status as { readonly code: number; readonly message?: string }
  return {
    traceId: raw.traceId as string,
    spanId: raw.spanId as string,
    parentSpanId: (raw.parentSpanId as string | undefined) ?? null,
    name: raw.name as string,
    kind: raw.kind as number,
    startMs: msOf(raw.startTimeUnixNano),
    endMs: msOf(raw.endTimeUnixNano),
    attributes: attributesOf(raw.attributes),
    links: raw.links as SeenSpan['links'],
    error: status.code === 2 ? (status.message ?? '') : null,
  }
}

function eventFrom(raw: Raw): SeenEvent {
  msOf(raw.timeUnixNano)
  return {
    name: raw.eventName as string,
    traceId: (raw.traceId as string | undefined) ?? null,
    attributes: attributesOf(raw.attributes),
  }
}

function metricFrom(raw: Raw): SeenMetric {
  const type = (['gauge', 'sum', 'histogram'] as const).find((one) => one in raw)!
  const { dataPoints } = raw[type] as { readonly dataPoints: readonly Raw[] }
  const points = dataPoints.map((point) => ({
    attributes: attributesOf(point.attributes),
    value: Number(point.asDouble ?? point.asInt ?? point.sum),
    count: type === 'histogram' ? Number(point.count) : null,
    buckets: type === 'histogram' ? (point.bucketCounts as unknown[]).map(Number) : null,
  }))
  return { name: raw.name as string, unit: raw.unit as string, type, points }
}

/** A 64-bit number is a string in JSON. */
function msOf(nanos: unknown): number {
  assert.match(nanos as string, /^\d{16,}$/)
  return Number(BigInt(nanos as string) / 1_000_000n)
}

interface KeyValue {
  readonly key: string
  readonly value: Readonly<Record<string, string | number | boolean>>
}

const attributesOf = (list: unknown): SeenSpan['attributes'] =>
  Object.fromEntries(
    (list as readonly KeyValue[]).map(({ key, value }) => {
      const [kind, given] = Object.entries(value)[0]!
      assert.ok(['stringValue', 'intValue', 'doubleValue', 'boolValue'].includes(kind), kind)
      return [key, kind === 'intValue' ? Number(given) : given]
    }),
  )
