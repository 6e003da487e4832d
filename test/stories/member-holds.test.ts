// Holds of many members at once: the promises of a hold, for these members and for nobody else.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { holdBatch, resumeBatch } from '../../src/engine/orders/batch-actions.ts'
import { finishHolds } from '../../src/engine/orders/holds.ts'
import {
  HELD_MEMBERS_MAX,
  holdMembers,
  resumeMembers,
  withdrawHeld,
} from '../../src/engine/orders/member-holds.ts'
import { attemptsOf, batchOf, calls, memberId, order, runbook, step, waitsOf } from './looking.ts'
import { beginWave, POLL, RETRY, story, type World } from './world.ts'

const WAVE = runbook('wave', { 'prepare T-1h': [step('create')] })

const idsOf = (world: World, batchId: number, numbers: readonly number[]) =>
  Promise.all(numbers.map((number) => memberId(world, batchId, number)))

async function hold(world: World, batchId: number, numbers: readonly number[]) {
  const members = { ...order(batchId), memberIds: await idsOf(world, batchId, numbers) }
  const { done } = await holdMembers(world.engine, members)
  return withdrawHeld(world.engine, { ...members, memberIds: done })
}
const resume = async (world: World, batchId: number, numbers: readonly number[]) =>
  resumeMembers(world.engine, {
    ...order(batchId),
    memberIds: await idsOf(world, batchId, numbers),
  })

it('withdraws the untaken jobs of these members only; resume sends them again', () =>
  story({}, async (world) => {
    const batchId = await beginWave(world, WAVE, 4)
    assert.deepEqual(await hold(world, batchId, [1, 3]), { withdrawn: 2, running: 0 })
    await world.pass(7200)
    assert.deepEqual(calls(world).sort(), ['create user2', 'create user4'])
    assert.deepEqual((await attemptsOf(world)).slice(0, 2), [
      'step-1 withdrawn',
      'step-3 withdrawn',
    ])
    const { done, refused } = await resume(world, batchId, [1, 2, 3])
    assert.deepEqual([done, refused], [[1, 3], [{ memberId: 2, reason: 'member 2 is not held' }]])
    await world.settle()
    assert.deepEqual(calls(world, 2).sort(), ['create user1', 'create user3'])
    assert.equal((await batchOf(world, batchId)).status, 'completed')
  }))

it('costs neither attempts nor time of retries and polls, each by its own hold and not under another one', () =>
  story({}, async (world) => {
    const steps = [step('create', RETRY), step('sync', POLL)]
    const yaml = runbook('wave', { 'prepare T-1h': steps })
    world.answer = ({ functionName, parameters }) => {
      if (functionName === 'sync') return { ok: { complete: false } }
      return String(parameters.Upn).startsWith('user1@') ? { fail: 'busy' } : { ok: true }
    }
    const batchId = await beginWave(world, yaml, 2)
    await world.settle()
    await world.pass(20)
    const left = ['create retry 40', 'sync poll 40']
    assert.deepEqual(await waitsOf(world), left)
    const before = world.jobs.length
    // In seconds: the first member 0 to 400, the second 10 to 400, the batch 200 to 300.
    await hold(world, batchId, [1])
    await world.pass(10)
    await hold(world, batchId, [2])
    await world.pass(190)
    await holdBatch(world.engine, order(batchId))
    await world.pass(100)
    await resumeBatch(world.engine, order(batchId))
    await world.pass(100)
    assert.equal(world.jobs.length, before)
    await resume(world, batchId, [1, 2])
    assert.deepEqual(await waitsOf(world), ['create retry 40', 'sync poll 30'])
    const [first] = await world.db.query<{ retryCount: number }>(
      `select retry_count from step_executions where step_name = 'create' and batch_member_id = 1`,
    )
    assert.equal(first!.retryCount, 1)
  }))

it('is finished by the timers when its process dies before it has withdrawn the jobs', () =>
  story({}, async (world) => {
    const batchId = await beginWave(world, WAVE, 3)
    const memberIds = await idsOf(world, batchId, [1, 2])
    await holdMembers(world.engine, { ...order(batchId), memberIds })
    assert.equal(await finishHolds(world.engine), 2)
    assert.deepEqual(await attemptsOf(world), ['step-1 withdrawn', 'step-2 withdrawn'])
    assert.equal(await finishHolds(world.engine), 0)
    await world.settle()
    assert.deepEqual(calls(world), ['create user3'])
  }))

it('refuses more than a batch may have, and holds nobody then', () =>
  story({}, async (world) => {
    const batchId = await beginWave(world, WAVE, 1)
    const memberIds = Array.from({ length: HELD_MEMBERS_MAX + 1 }, (_, at) => at + 1)
    await assert.rejects(holdMembers(world.engine, { ...order(batchId), memberIds }), {
      code: 'REFUSED',
      message: /would have 10001 held members.*Hold the batch instead/,
    })
    assert.deepEqual(await world.db.query('select from holds'), [])
  }))
