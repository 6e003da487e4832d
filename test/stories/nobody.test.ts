// Batches without members end on their own, and a later joiner is not forgotten.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { addMembers } from '../../src/engine/orders/create.ts'
import { removeMembers } from '../../src/engine/orders/member-actions.ts'
import { batchOf, because, calls, memberId, order, phasesOf, runbook, step } from './looking.ts'
import { people, story } from './world.ts'

const YAML = runbook('wave', {
  'prepare T-1h': [step('create')],
  'cutover T-0': [step('switch')],
})

it('skips the phases of an empty batch when due, and completes it', () =>
  story({}, async (world) => {
    await world.publish(YAML)
    const batchId = await world.batch('wave', 0, { startsInMin: 60 })
    await world.settle()
    assert.deepEqual(await phasesOf(world, batchId), ['prepare skipped 0', 'cutover pending 0'])
    assert.equal((await batchOf(world, batchId)).status, 'active')
    await world.pass(3600)
    assert.deepEqual(await phasesOf(world, batchId), ['prepare skipped 0', 'cutover skipped 0'])
    assert.equal((await batchOf(world, batchId)).status, 'completed')
    assert.deepEqual(await because(world, 'empty'), ['no active members', 'no active members'])
    assert.deepEqual(world.jobs, [])
  }))

it('a joiner runs every phase that was skipped as empty, before the next one', () =>
  story({}, async (world) => {
    await world.publish(YAML)
    const batchId = await world.batch('wave', 0, { startsInMin: 60 })
    await world.settle()
    await addMembers(world.engine, batchId, people(1), 'operator')
    await world.settle()
    assert.deepEqual(calls(world), ['create user1'])
    assert.deepEqual(await phasesOf(world, batchId), [
      'prepare completed 1: 1 passed',
      'cutover pending 0',
    ])
    await world.pass(3600)
    assert.deepEqual(calls(world, 1), ['switch user1'])
    assert.equal((await batchOf(world, batchId)).status, 'completed')
  }))

it('everybody removed halfway: open phases end as empty, the rest are skipped', () =>
  story({}, async (world) => {
    await world.publish(YAML)
    const batchId = await world.batch('wave', 3, { startsInMin: 60 })
    world.answer = ({ parameters }) =>
      parameters.Upn === 'user1@contoso.example' ? { ok: true } : 'silent'
    await world.settle()
    const memberIds = await Promise.all([1, 2, 3].map((n) => memberId(world, batchId, n)))
    await removeMembers(world.engine, { ...order(batchId), memberIds })
    assert.deepEqual(await phasesOf(world, batchId), [
      'prepare completed 3: 1 passed, 2 removed',
      'cutover pending 0',
    ])
    await world.pass(3600)
    assert.deepEqual(await phasesOf(world, batchId), [
      'prepare completed 3: 1 passed, 2 removed',
      'cutover skipped 0',
    ])
    assert.deepEqual(await batchOf(world, batchId), {
      status: 'completed',
      active: 0,
      failed: 0,
      removed: 3,
      held: null,
    })
  }))

it('everybody removed before the first step: every phase is skipped', () =>
  story({}, async (world) => {
    await world.publish(YAML)
    const batchId = await world.batch('wave', 2, { startsInMin: 90 })
    await world.settle()
    const memberIds = await Promise.all([1, 2].map((n) => memberId(world, batchId, n)))
    await removeMembers(world.engine, { ...order(batchId), memberIds })
    await world.pass(1800)
    await world.pass(3600)
    assert.deepEqual(await phasesOf(world, batchId), ['prepare skipped 0', 'cutover skipped 0'])
    assert.deepEqual(world.jobs, [])
    assert.equal((await batchOf(world, batchId)).status, 'completed')
  }))
