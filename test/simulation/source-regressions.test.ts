// What the seeded world with a source has found, told again as short stories: seeds change their meaning when the world does.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { moveMember } from '../../src/engine/membership-moves.ts'
import { cancelBatch } from '../../src/engine/operate.ts'
import { brokenInvariants } from '../invariants.ts'
import { memberId, order, runbook, step } from '../scenarios/looking.ts'
import { people, story } from '../scenarios/world.ts'

it('nobody is moved out of an ended batch who has gone on in another one (seed 18)', () =>
  story({}, async (world) => {
    await world.publish(runbook('wave', { 'prepare T-1h': [step('create')] }))
    const cancelled = await world.batch('wave', 1, { startsInMin: 120 })
    await cancelBatch(world.door, order(cancelled))
    const second = await world.batch('wave', 1, { startsInMin: 180 })
    const third = await world.batch('wave', people(2).slice(1), { startsInMin: 240 })
    const mover = await memberId(world, cancelled, 1)
    await assert.rejects(
      moveMember(world.door, { ...order(cancelled), memberId: mover, toBatchId: third }),
      { message: new RegExp(`Member ${mover} is active in batch ${second}`, 'i') },
    )
    assert.deepEqual(await brokenInvariants(world.db, world.clock.now()), [])
  }))
