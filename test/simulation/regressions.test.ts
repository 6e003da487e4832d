// What the simulated world has found, told again as short stories: seeds change their meaning when the world does, stories stay.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { addMembers } from '../../src/engine/create.ts'
import { expandPhases, startDuePhases } from '../../src/engine/timers.ts'
import { calls, runbook, step } from '../scenarios/looking.ts'
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
