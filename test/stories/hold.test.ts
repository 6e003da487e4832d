// Hold: nothing new is sent, taken jobs are awaited, and time on hold counts only for deadlines.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  advanceBatch,
  cancelBatch,
  holdBatch,
  resumeBatch,
} from '../../src/engine/orders/batch-actions.ts'
import { removeMembers } from '../../src/engine/orders/member-actions.ts'
import {
  attemptsOf,
  batchOf,
  because,
  calls,
  jobIds,
  memberId,
  order,
  phasesOf,
  runbook,
  step,
  stepsOf,
  waitsOf,
} from './looking.ts'
import { beginWave, POLL, RETRY, story, type World } from './world.ts'

const hold = (world: World, batchId: number) => holdBatch(world.engine, order(batchId))
const resume = (world: World, batchId: number) => resumeBatch(world.engine, order(batchId))

it('withdraws untaken jobs; they are sent again in order, as new attempts with new ids', () =>
  story({}, async (world) => {
    const batchId = await beginWave(world, runbook('wave', { 'prepare T-1h': [step('create')] }), 3)
    await world.work(1)
    await hold(world, batchId)
    await world.settle()
    assert.deepEqual(jobIds(world), ['step-1'])
    assert.deepEqual(await attemptsOf(world), [
      'step-2 withdrawn',
      'step-3 withdrawn',
      'step-1 succeeded',
    ])
    assert.deepEqual((await phasesOf(world, batchId))[0], 'prepare dispatched 3: 1 passed')
    assert.deepEqual(await waitsOf(world), ['create slot', 'create slot'])
    await world.pass(7200)
    assert.equal(world.jobs.length, 1)
    await resume(world, batchId)
    await world.settle()
    assert.deepEqual(jobIds(world, 1), ['step-2-retry-1', 'step-3-retry-1'])
    const retried = await world.db.query('select sum(retry_count) as used from step_executions')
    assert.deepEqual(retried, [{ used: 0 }])
    assert.equal((await batchOf(world, batchId)).status, 'completed')
    assert.deepEqual(await because(world, 'held'), ['as agreed'])
    assert.deepEqual(await because(world, 'resumed'), ['as agreed'])
  }))

it('records results, failures included, and sends nothing until resume', () =>
  story({}, async (world) => {
    const yaml = runbook(
      'wave',
      { 'prepare T-1h': [step('create', 'on_failure: undo'), step('tag')] },
      `rollbacks: { undo: [${step('uncreate')}] }`,
    )
    world.answer = ({ functionName }) => (functionName === 'create' ? 'silent' : { ok: true })
    const batchId = await beginWave(world, yaml, 2)
    await world.settle()
    await hold(world, batchId)
    await world.result(world.jobs[0]!, { ok: true })
    await world.result(world.jobs[1]!, { fail: 'no licence' })
    await world.settle()
    assert.equal(world.jobs.length, 2)
    const { active, failed } = await batchOf(world, batchId)
    assert.deepEqual([active, failed], [1, 1])
    assert.deepEqual(await stepsOf(world, await memberId(world, batchId, 2)), [
      'create failed',
      'tag cancelled',
      'rollback uncreate pending',
    ])
    await resume(world, batchId)
    await world.settle()
    assert.deepEqual(calls(world, 2), ['uncreate user2', 'tag user1'])
  }))

it('a retry keeps its remaining time; a failure during the hold waits its whole interval afterwards', () =>
  story({}, async (world) => {
    const yaml = runbook('wave', { 'prepare T-1h': [step('create', RETRY)] })
    world.answer = ({ parameters }) =>
      parameters.Upn === 'user1@contoso.example' ? { fail: 'busy' } : 'silent'
    const batchId = await beginWave(world, yaml, 2)
    await world.settle()
    await world.pass(20)
    await hold(world, batchId)
    await world.pass(300)
    await world.result(world.jobs[1]!, { fail: 'busy' })
    await world.pass(300)
    assert.equal(world.jobs.length, 2)
    world.answer = () => ({ ok: true })
    await resume(world, batchId)
    assert.deepEqual(await waitsOf(world), ['create retry 40', 'create retry 60'])
    const after = await world.db.query<{ left: number }>(
      'select extract(epoch from retry_after - $1)::int as left from step_executions order by id',
      [world.clock.now()],
    )
    assert.deepEqual(after, [{ left: 40 }, { left: 60 }])
    await world.pass(39)
    assert.equal(world.jobs.length, 2)
    await world.pass(1)
    assert.deepEqual(jobIds(world, 2), ['step-1-retry-1'])
    await world.pass(20)
    assert.deepEqual(jobIds(world, 3), ['step-2-retry-1'])
  }))

it('stops polls and the time to poll', () =>
  story({}, async (world) => {
    const yaml = runbook('wave', { 'prepare T-1h': [step('sync', POLL)] })
    world.answer = () => ({ ok: { complete: false } })
    const batchId = await beginWave(world, yaml, 1)
    await world.settle()
    await world.pass(30)
    await hold(world, batchId)
    await world.pass(3600)
    assert.equal(world.jobs.length, 1)
    await resume(world, batchId)
    assert.deepEqual(await waitsOf(world), ['sync poll 30'])
    await world.pass(30)
    assert.deepEqual(jobIds(world, 1), ['step-1-poll-1'])
    for (let poll = 2; poll <= 4; poll++) await world.pass(60)
    assert.equal(world.jobs.length, 5)
    await world.pass(59)
    assert.equal((await batchOf(world, batchId)).failed, 0)
    await world.pass(1)
    assert.deepEqual(await because(world, 'time_out'), ['not complete after 300 s of polling'])
  }))

it('does not time out a poll that answers "not complete" long into the hold', () =>
  story({}, async (world) => {
    const yaml = runbook('wave', { 'prepare T-1h': [step('sync', POLL)] })
    world.answer = ({ jobId }) => (jobId === 'step-1' ? { ok: { complete: false } } : 'silent')
    const batchId = await beginWave(world, yaml, 1)
    await world.settle()
    await world.pass(60)
    assert.deepEqual(jobIds(world), ['step-1', 'step-1-poll-1'])
    await hold(world, batchId)
    await world.pass(600)
    await world.result(world.jobs[1]!, { ok: { complete: false } })
    await world.settle()
    assert.deepEqual(await stepsOf(world, await memberId(world, batchId, 1)), ['sync polling'])
    await world.pass(600)
    await resume(world, batchId)
    assert.deepEqual(await waitsOf(world), ['sync poll 60'])
    world.answer = () => ({ ok: { complete: false } })
    for (let poll = 2; poll <= 4; poll++) await world.pass(60)
    assert.deepEqual(jobIds(world, 2), ['step-1-poll-2', 'step-1-poll-3', 'step-1-poll-4'])
    await world.pass(60)
    assert.deepEqual(await because(world, 'time_out'), ['not complete after 300 s of polling'])
  }))

it('withdraws an untaken poll and repeats it, with a new id and no attempt used', () =>
  story({}, async (world) => {
    const yaml = runbook('wave', { 'prepare T-1h': [step('sync', POLL)] })
    world.answer = () => ({ ok: { complete: false } })
    const batchId = await beginWave(world, yaml, 1)
    await world.settle()
    await world.clock.advance(60_000)
    await world.orchestrate()
    await hold(world, batchId)
    await world.pass(1000)
    assert.deepEqual(await attemptsOf(world), ['step-1 incomplete', 'step-1-poll-1 withdrawn'])
    world.answer = () => ({ ok: { complete: true } })
    await resume(world, batchId)
    await world.pass(60)
    assert.deepEqual(jobIds(world, 1), ['step-1-poll-2'])
    assert.equal((await batchOf(world, batchId)).status, 'completed')
  }))

it('starts due phases at resume, in order', () =>
  story({}, async (world) => {
    const yaml = runbook('wave', {
      'late T+1h': [step('check')],
      'prepare T-1h': [step('create')],
      'cutover T-0': [step('switch')],
    })
    const batchId = await beginWave(world, yaml, 1, 120)
    await hold(world, batchId)
    await world.pass(4 * 3600)
    assert.deepEqual(world.jobs, [])
    assert.deepEqual(await phasesOf(world, batchId), [
      'prepare pending 0',
      'cutover pending 0',
      'late pending 0',
    ])
    await resume(world, batchId)
    await world.settle()
    assert.deepEqual(calls(world), ['create user1', 'switch user1', 'check user1'])
  }))

it('deadlines run on: a job without a result is lost during the hold', () =>
  story({}, async (world) => {
    const yaml = runbook('wave', { 'prepare T-1h': [step('create', `timeout: 10m, ${RETRY}`)] })
    world.answer = () => 'silent'
    const batchId = await beginWave(world, yaml, 1)
    await world.settle()
    await hold(world, batchId)
    await world.pass(719)
    assert.deepEqual(await attemptsOf(world), [])
    await world.pass(1)
    assert.deepEqual(await attemptsOf(world), ['step-1 lost'])
    await world.pass(1000)
    assert.equal(world.jobs.length, 1)
    await resume(world, batchId)
    await world.pass(60)
    assert.deepEqual(jobIds(world, 1), ['step-1-retry-1'])
  }))

it('records a removal, and sends its cleanup at resume', () =>
  story({}, async (world) => {
    const removal = `on_member_removed: [${step('revoke')}]`
    const batchId = await beginWave(
      world,
      runbook('wave', { 'prepare T-1h': [step('create')] }, removal),
      1,
    )
    await world.settle()
    await assert.rejects(hold(world, batchId), /batch 1 is completed/)
    const member = await memberId(world, batchId, 1)
    await removeMembers(world.engine, { ...order(batchId), memberIds: [member] })
    await hold(world, batchId)
    await world.settle()
    assert.deepEqual(calls(world), ['create user1'])
    await resume(world, batchId)
    await world.settle()
    assert.deepEqual(calls(world, 1), ['revoke user1'])
    assert.equal((await batchOf(world, batchId)).status, 'completed')
  }))

it('refuses a second hold, a resume without hold and an advance on hold; cancel works', () =>
  story({}, async (world) => {
    const yaml = runbook('wave', { 'prepare T-1h': [step('create')] })
    const batchId = await beginWave(world, yaml, 1, 600)
    await assert.rejects(resume(world, batchId), { code: 'REFUSED', message: /is not held/ })
    await hold(world, batchId)
    await assert.rejects(hold(world, batchId), /is already held: as agreed/)
    const manual = await world.batch('wave', [], { manual: true })
    await hold(world, manual)
    await assert.rejects(
      advanceBatch(world.engine, {
        batchId: manual,
        actor: 'operator',
        expectedPhase: 'prepare',
        allowStragglers: false,
      }),
      {
        code: 'REFUSED',
        message: /batch 2 is held by operator: as agreed; end it with "matoolkit resume --batch 2"/,
      },
    )
    await cancelBatch(world.engine, order(batchId))
    assert.deepEqual(await batchOf(world, batchId), {
      status: 'cancelled',
      active: 1,
      failed: 0,
      removed: 0,
      held: null,
    })
  }))
