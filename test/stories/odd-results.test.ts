// Unexpected results: early, late, duplicate, of an older attempt, foreign, of any shape. Each has one defined outcome, and none stops
// anything else.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Json } from '../../src/base/text/json.ts'
import { cancelBatch } from '../../src/engine/orders/batch-actions.ts'
import { removeMembers } from '../../src/engine/orders/member-actions.ts'
import { deadLettersOf, deliver } from './foreign-mail.ts'
import { attemptsOf, batchOf, because, calls, jobIds, order, runbook, step } from './looking.ts'
import { passUntil, stepLook } from './timeline.ts'
import { story, type World } from './world.ts'

async function begin(world: World, more = '', members = 1): Promise<number> {
  await world.publish(runbook('wave', { 'cutover T-0': [step('first', more), step('second')] }))
  const batchId = await world.batch('wave', members)
  await world.orchestrate()
  return batchId
}

/** The worker takes all jobs and answers none yet. */
async function takeInSilence(world: World): Promise<void> {
  world.answer = () => 'silent'
  await world.work()
}

it('before its job was sent: recorded, nothing changes', () =>
  story({}, async (world) => {
    await begin(world)
    await world.result({ jobId: 'step-2' }, { ok: true })
    await world.orchestrate()
    assert.equal((await stepLook(world, 2)).status, 'pending')
    assert.deepEqual(await because(world, 'unexpected_result'), [
      "late or foreign: job step-2 is not the step's job (none sent)",
    ])
    await world.settle()
    assert.deepEqual(jobIds(world), ['step-1', 'step-2'])
  }))

it('before the worker has acked the job: it counts, and the worker’s own is a duplicate', () =>
  story({}, async (world) => {
    await begin(world)
    await world.result({ jobId: 'step-1' }, { ok: 'early' })
    await world.orchestrate()
    assert.equal((await stepLook(world, 1)).status, 'succeeded')
    await world.settle()
    assert.deepEqual(await because(world, 'unexpected_result'), [
      'duplicate or late: job step-1 is already settled, the step is succeeded',
    ])
  }))

it('twice in one chunk, and again an hour later: applied once', () =>
  story({}, async (world) => {
    const batchId = await begin(world)
    await takeInSilence(world)
    await world.result({ jobId: 'step-1' }, { ok: 1 })
    await world.result({ jobId: 'step-1' }, { fail: 'second thoughts' })
    world.answer = () => ({ ok: true })
    await world.settle()
    await world.pass(3600)
    await world.result({ jobId: 'step-1' }, { ok: 3 })
    await world.settle()
    assert.deepEqual(jobIds(world), ['step-1', 'step-2'])
    assert.deepEqual(await attemptsOf(world), ['step-1 succeeded', 'step-2 succeeded'])
    assert.deepEqual(await because(world, 'unexpected_result'), [
      'duplicate or late: job step-1 is already settled, the step is succeeded',
      'duplicate or late: job step-1 is already settled, the step is succeeded',
    ])
    assert.equal((await batchOf(world, batchId)).status, 'completed')
  }))

it('of an earlier attempt, while the next one waits or is unsettled: only recorded', () =>
  story({}, async (world) => {
    await begin(world, 'retry: { max_retries: 1, interval: 60s }')
    await takeInSilence(world)
    await world.result({ jobId: 'step-1' }, { fail: 'busy' })
    await world.result({ jobId: 'step-1' }, { ok: 'after all' })
    await world.orchestrate()
    assert.equal((await stepLook(world, 1)).status, 'pending')
    await passUntil(world, 60)
    assert.deepEqual(jobIds(world), ['step-1', 'step-1-retry-1'])
    await world.result({ jobId: 'step-1' }, { ok: 'and again' })
    await world.orchestrate()
    assert.equal((await stepLook(world, 1)).status, 'dispatched')
    assert.deepEqual(await because(world, 'unexpected_result'), [
      'duplicate or late: job step-1 is already settled, the step is pending',
      "late or foreign: job step-1 is not the step's job (step-1-retry-1)",
    ])
  }))

it('after its deadline made it lost: kept for a person to accept', () =>
  story({}, async (world) => {
    const batchId = await begin(world, 'timeout: 1m')
    await takeInSilence(world)
    await passUntil(world, 180)
    assert.equal((await stepLook(world, 1)).status, 'failed')
    await world.result({ jobId: 'step-1' }, { ok: { Id: 5 } })
    await world.settle()
    const [row] = await world.db.query(
      'select status, late_result_json as late from step_executions where id = 1',
    )
    assert.deepEqual(row, { status: 'failed', late: { Id: 5 } })
    assert.equal((await batchOf(world, batchId)).status, 'failed')
  }))

it('from another worker: recorded, and the right one still counts', () =>
  story({}, async (world) => {
    await begin(world)
    await takeInSilence(world)
    await world.result({ jobId: 'step-1' }, { fail: 'not mine' }, { workerId: 'other' })
    await world.orchestrate()
    assert.equal((await stepLook(world, 1)).status, 'dispatched')
    assert.deepEqual(await because(world, 'unexpected_result'), [
      'foreign: worker other answered a job sent to w1',
    ])
    await world.result({ jobId: 'step-1' }, { ok: true }, { workerId: 'W1' })
    await world.orchestrate()
    assert.equal((await stepLook(world, 1)).status, 'succeeded')
  }))

for (const { what, answer, late } of [
  { what: 'a success', answer: { ok: { Id: 5 } }, late: { Id: 5 } },
  { what: 'a failure', answer: { fail: 'no' }, late: null },
  { what: 'not complete', answer: { ok: { complete: false } }, late: null },
] as const) {
  it(`of a cancelled step, ${what}: settles the job and changes nothing`, () =>
    story({}, async (world) => {
      const batchId = await begin(world)
      await takeInSilence(world)
      await cancelBatch(world.engine, order(batchId))
      await world.result({ jobId: 'step-1' }, answer)
      await world.settle()
      const [row] = await world.db.query(
        'select status, late_result_json as late from step_executions where id = 1',
      )
      assert.deepEqual(row, { status: 'cancelled', late })
      assert.equal((await because(world, 'late_result')).length, 1)
      assert.equal((await attemptsOf(world)).length, 1)
      assert.equal((await batchOf(world, batchId)).status, 'cancelled')
    }))
}

it('of a removed member: settles, and only then the cleanup begins', () =>
  story({}, async (world) => {
    const yaml = runbook(
      'wave',
      { 'cutover T-0': [step('first')] },
      `on_member_removed: [${step('tidy')}]`,
    )
    await world.publish(yaml)
    const batchId = await world.batch('wave', 1)
    await world.orchestrate()
    await takeInSilence(world)
    await removeMembers(world.engine, { ...order(batchId), memberIds: [1] })
    await world.settle()
    assert.deepEqual(jobIds(world), ['step-1'])
    await world.result({ jobId: 'step-1' }, { ok: true })
    world.answer = () => ({ ok: true })
    await world.settle()
    assert.deepEqual(jobIds(world), ['step-1', 'removal-2'])
  }))

const HUGE = 'x'.repeat(250_000)
const SHAPES: { what: string; result: Json; kept?: Json }[] = [
  { what: 'a list', result: [1, { a: 2 }] },
  { what: 'a text', result: 'done' },
  { what: 'an empty text', result: '' },
  { what: 'a number', result: 0 },
  { what: 'null', result: null },
  { what: 'false', result: false },
  { what: 'an object', result: { a: null } },
  { what: 'a text of 250,000 characters', result: HUGE },
  { what: 'complete with data', result: { complete: true, data: [1] }, kept: [1] },
  { what: 'complete with data that is null', result: { complete: true, data: null }, kept: null },
  { what: 'complete that is no boolean', result: { complete: 'no' } },
  {
    what: 'a text with what PostgreSQL cannot hold',
    result: { 'a\u0000b': 'x\u0000y', c: ['\ud800'] },
    kept: { 'a\ufffdb': 'x\ufffdy', c: ['\ufffd'] },
  },
  { what: 'an object with a key __proto__', result: JSON.parse('{"__proto__": 1}') as Json },
]
for (const { what, result, kept = result } of SHAPES) {
  it(`${what}: the step succeeds with it`, () =>
    story({}, async (world) => {
      const batchId = await begin(world)
      world.answer = ({ jobId }) => ({ ok: jobId === 'step-1' ? result : true })
      await world.settle()
      const [row] = await world.db.query(
        'select status, result_json as result from step_executions where id = 1',
      )
      assert.deepEqual(row, { status: 'succeeded', result: kept })
      assert.deepEqual(await batchOf(world, batchId), {
        status: 'completed',
        active: 1,
        failed: 0,
        removed: 0,
        held: null,
      })
    }))
}

it('"not complete" on a step without poll: the attempt fails', () =>
  story({}, async (world) => {
    await begin(world)
    world.answer = () => ({ ok: { complete: false } })
    await world.settle()
    assert.equal(
      (await stepLook(world, 1)).error,
      'the worker reported "not complete", but the step has no poll',
    )
  }))

it('a test without poll that finds nobody fails with its reason', () =>
  story({}, async (world) => {
    await begin(world)
    const Reason = 'The tenant has no user "x". Check the id.'
    world.answer = () => ({ ok: { complete: false, data: { Match: false, Reason } } })
    await world.settle()
    assert.equal(
      (await stepLook(world, 1)).error,
      'the worker reported "not complete", but the step has no poll: The tenant has no user "x". Check the id',
    )
  }))

const FAILURES: { what: string; body: Record<string, Json>; error: string }[] = [
  { what: 'an error as a bare sentence', body: { error: 'no mailbox' }, error: 'no mailbox' },
  {
    what: 'an error without words',
    body: { error: {} },
    error: 'the worker reported a failure without a message',
  },
  {
    what: 'no error at all',
    body: {},
    error: 'the worker reported a failure without a message',
  },
  { what: 'an error of other casing', body: { Error: { Message: 'no' } }, error: 'no' },
  {
    what: 'an error that is a list',
    body: { error: ['a', 'b'] },
    error: 'the worker reported a failure without a message',
  },
  {
    what: 'an error whose details do not fit',
    body: { error: { message: 'no', attempts: 'many', isThrottled: 'yes' } },
    error: 'no',
  },
  {
    what: 'an error with what PostgreSQL cannot hold',
    body: { error: { message: 'a\u0000b', type: 'T' } },
    error: 'a\ufffdb (T)',
  },
  {
    what: 'an error as long as a book',
    body: { error: HUGE },
    error: `${'x'.repeat(3_999)}…`,
  },
]
for (const { what, body, error } of FAILURES) {
  it(`a failure with ${what}`, () =>
    story({}, async (world) => {
      const batchId = await begin(world)
      await takeInSilence(world)
      await deliver(world, { jobId: 'step-1', status: 'failure', ...body })
      await world.settle()
      assert.equal((await stepLook(world, 1)).error, error)
      assert.equal((await batchOf(world, batchId)).held, null)
      assert.deepEqual(await deadLettersOf(world), [])
    }))
}

const BODIES: { what: string; body: Record<string, Json> }[] = [
  { what: 'with nothing but job and status', body: { jobId: 'step-1', status: 'Success' } },
  { what: 'in PascalCase', body: { JobId: 'step-1', Status: 'SUCCESS', Result: true } },
  { what: 'with fields nobody knows', body: { jobId: 'step-1', status: 'success', shoe: 43 } },
  {
    what: 'with a duration in fractions',
    body: { jobId: 'step-1', status: 'Success', durationMs: 12.75 },
  },
  {
    what: 'with a duration of years',
    body: { jobId: 'step-1', status: 'Success', durationMs: 1e15 },
  },
  {
    what: 'with a duration below zero',
    body: { jobId: 'step-1', status: 'Success', durationMs: -5 },
  },
  {
    what: 'with wrong things where nothing is decided',
    body: {
      jobId: 'step-1',
      status: 'Success',
      batchId: 'one',
      functionName: 7,
      resultType: [],
      durationMs: 'long',
      timestamp: 'yesterday',
      error: 5,
    },
  },
  {
    what: 'with the correlation of another step',
    body: {
      jobId: 'step-1',
      status: 'Success',
      batchId: 77,
      correlationData: { stepExecutionId: 99 },
    },
  },
]
for (const { what, body } of BODIES) {
  it(`a success ${what} counts`, () =>
    story({}, async (world) => {
      const batchId = await begin(world)
      await takeInSilence(world)
      await deliver(world, body)
      await world.orchestrate()
      assert.equal((await stepLook(world, 1)).status, 'succeeded')
      assert.equal((await batchOf(world, batchId)).held, null)
    }))
}

for (const jobId of ['step-123-attempt-1', '5f0c1c52-7a0f-4a55-9d6f-0d2f9c1b7a11'])
  it(`a result for job ${jobId} of the earlier system finds its step by the correlation data, once`, () =>
    story({}, async (world) => {
      world.answer = () => 'silent'
      await world.publish(runbook('wave', { 'prepare T-1h': [step('create'), step('tag')] }))
      await world.batch('wave', 2, { startsInMin: 60 })
      await world.settle()
      const [first, second] = world.jobs
      const stepExecutionId = Number(first!.jobId.replace('step-', ''))
      const earlier = { jobId, correlationData: { stepExecutionId, isInitStep: false } }
      await world.result(first!, { ok: { Id: 'T' } }, earlier)
      await world.settle()
      assert.deepEqual(calls(world), ['create user1', 'create user2', 'tag user1'])
      await world.result(first!, { fail: 'twice' }, earlier)
      await world.result(second!, { ok: true }, { jobId, correlationData: null })
      await world.settle()
      assert.equal(world.jobs.length, 3, 'nobody else was moved on')
      const letters = await world.db.query<{ reason: string }>('select reason from dead_letters')
      assert.deepEqual(letters, [{ reason: 'UnknownSubject' }])
    }))
