// No rollback without a deed: a rollback deletes what its step made, so after a step that did nothing it would delete what others
// made. An account that existed before the migration was deleted that way.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { retryMembers } from '../../src/engine/orders/member-actions.ts'
import { attemptsOf, because, calls, memberId, order, runbook, step, stepsOf } from './looking.ts'
import { passUntil } from './timeline.ts'
import { publishResult, story, type World } from './world.ts'

const ROLLBACK = `rollbacks: { undo: [${step('delete')}] }
retry: { max_retries: 2, interval: 30s }`
const REFUSED = { fail: 'MailNickname: required', effect: 'none', isFinal: true } as const

async function begin(world: World): Promise<{ member: number }> {
  await world.publish(
    runbook('wave', { 'cutover T-0': [step('create', 'on_failure: undo')] }, ROLLBACK),
  )
  const batchId = await world.batch('wave', 1)
  await world.settle()
  return { member: await memberId(world, batchId, 1) }
}

it('a refused job fails its step at once, without retry and without rollback', () =>
  story({}, async (world) => {
    world.answer = () => REFUSED
    const { member } = await begin(world)
    await passUntil(world, 600)
    assert.deepEqual(calls(world), ['create user1'])
    assert.deepEqual(await stepsOf(world, member), ['create failed'])
    assert.deepEqual(await because(world, 'rollback_skipped'), [
      'rollback undo is not needed: no attempt did anything',
    ])
    assert.deepEqual(await attemptsOf(world), ['step-1 refused'])
  }))

it('a refused retry rolls back, because the first attempt may have done something', () =>
  story({}, async (world) => {
    world.answer = ({ jobId, functionName }) => {
      if (functionName === 'delete') return { ok: true }
      return jobId === 'step-1' ? { fail: 'timed out' } : REFUSED
    }
    const { member } = await begin(world)
    await passUntil(world, 30)
    assert.deepEqual(calls(world), ['create user1', 'create user1', 'delete user1'])
    assert.deepEqual(await stepsOf(world, member), [
      'create rolled_back',
      'rollback delete succeeded',
    ])
  }))

it('a failure that called nothing is retried, and never rolled back', () =>
  story({}, async (world) => {
    world.answer = () => ({ fail: 'the vault does not answer', effect: 'none' })
    const { member } = await begin(world)
    await passUntil(world, 30)
    await passUntil(world, 60)
    assert.deepEqual(calls(world), ['create user1', 'create user1', 'create user1'])
    assert.deepEqual(await stepsOf(world, member), ['create failed'])
  }))

it('a worker that does not say what it did may have done something', () =>
  story({}, async (world) => {
    world.answer = ({ functionName }) => (functionName === 'delete' ? { ok: true } : 'silent')
    const { member } = await begin(world)
    for (const [attempt, jobId] of ['step-1', 'step-1-retry-1', 'step-1-retry-2'].entries()) {
      await publishResult(world, jobId, { fail: 'no' }, { error: null })
      await world.settle()
      await passUntil(world, 40 * (attempt + 1))
    }
    assert.deepEqual(await stepsOf(world, member), [
      'create rolled_back',
      'rollback delete succeeded',
    ])
  }))

it('a job that no worker starts for days uses no retry, and is never rolled back', () =>
  story({}, async (world) => {
    world.workers = []
    const { member } = await begin(world)
    for (let hour = 1; hour <= 22; hour++) await passUntil(world, hour * 3_600)
    assert.deepEqual(await attemptsOf(world), [
      'step-1 undelivered',
      'step-1-retry-1 undelivered',
      'step-1-retry-2 undelivered',
    ])
    assert.deepEqual(await stepsOf(world, member), ['create dispatched'])
    world.answer = ({ functionName }) => (functionName === 'delete' ? { ok: true } : { fail: 'no' })
    world.workers = ['w1']
    for (let minute = 0; minute < 3; minute++) await world.pass(60)
    const tried = ['create user1', 'create user1', 'create user1']
    assert.deepEqual(calls(world), [...tried, 'delete user1'])
  }))

it('a retry after a completed rollback that is refused does not roll back again', () =>
  story({}, async (world) => {
    const yaml = runbook(
      'wave',
      { 'cutover T-0': [step('create', 'on_failure: undo'), step('licence', 'on_failure: undo')] },
      `rollbacks: { undo: [${step('delete')}] }`,
    )
    await world.publish(yaml)
    world.answer = ({ functionName }) =>
      functionName === 'licence' ? { fail: 'no licence left' } : { ok: true }
    const batchId = await world.batch('wave', 1)
    await world.settle()
    const member = await memberId(world, batchId, 1)
    const undone = ['create user1', 'licence user1', 'delete user1']
    assert.deepEqual(calls(world), undone)
    // Somebody else has made an account with that name since: the worker sees it and refuses.
    for (const refused of [1, 2]) {
      world.answer = () => REFUSED
      const who = { ...order(batchId), memberIds: [member], fromStepName: 'create' }
      assert.deepEqual((await retryMembers(world.engine, who)).done, [member])
      await world.settle()
      assert.deepEqual(calls(world), [...undone, ...Array(refused).fill('create user1')])
    }
    assert.deepEqual((await because(world, 'rollback_skipped')).length, 2)
    // What is done after the rollback is rolled back again.
    world.answer = ({ functionName }) =>
      functionName === 'licence' ? { fail: 'no licence left' } : { ok: true }
    const before = world.jobs.length
    const who = { ...order(batchId), memberIds: [member] }
    assert.deepEqual((await retryMembers(world.engine, who)).done, [member])
    await world.settle()
    assert.deepEqual(calls(world, before), undone)
  }))
