// Cancel: the end, at once and for good. Compensation runs to its end; late results are recorded and change nothing.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { cancelBatch, holdBatch, restartBatch } from '../../src/engine/orders/batch-actions.ts'
import { addMembers } from '../../src/engine/orders/create.ts'
import { acceptLate, removeMembers, retryMembers } from '../../src/engine/orders/member-actions.ts'
import {
  attemptsOf,
  batchOf,
  because,
  calls,
  memberId,
  order,
  phasesOf,
  runbook,
  step,
  stepId,
  stepsOf,
  waitsOf,
} from './looking.ts'
import { people, story, type World } from './world.ts'

const UNDO = `rollbacks: { undo: [${step('uncreate')}, ${step('unlicense')}] }`
const REMOVAL = `on_member_removed: [${step('revoke')}, ${step('farewell')}]`

async function begin(world: World, yaml: string, members: number): Promise<number> {
  await world.publish(yaml)
  const batchId = await world.batch('wave', members, { startsInMin: 60 })
  await world.settle()
  return batchId
}

const cancel = (world: World, batchId: number) => cancelBatch(world.engine, order(batchId))

const isQuietFor = async (world: World, seconds: number) => {
  const before = world.jobs.length
  await world.pass(seconds)
  assert.equal(world.jobs.length, before, 'nothing is sent for a cancelled batch')
}

it('ends open, polling and waiting steps and every phase; late results are only recorded', () =>
  story({}, async (world) => {
    const yaml = runbook('wave', {
      'prepare T-1h': [
        step(
          'create',
          'poll: { interval: 60s, timeout: 1h }, retry: { max_retries: 3, interval: 60s }',
        ),
        step('tag'),
      ],
      'cutover T-0': [step('switch')],
    })
    world.answer = ({ parameters }) => {
      if (parameters.Upn === 'user1@contoso.example') return 'silent'
      if (parameters.Upn === 'user2@contoso.example') return { ok: { complete: false } }
      return { fail: 'busy' }
    }
    const batchId = await begin(world, yaml, 3)
    assert.deepEqual(await waitsOf(world), ['create job 3720', 'create poll 60', 'create retry 60'])
    await cancel(world, batchId)
    assert.deepEqual(await waitsOf(world), ['create job 3720'])
    assert.deepEqual(await phasesOf(world, batchId), [
      'prepare cancelled 3: 3 stopped',
      'cutover cancelled 0',
    ])
    assert.deepEqual(await batchOf(world, batchId), {
      status: 'cancelled',
      active: 3,
      failed: 0,
      removed: 0,
      held: null,
    })
    await isQuietFor(world, 300)
    await world.result(world.jobs[0]!, { ok: { complete: true, data: { id: 7 } } })
    await world.result(world.jobs[0]!, { ok: { complete: true, data: { id: 8 } } })
    await isQuietFor(world, 7200)
    const first = await memberId(world, batchId, 1)
    assert.deepEqual(await stepsOf(world, first), ['create cancelled', 'tag cancelled'])
    assert.deepEqual(await attemptsOf(world), [
      'step-3 incomplete',
      'step-5 failed',
      'step-1 succeeded',
    ])
    assert.equal((await because(world, 'unexpected_result')).length, 1)
    assert.deepEqual(await waitsOf(world), [])
  }))

it('withdraws untaken jobs', () =>
  story({}, async (world) => {
    await world.publish(runbook('wave', { 'prepare T-1h': [step('create')] }))
    const batchId = await world.batch('wave', 2, { startsInMin: 60 })
    await world.orchestrate()
    await cancel(world, batchId)
    await isQuietFor(world, 60)
    assert.deepEqual(await attemptsOf(world), ['step-1 withdrawn', 'step-2 withdrawn'])
    assert.deepEqual(await waitsOf(world), [])
  }))

it('in init: init stops, and the batch cannot be restarted', () =>
  story({}, async (world) => {
    const init = `{ name: setup, worker_id: w1, function: setup }`
    const yaml = runbook(
      'wave',
      { 'prepare T-1h': [step('create')] },
      `init: [${init}, ${init.replaceAll('setup', 'share')}]`,
    )
    world.answer = () => 'silent'
    const batchId = await begin(world, yaml, 1)
    assert.equal((await batchOf(world, batchId)).status, 'init_dispatched')
    await cancel(world, batchId)
    await world.result(world.jobs[0]!, { ok: true })
    await isQuietFor(world, 7200)
    const steps = await world.db.query('select step_name, status from init_executions order by id')
    assert.deepEqual(steps, [
      { stepName: 'setup', status: 'cancelled' },
      { stepName: 'share', status: 'cancelled' },
    ])
    await assert.rejects(restartBatch(world.engine, order(batchId)), { code: 'REFUSED' })
  }))

it('runs a rollback that has begun to its end', () =>
  story({}, async (world) => {
    const yaml = runbook('wave', { 'prepare T-1h': [step('create', 'on_failure: undo')] }, UNDO)
    world.answer = ({ functionName }) => {
      if (functionName === 'create') return { fail: 'no licence' }
      return functionName === 'uncreate' ? 'silent' : { ok: true }
    }
    const batchId = await begin(world, yaml, 2)
    await cancel(world, batchId)
    await world.settle()
    for (const job of world.jobs.filter(({ functionName }) => functionName === 'uncreate'))
      await world.result(job, { ok: true })
    await world.settle()
    assert.deepEqual(calls(world, 4), ['unlicense user1', 'unlicense user2'])
    assert.deepEqual(await stepsOf(world, await memberId(world, batchId, 1)), [
      'create rolled_back',
      'rollback uncreate succeeded',
      'rollback unlicense succeeded',
    ])
    assert.equal((await batchOf(world, batchId)).status, 'cancelled')
  }))

it('runs a cleanup that has begun to its end, after the unsettled job', () =>
  story({}, async (world) => {
    const yaml = runbook('wave', { 'prepare T-1h': [step('create')] }, REMOVAL)
    world.answer = ({ functionName }) => (functionName === 'create' ? 'silent' : { ok: true })
    const batchId = await begin(world, yaml, 2)
    const member = await memberId(world, batchId, 1)
    await removeMembers(world.engine, { ...order(batchId), memberIds: [member] })
    await cancel(world, batchId)
    await world.settle()
    assert.equal(world.jobs.length, 2)
    await world.result(world.jobs[0]!, { fail: 'gone' })
    await world.settle()
    assert.deepEqual(calls(world, 2), ['revoke user1', 'farewell user1'])
    const { status, removed } = await batchOf(world, batchId)
    assert.deepEqual([status, removed], ['cancelled', 1])
  }))

it('on hold: compensation continues with the time it had left', () =>
  story({}, async (world) => {
    const yaml = runbook(
      'wave',
      { 'prepare T-1h': [step('create', 'on_failure: undo, retry: { max_retries: 0 }')] },
      `${UNDO}\nretry: { max_retries: 1, interval: 60s }`,
    )
    world.answer = () => ({ fail: 'busy' })
    const batchId = await begin(world, yaml, 1)
    assert.deepEqual(await waitsOf(world), ['uncreate retry 60'])
    await world.pass(20)
    await holdBatch(world.engine, order(batchId))
    await world.pass(600)
    await cancel(world, batchId)
    assert.deepEqual(await waitsOf(world), ['uncreate retry 40'])
    world.answer = () => ({ ok: true })
    await world.pass(40)
    assert.deepEqual(calls(world, 2), ['uncreate user1', 'unlicense user1'])
    assert.equal((await batchOf(world, batchId)).held, null)
  }))

it('is final: nobody joins, nothing is retried, accepted or cancelled again', () =>
  story({}, async (world) => {
    world.answer = () => 'silent'
    const batchId = await begin(world, runbook('wave', { 'prepare T-1h': [step('create')] }), 1)
    await cancel(world, batchId)
    await world.result(world.jobs[0]!, { ok: true })
    await world.settle()
    const member = await memberId(world, batchId, 1)
    await assert.rejects(cancel(world, batchId), /is already cancelled/)
    await assert.rejects(addMembers(world.engine, batchId, people(2), 'operator'), {
      code: 'REFUSED',
    })
    await assert.rejects(
      acceptLate(world.engine, {
        stepId: await stepId(world, member, 'create'),
        actor: 'operator',
        reason: 'late',
      }),
      /is cancelled; clone it instead/,
    )
    const { refused } = await retryMembers(world.engine, { ...order(batchId), memberIds: [member] })
    assert.deepEqual(refused, [
      { memberId: member, reason: `batch ${batchId} is cancelled; clone it instead` },
    ])
    await isQuietFor(world, 3600)
  }))

it('keeps a batch that waits for its time from starting', () =>
  story({}, async (world) => {
    await world.publish(runbook('wave', { 'prepare T-1h': [step('create')] }))
    const batchId = await world.batch('wave', 1, { startsInMin: 120 })
    await cancel(world, batchId)
    await isQuietFor(world, 10_000)
    assert.deepEqual(await phasesOf(world, batchId), ['prepare cancelled 0'])
  }))

it('gives no steps to a member who joined just before, even in a completed phase', () =>
  story({}, async (world) => {
    const phases = { 'prepare T-1h': [step('create')], 'cutover T-0': [step('switch')] }
    const batchId = await begin(world, runbook('wave', phases), 1)
    await addMembers(world.engine, batchId, people(2).slice(1), 'operator')
    await cancel(world, batchId)
    await isQuietFor(world, 7200)
    assert.deepEqual(await stepsOf(world, await memberId(world, batchId, 2)), [])
    assert.deepEqual(await phasesOf(world, batchId), [
      'prepare completed 1: 1 passed',
      'cutover cancelled 0',
    ])
  }))
