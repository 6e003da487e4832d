// The same trace across processes: an orchestrator, a worker that is killed with its jobs, and the one that takes them over. Each sends
// what it has at its end.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, it } from 'node:test'
import { EXIT } from '../../../src/base/errors/errors.ts'
import { realClock } from '../../../src/base/run/clock.ts'
import { SECRETS } from '../../base/telemetry/story.ts'
import { openCollector, type TestCollector } from '../../kit/collector.ts'
import { openTestPostgres } from '../../kit/databases.ts'
import { start } from '../../kit/processes.ts'
import { openWorld } from '../../stories/world.ts'

const folder = mkdtempSync(join(tmpdir(), 'matoolkit-telemetry-'))
after(() => rmSync(folder, { recursive: true }))

const YAML = `
name: traced
data_source: { type: csv, path: x.csv, primary_key: UserPrincipalName, batch_time_column: When }
phases:
  - name: cutover
    offset: T-0
    steps:
      - { name: slow, worker_id: w1, function: Get-Slow, params: { Upn: "{{UserPrincipalName}}" } }
`

/** Hangs in the worker that is told to. */
const SLOW = `
export default ({ defineFunction, z }) => [
  defineFunction({
    name: 'Get-Slow', description: '', parameters: z.strictObject({ Upn: z.string() }), result: z.boolean(), permissions: {},
    isIdempotent: true, undo: null,
    run: () => {
      if (process.env.HANGS !== 'yes') return true
      console.log('a job hangs')
      return new Promise(() => {})
    },
  }),
]
`

it('one trace per member from an orchestrator through a killed worker to its successor', async () => {
  const database = await openTestPostgres()
  const world = await openWorld({ database })
  await using _world = { [Symbol.asyncDispose]: () => world.close() }
  const collector = await openCollector()
  await using _collector = { [Symbol.asyncDispose]: () => collector.close() }
  writeFileSync(join(folder, 'slow.ts'), SLOW)
  const env = {
    DATABASE_URL: database.url!,
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    MATOOLKIT_HEALTH_PORT: '0',
    MATOOLKIT_WORKER_ID: 'w1',
    MATOOLKIT_FUNCTIONS_FOLDER: folder,
    MATOOLKIT_SECRETS_FOLDER: join(folder, 'secrets'),
  }
  await world.publish(YAML)
  await world.batch('traced', 2)
  await using orchestrator = start(['serve', '--roles', 'orchestrator'], env)
  await using dying = start(['serve', '--roles', 'worker'], { ...env, HANGS: 'yes' })
  await dying.saying(/a job hangs[\s\S]*a job hangs/)
  dying.kill('SIGKILL')
  await dying.ended
  // As if the minute of its lease were over.
  await world.db.query(`update bundles set leased_until = enqueued_at where topic = 'worker-jobs'`)
  await using successor = start(['serve', '--roles', 'worker'], env)
  await untilCompleted(world.db)
  for (const one of [successor, orchestrator]) {
    one.kill('SIGTERM')
    const { code, out } = await one.ended
    assert.equal(code, EXIT.ok, out)
  }
  assertTraces(collector)
})

async function untilCompleted(db: Awaited<ReturnType<typeof openTestPostgres>>['db']) {
  const clock = realClock()
  for (;;) {
    const [batch] = await db.query<{ status: string }>('select status from batches')
    if (batch!.status === 'completed') return
    await clock.wait(50)
  }
}

function assertTraces(collector: TestCollector): void {
  const traces = Map.groupBy(collector.spans, ({ traceId }) => traceId)
  const ofMembers = [...traces.values()].filter((spans) => spans.length > 1)
  assert.equal(ofMembers.length, 2, JSON.stringify(collector.spans, null, 1))
  for (const spans of ofMembers) {
    const byId = new Map(spans.map((span) => [span.spanId, span]))
    const end = spans.find(({ name }) => name === 'process worker-results')!
    const way = []
    for (let at = end; at; at = byId.get(at.parentSpanId ?? '')!) way.push(at.name)
    assert.deepEqual(way, [
      'process worker-results',
      'process worker-jobs',
      'send worker-jobs',
      'phase cutover',
    ])
    assert.equal(spans.length, way.length, 'nothing came twice')
    const run = spans.find(({ name }) => name === 'process worker-jobs')!
    assert.equal(run.attributes.IsRepeated, true)
  }
  const told = collector.events.map(({ name }) => name)
  for (const name of ['ProcessStarted', 'WorkerStarted', 'WorkerStopped', 'ProcessStopped'])
    assert.ok(told.includes(name), name)
  const roles = [...collector.resources].filter((one) => one.includes('matoolkit.roles'))
  assert.ok(
    roles.some((one) => one.includes('"orchestrator"')) &&
      roles.some((one) => one.includes('"worker"')),
  )
  assert.ok(collector.metrics.has('matoolkit_jobs_sent_total'), 'the orchestrator counts')
  assert.ok(collector.metrics.has('matoolkit_job_seconds'), 'the worker measures')
  assert.doesNotMatch(collector.text(), SECRETS)
}
