// Removals: open steps are cancelled, a taken job is awaited, and only then the cleanup runs.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { removeMembers } from '../../src/engine/orders/member-actions.ts'
import { deliver } from './foreign-mail.ts'
import {
  attemptsOf,
  batchOf,
  because,
  calls,
  jobIds,
  memberId,
  order,
  phasesOf,
  runbook,
  step,
  stepsOf,
} from './looking.ts'
import { heldOf } from './programme.ts'
import { story, type World } from './world.ts'

const REMOVAL = `on_member_removed: [${step('revoke')}, ${step('farewell')}]`
const phases = {
  'prepare T-1h': [step('create'), step('tag')],
  'cutover T-0': [step('switch')],
}

async function begin(world: World, yaml: string, members: number): Promise<number> {
  await world.publish(yaml)
  const batchId = await world.batch('wave', members, { startsInMin: 60 })
  await world.orchestrate()
  return batchId
}

const leave = async (world: World, batchId: number, number: number): Promise<number> => {
  const member = await memberId(world, batchId, number)
  await removeMembers(world.engine, { ...order(batchId), memberIds: [member], by: 'source' })
  return member
}

it('waits for a taken job, then cleans up step by step', () =>
  story({}, async (world) => {
    world.answer = ({ functionName, parameters }) =>
      functionName === 'create' && parameters.Upn === 'user1@contoso.example'
        ? 'silent'
        : { ok: true }
    const batchId = await begin(world, runbook('wave', phases, REMOVAL), 2)
    await world.settle()
    const leaver = await leave(world, batchId, 1)
    await world.settle()
    assert.deepEqual(await stepsOf(world, leaver), [
      'create cancelled',
      'tag cancelled',
      'removal revoke pending',
      'removal farewell pending',
    ])
    assert.deepEqual(calls(world), ['create user1', 'create user2', 'tag user2'])
    await world.result(world.jobs[0]!, { ok: true })
    await world.settle()
    assert.deepEqual(calls(world, 3), ['revoke user1', 'farewell user1'])
    assert.deepEqual(await because(world, 'late_result'), [
      'the worker reported after the cancel: success',
    ])
    assert.deepEqual(
      (await phasesOf(world, batchId))[0],
      'prepare completed 2: 1 passed, 1 removed',
    )
    await world.pass(3600)
    const { status, active, removed } = await batchOf(world, batchId)
    assert.deepEqual([status, active, removed], ['completed', 1, 1])
    assert.equal(calls(world).at(-1), 'switch user2')
  }))

it('withdraws an untaken job, and cleans up at once', () =>
  story({}, async (world) => {
    const batchId = await begin(world, runbook('wave', phases, REMOVAL), 2)
    const leaver = await leave(world, batchId, 1)
    await world.settle()
    assert.deepEqual(calls(world), ['create user2', 'revoke user1', 'farewell user1', 'tag user2'])
    assert.equal((await attemptsOf(world))[0], 'step-1 withdrawn')
    assert.deepEqual(await stepsOf(world, leaver), [
      'create cancelled',
      'tag cancelled',
      'removal revoke succeeded',
      'removal farewell succeeded',
    ])
  }))

it('a rollback job that is withdrawn and sent again at once counts from its second sending', () =>
  story({}, async (world) => {
    const yaml = runbook(
      'wave',
      { 'prepare T-1h': [step('create', 'on_failure: undo')] },
      `rollbacks: { undo: [${step('uncreate')}] }\n${REMOVAL}`,
    )
    world.answer = ({ functionName }) =>
      functionName === 'create' ? { fail: 'no licence' } : { ok: true }
    const batchId = await begin(world, yaml, 1)
    await world.work()
    await world.orchestrate()
    await world.clock.advance(20_000)
    await leave(world, batchId, 1)
    await world.settle()
    assert.deepEqual(await attemptsOf(world), [
      'step-1 failed',
      'rollback-2 withdrawn',
      'rollback-2-retry-1 succeeded',
      'removal-3 succeeded',
      'removal-4 succeeded',
    ])
    const sendings = await world.db.query(
      `select extract(epoch from a.settled_at - a.sent_at)::int as waited_sec,
              extract(epoch from s.completed_at - s.dispatched_at)::int as step_sec
         from attempts a join step_executions s on s.id = a.step_id where s.id = 2 order by a.attempt`,
    )
    assert.deepEqual(sendings, [
      { waitedSec: 20, stepSec: 0 },
      { waitedSec: 0, stepSec: 0 },
    ])
  }))

it('waits for a running rollback', () =>
  story({}, async (world) => {
    const rollback = `rollbacks: { undo: [${step('uncreate')}, ${step('unlicense')}] }`
    const yaml = runbook(
      'wave',
      { 'prepare T-1h': [step('create', 'on_failure: undo')] },
      `${rollback}\n${REMOVAL}`,
    )
    world.answer = ({ functionName }) => {
      if (functionName === 'create') return { fail: 'no licence' }
      return functionName === 'uncreate' ? 'silent' : { ok: true }
    }
    const batchId = await begin(world, yaml, 1)
    await world.settle()
    const leaver = await leave(world, batchId, 1)
    await world.settle()
    assert.deepEqual(calls(world), ['create user1', 'uncreate user1'])
    await world.result(world.jobs[1]!, { ok: true })
    await world.settle()
    assert.deepEqual(calls(world, 2), ['unlicense user1', 'revoke user1', 'farewell user1'])
    assert.deepEqual(await stepsOf(world, leaver), [
      'create rolled_back',
      'rollback uncreate succeeded',
      'rollback unlicense succeeded',
      'removal revoke succeeded',
      'removal farewell succeeded',
    ])
    const { status, failed, removed } = await batchOf(world, batchId)
    assert.deepEqual([status, failed, removed], ['failed', 0, 1])
  }))

it('continues after a cleanup step whose templates do not resolve', () =>
  story({}, async (world) => {
    const broken = step('revoke').replace('{{UserPrincipalName}}', '{{Mailbox}}')
    const removal = `on_member_removed: [${broken}, ${step('farewell')}]`
    const batchId = await begin(world, runbook('wave', phases, removal), 1)
    await world.settle()
    const leaver = await leave(world, batchId, 1)
    await world.settle()
    assert.deepEqual(calls(world, 2), ['farewell user1'])
    assert.deepEqual((await stepsOf(world, leaver)).slice(2), [
      'removal revoke failed',
      'removal farewell succeeded',
    ])
    assert.deepEqual(await because(world, 'unresolved'), ['unresolved: {{Mailbox}}'])
  }))

it('reopens a finished batch for the cleanup and closes it again', () =>
  story({}, async (world) => {
    const batchId = await begin(world, runbook('wave', phases, REMOVAL), 2)
    await world.settle()
    await world.pass(3600)
    assert.equal((await batchOf(world, batchId)).status, 'completed')
    await leave(world, batchId, 1)
    assert.equal((await batchOf(world, batchId)).status, 'active')
    await world.settle()
    assert.deepEqual(calls(world, 6), ['revoke user1', 'farewell user1'])
    assert.deepEqual(jobIds(world, 6), ['removal-7', 'removal-8'])
    const { status, active, removed } = await batchOf(world, batchId)
    assert.deepEqual([status, active, removed], ['completed', 1, 1])
    assert.deepEqual(await phasesOf(world, batchId), [
      'prepare completed 2: 2 passed',
      'cutover completed 2: 2 passed',
    ])
  }))

it('refuses a second removal, and changes nothing', () =>
  story({}, async (world) => {
    const batchId = await begin(world, runbook('wave', phases, REMOVAL), 2)
    const leaver = await leave(world, batchId, 1)
    const other = await memberId(world, batchId, 2)
    const outcome = await removeMembers(world.engine, {
      ...order(batchId),
      memberIds: [leaver, other, other],
    })
    assert.deepEqual(outcome, {
      done: [other],
      refused: [{ memberId: leaver, reason: `member ${leaver} is already removed` }],
    })
    await world.settle()
    const removals = (await stepsOf(world, leaver)).filter((line) => line.startsWith('removal'))
    assert.equal(removals.length, 2)
    const { status, removed } = await batchOf(world, batchId)
    assert.deepEqual([status, removed], ['active', 2])
    await world.pass(3600)
    assert.deepEqual(await phasesOf(world, batchId), [
      'prepare skipped 2: 2 removed',
      'cutover skipped 0',
    ])
    assert.equal((await batchOf(world, batchId)).status, 'completed')
  }))

// --- Leavers that a scheduler outside reports -----------------------------------------------------

const tell = async (world: World, batchId: number, numbers: readonly number[]): Promise<void> => {
  for (const number of numbers) {
    const batchMemberId = await memberId(world, batchId, number)
    const body = { BatchId: batchId, BatchMemberId: batchMemberId, MemberKey: `user${number}` }
    await deliver(world, body, { topic: 'orchestrator-events', type: 'member-removed' })
  }
  await world.settle()
}

it('a leaver reported from outside leaves before the start, with cleanup', () =>
  story({}, async (world) => {
    const batchId = await begin(world, runbook('wave', phases, REMOVAL), 3)
    await world.settle()
    const before = world.jobs.length
    await tell(world, batchId, [1])
    assert.equal((await batchOf(world, batchId)).removed, 1)
    assert.deepEqual(calls(world, before), ['revoke user1', 'farewell user1'])
    assert.deepEqual(await heldOf(world), [])
  }))

it('a leaver reported from outside after the end changes nothing', () =>
  story({}, async (world) => {
    const batchId = await begin(world, runbook('wave', phases, REMOVAL), 3)
    await world.settle()
    await world.pass(3_600)
    const before = world.jobs.length
    await tell(world, batchId, [1])
    await tell(world, batchId, [1])
    assert.deepEqual(await heldOf(world), [])
    assert.deepEqual(await because(world, 'removal_ignored'), [
      'batch 1 has ended',
      'batch 1 has ended',
    ])
    assert.equal(world.jobs.length, before, 'no cleanup')
  }))

it('a leaver reported from outside whose cut-over has begun needs a person, and carries on', () =>
  story({}, async (world) => {
    world.answer = ({ functionName }) => (functionName === 'switch' ? 'silent' : { ok: true })
    const batchId = await begin(world, runbook('wave', phases, REMOVAL), 3)
    await world.settle()
    await world.pass(3_600)
    await tell(world, batchId, [1])
    await tell(world, batchId, [1])
    assert.deepEqual(await heldOf(world), ['removal user1 begun'])
    for (const job of world.jobs.filter(({ functionName }) => functionName === 'switch'))
      await world.result(job, { ok: true })
    await world.settle()
    assert.deepEqual(await batchOf(world, batchId), {
      status: 'completed',
      active: 3,
      failed: 0,
      removed: 0,
      held: null,
    })
    assert.ok(!calls(world).some((call) => call.startsWith('revoke')), 'no cleanup')
    const said = 'waits for a person: it left the source, but its cut-over has begun'
    assert.deepEqual(await because(world, 'removal_review'), [said, said])
  }))

it('many leavers reported from outside at once need a person', () =>
  story({}, async (world) => {
    const batchId = await begin(world, runbook('wave', phases, REMOVAL), 10)
    await world.settle()
    await tell(world, batchId, [1, 2, 3])
    assert.equal((await batchOf(world, batchId)).removed, 3, 'three are few')
    await tell(world, batchId, [4, 5])
    assert.deepEqual(await heldOf(world), ['removal user4 many', 'removal user5 many'])
    assert.equal((await batchOf(world, batchId)).removed, 3)
  }))
