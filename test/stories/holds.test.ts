// Holds of the system, a runbook, a worker and a member: the same promises as of a batch, each for what it covers and no more.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { recordWorker } from '../../src/db/state/workers.ts'
import { type HoldTarget, SYSTEM } from '../../src/domain/state/holds.ts'
import {
  advanceBatch,
  cancelBatch,
  holdBatch,
  resumeBatch,
} from '../../src/engine/orders/batch-actions.ts'
import { addMembers } from '../../src/engine/orders/create.ts'
import {
  finishHolds,
  giveReason,
  type HoldOrder,
  holdScope,
  resumeScope,
} from '../../src/engine/orders/holds.ts'
import { removeMembers } from '../../src/engine/orders/member-actions.ts'
import {
  attemptsOf,
  batchOf,
  because,
  calls,
  jobIds,
  memberId,
  moveMember,
  order,
  phasesOf,
  runbook,
  step,
  stepsOf,
  waitsOf,
} from './looking.ts'
import { beginWave, POLL, people, RETRY, START, story, WORKER, type World } from './world.ts'

const WAVE = runbook('wave', { 'prepare T-1h': [step('create')] })
const RUNBOOK: HoldTarget = { scope: 'runbook', target: 'wave' }
const THE_WORKER: HoldTarget = { scope: 'worker', target: WORKER }

const orderOf = (held: HoldTarget): HoldOrder =>
  ({ ...held, actor: 'operator', reason: 'as agreed' }) as HoldOrder
const hold = (world: World, held: HoldTarget) => holdScope(world.engine, orderOf(held))
const resume = (world: World, held: HoldTarget) => resumeScope(world.engine, orderOf(held))

async function memberOf(world: World, batchId: number, number: number): Promise<HoldOrder> {
  const target = `${await memberId(world, batchId, number)}`
  return { ...orderOf({ scope: 'member', target }), batchId }
}

for (const held of [SYSTEM, RUNBOOK, THE_WORKER]) {
  describe(`a hold of the ${held.scope}`, () => {
    it('withdraws untaken jobs and sends nothing; resume sends all of it, in order', () =>
      story({}, async (world) => {
        const batchId = await beginWave(world, WAVE, 3)
        await world.work(1)
        const { withdrawn, running } = await hold(world, held)
        assert.deepEqual([withdrawn, running], [2, 1])
        await world.pass(7200)
        assert.deepEqual(jobIds(world), ['step-1'])
        assert.deepEqual(await attemptsOf(world), [
          'step-2 withdrawn',
          'step-3 withdrawn',
          'step-1 succeeded',
        ])
        assert.deepEqual(await waitsOf(world), ['create slot', 'create slot'])
        await resume(world, held)
        await world.settle()
        assert.deepEqual(jobIds(world, 1), ['step-2-retry-1', 'step-3-retry-1'])
        assert.equal((await batchOf(world, batchId)).status, 'completed')
        assert.deepEqual(await because(world, 'held'), ['as agreed'])
        assert.deepEqual(await because(world, 'resumed'), ['as agreed'])
      }))

    it('stops retries, polls and rollbacks, and the time they have', () =>
      story({}, async (world) => {
        const undo = `rollbacks: { undo: [${step('uncreate')}] }`
        const steps = [step('create', `on_failure: undo, ${RETRY}`), step('sync', POLL)]
        await world.publish(runbook('wave', { 'prepare T-1h': steps }, undo))
        world.answer = ({ functionName, parameters }) => {
          if (functionName === 'sync') return { ok: { complete: false } }
          const number = String(parameters.Upn).slice(4, 5)
          if (number === '1') return { ok: true }
          return number === '2' ? { fail: 'busy' } : 'silent'
        }
        const batchId = await world.batch('wave', 3, { startsInMin: 60 })
        await world.settle()
        await world.pass(20)
        await hold(world, held)
        const before = world.jobs.length
        await world.pass(3600)
        await world.result(world.jobs[2]!, { fail: 'no licence', isFinal: true })
        await world.pass(1800)
        assert.equal(world.jobs.length, before)
        assert.deepEqual(await stepsOf(world, await memberId(world, batchId, 3)), [
          'create failed',
          'sync cancelled',
          'rollback uncreate pending',
        ])
        await resume(world, held)
        assert.deepEqual(await waitsOf(world), ['sync poll 40', 'create retry 40', 'uncreate slot'])
        await world.settle()
        assert.deepEqual(calls(world, before), ['uncreate user3'])
        await world.pass(39)
        assert.equal(world.jobs.length, before + 1)
        await world.pass(1)
        assert.deepEqual(calls(world, before + 1).sort(), ['create user2', 'sync user1'])
        assert.deepEqual(await because(world, 'time_out'), [])
      }))

    it('refuses a second hold and a resume without one', () =>
      story({}, async (world) => {
        await beginWave(world, WAVE, 1)
        await assert.rejects(resume(world, held), { code: 'REFUSED', message: /is not held/ })
        await hold(world, held)
        await assert.rejects(hold(world, held), {
          code: 'REFUSED',
          message: /is already held by operator: as agreed/,
        })
        assert.deepEqual(await because(world, 'held'), ['as agreed'])
      }))

    it('is finished by the timers when its process dies before it has withdrawn the jobs', () =>
      story({}, async (world) => {
        await beginWave(world, WAVE, 2)
        const withdrawIn = () =>
          Promise.reject(Object.assign(new Error('killed'), { code: '57P01' }))
        const storedJobs = { ...world.bus.storedJobs!, withdrawIn }
        const dying = { ...world.engine, bus: { ...world.bus, storedJobs } }
        await assert.rejects(holdScope(dying, orderOf(held)), /killed/)
        assert.deepEqual(await attemptsOf(world), [])
        assert.equal(await finishHolds(world.engine), 1)
        assert.deepEqual(await attemptsOf(world), ['step-1 withdrawn', 'step-2 withdrawn'])
        assert.equal(await finishHolds(world.engine), 0)
        await world.settle()
        assert.deepEqual(world.jobs, [])
      }))
  })
}

for (const held of [SYSTEM, RUNBOOK]) {
  it(`starts due phases and init after a hold of the ${held.scope}, and refuses to advance until then`, () =>
    story({}, async (world) => {
      await world.publish(
        runbook(
          'wave',
          { 'prepare T-1h': [step('create')] },
          `init: [{ name: announce, worker_id: w1, function: announce }]`,
        ),
      )
      await hold(world, held)
      // A wave found while everything stands still is taken in, and nothing is sent for it.
      const batchId = await world.batch('wave', 1, { startsInMin: 60 })
      const manual = await world.batch('wave', people(2).slice(1), { manual: true })
      await world.pass(7200)
      assert.deepEqual(world.jobs, [])
      assert.deepEqual(await phasesOf(world, batchId), ['prepare pending 0'])
      const command = held.scope === 'system' ? 'resume --all' : 'resume --runbook wave'
      const advance = {
        batchId: manual,
        actor: 'operator',
        expectedPhase: 'init',
        allowStragglers: false,
      }
      await assert.rejects(advanceBatch(world.engine, advance), {
        code: 'REFUSED',
        message: new RegExp(`is held by operator: as agreed; end it with "matoolkit ${command}"`),
      })
      await cancelBatch(world.engine, order(manual))
      await resume(world, held)
      await world.settle()
      assert.deepEqual(
        world.jobs.map(({ functionName }) => functionName),
        ['announce', 'create'],
      )
      assert.equal((await batchOf(world, manual)).status, 'cancelled')
    }))
}

it('a hold of a runbook or a worker leaves the others alone', () =>
  story({}, async (world) => {
    const w2 = { workerId: 'w2', version: '1', slots: 4, functions: [] }
    await world.db.transaction((tx) => recordWorker(tx, w2, START))
    world.workers = [WORKER, 'w2']
    await world.publish(WAVE)
    await world.publish(runbook('other', { 'prepare T-1h': [step('tag')] }))
    await world.publish(runbook('third', { 'prepare T-1h': [step('mail').replace('w1', 'w2')] }))
    await hold(world, RUNBOOK)
    for (const name of ['wave', 'other', 'third']) await world.batch(name, 1, { startsInMin: 60 })
    await world.settle()
    assert.deepEqual(calls(world).sort(), ['mail user1', 'tag user1'])
    await resume(world, RUNBOOK)
    await hold(world, { scope: 'worker', target: 'w2' })
    await world.batch('third', people(2).slice(1), { startsInMin: 55 })
    await world.settle()
    assert.deepEqual(calls(world, 2), ['create user1'])
    await resume(world, { scope: 'worker', target: 'w2' })
    await world.settle()
    assert.deepEqual(calls(world, 3), ['mail user2'])
  }))

it('a held member waits, does not stop the others, and does not keep their slots', () =>
  story({ maxOutstanding: 2 }, async (world) => {
    await world.publish(WAVE)
    const batchId = await world.batch('wave', 4, { startsInMin: 120 })
    const [first, second] = [await memberOf(world, batchId, 1), await memberOf(world, batchId, 2)]
    await holdScope(world.engine, first)
    await holdScope(world.engine, second)
    const rival = await world.batch('wave', people(6).slice(4), { startsInMin: 121 })
    await world.pass(3720)
    assert.deepEqual(calls(world).sort(), [
      'create user3',
      'create user4',
      'create user5',
      'create user6',
    ])
    assert.equal((await batchOf(world, rival)).status, 'completed')
    assert.deepEqual(await phasesOf(world, batchId), ['prepare dispatched 4: 2 passed'])
    await resumeScope(world.engine, second)
    await world.settle()
    assert.deepEqual(calls(world, 4), ['create user2'])
    await resumeScope(world.engine, first)
    await world.settle()
    assert.deepEqual(calls(world, 5), ['create user1'])
    assert.equal((await batchOf(world, batchId)).status, 'completed')
  }))

it('a held member who leaves is cleaned up at resume; one who moves stays held', () =>
  story({}, async (world) => {
    const removal = `on_member_removed: [${step('revoke')}]`
    const yaml = runbook(
      'wave',
      { 'prepare T-2h': [step('create')], 'cutover T-0': [step('switch')] },
      removal,
    )
    await world.publish(yaml)
    const batchId = await world.batch('wave', 2, { startsInMin: 60 })
    await world.settle()
    const later = await world.batch('wave', [], { startsInMin: 90 })
    const [leaver, mover] = [await memberOf(world, batchId, 1), await memberOf(world, batchId, 2)]
    await holdScope(world.engine, leaver)
    await holdScope(world.engine, mover)
    await removeMembers(world.engine, { ...order(batchId), memberIds: [Number(leaver.target)] })
    await moveMember(world.engine, {
      ...order(batchId),
      memberId: Number(mover.target),
      toBatchId: later,
    })
    await world.pass(3 * 3600)
    assert.deepEqual(calls(world), ['create user1', 'create user2'])
    await resumeScope(world.engine, leaver)
    await world.settle()
    assert.deepEqual(calls(world, 2), ['revoke user1'])
    await assert.rejects(resumeScope(world.engine, mover), /is not held/)
    await resumeScope(world.engine, await memberOf(world, later, 2))
    await world.settle()
    assert.deepEqual(calls(world, 3), ['switch user2'])
  }))

it('somebody who joins a held runbook waits with the others', () =>
  story({}, async (world) => {
    const batchId = await beginWave(world, WAVE, 1)
    await world.settle()
    await hold(world, RUNBOOK)
    await addMembers(world.engine, batchId, people(2).slice(1), 'operator')
    await world.pass(600)
    assert.deepEqual(calls(world), ['create user1'])
    await resume(world, RUNBOOK)
    await world.settle()
    assert.deepEqual(calls(world, 1), ['create user2'])
  }))

it('nested holds: a step goes out when the last hold that covers it ends', () =>
  story({}, async (world) => {
    const batchId = await beginWave(world, WAVE, 2)
    const member = await memberOf(world, batchId, 1)
    await holdScope(world.engine, member)
    await holdBatch(world.engine, order(batchId))
    for (const held of [THE_WORKER, RUNBOOK, SYSTEM]) await hold(world, held)
    await resumeBatch(world.engine, order(batchId))
    for (const held of [SYSTEM, RUNBOOK]) {
      await resume(world, held)
      await world.settle()
      assert.deepEqual(world.jobs, [])
    }
    await resume(world, THE_WORKER)
    await world.settle()
    assert.deepEqual(calls(world), ['create user2'])
    await resumeScope(world.engine, member)
    await world.settle()
    assert.deepEqual(calls(world, 1), ['create user1'])
  }))

it('time under several holds counts once, in whatever order they end', () =>
  story({}, async (world) => {
    const yaml = runbook('wave', { 'prepare T-1h': [step('create', RETRY), step('sync', POLL)] })
    world.answer = ({ functionName, parameters }) =>
      functionName === 'sync'
        ? { ok: { complete: false } }
        : parameters.Upn === 'user1@contoso.example'
          ? { fail: 'busy' }
          : { ok: true }
    const batchId = await beginWave(world, yaml, 2)
    await world.settle()
    await world.pass(20)
    const left = ['create retry 40', 'sync poll 40']
    assert.deepEqual(await waitsOf(world), left)
    // In seconds: the system 0 to 200, the batch 100 to 400, the worker 50 to 150, the runbook 300 to 350.
    await hold(world, SYSTEM)
    await world.pass(50)
    await hold(world, THE_WORKER)
    await world.pass(50)
    await holdBatch(world.engine, order(batchId))
    await world.pass(50)
    await resume(world, THE_WORKER)
    await world.pass(50)
    await resume(world, SYSTEM)
    await world.pass(100)
    await hold(world, RUNBOOK)
    await world.pass(50)
    await resume(world, RUNBOOK)
    await world.pass(50)
    assert.equal(world.jobs.length, 3)
    await resumeBatch(world.engine, order(batchId))
    assert.deepEqual(await waitsOf(world), left)
    const [polling] = await world.db.query<{ left: number }>(
      `select extract(epoch from poll_timeout_at - $1)::int as left from step_executions where status = 'polling'`,
      [world.clock.now()],
    )
    assert.equal(polling!.left, 280)
    await world.pass(39)
    assert.equal(world.jobs.length, 3)
    await world.pass(1)
    assert.deepEqual(calls(world, 3).sort(), ['create user1', 'sync user2'])
  }))

it('takes a reason later, and keeps who held it and since when', () =>
  story({}, async (world) => {
    await beginWave(world, WAVE, 1)
    const { reason, ...nameless } = orderOf(SYSTEM)
    const { hold: set } = await holdScope(world.engine, nameless)
    assert.equal(set.reason, 'no reason given yet')
    await world.clock.advance(5_000)
    await giveReason(world.engine, { ...nameless, actor: 'somebody else', reason: 'mail loops' })
    await assert.rejects(hold(world, SYSTEM), /already held by operator: mail loops/)
    assert.deepEqual(await because(world, 'held'), ['no reason given yet'])
    assert.deepEqual(await because(world, 'hold_reason'), ['mail loops'])
    const [row] = await world.db.query<{ at: Date }>('select held_at as at from holds')
    assert.deepEqual(row!.at, START)
    await resume(world, SYSTEM)
    await assert.rejects(giveReason(world.engine, { ...nameless, reason: 'x' }), /is not held/)
  }))
