// Moving to another wave: carries data, outputs and passed steps, without cleanup.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { holdBatch } from '../../src/engine/orders/batch-actions.ts'
import { removeMembers } from '../../src/engine/orders/member-actions.ts'
import { startDuePhases } from '../../src/orchestrator/timers.ts'
import {
  batchOf,
  calls,
  memberId,
  moveMember,
  order,
  phasesOf,
  runbook,
  step,
  stepsOf,
} from './looking.ts'
import { people, story, type World } from './world.ts'

const create = step('create', 'output_params: { ThingId: id }')
const withId = (name: string) =>
  `{ name: ${name}, worker_id: w1, function: ${name}, params: { Upn: "{{UserPrincipalName}}", Id: "{{ThingId}}" } }`
const YAML = runbook(
  'wave',
  { 'prepare T-2h': [create, withId('tag')], 'cutover T-0': [withId('switch')] },
  `on_member_removed: [${step('revoke')}]`,
)

interface Waves {
  readonly first: number
  readonly second: number
  readonly mover: number
}

/** The first wave is prepared, the second is not: it starts an hour later. */
async function twoWaves(world: World): Promise<Waves> {
  world.answer = ({ functionName }) => ({ ok: functionName === 'create' ? { id: 'T-1' } : true })
  await world.publish(YAML)
  const first = await world.batch('wave', 1, { startsInMin: 120 })
  const second = await world.batch('wave', people(2).slice(1), { startsInMin: 180 })
  await world.settle()
  return { first, second, mover: await memberId(world, first, 1) }
}

const move = (world: World, batchId: number, member: number, toBatchId: number) =>
  moveMember(world.engine, { ...order(batchId), memberId: member, toBatchId })

it('carries data, outputs and passed steps, and runs no cleanup', () =>
  story({}, async (world) => {
    const { first, second, mover } = await twoWaves(world)
    await move(world, first, mover, second)
    await world.settle()
    assert.deepEqual(await stepsOf(world, mover), ['create succeeded', 'tag succeeded'])
    const there = await memberId(world, second, 1)
    assert.deepEqual(await stepsOf(world, there), ['create succeeded', 'tag succeeded'])
    const rows = await world.db.query(
      `select batch_id, status, moved_to_batch_id, data_json ->> 'Name' as name, worker_data_json as outputs
         from batch_members where key_folded = 'user1@contoso.example' order by id`,
    )
    const same = { name: 'User 1', outputs: { ThingId: 'T-1' } }
    assert.deepEqual(rows, [
      { batchId: first, status: 'removed', movedToBatchId: second, ...same },
      { batchId: second, status: 'active', movedToBatchId: null, ...same },
    ])
    for (let hour = 1; hour <= 3; hour++) await world.pass(3600)
    assert.deepEqual(calls(world, 2), ['create user2', 'tag user2', 'switch user2', 'switch user1'])
    assert.deepEqual(await phasesOf(world, first), [
      'prepare completed 1: 1 passed',
      'cutover skipped 0',
    ])
    assert.deepEqual(await phasesOf(world, second), [
      'prepare completed 2: 2 passed',
      'cutover completed 2: 2 passed',
    ])
  }))

it('completes a phase that was skipped as empty', () =>
  story({}, async (world) => {
    const { first, second, mover } = await twoWaves(world)
    const other = await memberId(world, second, 2)
    await removeMembers(world.engine, { ...order(second), memberIds: [other] })
    await world.pass(3600)
    assert.equal((await phasesOf(world, second))[0], 'prepare skipped 0')
    await move(world, first, mover, second)
    await world.settle()
    assert.equal((await phasesOf(world, second))[0], 'prepare completed 1: 1 passed')
  }))

it('continues with the step it had reached', () =>
  story({}, async (world) => {
    const { first, second, mover } = await twoWaves(world)
    const late = await world.batch('wave', people(3).slice(2), { startsInMin: 119 })
    world.answer = ({ functionName }) =>
      functionName === 'tag' ? { fail: 'busy' } : { ok: { id: 'T-3' } }
    await world.settle()
    const stuck = await memberId(world, late, 3)
    await assert.rejects(move(world, late, stuck, second), /is failed, not active/)
    assert.deepEqual(await stepsOf(world, stuck), ['create succeeded', 'tag failed'])
    world.answer = () => ({ ok: true })
    await move(world, first, mover, second)
    await world.settle()
    assert.equal((await batchOf(world, second)).active, 2)
  }))

it('is refused with an unsettled job, and once a step of the cut-over was sent', () =>
  story({}, async (world) => {
    const { first, second, mover } = await twoWaves(world)
    world.answer = () => 'silent'
    await world.pass(7200)
    assert.equal(calls(world).includes('switch user1'), true)
    await assert.rejects(move(world, first, mover, second), {
      code: 'REFUSED',
      message: new RegExp(`step switch was sent for member ${mover}: its cut-over has begun`),
    })
    const other = await memberId(world, second, 2)
    await assert.rejects(move(world, second, other, first), /has an unsettled job/)
    assert.deepEqual((await batchOf(world, first)).active, 1)
  }))

it('works back to the wave it left', () =>
  story({}, async (world) => {
    const { first, second, mover } = await twoWaves(world)
    await move(world, first, mover, second)
    await world.settle()
    await move(world, second, await memberId(world, second, 1), first)
    await world.settle()
    assert.deepEqual(await stepsOf(world, mover), ['create succeeded', 'tag succeeded'])
    for (let hour = 1; hour <= 3; hour++) await world.pass(3600)
    assert.deepEqual(calls(world, 2), ['create user2', 'tag user2', 'switch user1', 'switch user2'])
    const { status, active, removed } = await batchOf(world, first)
    assert.deepEqual([status, active, removed], ['completed', 1, 0])
    assert.deepEqual((await batchOf(world, second)).removed, 1)
  }))

it('needs another unfinished wave of the same runbook without the member', () =>
  story({}, async (world) => {
    const { first, second, mover } = await twoWaves(world)
    await world.publish(YAML.replace('name: wave', 'name: other'))
    const foreign = await world.batch('other', 1, { startsInMin: 600 })
    await assert.rejects(move(world, first, mover, foreign), /belongs to another runbook/)
    await assert.rejects(move(world, first, mover, first), /is already in batch \d+/)
    await assert.rejects(move(world, first, 999, second), { code: 'MEMBER_NOT_FOUND' })
    await assert.rejects(move(world, first, mover, 999), { code: 'BATCH_NOT_FOUND' })
    await move(world, first, mover, second)
    await assert.rejects(move(world, first, mover, second), /is removed, not active/)
  }))

it('a member who moves on before a phase is expanded has only carried-over steps there', () =>
  story({}, async (world) => {
    world.answer = ({ functionName }) => ({ ok: functionName === 'create' ? { id: 'T-1' } : true })
    await world.publish(YAML)
    const first = await world.batch('wave', 1, { startsInMin: 120 })
    const second = await world.batch('wave', people(2).slice(1), { startsInMin: 180 })
    const third = await world.batch('wave', people(3).slice(2), { startsInMin: 600 })
    await world.orchestrate()
    await world.work()
    // On hold, so its next step is not sent.
    await holdBatch(world.engine, order(first))
    await world.orchestrate()
    await move(world, first, await memberId(world, first, 1), second)
    const mover = await memberId(world, second, 1)
    assert.deepEqual(await stepsOf(world, mover), ['create succeeded'])
    await world.clock.advance(3_600_000)
    await startDuePhases(world.engine)
    await move(world, second, mover, third)
    await world.settle()
    assert.deepEqual(await stepsOf(world, mover), ['create succeeded'])
  }))
