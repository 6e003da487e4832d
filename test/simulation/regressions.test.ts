// What the simulated world has found, told again as short stories: seeds change their meaning when the world does, stories stay.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { addMembers } from '../../src/engine/create.ts'
import { expandPhases, startDuePhases, wakeWaits } from '../../src/engine/timers.ts'
import { attemptsOf, batchOf, calls, runbook, step } from '../scenarios/looking.ts'
import { people, story } from '../scenarios/world.ts'

it('whoever joins while a later phase is being written does the earlier phases first (seed 106)', () =>
  story({}, async (world) => {
    const phases = { 'prepare T-1h': [step('create')], 'cutover T-0': [step('switch')] }
    await world.publish(runbook('wave', phases))
    const batchId = await world.batch('wave', 1, { startsInMin: 60 })
    await world.settle()
    await world.clock.advance(3_600_000)
    await startDuePhases(world.door)
    // The cut-over has begun and its steps are not written; the message about the joiner is on its way.
    await addMembers(world.door, batchId, people(2).slice(1), 'operator')
    await expandPhases(world.door)
    await world.settle()
    assert.deepEqual(
      calls(world).filter((call) => call.endsWith('user2')),
      ['create user2', 'switch user2'],
    )
  }))

it('deadlines that pass together blow the fuse and nothing else (seed 276)', () =>
  story({}, async (world) => {
    await world.publish(runbook('wave', { 'prepare T-1h': [step('create', 'timeout: 5m')] }))
    const batchId = await world.batch('wave', 12, { startsInMin: 60 })
    await world.orchestrate()
    // Nobody takes a job. All are given up in one change, which finds too many failures and calls back what is out.
    await world.clock.advance(7 * 60_000)
    await wakeWaits(world.door)
    const { held, failed } = await batchOf(world, batchId)
    assert.equal(held, '12 of 12 members failed in phase prepare: more than 30 %')
    assert.equal(failed, 12)
    assert.deepEqual(
      (await attemptsOf(world)).filter((said) => !said.endsWith(' lost')),
      [],
    )
  }))
