// Rollback: the compensation of a failed step, step by step, in the rows, and again when the step fails again.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { listCandidates } from '../../src/engine/orders/actions.ts'
import { retryMembers } from '../../src/engine/orders/member-actions.ts'
import {
  attemptsOf,
  batchOf,
  because,
  calls,
  jobIds,
  memberId,
  order,
  runbook,
  step,
  stepsOf,
} from './looking.ts'
import { historyOf, keepTimes, passUntil, stepLook } from './timeline.ts'
import { story, type World } from './world.ts'

const UNDO = `rollbacks: { undo: [${step('undo-a')}, ${step('undo-b')}, ${step('undo-c')}] }`
const PHASES = { 'cutover T-0': [step('create'), step('switch', 'on_failure: undo')] }

async function begin(world: World, more = UNDO): Promise<{ batchId: number; member: number }> {
  await world.publish(runbook('wave', PHASES, more))
  const batchId = await world.batch('wave', 1)
  await world.settle()
  return { batchId, member: await memberId(world, batchId, 1) }
}

it('runs its steps in order and marks the failed step', () =>
  story({}, async (world) => {
    world.answer = ({ functionName }) =>
      functionName === 'switch' ? { fail: 'mailbox locked' } : { ok: true }
    const { batchId, member } = await begin(world)
    assert.deepEqual(calls(world), [
      'create user1',
      'switch user1',
      'undo-a user1',
      'undo-b user1',
      'undo-c user1',
    ])
    assert.deepEqual(jobIds(world, 2), ['rollback-3', 'rollback-4', 'rollback-5'])
    assert.deepEqual(await stepsOf(world, member), [
      'create succeeded',
      'switch rolled_back',
      'rollback undo-a succeeded',
      'rollback undo-b succeeded',
      'rollback undo-c succeeded',
    ])
    assert.deepEqual(await historyOf(world, 2), [
      "dispatch: the member's next step in phase cutover, sent to w1",
      'fail: mailbox locked (TestError)',
      'rollback_begun: rollback undo: 3 steps',
      'roll_back: every step of its rollback succeeded',
    ])
    assert.equal((await stepLook(world, 2)).error, 'mailbox locked (TestError)')
    assert.equal((await batchOf(world, batchId)).status, 'failed')
  }))

it('a failing step uses the global retry, does not stop the next, and is named', () =>
  story({}, async (world) => {
    const times = keepTimes(world, ({ functionName }) =>
      functionName === 'switch' || functionName === 'undo-b' ? { fail: 'no' } : { ok: true },
    )
    const retry = 'retry: { max_retries: 1, interval: 30s }'
    const { batchId, member } = await begin(world, `${UNDO}\n${retry}`)
    assert.equal((await batchOf(world, batchId)).status, 'active')
    await passUntil(world, 30)
    await passUntil(world, 60)
    assert.deepEqual(times, [
      '0 step-1',
      '0 step-2',
      '30 step-2-retry-1',
      '30 rollback-3',
      '30 rollback-4',
      '60 rollback-4-retry-1',
      '60 rollback-5',
    ])
    assert.deepEqual(await stepsOf(world, member), [
      'create succeeded',
      'switch failed',
      'rollback undo-a succeeded',
      'rollback undo-b failed',
      'rollback undo-c succeeded',
    ])
    assert.deepEqual(await because(world, 'rollback_incomplete'), [
      'the rollback ended with failed steps: undo-b',
    ])
    assert.equal((await batchOf(world, batchId)).status, 'failed')
  }))

it('keeps the batch open until it has ended', () =>
  story({}, async (world) => {
    world.answer = ({ functionName }) => {
      if (functionName === 'undo-b') return 'silent'
      return functionName === 'switch' ? { fail: 'no' } : { ok: true }
    }
    const { batchId } = await begin(world)
    assert.equal((await batchOf(world, batchId)).status, 'active')
    await world.result({ jobId: 'rollback-4' }, { ok: true })
    await world.settle()
    assert.equal((await batchOf(world, batchId)).status, 'failed')
  }))

it('runs again, in new rows, when the step fails again after a retry', () =>
  story({}, async (world) => {
    world.answer = ({ functionName }) => (functionName === 'switch' ? { fail: 'no' } : { ok: true })
    const { batchId, member } = await begin(world)
    const again = { ...order(batchId), memberIds: [member] }
    assert.deepEqual((await retryMembers(world.engine, again)).done, [member])
    assert.equal((await batchOf(world, batchId)).status, 'active')
    await world.settle()
    assert.deepEqual(calls(world, 5), [
      'switch user1',
      'undo-a user1',
      'undo-b user1',
      'undo-c user1',
    ])
    assert.deepEqual(jobIds(world, 5).slice(0, 1), ['step-2-retry-1'])
    const rows = await world.db.query(
      `select origin_attempt as attempt, count(*) as steps from step_executions
        where kind = 'rollback' group by 1 order by 1`,
    )
    assert.deepEqual(rows, [
      { attempt: 0, steps: 3 },
      { attempt: 1, steps: 3 },
    ])
    world.answer = () => ({ ok: true })
    const start = { ...again, fromStepName: 'create' }
    assert.deepEqual((await retryMembers(world.engine, start)).done, [member])
    await world.settle()
    assert.deepEqual(jobIds(world, 9), ['step-1-retry-1', 'step-2-retry-2'])
    assert.deepEqual(await batchOf(world, batchId), {
      status: 'completed',
      active: 1,
      failed: 0,
      removed: 0,
      held: null,
    })
  }))

it('refuses a retry while it runs', () =>
  story({}, async (world) => {
    world.answer = ({ functionName }) =>
      functionName === 'switch'
        ? { fail: 'no' }
        : functionName === 'undo-a'
          ? 'silent'
          : { ok: true }
    const { batchId, member } = await begin(world)
    const { refused } = await retryMembers(world.engine, { ...order(batchId), memberIds: [member] })
    assert.deepEqual(refused, [
      { memberId: 1, reason: 'member 1 has an unfinished rollback, cleanup or undo' },
    ])
  }))

it("can use the steps' outputs: in its parameters, and in its function's name", () =>
  story({}, async (world) => {
    world.answer = ({ functionName }) =>
      functionName === 'create' ? { ok: { Id: 42, Undo: 'Remove-Thing' } } : { fail: 'no' }
    const undo = `{ name: undo, worker_id: w1, function: "{{UndoFunction}}", params: { Id: "{{ThingId}}", Batch: "{{_batch_id}}" } }`
    const create = step('create', 'output_params: { ThingId: Id, UndoFunction: Undo }')
    const phases = { 'cutover T-0': [create, step('switch', 'on_failure: undo')] }
    await world.publish(runbook('wave', phases, `rollbacks: { undo: [${undo}] }`))
    const batchId = await world.batch('wave', 1)
    await world.settle()
    const { functionName, parameters } = world.jobs[2]!
    assert.deepEqual([functionName, parameters], ['Remove-Thing', { Id: 42, Batch: batchId }])
    assert.deepEqual(await attemptsOf(world), [
      'step-1 succeeded',
      'step-2 failed',
      'rollback-3 failed',
    ])
  }))

it('an unresolved step fails with the name, and the next one runs', () =>
  story({}, async (world) => {
    world.answer = ({ functionName }) => (functionName === 'switch' ? { fail: 'no' } : { ok: true })
    const lost = `{ name: lost, worker_id: w1, function: Undo, params: { Id: "{{ThingId}}" } }`
    const { member } = await begin(world, `rollbacks: { undo: [${lost}, ${step('undo-b')}] }`)
    assert.deepEqual(jobIds(world, 2), ['rollback-4'])
    assert.deepEqual(await stepsOf(world, member), [
      'create succeeded',
      'switch failed',
      'rollback lost failed',
      'rollback undo-b succeeded',
    ])
    assert.equal((await stepLook(world, 3)).error, 'unresolved: {{ThingId}}')
  }))

it('is retried from the step whose effect it took away, though that step names no rollback', () => {
  const named = (name: string, undoneBy: readonly string[]) => ({
    name,
    parameters: {},
    facts: { effect: 'changes' as const, isIdempotent: true, undoneBy },
  })
  const packaged = [named('create', ['delete']), named('group', ['ungroup']), named('delete', [])]
  return story({ packaged }, async (world) => {
    const yaml = runbook(
      'wave',
      {
        'prepare T-1h': [
          step('look'),
          step('create'),
          step('group'),
          step('close', 'on_failure: undo'),
        ],
      },
      `rollbacks: { undo: [${step('delete')}] }`,
    )
    world.answer = ({ functionName }) => (functionName === 'close' ? { fail: 'no' } : { ok: true })
    await world.publish(yaml)
    const batchId = await world.batch('wave', 2, { startsInMin: 60 })
    await world.settle()
    const ids = [await memberId(world, batchId, 1), await memberId(world, batchId, 2)]
    const before = world.jobs.length
    for (const id of ids) {
      const [retry] = (await listCandidates(world.engine, batchId, [id])).get(id)!
      assert.equal(retry!.about, 'retry from step create: the rollback took back what it did')
      assert.match(retry!.command, / --from-step create$/)
    }
    world.answer = () => ({ ok: true })
    // The same start for several people at once, and where nobody names it.
    const { done, refused } = await retryMembers(world.engine, {
      ...order(batchId),
      memberIds: ids,
    })
    assert.deepEqual([done, refused], [ids, []])
    await world.settle()
    const again = calls(world, before).filter((call) => call.endsWith('user1'))
    assert.deepEqual(again, ['create user1', 'group user1', 'close user1'])
  })
})
