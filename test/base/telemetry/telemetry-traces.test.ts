// One trace from the due phase through bus and worker to the result, received over HTTP by a collector that is not ours.
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import { openOtlp } from '../../../src/base/telemetry/exporters.ts'
import { readTraceparent } from '../../../src/base/telemetry/telemetry.ts'
import { openCollector, type SeenSpan, type TestCollector } from '../../kit/collector.ts'
import { openStory, SECRETS, type TracedStory } from './story.ts'

const [INTERNAL, CLIENT, PRODUCER, CONSUMER] = [1, 3, 4, 5]

describe('traces by OTLP', () => {
  let collector: TestCollector
  let story: TracedStory
  beforeEach(async () => {
    collector = await openCollector()
    const headers = { 'api-key': 'k' }
    story = await openStory([await openOtlp({ endpoint: `${collector.url}/`, headers })])
  })
  afterEach(() => collector.close())

  const spansNamed = (name: string) => collector.spans.filter((span) => span.name === name)
  /** Every span's parent is in its trace, and one span has none. */
  const assertConnected = (spans: readonly SeenSpan[]) => {
    const ids = new Set(spans.map(({ spanId }) => spanId))
    assert.equal(ids.size, spans.length, 'no span came twice')
    const roots = spans.filter(({ parentSpanId }) => parentSpanId === null)
    assert.equal(roots.length, 1, JSON.stringify(spans.map(({ name }) => name)))
    for (const { parentSpanId, name } of spans)
      assert.ok(parentSpanId === null || ids.has(parentSpanId), `${name} hangs in the air`)
    return roots[0]!
  }

  it('connects due phase, dispatch, job, calls and result of each member, retries included', async () => {
    const { world } = story
    const worker = story.worker()
    const batchId = await world.batch('traced', 2, { startsInMin: 60 })
    await story.settle(worker)
    await world.clock.advance(60_000)
    await story.settle(worker)
    for (let poll = 0; poll < 3; poll++) {
      await world.clock.advance(15 * 60_000)
      await story.settle(worker)
    }
    await story.close()
    assert.equal(collector.headers?.['api-key'], 'k')

    const traces = Map.groupBy(collector.spans, ({ traceId }) => traceId)
    const members = [...traces.values()].filter((spans) =>
      spans.some(({ name }) => name === 'phase prepare'),
    )
    assert.equal(members.length, 2, 'one trace per member')
    for (const spans of members) assertMember(spans, batchId)
    assertCalls(members.flat())
    assertPolls(traces, members.flat())
    const [due, ...others] = spansNamed('phase due')
    assert.deepEqual(others, [])
    for (const { links } of spansNamed('phase prepare'))
      assert.deepEqual(
        links.map(({ spanId }) => spanId),
        [due!.spanId],
      )
    assert.doesNotMatch(collector.text(), SECRETS)
  })

  function assertMember(spans: readonly SeenSpan[], batchId: number): void {
    const root = assertConnected(spans)
    assert.deepEqual([root.name, root.kind], ['phase prepare', INTERNAL])
    assert.equal(root.startMs, +new Date('2026-03-02T08:00:00Z'), 'it begins when the phase is due')
    const steps = spans
      .filter(({ name }) => name === 'send worker-jobs')
      .map(({ attributes }) => [attributes.StepName, attributes.Attempt])
    assert.deepEqual(steps, [
      ['look', 1],
      ['shaky', 1],
      ['shaky', 2],
      ['wait', 1],
    ])
    for (const sent of spans.filter(({ name }) => name === 'send worker-jobs')) {
      assert.deepEqual([sent.parentSpanId, sent.kind], [root.spanId, PRODUCER])
      const [ran, ...more] = spans.filter(({ parentSpanId }) => parentSpanId === sent.spanId)
      assert.deepEqual([ran!.name, ran!.kind, more], ['process worker-jobs', CONSUMER, []])
      const ended = spans.find(
        ({ name, parentSpanId }) => name.endsWith('results') && parentSpanId === ran!.spanId,
      )
      assert.equal(ended?.kind, CONSUMER)
      for (const one of [sent, ran!, ended!]) {
        assert.equal(one.attributes.WorkerId, 'w1')
        assert.equal(one.attributes.BatchId, batchId)
        assert.equal(one.attributes.StepExecutionId, sent.attributes.StepExecutionId)
        assert.equal(
          one.attributes['messaging.message.id'],
          sent.attributes['messaging.message.id'],
        )
        assert.equal(one.attributes['messaging.system'], 'postgresql')
      }
    }
    const failed = spans
      .filter(({ error }) => error !== null)
      .map(({ name, error }) => [name, error])
    const shaky = [
      ['process worker-jobs', 'Error'],
      ['process worker-results', 'failed'],
    ]
    assert.deepEqual(
      failed.filter(([, error]) => error !== '500'),
      shaky,
    )
  }

  function assertCalls(spans: readonly SeenSpan[]): void {
    const calls = spans.filter(({ kind }) => kind === CLIENT)
    assert.deepEqual(
      calls.map(({ name, attributes, error }) => [
        name,
        attributes['http.request.method'],
        attributes['http.response.status_code'],
        attributes['http.request.resend_count'],
        attributes['url.template'],
        error,
      ]),
      [
        ['GET /v1.0/users/*', 'GET', 500, undefined, '/v1.0/users/*', '500'],
        ['GET /v1.0/users/*', 'GET', 200, undefined, '/v1.0/users/*', null],
        ['GET /v1.0/users/*', 'GET', 200, 1, '/v1.0/users/*', null],
      ].toSorted((a, b) => order(calls, a) - order(calls, b)),
    )
    for (const { attributes } of calls) assert.equal(attributes['server.address'], '127.0.0.1')
  }
  /** Two members call at the same time; which is first is open. */
  const order = (calls: readonly SeenSpan[], [, , status, resend]: readonly unknown[]) =>
    calls.findIndex(
      ({ attributes }) =>
        attributes['http.response.status_code'] === status &&
        attributes['http.request.resend_count'] === resend,
    )

  /** Days may pass between two polls: each has a trace of its own, linked to the job that it continues. */
  function assertPolls(
    traces: ReadonlyMap<string, readonly SeenSpan[]>,
    ofMembers: readonly SeenSpan[],
  ): void {
    const polls = [...traces.values()].filter((spans) =>
      spans.some(({ attributes }) => attributes.Poll),
    )
    assert.ok(polls.length >= 2, `${polls.length}`)
    for (const spans of polls) {
      const root = assertConnected(spans)
      assert.equal(root.name, 'send worker-jobs')
      assert.equal(root.links.length, 1)
      const continued = ofMembers.find(({ spanId }) => spanId === root.links[0]!.spanId)
      assert.equal(continued?.attributes.StepExecutionId, root.attributes.StepExecutionId)
      assert.ok(
        spans.every(({ startMs, endMs }) => endMs - startMs < 60_000),
        'no endless span',
      )
    }
  }

  it('continues the trace when a worker dies with a job', async () => {
    const { world } = story
    await world.batch('traced', 1, { startsInMin: 60 })
    story.hang = true
    const dying = story.worker()
    await world.orchestrate()
    assert.equal(await dying.takeJobs(), 1)
    story.hang = false
    await world.clock.advance(61_000)
    const next = story.worker()
    await story.settle(next)
    await story.close()
    const look = collector.spans.filter(({ attributes }) => attributes.StepName === 'look')
    assert.deepEqual(
      look.map(({ name }) => name),
      ['send worker-jobs', 'process worker-results'],
      'sent once and settled once',
    )
    const [sent] = look
    const runs = collector.spans.filter(({ parentSpanId }) => parentSpanId === sent!.spanId)
    assert.deepEqual(
      runs.map(({ name, attributes }) => [name, attributes.IsRepeated]),
      [['process worker-jobs', true]],
      'the run that ended, under the job that was sent',
    )
    assert.equal(new Set([...look, ...runs].map(({ traceId }) => traceId)).size, 1)
    // Both runs began, and both told so in the same trace.
    const began = collector.events.filter(
      ({ attributes }) => attributes.FunctionName === 'Get-Person',
    )
    assert.deepEqual(
      began.map(({ name, traceId }) => [name, traceId]),
      [0, 1].map(() => ['JobDispatched', sent!.traceId]),
    )
  })

  it('sends nothing of what rolled back, and nothing of a trace outside the share', async () => {
    const { world, measures } = story
    await world.batch('traced', 1, { startsInMin: 60 })
    const { db } = world
    const failing = {
      ...world.engine,
      db: {
        ...db,
        transaction: <T>(work: Parameters<typeof db.transaction<T>>[0]) =>
          db.transaction<T>(async (tx) => {
            await work(tx)
            throw new Error('the process died before the commit')
          }),
      },
    }
    const { runTimers } = await import('../../../src/orchestrator/timers.ts')
    await assert.rejects(runTimers(failing))
    assert.deepEqual(
      measures.families().filter(({ name }) => name.includes('jobs')),
      [],
    )
    await story.close()
    assert.deepEqual(collector.spans, [])

    const none = await openStory([await openOtlp({ endpoint: collector.url, headers: {} })], 0)
    await none.world.batch('traced', 1, { startsInMin: 60 })
    await none.world.orchestrate()
    const [message] = await none.world.bus.receive({ topic: 'worker-jobs', name: 'worker-w1' }, 1)
    const { traceparent } = JSON.parse(message!.body) as { traceparent: string }
    assert.equal(readTraceparent(traceparent)?.isSampled, false, 'others need not trace it either')
    await none.close()
    assert.deepEqual(collector.spans, [])
  })
})
