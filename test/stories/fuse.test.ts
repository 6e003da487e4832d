// The fuse: when too many members fail in one phase, the batch is held.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { resumeBatch } from '../../src/engine/orders/batch-actions.ts'
import { attemptsOf, batchOf, order, runbook, step } from './looking.ts'
import { story, type World } from './world.ts'

async function begin(world: World, members: number, more = ''): Promise<number> {
  world.answer = () => 'silent'
  await world.publish(runbook('wave', { 'prepare T-1h': [step('create')] }, more))
  const batchId = await world.batch('wave', members, { startsInMin: 60 })
  await world.orchestrate()
  return batchId
}

/** Fails the next `count` unsettled jobs. */
async function fail(world: World, count: number): Promise<void> {
  const failed = (await attemptsOf(world)).filter((said) => said.endsWith('failed')).length
  for (const job of world.jobs.slice(failed, failed + count))
    await world.result(job, { fail: 'no licence' })
  await world.orchestrate()
}

const heldOf = async (world: World, batchId: number) => (await batchOf(world, batchId)).held

it('does not blow at the percentage, blows above it, and withdraws untaken jobs', () =>
  story({}, async (world) => {
    const batchId = await begin(world, 40)
    await world.work(35)
    await fail(world, 12)
    assert.equal(await heldOf(world, batchId), null)
    await fail(world, 1)
    assert.equal(
      await heldOf(world, batchId),
      '13 of 40 members failed in phase prepare: more than 30 %',
    )
    const withdrawn = (await attemptsOf(world)).filter((said) => said.endsWith('withdrawn'))
    assert.equal(withdrawn.length, 5)
    await world.settle()
    assert.equal(world.jobs.length, 35)
    const [hold] = await world.db.query(`select held_by from batches`)
    assert.deepEqual(hold, { heldBy: 'fuse' })
  }))

it('does not blow for ten failures of any batch, and blows for eleven', () =>
  story({}, async (world) => {
    const batchId = await begin(world, 11)
    await world.work()
    await fail(world, 10)
    assert.equal(await heldOf(world, batchId), null)
    await fail(world, 1)
    assert.match((await heldOf(world, batchId))!, /^11 of 11 members failed in phase prepare/)
  }))

it('blows again after resume only for as many new failures', () =>
  story({}, async (world) => {
    const batchId = await begin(world, 40)
    await world.work()
    await fail(world, 13)
    await resumeBatch(world.engine, order(batchId))
    await world.settle()
    await fail(world, 12)
    assert.equal(await heldOf(world, batchId), null)
    await fail(world, 1)
    assert.match((await heldOf(world, batchId))!, /^26 of 40 members failed/)
  }))

it("uses the runbook's percentage; 100 turns it off", () =>
  story({}, async (world) => {
    const batchId = await begin(world, 20, 'safeguards: { max_failed_percent: 60 }')
    await world.work()
    await fail(world, 12)
    assert.equal(await heldOf(world, batchId), null)
    await fail(world, 1)
    assert.match((await heldOf(world, batchId))!, /more than 60 %$/)
  }))

it('lets everybody fail at 100 percent', () =>
  story({}, async (world) => {
    const batchId = await begin(world, 20, 'safeguards: { max_failed_percent: 100 }')
    await world.work()
    await fail(world, 20)
    const { status, failed, held } = await batchOf(world, batchId)
    assert.deepEqual([status, failed, held], ['failed', 20, null])
  }))
