// Polling: repeated at each interval under a new job id, until it completes, times out or fails.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Json } from '../../src/base/text/json.ts'
import { attemptsOf, batchOf, because, calls, runbook, step, waitsOf } from './looking.ts'
import { historyOf, keepTimes, passUntil, stepLook } from './timeline.ts'
import { type Answer, story, type World } from './world.ts'

const POLL = 'poll: { interval: 60s, timeout: 150s }'

async function begin(world: World, more: string, rest = ''): Promise<number> {
  const phases = { 'cutover T-0': [step('await', more), step('after')] }
  await world.publish(runbook('wave', phases, rest))
  const batchId = await world.batch('wave', 1)
  await world.settle()
  return batchId
}

const incomplete: Answer = { ok: { complete: false } }
const complete = (data: Json): Answer => ({ ok: { complete: true, data } })

it('polls to the second until complete, then continues with the data', () =>
  story({}, async (world) => {
    const answers: Record<string, Answer> = {
      'step-1': incomplete,
      'step-1-poll-1': incomplete,
      'step-1-poll-2': complete({ Moved: 7 }),
    }
    const times = keepTimes(world, ({ jobId }) => answers[jobId] ?? { ok: true })
    await begin(world, `${POLL}, output_params: { Count: moved }`)
    assert.deepEqual(await waitsOf(world), ['await poll 60'])
    await passUntil(world, 59)
    assert.deepEqual(times, ['0 step-1'])
    await passUntil(world, 60)
    await passUntil(world, 120)
    assert.deepEqual(times, ['0 step-1', '60 step-1-poll-1', '120 step-1-poll-2', '120 step-2'])
    assert.deepEqual(await historyOf(world, 1), [
      "dispatch: the member's next step in phase cutover, sent to w1",
      'incomplete: the worker reported "not complete"',
      'succeed: the worker reported success',
    ])
    assert.deepEqual(await stepLook(world, 1), {
      status: 'succeeded',
      attempt: 0,
      retries: 0,
      polls: 2,
      error: null,
    })
    const [row] = await world.db.query(
      `select s.result_json as result, m.worker_data_json as outputs
         from step_executions s join batch_members m on m.id = s.batch_member_id where s.id = 1`,
    )
    assert.deepEqual(row, { result: { Moved: 7 }, outputs: { Count: 7 } })
  }))

it('waits for a user who is not there yet, and names the user', () =>
  story({}, async (world) => {
    const Reason = 'The tenant has no user "x". Check the id.'
    const answers: Record<string, Answer> = {
      'step-1': { ok: { complete: false, data: { Match: false, Reason } } },
      'step-1-poll-1': complete({ Match: true, Reason: null }),
    }
    world.answer = ({ jobId }) => answers[jobId] ?? { ok: true }
    await begin(world, `${POLL}, retry: { max_retries: 0 }`)
    await passUntil(world, 60)
    assert.deepEqual((await historyOf(world, 1)).slice(1), [
      'incomplete: the worker reported "not complete": The tenant has no user "x". Check the id',
      'succeed: the worker reported success',
    ])
    assert.deepEqual(await because(world, 'fail'), [])
  }))

it('repeats what was sent, though the data changed meanwhile', () =>
  story({}, async (world) => {
    world.answer = () => incomplete
    await begin(world, POLL)
    await world.db.query(`update batch_members set data_json = '{"UserPrincipalName": "new"}'`)
    await world.pass(60)
    assert.deepEqual(calls(world), ['await user1', 'await user1'])
  }))

it('times out to the second, is never retried, and rolls back', () =>
  story({}, async (world) => {
    const times = keepTimes(world, ({ functionName }) =>
      functionName === 'await' ? incomplete : { ok: true },
    )
    const more = `${POLL}, on_failure: undo, retry: { max_retries: 3, interval: 10s }`
    const batchId = await begin(world, more, `rollbacks: { undo: [${step('undo')}] }`)
    for (const second of [60, 120, 149]) await passUntil(world, second)
    assert.equal((await stepLook(world, 1)).status, 'polling')
    await world.pass(1)
    assert.deepEqual(times.slice(1), ['60 step-1-poll-1', '120 step-1-poll-2', '150 rollback-3'])
    assert.deepEqual(await because(world, 'time_out'), ['not complete after 150 s of polling'])
    assert.deepEqual(await stepLook(world, 1), {
      status: 'rolled_back',
      attempt: 0,
      retries: 0,
      polls: 2,
      error: 'not complete after 150 s of polling',
    })
    assert.equal((await batchOf(world, batchId)).status, 'failed')
  }))

it('says what it waits for, and what it waited for in vain', () =>
  story({}, async (world) => {
    const reasons = ['The licence is missing.', 'No address is in the delivery domain.']
    keepTimes(world, ({ jobId }) => {
      const Reason = reasons[jobId === 'step-1' ? 0 : 1]!
      return { ok: { complete: false, data: { Reason } } }
    })
    await begin(world, POLL)
    assert.partialDeepStrictEqual(await stepLook(world, 1), {
      status: 'polling',
      error: 'The licence is missing',
    })
    for (const second of [60, 120, 150]) await passUntil(world, second)
    const told = 'not complete after 150 s of polling: No address is in the delivery domain'
    assert.deepEqual(await because(world, 'time_out'), [told])
    assert.partialDeepStrictEqual(await stepLook(world, 1), { status: 'poll_timeout', error: told })
  }))

for (const { what, answer, status } of [
  { what: 'complete: it has succeeded', answer: { ok: { complete: true } }, status: 'succeeded' },
  { what: 'not complete: timed out now', answer: incomplete, status: 'poll_timeout' },
  { what: 'a failure: the retry rule', answer: { fail: 'lost track' }, status: 'failed' },
] as const) {
  it(`decides by the answer of a re-poll sent before the timeout: ${what}`, () =>
    story({}, async (world) => {
      keepTimes(world, ({ jobId }) => (jobId === 'step-1-poll-2' ? 'silent' : incomplete))
      await begin(world, POLL)
      for (const second of [60, 120, 150, 200]) await passUntil(world, second)
      assert.equal((await stepLook(world, 1)).status, 'polling')
      await world.result({ jobId: 'step-1-poll-2' }, answer)
      await world.orchestrate()
      assert.equal((await stepLook(world, 1)).status, status)
    }))
}

it('decides by the deadline of a re-poll sent before the timeout that is never answered', () =>
  story({}, async (world) => {
    keepTimes(world, ({ jobId }) => (jobId === 'step-1-poll-2' ? 'silent' : incomplete))
    await begin(world, `${POLL}, timeout: 1m`)
    for (const second of [60, 120, 150, 299]) await passUntil(world, second)
    assert.equal((await stepLook(world, 1)).status, 'polling')
    await passUntil(world, 300)
    assert.equal((await stepLook(world, 1)).status, 'poll_timeout')
    assert.deepEqual((await attemptsOf(world)).at(-1), 'step-1-poll-2 lost')
  }))

it('repeats a lost re-poll at the next interval, without using an attempt', () =>
  story({}, async (world) => {
    const times = keepTimes(world, ({ jobId }) => {
      if (jobId === 'step-1-poll-1') return 'silent'
      return jobId === 'step-1' ? incomplete : { ok: { complete: true } }
    })
    await begin(world, 'poll: { interval: 60s, timeout: 30m }, timeout: 5m')
    await passUntil(world, 60)
    await passUntil(world, 480)
    assert.deepEqual(await waitsOf(world), ['await poll 60'])
    assert.deepEqual(await stepLook(world, 1), {
      status: 'polling',
      attempt: 0,
      retries: 0,
      polls: 1,
      error: null,
    })
    assert.deepEqual(await because(world, 'lost'), [
      'no result in time; polling again at the next interval',
    ])
    await passUntil(world, 540)
    assert.deepEqual(times.slice(1, 3), ['60 step-1-poll-1', '540 step-1-poll-2'])
    assert.deepEqual((await attemptsOf(world)).slice(0, 3), [
      'step-1 incomplete',
      'step-1-poll-1 lost',
      'step-1-poll-2 succeeded',
    ])
  }))

it('retries a failure while polling, and keeps counting from the first poll', () =>
  story({}, async (world) => {
    const times = keepTimes(world, ({ jobId }) =>
      jobId === 'step-1-poll-1' ? { fail: 'gateway' } : incomplete,
    )
    await begin(
      world,
      'poll: { interval: 60s, timeout: 250s }, retry: { max_retries: 1, interval: 30s }',
    )
    for (const second of [60, 90, 150, 210, 250]) await passUntil(world, second)
    assert.deepEqual(times, [
      '0 step-1',
      '60 step-1-poll-1',
      '90 step-1-retry-1',
      '150 step-1-retry-1-poll-1',
      '210 step-1-retry-1-poll-2',
    ])
    assert.deepEqual(await stepLook(world, 1), {
      status: 'poll_timeout',
      attempt: 1,
      retries: 1,
      polls: 2,
      error: 'not complete after 250 s of polling',
    })
    const [row] = await world.db.query(
      'select poll_started_at as at from step_executions where id = 1',
    )
    assert.deepEqual(row, { at: new Date('2026-03-02T08:00:00Z') })
  }))

it('retries a first job that fails before polling has begun', () =>
  story({}, async (world) => {
    const answers: Record<string, Answer> = {
      'step-1': { fail: 'busy' },
      'step-1-retry-1': incomplete,
    }
    const times = keepTimes(world, ({ jobId }) => answers[jobId] ?? { ok: { complete: true } })
    await begin(world, `${POLL}, retry: { max_retries: 1, interval: 30s }`)
    await passUntil(world, 30)
    await passUntil(world, 90)
    assert.deepEqual(times.slice(0, 3), [
      '0 step-1',
      '30 step-1-retry-1',
      '90 step-1-retry-1-poll-1',
    ])
    assert.equal((await stepLook(world, 1)).status, 'succeeded')
  }))
