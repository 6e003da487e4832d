// Coming back: without cleanup a member continues; after cleanup it starts over, and its old outputs do not count.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { readmitMembers, removeMembers, retryStep } from '../../src/engine/orders/member-actions.ts'
import {
  batchOf,
  calls,
  memberId,
  order,
  phasesOf,
  runbook,
  step,
  stepId,
  stepsOf,
} from './looking.ts'
import { people, story, type World } from './world.ts'

const create = step('create', 'output_params: { ThingId: id }')
const tag = `{ name: tag, worker_id: w1, function: tag, params: { Upn: "{{UserPrincipalName}}", Id: "{{ThingId}}" } }`
const phases = { 'prepare T-1h': [create, tag], 'cutover T-0': [step('switch')] }
const REMOVAL = `on_member_removed: [${step('revoke')}]`

async function begin(world: World, more: string): Promise<{ batchId: number; member: number }> {
  await world.publish(runbook('wave', phases, more))
  const batchId = await world.batch('wave', 2, { startsInMin: 60 })
  let made = 0
  world.answer = ({ functionName }) => ({
    ok: functionName === 'create' ? { id: `T-${++made}` } : true,
  })
  await world.settle()
  return { batchId, member: await memberId(world, batchId, 1) }
}

const leave = (world: World, batchId: number, member: number, by: string) =>
  removeMembers(world.engine, { ...order(batchId), memberIds: [member], by })

const comeBack = (world: World, batchId: number, member: number, event: 'rejoin' | 'readd') =>
  readmitMembers(world.engine, { ...order(batchId), memberIds: [member], event })

const outputsOf = async ({ db }: World, member: number) =>
  (await db.query('select worker_data_json as it from batch_members where id = $1', [member]))[0]!
    .it

it('continues when no cleanup ran', () =>
  story({}, async (world) => {
    const { batchId, member } = await begin(world, '')
    await leave(world, batchId, member, 'source')
    await world.settle()
    const { done } = await comeBack(world, batchId, member, 'rejoin')
    assert.deepEqual(done, [member])
    await world.settle()
    assert.equal(world.jobs.length, 4)
    assert.deepEqual(await outputsOf(world, member), { ThingId: 'T-1' })
    await world.pass(3600)
    assert.deepEqual(calls(world, 4), ['switch user1', 'switch user2'])
    assert.deepEqual(await phasesOf(world, batchId), [
      'prepare completed 2: 2 passed',
      'cutover completed 2: 2 passed',
    ])
  }))

it('starts over when a cleanup step was sent, with new job ids and without its old outputs', () =>
  story({}, async (world) => {
    const { batchId, member } = await begin(world, REMOVAL)
    await leave(world, batchId, member, 'source')
    await world.settle()
    assert.deepEqual(calls(world, 4), ['revoke user1'])
    await comeBack(world, batchId, member, 'rejoin')
    assert.deepEqual(await outputsOf(world, member), {})
    assert.deepEqual((await phasesOf(world, batchId))[0], 'prepare dispatched 2: 1 passed')
    await world.settle()
    assert.deepEqual(
      world.jobs.slice(5).map(({ jobId, parameters }) => [jobId, parameters.Id]),
      [
        ['step-1-retry-1', undefined],
        ['step-2-retry-1', 'T-3'],
      ],
    )
    assert.deepEqual(await outputsOf(world, member), { ThingId: 'T-3' })
    const kept = await world.db.query(
      `select result_json as it from attempts where job_id = 'step-1'`,
    )
    assert.deepEqual(kept, [{ it: { id: 'T-1' } }])
    await leave(world, batchId, member, 'source')
    await world.settle()
    assert.deepEqual((await stepsOf(world, member)).slice(2), [
      'removal revoke succeeded',
      'removal revoke succeeded',
    ])
  }))

it('gets the steps of phases that began meanwhile', () =>
  story({}, async (world) => {
    const { batchId, member } = await begin(world, '')
    await leave(world, batchId, member, 'source')
    await world.pass(3600)
    assert.equal((await batchOf(world, batchId)).status, 'completed')
    await comeBack(world, batchId, member, 'rejoin')
    await world.settle()
    assert.deepEqual(calls(world, 4), ['switch user2', 'switch user1'])
    const { status, active, removed } = await batchOf(world, batchId)
    assert.deepEqual([status, active, removed], ['completed', 2, 0])
  }))

it('is refused while the cleanup runs, and gets no steps', () =>
  story({}, async (world) => {
    const { batchId, member } = await begin(world, REMOVAL)
    world.answer = ({ functionName }) =>
      functionName === 'revoke' ? 'silent' : { ok: { id: 'T-9' } }
    await leave(world, batchId, member, 'source')
    await world.pass(3600)
    const { refused } = await comeBack(world, batchId, member, 'rejoin')
    assert.deepEqual(refused, [
      { memberId: member, reason: `the cleanup of member ${member} has not ended` },
    ])
    assert.deepEqual(await stepsOf(world, member), [
      'create succeeded',
      'tag succeeded',
      'removal revoke dispatched',
    ])
    assert.deepEqual((await phasesOf(world, batchId))[1], 'cutover completed 1: 1 passed')
    const revoke = world.jobs.find(({ functionName }) => functionName === 'revoke')!
    await world.result(revoke, { ok: true })
    await world.settle()
    const { done } = await comeBack(world, batchId, member, 'rejoin')
    assert.deepEqual(done, [member])
    await world.settle()
    assert.deepEqual(calls(world).slice(-3), ['create user1', 'tag user1', 'switch user1'])
  }))

it('is up to a person when a person removed the member', () =>
  story({}, async (world) => {
    const { batchId, member } = await begin(world, '')
    await leave(world, batchId, member, 'alice')
    const { refused } = await comeBack(world, batchId, member, 'rejoin')
    assert.deepEqual(refused, [
      {
        memberId: member,
        reason: `member ${member} was removed by alice; only a person can re-add it`,
      },
    ])
    const { done } = await comeBack(world, batchId, member, 'readd')
    assert.deepEqual(done, [member])
    const again = await comeBack(world, batchId, member, 'readd')
    assert.equal(again.refused[0]?.reason, `member ${member} is active, not removed`)
    await world.settle()
    assert.equal((await batchOf(world, batchId)).active, 2)
  }))

it('is refused while the member is active in another batch', () =>
  story({}, async (world) => {
    const { batchId, member } = await begin(world, '')
    await leave(world, batchId, member, 'source')
    const other = await world.batch('wave', people(1), { startsInMin: 120 })
    const { refused } = await comeBack(world, batchId, member, 'rejoin')
    assert.deepEqual(refused, [
      { memberId: member, reason: `member ${member} is active in batch ${other}` },
    ])
  }))

it('repeats no cleanup that would take away what another batch of the person rests on', () =>
  story({}, async (world) => {
    const { batchId, member } = await begin(world, REMOVAL)
    world.answer = ({ functionName }) => (functionName === 'revoke' ? { fail: 'busy' } : { ok: {} })
    await leave(world, batchId, member, 'operator')
    await world.settle()
    assert.equal((await stepsOf(world, member)).at(-1), 'removal revoke failed')
    const second = await world.batch('wave', people(1), { startsInMin: 120 })
    const sent = world.jobs.length
    const again = { stepId: await stepId(world, member, 'revoke'), actor: 'o', reason: 'again' }
    await assert.rejects(retryStep(world.engine, again), {
      message: new RegExp(`is active in batch ${second}`),
    })
    await world.settle()
    assert.equal(world.jobs.length, sent)
    await leave(world, second, await memberId(world, second, 1), 'operator')
    await retryStep(world.engine, again)
  }))
