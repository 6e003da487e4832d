// Retries as the runbook says: when, how often, under which job id, and what the rows show.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { retryMembers } from '../../src/engine/orders/member-actions.ts'
import { attemptsOf, batchOf, order, phasesOf, runbook, step, stepsOf, waitsOf } from './looking.ts'
import { historyOf, keepTimes, passUntil, stepLook } from './timeline.ts'
import { story, type World } from './world.ts'

async function begin(world: World, retry: string): Promise<number> {
  await world.publish(runbook('wave', { 'cutover T-0': [step('switch', `retry: ${retry}`)] }))
  const batchId = await world.batch('wave', 1)
  await world.settle()
  return batchId
}

const failsBefore = (success: number) => {
  let calls = 0
  return () => (++calls < success ? { fail: `busy ${calls}` } : { ok: { done: true } })
}

it('fails twice, succeeds the third time, with a minute between attempts', () =>
  story({}, async (world) => {
    const times = keepTimes(world, failsBefore(3))
    const batchId = await begin(world, '{ max_retries: 2, interval: 60s }')
    assert.deepEqual(await waitsOf(world), ['switch retry 60'])
    assert.deepEqual(await stepLook(world, 1), {
      status: 'pending',
      attempt: 1,
      retries: 1,
      polls: 0,
      error: 'busy 1 (TestError)',
    })
    await passUntil(world, 60)
    await passUntil(world, 120)
    assert.deepEqual(times, ['0 step-1', '60 step-1-retry-1', '120 step-1-retry-2'])
    assert.deepEqual(await stepLook(world, 1), {
      status: 'succeeded',
      attempt: 2,
      retries: 2,
      polls: 0,
      error: null,
    })
    assert.deepEqual(await attemptsOf(world), [
      'step-1 failed',
      'step-1-retry-1 failed',
      'step-1-retry-2 succeeded',
    ])
    assert.deepEqual(await historyOf(world, 1), [
      "dispatch: the member's next step in phase cutover, sent to w1",
      'retry: retry 1 of 2 in 60 s: busy 1 (TestError)',
      "dispatch: the member's next step in phase cutover, attempt 2, sent to w1",
      'retry: retry 2 of 2 in 60 s: busy 2 (TestError)',
      "dispatch: the member's next step in phase cutover, attempt 3, sent to w1",
      'succeed: the worker reported success',
    ])
    assert.deepEqual(await phasesOf(world, batchId), ['cutover completed 1: 1 passed'])
  }))

for (const { random, second } of [
  { random: 0, second: 54 },
  { random: 0.75, second: 63 },
]) {
  it(`spreads the interval by up to a tenth: random ${random} makes 60 s into ${second}`, () =>
    story({ random: () => random }, async (world) => {
      const times = keepTimes(world, failsBefore(2))
      await begin(world, '{ max_retries: 1, interval: 60s }')
      await world.pass(second - 1)
      assert.deepEqual(times, ['0 step-1'])
      await world.pass(1)
      assert.deepEqual(times, ['0 step-1', `${second} step-1-retry-1`])
    }))
}

it('exponential: each wait is twice the previous one, up to the cap', () =>
  story({}, async (world) => {
    const times = keepTimes(world, failsBefore(6))
    await begin(world, '{ max_retries: 5, interval: 10s, backoff: exponential, max_interval: 30s }')
    for (const second of [10, 30, 60, 90, 120]) await passUntil(world, second)
    assert.deepEqual(times, [
      '0 step-1',
      '10 step-1-retry-1',
      '30 step-1-retry-2',
      '60 step-1-retry-3',
      '90 step-1-retry-4',
      '120 step-1-retry-5',
    ])
    assert.equal((await stepLook(world, 1)).status, 'succeeded')
  }))

it('fails step and member with the last reason when no retries are left', () =>
  story({}, async (world) => {
    const times = keepTimes(world, failsBefore(9))
    const batchId = await begin(world, '{ max_retries: 1, interval: 30s }')
    await passUntil(world, 30)
    await world.pass(3600)
    assert.deepEqual(times, ['0 step-1', '30 step-1-retry-1'])
    assert.deepEqual(await stepLook(world, 1), {
      status: 'failed',
      attempt: 1,
      retries: 1,
      polls: 0,
      error: 'busy 2 (TestError)',
    })
    assert.deepEqual(await batchOf(world, batchId), {
      status: 'failed',
      active: 0,
      failed: 1,
      removed: 0,
      held: null,
    })
  }))

it("max_retries 0 opts out of the runbook's retry", () =>
  story({}, async (world) => {
    const times = keepTimes(world, failsBefore(9))
    const phases = { 'cutover T-0': [step('once', 'retry: { max_retries: 0 }')] }
    await world.publish(runbook('wave', phases, 'retry: { max_retries: 3, interval: 10s }'))
    await world.batch('wave', 1)
    await world.pass(3600)
    assert.deepEqual(times, ['3600 step-1'])
    assert.equal((await stepLook(world, 1)).status, 'failed')
  }))

it('loses a silent job two minutes after the deadline, then retries', () =>
  story({}, async (world) => {
    const times = keepTimes(world, ({ jobId }) => (jobId === 'step-1' ? 'silent' : { ok: true }))
    const more = 'timeout: 5m, retry: { max_retries: 1, interval: 60s }'
    await world.publish(runbook('wave', { 'cutover T-0': [step('switch', more)] }))
    await world.batch('wave', 1)
    await world.settle()
    assert.equal(world.jobs[0]!.timeoutSec, 300)
    await passUntil(world, 419)
    assert.equal((await stepLook(world, 1)).status, 'dispatched')
    await passUntil(world, 420)
    assert.deepEqual(await waitsOf(world), ['switch retry 60'])
    await passUntil(world, 480)
    assert.deepEqual(times, ['0 step-1', '480 step-1-retry-1'])
    assert.deepEqual(await attemptsOf(world), ['step-1 lost', 'step-1-retry-1 succeeded'])
    const [, lost] = await historyOf(world, 1)
    assert.equal(lost, 'retry: retry 1 of 1 in 60 s: no result in time')
  }))

it('a version that only writes Switch for switch gives nobody a second step', () =>
  story({}, async (world) => {
    const times = keepTimes(world, failsBefore(2))
    const batchId = await begin(world, '{ max_retries: 0 }')
    await world.publish(runbook('wave', { 'cutover T-0': [step('Switch')] }))
    await retryMembers(world.engine, { ...order(batchId), memberIds: [1] })
    await world.settle()
    assert.deepEqual(times, ['0 step-1', '0 step-1-retry-1'])
    assert.deepEqual(await stepsOf(world, 1), ['Switch succeeded'])
  }))
