// Waves as the source has them: they come, people join and leave and move, and what has ended is left alone.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { calls } from './looking.ts'
import { batchesOf, programme, wave } from './programme.ts'

it('a wave is found, and everybody in it goes through its phases', () =>
  programme(async (world) => {
    await world.tick(wave(25, 1, 2))
    assert.deepEqual(await batchesOf(world), ['25h active: user1, user2'])
    await world.tickUntil(26)
    assert.deepEqual(calls(world), ['create user1', 'create user2', 'switch user1', 'switch user2'])
    assert.deepEqual(await batchesOf(world), ['25h completed: user1, user2'])
    const { outcome, counts } = world.reports[0]!
    assert.deepEqual([outcome, counts], ['good', { batches: 1, joined: 2 }])
    assert.deepEqual(world.reports.at(-1)!.counts, {})
  }))
