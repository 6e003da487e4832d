// A ramp: a phase starts for one share of its members after the other, and a bad function harms the first share only.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  cancelBatch,
  holdBatch,
  rescheduleBatch,
  resumeBatch,
} from '../../src/engine/orders/batch-actions.ts'
import { addMembers } from '../../src/engine/orders/create.ts'
import { removeMembers, retryMembers } from '../../src/engine/orders/member-actions.ts'
import { batchOf, because, calls, memberId, order, phasesOf, runbook, step } from './looking.ts'
import { people, story, type World } from './world.ts'

const RAMP = 'ramp: [10%, 50%, 100%], soak: 1h, max_failed_percent: 20'

async function begin(world: World, members: number, keys = RAMP, more = ''): Promise<number> {
  await world.publish(
    runbook(
      'wave',
      { [`cutover T-0 ${keys}`]: [step('switch')], 'check T+5m': [step('look')] },
      more,
    ),
  )
  const batchId = await world.batch('wave', members)
  await world.settle()
  return batchId
}

const switched = (world: World): string[] =>
  calls(world).filter((call) => call.startsWith('switch'))
const shares = async (world: World): Promise<string[]> => await because(world, 'share_started')

it('starts each share once the former has ended and soaked, and nobody before', () =>
  story({}, async (world) => {
    const batchId = await begin(world, 10)
    assert.deepEqual(switched(world), ['switch user1'])
    // The next phase is due, and nobody overtakes the ramp.
    await world.pass(3_590)
    assert.deepEqual(calls(world), ['switch user1', 'look user1'])
    const [rows] = await world.db.query(
      'select count(distinct batch_member_id)::int as people from step_executions join phase_executions p on p.id = phase_execution_id where phase_name = $1',
      ['cutover'],
    )
    assert.deepEqual(rows, { people: 1 }, 'no step is written for a later share')
    await world.pass(10)
    assert.deepEqual(switched(world).slice(1), [
      'switch user2',
      'switch user3',
      'switch user4',
      'switch user5',
    ])
    await world.pass(3_600)
    assert.equal(switched(world).length, 10)
    assert.deepEqual(await shares(world), [
      'share 1 of 3 (10 %)',
      'share 2 of 3 (50 %)',
      'share 3 of 3 (100 %), with everyone who is left',
    ])
    assert.match(
      (await because(world, 'share_ended'))[0]!,
      /^share 1 of 3 \(10 %\): 1 of 1 member passed, 0 failed; the next share may start at 2026-03-02T09:00:00/,
    )
    assert.deepEqual(await phasesOf(world, batchId), [
      'cutover completed 10: 10 passed',
      'check completed 10: 10 passed',
    ])
    assert.equal((await batchOf(world, batchId)).status, 'completed')
  }))

it('holds the batch when a share fails beyond the limit, and continues after the resume', () =>
  story({}, async (world) => {
    world.answer = () => ({ fail: 'no licence' })
    const batchId = await begin(world, 20)
    assert.equal(switched(world).length, 2)
    assert.equal(
      (await batchOf(world, batchId)).held,
      '2 of 2 members failed by the end of share 1 of 3 (10 %) of phase cutover: more than 20 %',
    )
    assert.deepEqual(await world.db.query('select held_by from batches'), [{ heldBy: 'ramp' }])
    await world.pass(86_400)
    assert.equal(switched(world).length, 2, 'nobody else starts')
    world.answer = () => ({ ok: true })
    await resumeBatch(world.engine, order(batchId))
    await world.pass(1)
    assert.equal(switched(world).length, 10, 'the soak is long over')
    await world.pass(3_600)
    assert.equal(switched(world).length, 20)
    assert.deepEqual(
      (await phasesOf(world, batchId))[0],
      'cutover completed 20: 18 passed, 2 failed',
    )
  }))

it('soaks again when a member of the share is retried', () =>
  story({}, async (world) => {
    world.answer = ({ parameters }) =>
      String(parameters.Upn).startsWith('user1@') ? { fail: 'no licence' } : { ok: true }
    const batchId = await begin(world, 20, 'ramp: [50%, 100%], soak: 1h, max_failed_percent: 20')
    assert.equal(switched(world).length, 10)
    await world.pass(1_800)
    world.answer = () => 'silent'
    await retryMembers(world.engine, {
      ...order(batchId),
      memberIds: [await memberId(world, batchId, 1)],
    })
    await world.pass(3_600)
    assert.equal(switched(world).length, 11, 'the share has an open step')
    await world.result(world.jobs.at(-1)!, { ok: true })
    world.answer = () => ({ ok: true })
    await world.settle()
    await world.pass(3_599)
    assert.equal(switched(world).length, 11)
    await world.pass(1)
    assert.equal(switched(world).length, 21)
  }))

it('takes joiners last', () =>
  story({}, async (world) => {
    const batchId = await begin(world, 10)
    await addMembers(world.engine, batchId, people(12).slice(10), 'operator')
    await world.settle()
    assert.equal(switched(world).length, 1)
    await world.pass(3_600)
    assert.equal(switched(world).length, 6, 'half of twelve')
    await world.pass(3_600)
    assert.equal(switched(world).length, 12)
    assert.equal((await batchOf(world, batchId)).status, 'completed')
  }))

it('waits on hold, ends by cancelling, and moves with its date', () =>
  story({}, async (world) => {
    await world.publish(runbook('wave', { [`cutover T-0 ${RAMP}`]: [step('switch')] }))
    const batchId = await world.batch('wave', 10, { startsInMin: 60 })
    await world.settle()
    const startTime = new Date(+world.clock.now() + 7_200_000)
    await rescheduleBatch(world.engine, { ...order(batchId), startTime, allowOverdue: false })
    await world.pass(7_190)
    assert.equal(switched(world).length, 0)
    await world.pass(10)
    assert.equal(switched(world).length, 1)
    await holdBatch(world.engine, order(batchId))
    await world.pass(86_400)
    assert.equal(switched(world).length, 1)
    await resumeBatch(world.engine, order(batchId))
    await world.pass(1)
    assert.equal(switched(world).length, 5)
    await cancelBatch(world.engine, order(batchId))
    await world.pass(86_400)
    assert.equal(switched(world).length, 5)
    assert.equal((await batchOf(world, batchId)).status, 'cancelled')
  }))

it('ends when everybody of the later shares has left', () =>
  story({}, async (world) => {
    const batchId = await begin(world, 10)
    const memberIds = await Promise.all(
      [2, 3, 4, 5, 6, 7, 8, 9, 10].map((n) => memberId(world, batchId, n)),
    )
    await removeMembers(world.engine, { ...order(batchId), memberIds })
    await world.pass(7_200)
    assert.deepEqual(switched(world), ['switch user1'])
    assert.equal((await batchOf(world, batchId)).status, 'completed')
  }))

it('has no shares for one member, and none without a soak to wait for', () =>
  story({}, async (world) => {
    await begin(world, 1)
    assert.deepEqual(await shares(world), ['share 3 of 3 (100 %), with everyone who is left'])
    await world.publish(runbook('fast', { 'cutover T-0 ramp: [50%, 100%]': [step('switch')] }))
    const batchId = await world.batch(
      'fast',
      people(3).map((one) => ({ ...one, key: `b-${one.key}` })),
    )
    await world.settle()
    assert.equal((await batchOf(world, batchId)).status, 'completed')
  }))
