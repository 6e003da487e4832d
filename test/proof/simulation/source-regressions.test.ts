// Defects that the simulation with a source found, as short stories: a seed's course changes with the simulation, a story stays.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { cancelBatch } from '../../../src/engine/orders/batch-actions.ts'
import { createBatch } from '../../../src/engine/orders/create.ts'
import { brokenInvariants } from '../../kit/invariants.ts'
import {
  batchOf,
  calls,
  memberId,
  moveMember,
  order,
  runbook,
  step,
} from '../../stories/looking.ts'
import { at, programme, row, wave } from '../../stories/programme.ts'
import { people, story } from '../../stories/world.ts'

it('a member active in another batch is not moved out of an ended one (seed 18)', () =>
  story({}, async (world) => {
    await world.publish(runbook('wave', { 'prepare T-1h': [step('create')] }))
    const cancelled = await world.batch('wave', 1, { startsInMin: 120 })
    await cancelBatch(world.engine, order(cancelled))
    const second = await world.batch('wave', 1, { startsInMin: 180 })
    const third = await world.batch('wave', people(2).slice(1), { startsInMin: 240 })
    const mover = await memberId(world, cancelled, 1)
    await assert.rejects(
      moveMember(world.engine, { ...order(cancelled), memberId: mover, toBatchId: third }),
      { message: new RegExp(`Member ${mover} is active in batch ${second}`, 'i') },
    )
    assert.deepEqual(await brokenInvariants(world.db, world.clock.now()), [])
  }))

it('a retry waits for a phase that a new version puts before its own (seed 64)', () =>
  story({}, async (world) => {
    let created = 0
    world.answer = ({ functionName }) => {
      if (functionName !== 'create') return { ok: true }
      created += 1
      return created === 1 ? { fail: 'not this time' } : { ok: true }
    }
    const create = [step('create', 'retry: { max_retries: 1, interval: 1m }')]
    const check = [step('check')]
    await world.publish(runbook('wave', { 'prepare T-1h': create, 'after T+1h': check }))
    const batchId = await world.batch('wave', 1, { startsInMin: 60 })
    await world.orchestrate()
    // The step is sent. The new version puts the later phase before this one; being overdue, it starts at once.
    const moved = runbook('wave', { 'prepare T-1h': create, 'after T-2h': check })
    await world.publish(moved, { overdueBehavior: 'rerun' })
    await world.settle()
    await world.pass(120)
    assert.deepEqual(calls(world), ['create user1', 'check user1', 'create user1'])
    assert.equal((await batchOf(world, batchId)).status, 'completed')
    assert.deepEqual(await brokenInvariants(world.db, world.clock.now()), [])
  }))

it('a member who failed in one wave and continues in another has new data in both (seed 137)', () =>
  programme(async (world) => {
    world.answer = () => ({ fail: 'it never works' })
    await world.tick(wave(20, 1, 2))
    world.answer = () => ({ ok: true })
    const now = row(1, at(48))
    await createBatch(world.engine, {
      runbookName: 'wave',
      sourceTime: new Date(at(48)),
      members: [{ key: String(now.UserPrincipalName), data: now }],
      createdBy: 'operator',
    })
    // The second batch already has this row; the first one, where the member failed, has the old one.
    const report = await world.tick([now, ...wave(20, 2)])
    assert.deepEqual([report?.outcome, report?.error], ['good', null])
    const times = await world.db.query(
      `select distinct data_json ->> 'When' as time from batch_members where key_folded like 'user1@%'`,
    )
    assert.deepEqual(times, [{ time: at(48) }])
  }))
