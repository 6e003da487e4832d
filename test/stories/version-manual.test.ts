// Versions published over manual batches, and over batches that members moved into.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { advanceBatch } from '../../src/engine/orders/batch-actions.ts'
import { readmitMembers, removeMembers } from '../../src/engine/orders/member-actions.ts'
import {
  batchOf,
  calls,
  memberId,
  moveMember,
  order,
  phasesOf,
  rowsOf,
  runbook,
  step,
  stepsOf,
} from './looking.ts'
import { people, story, type World } from './world.ts'

const PHASES = {
  'prepare T-1d': [step('create')],
  'cutover T-0': [step('switch')],
  'after T+1d': [step('check')],
}

const advance = async (world: World, batchId: number, expectedPhase: string): Promise<void> => {
  await advanceBatch(world.engine, {
    batchId,
    actor: 'operator',
    expectedPhase,
    allowStragglers: false,
  })
  await world.settle()
}

async function begin(world: World): Promise<number> {
  await world.publish(runbook('wave', PHASES))
  const batchId = await world.batch('wave', 1, { manual: true })
  await world.settle()
  return batchId
}

it('not advanced: all phases are the new ones, none has a time, and the new init comes first', () =>
  story({}, async (world) => {
    const batchId = await begin(world)
    const init = 'init: [{ name: setup, worker_id: w1, function: setup, params: { Upn: batch } }]'
    await world.publish(runbook('wave', { ...PHASES, 'notify T-3d': [step('mail')] }, init))
    await world.pass(30 * 86_400)
    assert.deepEqual(world.jobs, [])
    const [timed] = await world.db.query(
      `select count(*) filter (where due_at is not null) as due, (select batch_start_time from batches) as start
         from phase_executions`,
    )
    assert.deepEqual(timed, { due: 0, start: null })
    await assert.rejects(advance(world, batchId, 'prepare'), /is init, not prepare/)
    await advance(world, batchId, 'INIT')
    const [begun] = await world.db.query('select batch_start_time as start from batches')
    assert.deepEqual(begun, { start: world.clock.now() })
    for (const phase of ['notify', 'prepare', 'cutover', 'after'])
      await advance(world, batchId, phase)
    assert.deepEqual(calls(world), [
      'setup batch',
      'mail user1',
      'create user1',
      'switch user1',
      'check user1',
    ])
    assert.equal((await batchOf(world, batchId)).status, 'completed')
  }))

it('halfway: advanced phases stay, a new phase before them is skipped, the next is the new one', () =>
  story({}, async (world) => {
    const batchId = await begin(world)
    await advance(world, batchId, 'prepare')
    world.answer = () => 'silent'
    await advance(world, batchId, 'cutover')
    await world.publish(
      runbook('wave', {
        'notify T-3d': [step('mail')],
        'prepare T-1d': [step('create')],
        'cutover T-0': [step('switch')],
        'after T+2d': [step('look')],
      }),
    )
    await world.settle()
    assert.deepEqual(await rowsOf(world, batchId), [
      'prepare 1 completed',
      'cutover 1 dispatched',
      'after 1 superseded',
      'notify 2 skipped overdue',
      'after 2 pending',
    ])
    world.answer = () => ({ ok: true })
    await world.result(world.jobs[1]!, { ok: true })
    await world.settle()
    await advance(world, batchId, 'after')
    assert.deepEqual(calls(world, 2), ['look user1'])
    assert.equal((await batchOf(world, batchId)).status, 'completed')
  }))

it('rerun: the phase waits to be advanced again', () =>
  story({}, async (world) => {
    const batchId = await begin(world)
    await advance(world, batchId, 'prepare')
    await world.publish(
      runbook('wave', { ...PHASES, 'prepare T-1d': [step('create'), step('tag')] }),
      {
        overdueBehavior: 'rerun',
      },
    )
    await world.settle()
    await assert.rejects(advance(world, batchId, 'cutover'), /next phase of batch 1 is prepare/)
    await advance(world, batchId, 'prepare')
    assert.deepEqual(calls(world, 1), ['create user1', 'tag user1'])
  }))

/** user1 has passed prepare in one wave and moves to a later one, where prepare has not begun. */
async function moved(world: World): Promise<{ batchId: number; member: number }> {
  await world.publish(
    runbook('wave', {
      'prepare T-1d': [step('create'), step('tag')],
      'cutover T-0': [step('switch')],
    }),
  )
  const first = await world.batch('wave', 2, { startsInMin: 24 * 60 })
  const batchId = await world.batch('wave', people(4).slice(2), { startsInMin: 48 * 60 })
  await world.settle()
  await moveMember(world.engine, {
    ...order(first),
    memberId: await memberId(world, first, 1),
    toBatchId: batchId,
  })
  return { batchId, member: await memberId(world, batchId, 1) }
}

it('steps that a member had passed before it moved in go along to the new rows', () =>
  story({}, async (world) => {
    const { batchId, member } = await moved(world)
    const before = world.jobs.length
    await world.publish(
      runbook('wave', {
        'Prepare T-1d': [step('create'), step('license')],
        'cutover T-0': [step('switch')],
      }),
    )
    await world.pass(86_400)
    assert.deepEqual(await stepsOf(world, member), [
      'create succeeded',
      'tag succeeded',
      'license succeeded',
    ])
    const prepared = calls(world, before).filter((call) => !call.startsWith('switch'))
    assert.deepEqual(prepared.toSorted(), [
      'create user3',
      'create user4',
      'license user1',
      'license user3',
      'license user4',
    ])
    assert.ok((await phasesOf(world, batchId)).includes('Prepare completed 3: 3 passed'))
  }))

it('cancels steps written ahead in a dropped phase', () =>
  story({}, async (world) => {
    const { batchId, member } = await moved(world)
    const orders = { ...order(batchId), memberIds: [member] }
    const undo = 'on_member_removed: [{ name: clean, worker_id: w1, function: clean }]'
    const phases = {
      'prepare T-1d': [step('create'), step('tag')],
      'cutover T-0': [step('switch')],
    }
    await world.publish(runbook('wave', phases, undo))
    await removeMembers(world.engine, { ...orders, by: 'source' })
    await world.settle()
    await readmitMembers(world.engine, { ...orders, event: 'rejoin' })
    assert.deepEqual(await stepsOf(world, member), [
      'create pending',
      'tag pending',
      'removal clean succeeded',
    ])
    await world.publish(runbook('wave', { 'cutover T-0': [step('switch')] }))
    await world.pass(48 * 3600)
    assert.deepEqual(await stepsOf(world, member), [
      'create cancelled',
      'tag cancelled',
      'switch succeeded',
      'removal clean succeeded',
    ])
    assert.equal((await batchOf(world, batchId)).status, 'completed')
  }))
