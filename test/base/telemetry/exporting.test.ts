// Metrics and events at the collectors; a collector that is away costs telemetry and nothing else.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { makeAuthority } from '../../../sandbox/authority.ts'
import { createLog, tapLog } from '../../../src/base/log/log.ts'
import { virtualClock } from '../../../src/base/run/clock.ts'
import { quietExporters } from '../../../src/base/settings/config.ts'
import {
  type Collector,
  openAzureMonitor,
  openOtlp,
} from '../../../src/base/telemetry/exporters.ts'
import { exportTo } from '../../../src/base/telemetry/exporting.ts'
import { Measures } from '../../../src/base/telemetry/measures.ts'
import { gauge } from '../../../src/base/telemetry/metric-family.ts'
import { familyLines } from '../../../src/base/telemetry/prometheus.ts'
import { spanIdOf, type TraceSpan, traceIdOf } from '../../../src/base/telemetry/telemetry.ts'
import { openCollector, type TestCollector } from '../../kit/collector.ts'
import { openStory, SECRETS } from './story.ts'

const START = new Date('2026-03-02T08:00:00Z')
const WORK = [
  gauge('matoolkit_messages', 'Messages.', [{ labels: { topic: 'worker-jobs' }, value: 7 }]),
]

let collector: TestCollector
beforeEach(async () => {
  collector = await openCollector()
})
afterEach(() => collector.close())

function exporting(to: Collector) {
  const clock = virtualClock(START)
  const measures = new Measures()
  const errors: unknown[] = []
  const telemetry = exportTo({
    collectors: [to],
    clock,
    measures,
    ratio: 1,
    messagingSystem: 'postgresql',
    sender: {
      resource: resourceFromAttributes({ 'service.name': 'matoolkit' }),
      scope: { name: 'matoolkit', version: '1' },
    },
    families: async () => WORK,
    onError: (error) => errors.push(error),
  })
  return { clock, measures, errors, telemetry }
}

const traceId = traceIdOf('t')
const span = (n: number): TraceSpan => ({
  context: { traceId, spanId: spanIdOf(n), isSampled: true },
  parentId: null,
  name: 'n',
  kind: 'internal',
  startedAt: START,
  endedAt: START,
  attributes: {},
})

/** Until something that needs real I/O has come. */
async function until(isThere: () => boolean): Promise<void> {
  while (!isThere()) await new Promise(setImmediate)
}

describe('metrics by OTLP', () => {
  it('are those of /metrics: the same names, labels and values', async () => {
    const { telemetry, measures, clock } = exporting(
      await openOtlp({ endpoint: collector.url, headers: {} }),
    )
    const labels = { worker: 'w1', function: 'Get-Person', status: 'Success' }
    for (const ms of [40, 40, 700, 400_000]) measures.observe('matoolkit_job_seconds', labels, ms)
    measures.count('matoolkit_throttled_total', { worker: 'w1', service: 'Graph' }, 3)
    telemetry.start()
    await until(() => collector.metrics.size > 0)
    const shown = [...measures.families(), ...WORK]
    assert.deepEqual([...collector.metrics.keys()].sort(), shown.map(({ name }) => name).sort())
    const histogram = collector.metrics.get('matoolkit_job_seconds')!
    assert.deepEqual([histogram.type, histogram.unit], ['histogram', 's'])
    const [point] = histogram.points
    assert.deepEqual([point!.attributes, point!.count], [labels, 4])
    assert.equal(point!.value, 400.78)
    assert.deepEqual(point!.buckets, [2, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1])
    assert.match(familyLines(shown[0]!).join('\n'), /le="1"\} 3\n/)
    assert.deepEqual(collector.metrics.get('matoolkit_throttled_total')!.points[0]!.value, 3)
    assert.deepEqual(collector.metrics.get('matoolkit_messages')!.type, 'gauge')
    measures.count('matoolkit_throttled_total', { worker: 'w1', service: 'Graph' })
    await clock.advance(60_000)
    await until(() => collector.metrics.get('matoolkit_throttled_total')!.points[0]!.value === 4)
    await telemetry.stop()
  })
})

describe('a collector that is away', () => {
  it('loses what does not fit, says so once, and never lets anybody wait', async () => {
    let isAway = true
    const taken: number[] = []
    const { telemetry, measures, errors, clock } = exporting({
      name: 'away',
      temporality: 'cumulative',
      close: async () => {},
      sendSpans: async (items) => {
        if (isAway) throw new Error('no route to host')
        taken.push(items.length)
      },
      sendEvents: async () => {},
      sendLogs: async () => {},
      sendMetrics: async () => {},
    })
    for (let n = 0; n < 30_010; n++) telemetry.span(span(n))
    telemetry.start()
    await clock.advance(5_000)
    const lost = () =>
      measures.families().find(({ name }) => name === 'matoolkit_telemetry_lost_total')?.series
    assert.ok(lost()![0]!.value >= 2_010, 'ten did not fit, and a portion failed')
    await clock.advance(60_000)
    assert.equal(errors.length, 1, 'said once')
    isAway = false
    await clock.advance(60_000)
    await telemetry.stop()
    const sent = taken.reduce((sum, count) => sum + count, 0)
    assert.equal(sent + lost()![0]!.value, 30_010, 'each is sent or counted')
    assert.ok(taken.every((count) => count <= 2_000))
  })

  it('does not keep a process from stopping: what is left has three seconds', async () => {
    collector.status = null
    const { telemetry, clock } = exporting(await openOtlp({ endpoint: collector.url, headers: {} }))
    telemetry.span(span(1))
    const stopped = telemetry.stop()
    await until(() => collector.text() !== '')
    await clock.advance(2_999)
    const first = await Promise.race([stopped.then(() => 'stopped'), new Promise(setImmediate)])
    assert.notEqual(first, 'stopped', 'it has tried')
    await clock.advance(1)
    await stopped
  })
})

describe('Azure Monitor', () => {
  it('gets requests, dependencies, customEvents and customMetrics under the names of the queries', async () => {
    quietExporters()
    const { certificate, server } = await makeAuthority(['127.0.0.1'], new Date())
    const trusted = getCACertificates('default')
    setDefaultCACertificates([...trusted, certificate])
    await collector.close()
    collector = await openCollector(server)
    const key = '00000000-1111-2222-3333-444444444444'
    const connectionString = `InstrumentationKey=${key};IngestionEndpoint=${collector.url}/`
    const story = await openStory([await openAzureMonitor({ connectionString, credential: null })])
    await story.world.batch('traced', 2, { startsInMin: 60 })
    const worker = story.worker()
    await story.settle(worker)
    await story.world.clock.advance(60_000)
    await story.settle(worker)
    story.telemetry.event({ name: 'WorkerStarted', at: START, attributes: { WorkerId: 'w1' } })
    const shown: string[] = []
    const destination = { write: (line: string) => shown.push(line) }
    const log = createLog({ level: 'info', format: 'json', clock: story.world.clock, destination })
    tapLog(log, (line) => story.telemetry.logLine(line))
    const job = { workerId: 'w1', batchId: 7, stepId: 42 }
    log.child(job).info({ token: 'hunter2' }, 'Job finished')
    log.error({ ...job, err: new TypeError('no such user') }, 'Worker error')
    log.warn({ ...job, failure: 'UnknownFunction', attempts: 1 }, 'Job failed')
    log.debug('not shown, not sent')
    await story.close()
    setDefaultCACertificates(trusted)
    const { envelopes } = collector
    assert.ok(envelopes.every(({ iKey }) => iKey === key))
    const of = (baseType: string) =>
      envelopes.filter(({ data }) => data.baseType === baseType).map(({ data }) => data.baseData)
    const names = (baseType: string) => new Set(of(baseType).map(({ name }) => name))
    assert.deepEqual(
      names('RequestData'),
      new Set(['process worker-jobs', 'process worker-results']),
    )
    assert.ok(names('RemoteDependencyData').has('GET /v1.0/users/*'))
    assert.deepEqual(names('EventData'), new Set(['JobDispatched', 'WorkerStarted']))
    const [trace, ...others] = of('MessageData')
    assert.deepEqual(others, [])
    assert.partialDeepStrictEqual(trace, {
      message: 'Job finished',
      properties: { WorkerId: 'w1', BatchId: '7', StepExecutionId: '42' },
    })
    const thrown = of('ExceptionData')
    assert.partialDeepStrictEqual(thrown, [
      { exceptions: [{ typeName: 'TypeError', message: 'no such user' }] },
      { exceptions: [{ typeName: 'UnknownFunction', message: 'Job failed' }] },
    ])
    for (const { properties } of thrown)
      assert.partialDeepStrictEqual(properties, {
        WorkerId: 'w1',
        BatchId: '7',
        StepExecutionId: '42',
      })
    assert.equal(shown.length, 3)
    assert.doesNotMatch(collector.text(), /hunter2/)
    const operations = new Set(
      envelopes
        .filter(({ data }) => data.baseType === 'RequestData')
        .map(({ tags }) => tags['ai.operation.id']),
    )
    assert.equal(operations.size, 2, 'one operation per member')
    const [sent] = of('MetricData').filter(
      ({ metrics }) => metrics?.[0]?.name === 'matoolkit_jobs_sent_total',
    )
    assert.deepEqual(sent!.properties, { worker: 'w1', kind: 'first' })
    assertQueries(envelopes.map(({ data }) => data.baseData.properties ?? {}))
    assert.doesNotMatch(collector.text(), SECRETS)
  })
})

/** The names that docs/operating.md asks for are among those that came. */
function assertQueries(properties: readonly Readonly<Record<string, string>>[]): void {
  const known = new Set(properties.flatMap((one) => Object.keys(one)))
  const page = readFileSync(new URL('../../../docs/operating.md', import.meta.url), 'utf8')
  const queries = [...page.matchAll(/```kusto\n([\s\S]*?)```/g)].map(([, query]) => query!)
  assert.equal(queries.length, 2)
  const asked = queries.flatMap((query) => query.match(/(?<=customDimensions\.)\w+/g) ?? [])
  assert.ok(asked.length > 4)
  assert.deepEqual(
    asked.filter((name) => !known.has(name)),
    [],
  )
  const tables = new Set(
    queries.flatMap(
      (query) => query.match(/\b(?:requests|dependencies|customEvents|customMetrics)\b/g)!,
    ),
  )
  assert.equal(tables.size, 2)
}
