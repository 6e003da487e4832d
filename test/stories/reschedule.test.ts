// Rescheduling: pending phases move with the start; overdue ones begin at once, in order.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { cancelBatch, rescheduleBatch } from '../../src/engine/orders/batch-actions.ts'
import { because, calls, order, phasesOf, runbook, step } from './looking.ts'
import { START, story, type World } from './world.ts'

const YAML = runbook('wave', {
  'prepare T-1h': [step('create')],
  'cutover T-0': [step('switch')],
  'after T+1h': [step('check')],
})

const inMinutes = (minutes: number) => new Date(+START + minutes * 60_000)

const move = (world: World, batchId: number, minutes: number, allowOverdue = false) =>
  rescheduleBatch(world.engine, { ...order(batchId), startTime: inMinutes(minutes), allowOverdue })

const dueTimes = async ({ db }: World): Promise<number[]> =>
  (await db.query<{ due: Date }>('select due_at as due from phase_executions order by id')).map(
    ({ due }) => (+due - +START) / 60_000,
  )

it('to an earlier time: overdue phases begin at once, in the order of time, if that is allowed', () =>
  story({}, async (world) => {
    await world.publish(YAML)
    const batchId = await world.batch('wave', 1, { startsInMin: 600 })
    await world.settle()
    assert.deepEqual(world.jobs, [])
    await assert.rejects(move(world, batchId, -30), {
      code: 'WOULD_BE_OVERDUE',
      message: /start at once: prepare, cutover\./,
    })
    await world.settle()
    assert.deepEqual(await dueTimes(world), [540, 600, 660])
    assert.deepEqual(world.jobs, [])
    const overdue = await move(world, batchId, -30, true)
    assert.deepEqual(
      overdue.map(({ phaseName }) => phaseName),
      ['prepare', 'cutover'],
    )
    assert.deepEqual(await dueTimes(world), [-90, -30, 30])
    await world.settle()
    assert.deepEqual(calls(world), ['create user1', 'switch user1'])
    assert.deepEqual(await because(world, 'rescheduled'), [
      `from ${inMinutes(600).toISOString()} to ${inMinutes(-30).toISOString()}: as agreed`,
    ])
    await world.pass(1800)
    assert.deepEqual(calls(world, 2), ['check user1'])
  }))

it('to a later time: phases that have begun stay, the rest wait', () =>
  story({}, async (world) => {
    await world.publish(YAML)
    const batchId = await world.batch('wave', 1, { startsInMin: 60 })
    await world.settle()
    assert.deepEqual(calls(world), ['create user1'])
    await move(world, batchId, 120)
    assert.deepEqual(await dueTimes(world), [0, 120, 180])
    await world.pass(7199)
    assert.equal(world.jobs.length, 1)
    await world.pass(1)
    assert.deepEqual(calls(world, 1), ['switch user1'])
    const [batch] = await world.db.query('select source_time, batch_start_time from batches')
    assert.deepEqual(batch, { sourceTime: inMinutes(60), batchStartTime: inMinutes(120) })
  }))

it('a template sees the new start; an ended batch cannot be rescheduled', () =>
  story({}, async (world) => {
    const when = step('switch').replace('{{UserPrincipalName}}', '{{_batch_start_time}}')
    await world.publish(runbook('wave', { 'cutover T-0': [when] }))
    const batchId = await world.batch('wave', 1, { startsInMin: 60 })
    await move(world, batchId, 10)
    await world.pass(600)
    assert.deepEqual(world.jobs[0]?.parameters, { Upn: inMinutes(10).toISOString() })
    await assert.rejects(move(world, batchId, 20), { code: 'REFUSED', message: /is completed/ })
    const other = await world.batch('wave', 0, { startsInMin: 600 })
    await cancelBatch(world.engine, order(other))
    await assert.rejects(move(world, other, 20), /is cancelled/)
    assert.deepEqual(await phasesOf(world, other), ['cutover cancelled 0'])
  }))
