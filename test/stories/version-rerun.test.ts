// Versions published with rerun: ended phases run again for active members, missed phases run late, init runs again.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  readmitMembers,
  redoMembers,
  removeMembers,
  retryMembers,
  skip,
} from '../../src/engine/orders/member-actions.ts'
import {
  batchOf,
  because,
  calls,
  memberId,
  order,
  rowsOf,
  runbook,
  step,
  stepId,
  stepsOf,
} from './looking.ts'
import { story, type Worker, type World } from './world.ts'

const PHASES = {
  'prepare T-1h': [step('create')],
  'cutover T-0': [step('switch')],
}
const ONE = runbook('wave', PHASES)
const TWO = ONE.replace('function: create', 'function: Create-2')
const RERUN = { overdueBehavior: 'rerun' } as const

const failing =
  (name: string, user: string): Worker =>
  ({ functionName, parameters }) =>
    functionName === name && String(parameters.Upn).startsWith(user) ? { fail: 'no' } : { ok: true }

async function begin(world: World, startsInMin = 60): Promise<number> {
  await world.publish(ONE)
  const batchId = await world.batch('wave', 2, { startsInMin })
  await world.settle()
  return batchId
}

it('the events of a phase that runs again name its version, others do not', () =>
  story({}, async (world) => {
    const batchId = await begin(world)
    await world.publish(TWO, RERUN)
    await world.settle()
    await world.pass(3600)
    assert.deepEqual(await rowsOf(world, batchId), [
      'prepare 1 completed',
      'cutover 1 superseded',
      'prepare 2 completed',
      'cutover 2 completed',
    ])
    const due = (at: string) => `due at 2026-03-02T${at}:00:00.000Z`
    assert.deepEqual(await because(world, 'start'), [
      due('08'),
      `${due('08')}, run again by version 2`,
      due('09'),
    ])
    const sent = (phase: string) => `the member's next step in phase ${phase}, sent to w1`
    assert.deepEqual(
      [...new Set(await because(world, 'dispatch'))],
      [sent('prepare'), sent('prepare, run again by version 2'), sent('cutover')],
    )
  }))

it('active members run an ended phase again, and only then what follows', () =>
  story({}, async (world) => {
    world.answer = failing('create', 'user1')
    const batchId = await begin(world)
    assert.deepEqual(await rowsOf(world, batchId), ['prepare 1 completed', 'cutover 1 pending'])
    const { impact } = await world.publish(TWO, RERUN)
    assert.deepEqual(impact.phases, {
      pending: 1,
      skipped: 0,
      carried_over: 0,
      rerun: 1,
      dropped: 0,
    })
    world.answer = () => 'silent'
    await world.pass(3600)
    assert.deepEqual(await rowsOf(world, batchId), [
      'prepare 1 completed',
      'cutover 1 superseded',
      'prepare 2 dispatched',
      'cutover 2 dispatched',
    ])
    assert.deepEqual(calls(world, 2), ['Create-2 user2'])
    await world.result(world.jobs[2]!, { ok: true })
    await world.settle()
    assert.deepEqual(calls(world, 3), ['switch user2'])
    await world.result(world.jobs[3]!, { ok: true })
    await world.settle()
    assert.deepEqual(await batchOf(world, batchId), {
      status: 'completed',
      active: 1,
      failed: 1,
      removed: 0,
      held: null,
    })
  }))

it('a failed member retried in time runs it with the others; later, on its own', () =>
  story({}, async (world) => {
    world.answer = failing('create', 'user')
    const batchId = await begin(world)
    assert.equal((await rowsOf(world, batchId))[0], 'prepare 1 failed')
    const [one, two] = [await memberId(world, batchId, 1), await memberId(world, batchId, 2)]
    await world.publish(TWO, RERUN)
    world.answer = () => ({ ok: true })
    await retryMembers(world.engine, { ...order(batchId), memberIds: [one] })
    await world.settle()
    assert.deepEqual(calls(world, 2), ['Create-2 user1'])
    await retryMembers(world.engine, { ...order(batchId), memberIds: [two] })
    await world.settle()
    assert.deepEqual(calls(world, 3), ['Create-2 user2'])
    await world.pass(3600)
    assert.deepEqual(calls(world, 4), ['switch user1', 'switch user2'])
    assert.equal((await batchOf(world, batchId)).status, 'completed')
  }))

it('passed once and failed again: the newest row counts, and the batch fails', () =>
  story({}, async (world) => {
    await world.publish(runbook('wave', { 'prepare T-1h': [step('create')] }))
    const batchId = await world.batch('wave', 1, { startsInMin: 60 })
    world.answer = () => 'silent'
    await world.settle()
    const late = { 'prepare T-1h': [step('create')], 'after T+9h': [step('check')] }
    await world.publish(runbook('wave', late))
    await world.result(world.jobs[0]!, { ok: true })
    await world.settle()
    world.answer = failing('create', 'user1')
    await world.publish(runbook('wave', { 'prepare T-1h': [step('create'), step('tag')] }), RERUN)
    await world.settle()
    assert.deepEqual(await rowsOf(world, batchId), [
      'prepare 1 completed',
      'after 2 superseded',
      'prepare 3 failed',
    ])
    assert.equal((await batchOf(world, batchId)).status, 'failed')
  }))

it('a member in the middle of a later phase finishes its step, then runs the earlier phase again', () =>
  story({}, async (world) => {
    world.answer = ({ functionName }) => (functionName === 'switch' ? 'silent' : { ok: true })
    const batchId = await begin(world, 0)
    assert.deepEqual(calls(world, 2), ['switch user1', 'switch user2'])
    await world.publish(TWO, RERUN)
    await world.settle()
    assert.deepEqual(await rowsOf(world, batchId), [
      'prepare 1 completed',
      'cutover 1 dispatched',
      'prepare 2 dispatched',
    ])
    assert.deepEqual(calls(world, 4), [])
    await world.result(world.jobs[2]!, { ok: true })
    await world.settle()
    assert.deepEqual(calls(world, 4), ['Create-2 user1'])
    await world.result(world.jobs[3]!, { ok: true })
    await world.settle()
    assert.equal((await batchOf(world, batchId)).status, 'completed')
  }))

it('runs a missed phase late, and a new one before it as well', () =>
  story({}, async (world) => {
    await world.publish(ONE)
    const batchId = await world.batch('wave', 1, { startsInMin: 60 })
    await world.settle()
    const more = runbook('wave', { 'notify T-3h': [step('mail')], ...PHASES })
    const { impact } = await world.publish(more, RERUN)
    assert.equal(impact.skipped.total, 0)
    await world.settle()
    assert.deepEqual(calls(world, 1), ['mail user1', 'create user1'])
    await world.pass(3600)
    assert.equal((await batchOf(world, batchId)).status, 'completed')
  }))

it('steps of a rerun row are history: they cannot be redone, skipped or retried', () =>
  story({}, async (world) => {
    world.answer = failing('create', 'user1')
    const batchId = await begin(world)
    const member = await memberId(world, batchId, 1)
    const old = await stepId(world, member, 'create')
    await world.publish(TWO, RERUN)
    await world.settle()
    const why = { actor: 'operator', reason: 'done' }
    await assert.rejects(
      skip(world.engine, { ...why, stepId: old }),
      /is not the next step of member/,
    )
    const orders = { ...order(batchId), memberIds: [member] }
    await removeMembers(world.engine, { ...orders, by: 'source' })
    world.answer = () => ({ ok: true })
    await readmitMembers(world.engine, { ...orders, event: 'rejoin' })
    await world.settle()
    assert.deepEqual(await stepsOf(world, member), ['create failed', 'create succeeded'])
    const again = await redoMembers(world.engine, { ...orders, fromStepName: 'create' })
    assert.deepEqual(again.done, [member])
    await world.pass(3600)
    assert.deepEqual(await stepsOf(world, member), [
      'create failed',
      'create succeeded',
      'switch succeeded',
    ])
    assert.equal((await batchOf(world, batchId)).status, 'completed')
  }))

it('a version that ignores withdraws a pending rerun: the ended row counts again', () =>
  story({}, async (world) => {
    const batchId = await begin(world)
    await world.publish(TWO, RERUN)
    // Locks the batch, which upgrades it, without letting its phases begin.
    await removeMembers(world.engine, {
      ...order(batchId),
      memberIds: [await memberId(world, batchId, 2)],
    })
    assert.equal((await rowsOf(world, batchId)).at(-2), 'prepare 2 pending')
    await world.publish(ONE)
    await world.pass(3600)
    assert.deepEqual(await rowsOf(world, batchId), [
      'prepare 1 completed',
      'cutover 1 superseded',
      'prepare 2 superseded',
      'cutover 2 superseded',
      'cutover 3 completed',
    ])
    assert.deepEqual(calls(world, 2), ['switch user1'])
    assert.match(
      (await because(world, 'supersede')).at(-2)!,
      /^version 3 was published: it is completed/,
    )
  }))
