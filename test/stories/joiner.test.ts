// Late joiners catch up on every phase that has begun, in order, whatever its status.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { addMembers } from '../../src/engine/orders/create.ts'
import { removeMembers, retryMembers } from '../../src/engine/orders/member-actions.ts'
import {
  batchOf,
  because,
  calls,
  memberId,
  order,
  phasesOf,
  runbook,
  step,
  stepsOf,
} from './looking.ts'
import { people, story, type World } from './world.ts'

const YAML = runbook('wave', {
  'prepare T-1h': [step('create'), step('tag')],
  'cutover T-0': [step('switch')],
})

const join = async (world: World, batchId: number, number: number): Promise<number> => {
  const { added } = await addMembers(
    world.engine,
    batchId,
    [people(number)[number - 1]!],
    'operator',
  )
  return added[0]!.id
}

async function begin(world: World, members: number): Promise<number> {
  await world.publish(YAML)
  const batchId = await world.batch('wave', members, { startsInMin: 60 })
  await world.settle()
  return batchId
}

it('joins a running phase', () =>
  story({}, async (world) => {
    world.answer = ({ functionName }) => (functionName === 'tag' ? 'silent' : { ok: true })
    const batchId = await begin(world, 2)
    const late = await join(world, batchId, 3)
    await world.settle()
    assert.deepEqual(calls(world, 4), ['create user3', 'tag user3'])
    assert.deepEqual(await stepsOf(world, late), ['create succeeded', 'tag dispatched'])
    assert.deepEqual(await phasesOf(world, batchId), ['prepare dispatched 3', 'cutover pending 0'])
    for (const job of world.jobs.filter(({ functionName }) => functionName === 'tag'))
      await world.result(job, { ok: true })
    await world.settle()
    assert.deepEqual((await phasesOf(world, batchId))[0], 'prepare completed 3: 3 passed')
  }))

it('joins a completed phase, which reopens and closes again', () =>
  story({}, async (world) => {
    const batchId = await begin(world, 2)
    assert.deepEqual((await phasesOf(world, batchId))[0], 'prepare completed 2: 2 passed')
    await join(world, batchId, 3)
    await world.orchestrate()
    assert.deepEqual((await phasesOf(world, batchId))[0], 'prepare dispatched 3: 2 passed')
    await world.settle()
    assert.deepEqual((await phasesOf(world, batchId))[0], 'prepare completed 3: 3 passed')
    assert.deepEqual(await because(world, 'reopen'), ['it has 2 open steps again'])
    await world.pass(3600)
    assert.deepEqual(await phasesOf(world, batchId), [
      'prepare completed 3: 3 passed',
      'cutover completed 3: 3 passed',
    ])
    assert.equal((await batchOf(world, batchId)).status, 'completed')
  }))

it('joins a failed phase, which completes when the joiner passes it', () =>
  story({}, async (world) => {
    world.answer = ({ parameters }) =>
      parameters.Upn === 'user3@contoso.example' ? { ok: true } : { fail: 'no licence' }
    const batchId = await begin(world, 2)
    assert.deepEqual((await phasesOf(world, batchId))[0], 'prepare failed 2: 2 failed')
    await join(world, batchId, 3)
    await world.settle()
    assert.deepEqual((await phasesOf(world, batchId))[0], 'prepare completed 3: 1 passed, 2 failed')
  }))

it('joins a finished batch, which reopens and closes again', () =>
  story({}, async (world) => {
    const batchId = await begin(world, 2)
    await world.pass(3600)
    assert.equal((await batchOf(world, batchId)).status, 'completed')
    const late = await join(world, batchId, 3)
    await world.orchestrate()
    assert.equal((await batchOf(world, batchId)).status, 'active')
    await world.settle()
    assert.deepEqual(calls(world, 6), ['create user3', 'tag user3', 'switch user3'])
    assert.deepEqual(await stepsOf(world, late), [
      'create succeeded',
      'tag succeeded',
      'switch succeeded',
    ])
    const { status, active } = await batchOf(world, batchId)
    assert.deepEqual([status, active], ['completed', 3])
  }))

it('reopens a phase that was skipped as empty, for a joiner and for a retried member', () =>
  story({}, async (world) => {
    world.answer = () => ({ fail: 'no licence' })
    const batchId = await begin(world, 1)
    await world.pass(3600)
    assert.deepEqual(await phasesOf(world, batchId), [
      'prepare failed 1: 1 failed',
      'cutover skipped 0',
    ])
    assert.equal((await batchOf(world, batchId)).status, 'failed')
    world.answer = () => ({ ok: true })
    await join(world, batchId, 2)
    await world.settle()
    assert.deepEqual(calls(world, 1), ['create user2', 'tag user2', 'switch user2'])
    const first = await memberId(world, batchId, 1)
    await retryMembers(world.engine, { ...order(batchId), memberIds: [first] })
    await world.settle()
    assert.deepEqual(calls(world, 4), ['create user1', 'tag user1', 'switch user1'])
    assert.deepEqual(await phasesOf(world, batchId), [
      'prepare completed 2: 2 passed',
      'cutover completed 2: 2 passed',
    ])
    assert.deepEqual(await batchOf(world, batchId), {
      status: 'completed',
      active: 2,
      failed: 0,
      removed: 0,
      held: null,
    })
  }))

it('still passes phase by phase when a phase falls due meanwhile', () =>
  story({}, async (world) => {
    const batchId = await begin(world, 1)
    world.answer = ({ functionName }) => (functionName === 'create' ? 'silent' : { ok: true })
    await world.pass(3590)
    const late = await join(world, batchId, 2)
    await world.settle()
    await world.pass(10)
    assert.deepEqual(calls(world, 2), ['create user2', 'switch user1'])
    assert.deepEqual(await stepsOf(world, late), [
      'create dispatched',
      'tag pending',
      'switch pending',
    ])
    await world.result(world.jobs[2]!, { ok: true })
    await world.settle()
    assert.deepEqual(calls(world, 4), ['tag user2', 'switch user2'])
    assert.equal((await batchOf(world, batchId)).status, 'completed')
  }))

it('gets no steps when it left before its message was read', () =>
  story({}, async (world) => {
    const batchId = await begin(world, 1)
    const late = await join(world, batchId, 2)
    await removeMembers(world.engine, { ...order(batchId), memberIds: [late] })
    await world.settle()
    assert.deepEqual(await stepsOf(world, late), [])
    assert.equal(world.jobs.length, 2)
    await world.pass(3600)
    const { status, active, removed } = await batchOf(world, batchId)
    assert.deepEqual([status, active, removed], ['completed', 1, 1])
  }))

it('is ignored when it is already a member, and refused while another batch has it', () =>
  story({}, async (world) => {
    const batchId = await begin(world, 2)
    const { added } = await addMembers(world.engine, batchId, people(3), 'operator')
    assert.deepEqual(
      added.map(({ key }) => key),
      ['user3@contoso.example'],
    )
    const other = await world.batch('wave', people(4).slice(3), { startsInMin: 120 })
    await assert.rejects(addMembers(world.engine, other, people(1), 'operator'), {
      code: 'MEMBER_ELSEWHERE',
    })
    await world.settle()
    assert.equal((await batchOf(world, other)).active, 1)
  }))

it('is dead-lettered when its message names another batch, and gets no steps there', () =>
  story({}, async (world) => {
    const batchId = await begin(world, 1)
    const other = await world.batch('wave', people(2).slice(1), { startsInMin: 120 })
    const foreign = await memberId(world, other, 2)
    await world.bus.publish([
      {
        topic: 'orchestrator-events',
        messageId: 'garbled',
        type: 'member-added',
        body: {
          batchId,
          batchMemberId: foreign,
          runbookName: 'wave',
          runbookVersion: 1,
          memberKey: 'user2@contoso.example',
        },
      },
    ])
    await world.settle()
    assert.deepEqual(await stepsOf(world, foreign), [])
    const letters = await world.db.query('select reason, message_id from dead_letters')
    assert.deepEqual(letters, [{ reason: 'UnknownSubject', messageId: 'garbled' }])
    assert.equal((await batchOf(world, batchId)).held, null)
  }))
