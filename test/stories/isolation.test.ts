// A failure affects only its member: the others continue, and the batch counts the failures.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { batchOf, because, calls, memberId, phasesOf, runbook, step, stepsOf } from './looking.ts'
import { story } from './world.ts'

const PHASES = {
  'prepare T-1h': [step('create'), step('tag')],
  'cutover T-0': [step('switch')],
}

it('one of four fails; the others pass all phases', () =>
  story({}, async (world) => {
    world.answer = ({ functionName, parameters }) =>
      functionName === 'tag' && parameters.Upn === 'user2@contoso.example'
        ? { fail: 'no licence left' }
        : { ok: true }
    await world.publish(runbook('wave', PHASES))
    const batchId = await world.batch('wave', 4, { startsInMin: 60 })
    await world.settle()
    assert.deepEqual(await batchOf(world, batchId), {
      status: 'active',
      active: 3,
      failed: 1,
      removed: 0,
      held: null,
    })
    await world.pass(3600)
    // The order of members within a step is not promised.
    const sent = calls(world)
    assert.deepEqual(
      sent.slice(0, 4).sort(),
      [1, 2, 3, 4].map((n) => `create user${n}`),
    )
    assert.deepEqual(
      sent.slice(4, 8).sort(),
      [1, 2, 3, 4].map((n) => `tag user${n}`),
    )
    assert.deepEqual(
      sent.slice(8).sort(),
      [1, 3, 4].map((n) => `switch user${n}`),
    )
    assert.deepEqual(await batchOf(world, batchId), {
      status: 'completed',
      active: 3,
      failed: 1,
      removed: 0,
      held: null,
    })
    assert.deepEqual(await phasesOf(world, batchId), [
      'prepare completed 4: 3 passed, 1 failed',
      'cutover completed 3: 3 passed',
    ])
    assert.deepEqual(await stepsOf(world, await memberId(world, batchId, 2)), [
      'create succeeded',
      'tag failed',
    ])
    assert.deepEqual(await because(world, 'fail'), [
      'no licence left (TestError)',
      'step tag of phase prepare failed',
    ])
    assert.deepEqual(await because(world, 'complete'), [
      '3 of 4 members passed, 1 failed',
      '3 of 3 members passed, 0 failed',
      'every phase ended: 3 members completed, 1 failed, 0 removed',
    ])
  }))

it("a failure in a phase also cancels the member's open steps in later phases", () =>
  story({}, async (world) => {
    world.answer = ({ functionName, parameters }) =>
      functionName === 'create' && parameters.Upn === 'user1@contoso.example'
        ? 'silent'
        : { ok: true }
    await world.publish(runbook('wave', PHASES))
    const batchId = await world.batch('wave', 2, { startsInMin: 30 })
    await world.settle()
    await world.pass(1800)
    const member = await memberId(world, batchId, 1)
    const waiting = ['create dispatched', 'tag pending', 'switch pending']
    assert.deepEqual(await stepsOf(world, member), waiting)
    await world.result(world.jobs[0]!, { fail: 'refused' })
    await world.settle()
    const ended = ['create failed', 'tag cancelled', 'switch cancelled']
    assert.deepEqual(await stepsOf(world, member), ended)
    assert.deepEqual(await phasesOf(world, batchId), [
      'prepare completed 2: 1 passed, 1 failed',
      'cutover completed 2: 1 passed, 1 stopped',
    ])
    assert.equal((await batchOf(world, batchId)).status, 'completed')
  }))

it('when everybody fails, phase and batch fail, and the later phase is empty', () =>
  story({}, async (world) => {
    world.answer = () => ({ fail: 'tenant is read-only' })
    await world.publish(runbook('wave', PHASES))
    const batchId = await world.batch('wave', 2, { startsInMin: 60 })
    await world.settle()
    assert.equal((await batchOf(world, batchId)).status, 'active')
    await world.pass(3600)
    assert.deepEqual(await phasesOf(world, batchId), [
      'prepare failed 2: 2 failed',
      'cutover skipped 0',
    ])
    assert.deepEqual(await batchOf(world, batchId), {
      status: 'failed',
      active: 0,
      failed: 2,
      removed: 0,
      held: null,
    })
  }))
