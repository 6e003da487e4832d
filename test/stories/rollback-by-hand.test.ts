// A person rolls back people who succeeded: the last step's rollback first, each once, only what was done, and nobody else.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  removeMembers,
  retryMembers,
  rollBackMembers,
} from '../../src/engine/orders/member-actions.ts'
import { batchOf, calls, memberId, order, phasesOf, runbook, step, stepsOf } from './looking.ts'
import { story, type World } from './world.ts'

const YAML = runbook(
  'wave',
  {
    'prepare T-1h': [
      step('create', 'on_failure: undo-account'),
      step('licence', 'on_failure: undo-account'),
      step('notify'),
    ],
    'cutover T-0': [step('switch', 'on_failure: undo-switch')],
  },
  `rollbacks: { undo-account: [${step('unlicense')}, ${step('delete')}], undo-switch: [${step('switch-back')}] }`,
)

async function completed(world: World, members = 2) {
  await world.publish(YAML)
  const batchId = await world.batch('wave', members, { startsInMin: 60 })
  await world.settle()
  await world.pass(3600)
  assert.equal((await batchOf(world, batchId)).status, 'completed')
  const ids = await Promise.all(
    Array.from({ length: members }, (_, index) => memberId(world, batchId, index + 1)),
  )
  return { batchId, ids, before: world.jobs.length }
}

it('runs each rollback once, the last step first, and leaves everybody else alone', () =>
  story({}, async (world) => {
    const { batchId, ids, before } = await completed(world)
    const who = { ...order(batchId), memberIds: [ids[0]!] }
    assert.deepEqual(await rollBackMembers(world.engine, who), { done: [ids[0]], refused: [] })
    assert.equal((await batchOf(world, batchId)).status, 'active')
    await world.settle()
    assert.deepEqual(calls(world, before), ['switch-back user1', 'unlicense user1', 'delete user1'])
    assert.deepEqual(await stepsOf(world, ids[0]!), [
      'create rolled_back',
      'licence rolled_back',
      'notify succeeded',
      'switch rolled_back',
      'rollback switch-back succeeded',
      'rollback unlicense succeeded',
      'rollback delete succeeded',
    ])
    assert.deepEqual(await phasesOf(world, batchId), [
      'prepare completed 2: 1 passed, 1 failed',
      'cutover completed 2: 1 passed, 1 failed',
    ])
    const { status, active, failed, held } = await batchOf(world, batchId)
    assert.deepEqual([status, active, failed, held], ['completed', 1, 1, null])
    const { refused } = await rollBackMembers(world.engine, who)
    assert.match(refused[0]!.reason, /has nothing to roll back: notify without a rollback/)
    assert.equal(world.jobs.length, before + 3)
  }))

it('starts at a phase or step, and a retry starts where the rollback ended', () =>
  story({}, async (world) => {
    const { batchId, ids, before } = await completed(world)
    const who = { ...order(batchId), memberIds: [ids[0]!] }
    await rollBackMembers(world.engine, { ...who, fromPhaseName: 'Cutover' })
    await world.settle()
    assert.deepEqual(calls(world, before), ['switch-back user1'])
    await rollBackMembers(world.engine, { ...who, fromStepName: 'licence' })
    await world.settle()
    assert.deepEqual(calls(world, before + 1), ['unlicense user1', 'delete user1'])
    // The rollback is shared: it has undone create too.
    const late = await retryMembers(world.engine, { ...who, fromStepName: 'create' })
    assert.deepEqual(late.done, [ids[0]])
    await world.settle()
    assert.deepEqual(calls(world, before + 3), [
      'create user1',
      'licence user1',
      'notify user1',
      'switch user1',
    ])
    const { status, active, failed } = await batchOf(world, batchId)
    assert.deepEqual([status, active, failed], ['completed', 2, 0])
  }))

it('does not repeat a rollback that has run after a failure', () =>
  story({}, async (world) => {
    await world.publish(YAML)
    world.answer = ({ functionName }) =>
      functionName === 'licence' ? { fail: 'no' } : { ok: true }
    const batchId = await world.batch('wave', 1, { startsInMin: 60 })
    await world.settle()
    await world.pass(3600)
    const id = await memberId(world, batchId, 1)
    assert.deepEqual((await stepsOf(world, id)).slice(0, 2), [
      'create succeeded',
      'licence rolled_back',
    ])
    const jobs = world.jobs.length
    const who = { ...order(batchId), memberIds: [id] }
    // The failed step's rollback has undone what create did, too.
    for (const from of [{}, { fromStepName: 'create' }]) {
      const { done, refused } = await rollBackMembers(world.engine, { ...who, ...from })
      assert.deepEqual(done, [])
      assert.match(refused[0]!.reason, /has nothing to roll back$/)
    }
    await world.settle()
    assert.equal(world.jobs.length, jobs)
    assert.deepEqual(
      calls(world).filter((call) => call === 'delete user1'),
      ['delete user1'],
    )
  }))

it('of a whole wave leaves its phases failed and does not blow the fuse', () =>
  story({}, async (world) => {
    const { batchId, ids } = await completed(world, 12)
    await rollBackMembers(world.engine, { ...order(batchId), memberIds: ids })
    await world.settle()
    assert.deepEqual(await phasesOf(world, batchId), [
      'prepare failed 12: 12 failed',
      'cutover failed 12: 12 failed',
    ])
    const { status, failed, held } = await batchOf(world, batchId)
    assert.deepEqual([status, failed, held], ['failed', 12, null])
  }))

it('that fails in part stays open for a repair, and no result counts twice', () =>
  story({}, async (world) => {
    const { batchId, ids } = await completed(world)
    world.answer = ({ functionName }) =>
      functionName === 'unlicense' ? { fail: 'no' } : { ok: true }
    const who = { ...order(batchId), memberIds: [ids[0]!] }
    await rollBackMembers(world.engine, who)
    const again = await rollBackMembers(world.engine, who)
    assert.match(again.refused[0]!.reason, /unfinished rollback, cleanup or undo/)
    await world.settle()
    const jobs = world.jobs.length
    for (const job of world.jobs.slice(-3)) await world.result(job, { ok: true })
    await world.settle()
    assert.equal(world.jobs.length, jobs)
    assert.deepEqual((await stepsOf(world, ids[0]!)).slice(0, 4), [
      'create failed',
      'licence failed',
      'notify succeeded',
      'switch rolled_back',
    ])
  }))

it('is refused for removed members and where nothing was done', () =>
  story({}, async (world) => {
    await world.publish(YAML)
    const batchId = await world.batch('wave', 2, { startsInMin: 600 })
    await world.settle()
    const ids = [await memberId(world, batchId, 1), await memberId(world, batchId, 2)]
    await removeMembers(world.engine, { ...order(batchId), memberIds: [ids[1]!] })
    const { done, refused } = await rollBackMembers(world.engine, {
      ...order(batchId),
      memberIds: ids,
    })
    assert.deepEqual(done, [])
    assert.match(refused[0]!.reason, /has nothing to roll back$/)
    assert.match(refused[1]!.reason, /is removed/)
    assert.equal(world.jobs.length, 0)
  }))

it('rolls back a step that waits for its retry, but not one that was refused', () =>
  story({}, async (world) => {
    await world.publish(`${YAML}\nretry: { max_retries: 3, interval: 10m }`)
    world.answer = ({ functionName, parameters }) => {
      if (functionName !== 'switch') return { ok: true }
      return /user1@/.test(String(parameters.Upn))
        ? { fail: 'no answer' }
        : { fail: 'the vault does not answer', effect: 'none' }
    }
    const batchId = await world.batch('wave', 2, { startsInMin: 60 })
    await world.settle()
    await world.pass(3600)
    const [first, second] = [await memberId(world, batchId, 1), await memberId(world, batchId, 2)]
    const before = world.jobs.length
    const memberIds = [first, second]
    const undone = await rollBackMembers(world.engine, { ...order(batchId), memberIds })
    assert.deepEqual(undone.done, memberIds)
    await world.settle()
    await world.pass(3600)
    const account = (who: string) => [`unlicense ${who}`, `delete ${who}`]
    assert.deepEqual(
      calls(world, before).filter((call) => call.endsWith('user1')),
      ['switch-back user1', ...account('user1')],
    )
    assert.deepEqual(
      calls(world, before).filter((call) => call.endsWith('user2')),
      account('user2'),
    )
    assert.ok((await stepsOf(world, first)).includes('switch rolled_back'))
    assert.ok((await stepsOf(world, second)).includes('switch cancelled'))
    const { status, failed, held } = await batchOf(world, batchId)
    assert.deepEqual([status, failed, held], ['failed', 2, null])
  }))
