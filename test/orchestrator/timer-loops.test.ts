// Timers get a hint when they have work already, and only then.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { HINT_CHANNEL } from '../../src/bus/outbox.ts'
import { runbook, step } from '../stories/looking.ts'
import { people, story } from '../stories/world.ts'

it('starts a batch with a due phase at once, and wakes nothing for a later one', () =>
  story({}, async (world) => {
    const said: string[] = []
    const ended = Promise.withResolvers<void>()
    const stop = await world.db.listen(HINT_CHANNEL, (payload) => {
      if (payload !== '') said.push(payload)
      if (payload === 'end') ended.resolve()
    })
    await world.publish(runbook('wave', { 'prepare T-1h': [step('create')] }))
    await world.batch('wave', people(3).slice(1), { startsInMin: 600 })
    await world.db.query('select pg_notify($1, $2)', [HINT_CHANNEL, 'between'])
    await world.batch('wave', people(1), { startsInMin: 60 })
    await world.db.query('select pg_notify($1, $2)', [HINT_CHANNEL, 'end'])
    await ended.promise
    await stop()
    assert.deepEqual(said, ['between', 'orchestrator-events/orchestrator', 'end'])
    await world.settle()
  }))
