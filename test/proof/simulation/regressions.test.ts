// Defects that the simulation found, as short stories: a seed's course changes with the simulation, a story stays.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { DUPLICATE_WINDOW_MS, type OutgoingMessage } from '../../../src/bus/bus.ts'
import { messageIdOf } from '../../../src/domain/messages/messages.ts'
import { holdBatch, resumeBatch } from '../../../src/engine/orders/batch-actions.ts'
import { addMembers } from '../../../src/engine/orders/create.ts'
import {
  removeMembers,
  retryStep,
  rollBackMembers,
} from '../../../src/engine/orders/member-actions.ts'
import {
  expandPhases,
  fillWorkers,
  settleLostJobs,
  startDuePhases,
} from '../../../src/orchestrator/timers.ts'
import { brokenInvariants } from '../../kit/invariants.ts'
import { attemptsOf, batchOf, calls, runbook, step } from '../../stories/looking.ts'
import { people, story, type World } from '../../stories/world.ts'

const POLL = 'poll: { interval: 1m, timeout: 1h }'

const waiting = async ({ db }: World): Promise<number> =>
  (await db.query(`select 1 from messages where topic = 'worker-results'`)).length

/** A worker's result under its deterministic id. */
const success = (jobId: string, batchId: number): OutgoingMessage => ({
  topic: 'worker-results',
  messageId: messageIdOf.workerResult(jobId),
  type: 'worker-result',
  body: {
    jobId,
    batchId,
    workerId: 'w1',
    functionName: 'create',
    status: 'Success',
    resultType: 'Object',
    result: null,
    error: null,
    durationMs: 5,
    timestamp: '2026-03-02T08:00:00Z',
    correlationData: null,
  },
})

it('a member who joins while a later phase is expanded does the earlier phases first (seed 106)', () =>
  story({}, async (world) => {
    const phases = { 'prepare T-1h': [step('create')], 'cutover T-0': [step('switch')] }
    await world.publish(runbook('wave', phases))
    const batchId = await world.batch('wave', 1, { startsInMin: 60 })
    await world.settle()
    await world.clock.advance(3_600_000)
    await startDuePhases(world.engine)
    // The cut-over has begun and its steps are not written; the joiner's message is still queued.
    await addMembers(world.engine, batchId, people(2).slice(1), 'operator')
    await expandPhases(world.engine)
    await fillWorkers(world.engine)
    await world.settle()
    assert.deepEqual(
      calls(world).filter((call) => call.endsWith('user2')),
      ['create user2', 'switch user2'],
    )
  }))

it('a joiner whose message comes late gets no step of a newer version (seed 520)', () =>
  story({}, async (world) => {
    await world.publish(runbook('wave', { 'prepare T-1h': [step('create')] }))
    const batchId = await world.batch('wave', 1, { startsInMin: 60 })
    await startDuePhases(world.engine)
    const { added } = await addMembers(world.engine, batchId, people(2).slice(1), 'operator')
    await world.settle()
    assert.deepEqual(calls(world).sort(), ['create user1', 'create user2'])
    const more = { 'prepare T-1h': [step('create'), step('tag')] }
    await world.publish(runbook('wave', more))
    await addMembers(world.engine, batchId, people(3).slice(2), 'operator')
    await world.settle()
    // A member who joins now gets the new version's steps; the others do not.
    assert.deepEqual(calls(world, 2), ['create user3', 'tag user3'])
    const { id: batchMemberId, key: memberKey } = added[0]!
    const body = { runbookName: 'wave', runbookVersion: 1, batchId, batchMemberId, memberKey }
    await world.bus.publish([
      { topic: 'orchestrator-events', messageId: 'told-again', type: 'member-added', body },
    ])
    await world.settle()
    assert.deepEqual(calls(world, 4), [])
    assert.equal((await batchOf(world, batchId)).status, 'completed')
  }))

it('jobs that are lost together blow the fuse and nothing else (seed 276)', () =>
  story({}, async (world) => {
    await world.publish(runbook('wave', { 'prepare T-1h': [step('create', 'timeout: 5m')] }))
    const batchId = await world.batch('wave', 12, { startsInMin: 60 })
    await world.orchestrate()
    world.answer = () => 'silent'
    await world.work()
    // No job has a result. One transaction gives all of them up, finds too many failures and withdraws the unsettled jobs.
    await world.clock.advance(7 * 60_000)
    await settleLostJobs(world.engine)
    const { held, failed } = await batchOf(world, batchId)
    assert.equal(held, '12 of 12 members failed in phase prepare: more than 30 %')
    assert.equal(failed, 12)
    assert.deepEqual(
      (await attemptsOf(world)).filter((said) => !said.endsWith(' lost')),
      [],
    )
  }))

it('a result sent again under its id after ten minutes is a duplicate like any other (seed 1031)', () =>
  story({}, async (world) => {
    await world.publish(runbook('wave', { 'prepare T-1h': [step('create')] }))
    const batchId = await world.batch('wave', 1, { startsInMin: 60 })
    await world.orchestrate()
    const result = success('step-1', batchId)
    // The worker died before it acknowledged the job, and its successor ran it again; the first result is still unread.
    await world.bus.publish([result])
    await world.clock.advance(DUPLICATE_WINDOW_MS - 1)
    assert.equal(await waiting(world), 1)
    await world.bus.publish([result])
    assert.equal(await waiting(world), 1)
    await world.clock.advance(1)
    await world.bus.publish([result])
    assert.equal(await waiting(world), 2)
    assert.deepEqual(await brokenInvariants(world.db, world.clock.now()), [])
    await world.orchestrate()
    assert.equal((await batchOf(world, batchId)).status, 'completed')
    assert.deepEqual(await attemptsOf(world), ['step-1 succeeded'])
  }))

it('a member who waits for an earlier phase continues when a new version removes that phase (seed 223)', () =>
  story({}, async (world) => {
    const cutover = { 'cutover T-0': [step('switch')] }
    await world.publish(runbook('wave', cutover))
    const batchId = await world.batch('wave', 1)
    await world.orchestrate()
    const order = { batchId, actor: 'operator', reason: 'let us see' }
    await holdBatch(world.engine, order)
    await world.clock.advance(60_000)
    // A late phase precedes the running one. On hold it cannot start, so a joiner must wait for it.
    const prepare = { 'prepare T-1h': [step('create')] }
    await world.publish(runbook('wave', { ...prepare, ...cutover }), { overdueBehavior: 'rerun' })
    await addMembers(world.engine, batchId, people(2).slice(1), 'operator')
    await world.orchestrate()
    await world.publish(runbook('wave', cutover))
    await resumeBatch(world.engine, order)
    await world.settle()
    assert.deepEqual(calls(world), ['switch user1', 'switch user2'])
    assert.equal((await batchOf(world, batchId)).status, 'completed')
  }))

it('a phase that a new version puts first precedes queued steps (seed 35)', () =>
  story({ maxOutstanding: 1 }, async (world) => {
    const cutover = { 'cutover T-0': [step('switch')] }
    await world.publish(runbook('wave', cutover))
    await world.batch('wave', 2)
    await world.orchestrate()
    // user1's job is sent, user2 waits for a slot.
    const prepare = { 'prepare T-1h': [step('create')] }
    await world.publish(runbook('wave', { ...prepare, ...cutover }), { overdueBehavior: 'rerun' })
    await world.settle()
    const ofUser2 = calls(world).filter((call) => call.endsWith('user2'))
    assert.deepEqual(ofUser2, ['create user2', 'switch user2'])
  }))

it('a phase that a new version puts first waits for a running poll', () =>
  story({}, async (world) => {
    const cutover = {
      'cutover T-0': [step('sync', POLL), step('switch')],
    }
    world.answer = ({ functionName }) => ({ ok: { complete: functionName !== 'sync' } })
    await world.publish(runbook('wave', cutover))
    await world.batch('wave', 1)
    await world.settle()
    const prepare = { 'prepare T-1h': [step('create')] }
    await world.publish(runbook('wave', { ...prepare, ...cutover }), { overdueBehavior: 'rerun' })
    await world.pass(60)
    world.answer = () => ({ ok: { complete: true } })
    await world.pass(60)
    assert.deepEqual(calls(world), [
      'sync user1',
      'sync user1',
      'sync user1',
      'create user1',
      'switch user1',
    ])
  }))

it('a poll that a person rolls back ends no job a second time (seed 67)', () =>
  story({}, async (world) => {
    const phases = { 'prepare T-1h': [step('sync', `${POLL}, on_failure: undo`)] }
    await world.publish(runbook('wave', phases, `rollbacks: { undo: [${step('unsync')}] }`))
    world.answer = ({ functionName }) => ({ ok: { complete: functionName !== 'sync' } })
    const batchId = await world.batch('wave', 1, { startsInMin: 60 })
    await world.settle()
    const order = { batchId, actor: 'operator', reason: 'let us see' }
    const { done } = await rollBackMembers(world.engine, { ...order, memberIds: [1] })
    assert.deepEqual(done, [1])
    assert.deepEqual(await brokenInvariants(world.db, world.clock.now()), [])
    await world.settle()
    await world.pass(3_600)
    assert.deepEqual(calls(world), ['sync user1', 'unsync user1'])
    const ends = (await attemptsOf(world)).map((line) => line.replace(/-\d+/, ''))
    assert.deepEqual(ends, ['step incomplete', 'rollback succeeded'])
    assert.equal((await batchOf(world, batchId)).status, 'failed')
  }))

it('a removed member gets no steps when a person retries a failed cleanup step (seed 166)', () =>
  story({}, async (world) => {
    const removed = `on_member_removed: [${step('tell', 'retry: { max_retries: 0 }')}]`
    await world.publish(runbook('wave', { 'cutover T-0': [step('switch')] }, removed))
    world.answer = ({ functionName }) =>
      functionName === 'tell' ? { fail: 'mailbox full' } : { ok: true }
    const batchId = await world.batch('wave', 2, { startsInMin: 60 })
    const order = { batchId, actor: 'operator', reason: 'stays' }
    await removeMembers(world.engine, { ...order, memberIds: [1] })
    await world.settle()
    await world.pass(3_600)
    const [cleanup] = await world.db.query<{ id: number }>(
      `select id from step_executions where kind = 'removal'`,
    )
    world.answer = () => ({ ok: true })
    await retryStep(world.engine, { stepId: cleanup!.id, actor: 'operator', reason: 'room made' })
    assert.deepEqual(await brokenInvariants(world.db, world.clock.now()), [])
    await world.settle()
    assert.deepEqual(calls(world).sort(), ['switch user2', 'tell user1', 'tell user1'])
  }))
