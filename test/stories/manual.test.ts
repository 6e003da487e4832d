// Manual batches: nothing starts by the clock; a person advances them, phase by phase, in the order of time.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  advanceBatch,
  cancelBatch,
  holdBatch,
  rescheduleBatch,
  resumeBatch,
} from '../../src/engine/orders/batch-actions.ts'
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
import { story, type World } from './world.ts'

const PHASES = {
  'after T+1d': [step('check')],
  'cutover T-0': [step('switch')],
  'prepare T-5d': [step('create'), step('tag')],
}
const INIT = 'init: [{ name: setup, worker_id: w1, function: setup, params: { Upn: all } }]'

async function begin(world: World, more = '', members = 2): Promise<number> {
  await world.publish(runbook('wave', PHASES, more))
  const batchId = await world.batch('wave', members, { manual: true })
  await world.settle()
  return batchId
}

const advance = async (
  world: World,
  batchId: number,
  expectedPhase: string,
  allowStragglers = false,
) => {
  await advanceBatch(world.engine, { batchId, actor: 'operator', expectedPhase, allowStragglers })
  await world.settle()
}

it('waits for a person, then runs the phases in the order of time, T+ too', () =>
  story({}, async (world) => {
    const batchId = await begin(world)
    await world.pass(30 * 86_400)
    assert.deepEqual(world.jobs, [])
    await advance(world, batchId, 'prepare')
    assert.deepEqual(calls(world), ['create user1', 'create user2', 'tag user1', 'tag user2'])
    const [started] = await world.db.query('select batch_start_time, current_phase from batches')
    assert.deepEqual(started, { batchStartTime: world.clock.now(), currentPhase: 'prepare' })
    await advance(world, batchId, 'CUTOVER')
    await world.pass(30 * 86_400)
    assert.deepEqual(calls(world, 4), ['switch user1', 'switch user2'])
    assert.equal((await batchOf(world, batchId)).status, 'active')
    await advance(world, batchId, 'after')
    assert.deepEqual(calls(world, 6), ['check user1', 'check user2'])
    assert.equal((await batchOf(world, batchId)).status, 'completed')
    assert.deepEqual(await because(world, 'start'), Array(3).fill('advanced by operator'))
    const due = await world.db.query('select from phase_executions where due_at is not null')
    assert.equal(due.length, 0)
    await assert.rejects(advance(world, batchId, 'after'), /batch 1 is completed/)
  }))

it('runs init first, by name', () =>
  story({}, async (world) => {
    const batchId = await begin(world, INIT)
    await assert.rejects(advance(world, batchId, 'prepare'), /next step of batch 1 is init, not/)
    world.answer = ({ functionName }) => (functionName === 'setup' ? 'silent' : { ok: true })
    const order = { batchId, actor: 'operator', expectedPhase: 'init', allowStragglers: false }
    await advanceBatch(world.engine, order)
    const [told] = await world.db.query<{ bodies: string }>(
      "select bodies from bundles where message_type = 'batch-init'",
    )
    assert.partialDeepStrictEqual(JSON.parse(told!.bodies), { batchId, memberCount: 2 })
    await world.settle()
    await assert.rejects(advance(world, batchId, 'prepare'), /batch 1 is init_dispatched/)
    await world.result(world.jobs[0]!, { ok: true })
    await world.settle()
    assert.equal((await batchOf(world, batchId)).status, 'active')
    assert.equal(world.jobs.length, 1)
    await advance(world, batchId, 'prepare')
    assert.equal(world.jobs.length, 5)
  }))

it('refuses the second of two people who advance: they saw another next phase', () =>
  story({}, async (world) => {
    const batchId = await begin(world)
    await advance(world, batchId, 'prepare')
    await assert.rejects(advance(world, batchId, 'prepare'), {
      code: 'REFUSED',
      message: /the next phase of batch 1 is cutover, not prepare/,
    })
    assert.deepEqual(await phasesOf(world, batchId), [
      'prepare completed 2: 2 passed',
      'cutover pending 0',
      'after pending 0',
    ])
  }))

it('needs leave for stragglers of an open phase; they still pass phase by phase', () =>
  story({}, async (world) => {
    const batchId = await begin(world)
    world.answer = ({ functionName, parameters }) =>
      functionName === 'tag' && parameters.Upn === 'user2@contoso.example' ? 'silent' : { ok: true }
    await advance(world, batchId, 'prepare')
    await assert.rejects(advance(world, batchId, 'cutover'), {
      code: 'REFUSED',
      message: /phase prepare is still open; allow stragglers to continue without them/,
    })
    await advance(world, batchId, 'cutover', true)
    assert.deepEqual(calls(world, 4), ['switch user1'])
    const straggler = await memberId(world, batchId, 2)
    assert.deepEqual(await stepsOf(world, straggler), [
      'create succeeded',
      'tag dispatched',
      'switch pending',
    ])
    await world.result(world.jobs.find(({ jobId }) => jobId === 'step-4')!, { ok: true })
    await world.settle()
    assert.deepEqual(calls(world, 5), ['switch user2'])
  }))

it('is refused on hold, when cancelled, and for a scheduled batch', () =>
  story({}, async (world) => {
    const batchId = await begin(world)
    await holdBatch(world.engine, order(batchId))
    await assert.rejects(
      advance(world, batchId, 'prepare'),
      /batch 1 is held by operator: as agreed; end it with "matoolkit resume --batch 1"/,
    )
    await resumeBatch(world.engine, order(batchId))
    await assert.rejects(
      rescheduleBatch(world.engine, {
        ...order(batchId),
        startTime: world.clock.now(),
        allowOverdue: true,
      }),
      /is manual: it has no schedule/,
    )
    await cancelBatch(world.engine, order(batchId))
    await assert.rejects(advance(world, batchId, 'prepare'), /batch 1 is cancelled/)
    const scheduled = await world.batch('wave', 1, { startsInMin: 9000 })
    await assert.rejects(advance(world, scheduled, 'prepare'), /is not manual/)
  }))

it('a phase-due message cannot start a phase of a manual batch', () =>
  story({}, async (world) => {
    const batchId = await begin(world)
    await advance(world, batchId, 'prepare')
    const [phase] = await world.db.query<{ id: number }>(
      `select id from phase_executions where phase_name = 'cutover'`,
    )
    await world.bus.publish([
      {
        topic: 'orchestrator-events',
        messageId: 'phase-due-extra',
        type: 'phase-due',
        body: {
          batchId,
          phaseExecutionId: phase!.id,
          runbookName: 'wave',
          runbookVersion: 1,
          phaseName: 'cutover',
          offsetMinutes: 0,
          dueAt: null,
        },
      },
    ])
    await world.settle()
    assert.equal((await phasesOf(world, batchId))[1], 'cutover pending 0')
    assert.equal((await because(world, 'phase_due_ignored')).length, 1)
  }))
