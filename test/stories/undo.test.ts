// A person undoes what jobs have changed: the inverse of each effect, the last one first, as tracked steps. Never what nothing changed,
// never twice, never past the point of no return, and a failure leaves the rest as it is.

import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { JsonObject } from '../../src/base/text/json.ts'
import { findBroken } from '../../src/db/invariants/invariants.ts'
import { findBatchLines } from '../../src/db/views/batches.ts'
import { withStates } from '../../src/db/views/person-states.ts'
import { statesText } from '../../src/domain/state/person-state.ts'
import { loadVerdict } from '../../src/engine/needs/find-needs.ts'
import { listCandidates } from '../../src/engine/orders/actions.ts'
import { holdBatch, resumeBatch } from '../../src/engine/orders/batch-actions.ts'
import {
  readmitMembers,
  redoMembers,
  removeMembers,
  retryMembers,
  rollBackMembers,
  skip,
} from '../../src/engine/orders/member-actions.ts'
import { readMemberLedger, undoInitOf, undoMembers } from '../../src/engine/orders/undo.ts'
import {
  batchOf,
  calls,
  memberId,
  moveMember,
  order,
  phasesOf,
  runbook,
  step,
  stepId,
  stepsOf,
} from './looking.ts'
import { type Job, people, story, type World } from './world.ts'

const YAML = runbook(
  'wave',
  {
    'prepare T-1h': [step('create'), step('group'), step('check')],
    'cutover T-0': [step('switch', 'on_failure: back'), step('notify')],
  },
  `rollbacks: { back: [${step('switch-back')}] }`,
)

/** The effect of a function: its inverse is named after it. */
const inverse = ({ functionName, parameters }: Job, more: JsonObject = {}): JsonObject => ({
  changed: true,
  target: String(parameters.Upn),
  before: { value: 'old' },
  undo: {
    functionName: `un-${functionName}`,
    parameters: { Upn: parameters.Upn!, IfStill: { value: 'new' } },
  },
  ...more,
})
const NOTHING = { changed: false }
const NEVER = { changed: true, target: 'x', irreversible: 'It cannot be taken back.' }

/** `group` found nothing to change, `check` changes nothing by nature, `notify` cannot be undone. */
const EFFECTS: Readonly<Record<string, (job: Job) => JsonObject>> = {
  create: inverse,
  group: () => NOTHING,
  check: () => NOTHING,
  switch: inverse,
  notify: () => NEVER,
}
const answering =
  (more: Readonly<Record<string, (job: Job) => JsonObject>> = {}): World['answer'] =>
  (job) => {
    const effectOf = { ...EFFECTS, ...more }[job.functionName]
    return { ok: true, ...(effectOf && { effect: effectOf(job) }) }
  }

async function migrated(world: World, members = 2, answer = answering()) {
  world.answer = answer
  await world.publish(YAML)
  const batchId = await world.batch('wave', members, { startsInMin: 60 })
  await world.settle()
  await world.pass(3600)
  const ids = await Promise.all(
    Array.from({ length: members }, (_, index) => memberId(world, batchId, index + 1)),
  )
  return {
    batchId,
    ids,
    before: world.jobs.length,
    who: { ...order(batchId), memberIds: [ids[0]!] },
  }
}

const ledgerOf = async ({ engine }: World, batchId: number, id: number) =>
  (await readMemberLedger(engine, batchId, id)).map(({ step: name, state }) => `${name} ${state}`)

it('takes back each change of one member, the last first, and leaves everybody else and no-ops alone', () =>
  story({}, async (world) => {
    const { batchId, ids, before, who } = await migrated(world)
    assert.deepEqual(await ledgerOf(world, batchId, ids[0]!), [
      'cutover/notify irreversible',
      'cutover/switch to_undo',
      'prepare/create to_undo',
    ])
    assert.equal(world.jobs.length, before, 'a look sends nothing')
    assert.deepEqual(await undoMembers(world.engine, who), { done: [ids[0]], refused: [] })
    await world.settle()
    assert.deepEqual(calls(world, before), ['un-switch user1', 'un-create user1'])
    assert.deepEqual(world.jobs[before]!.parameters.IfStill, { value: 'new' })
    assert.deepEqual(await stepsOf(world, ids[0]!), [
      'create undone',
      'group succeeded',
      'check succeeded',
      'switch undone',
      'notify succeeded',
      'undo switch succeeded',
      'undo create succeeded',
    ])
    assert.deepEqual(await phasesOf(world, batchId), [
      'prepare completed 2: 2 passed',
      'cutover completed 2: 2 passed',
    ])
    // Nobody failed, nobody is needed, and the others stay where they are.
    const { needs } = await loadVerdict(world.engine, world.clock.now(), { batchId })
    assert.deepEqual(needs, [])
    const [counted] = await withStates(world.db, [
      (await findBatchLines(world.db, [batchId])).get(batchId)!,
    ])
    assert.equal(statesText(counted!.states), '1 of 2 done, 1 taken back')
    const { status, active, failed, held } = await batchOf(world, batchId)
    assert.deepEqual([status, active, failed, held], ['completed', 1, 1, null])
    // A second undo finds nothing to do.
    const { done, refused } = await undoMembers(world.engine, who)
    assert.deepEqual(done, [])
    assert.match(refused[0]!.reason, /has nothing left to undo: notify \(irreversible\)/)
    await world.settle()
    assert.equal(world.jobs.length, before + 2)
    assert.deepEqual(await ledgerOf(world, batchId, ids[0]!), [
      'cutover/notify irreversible',
      'cutover/switch undone',
      'prepare/create undone',
    ])
  }))

it('records a duplicate or late result once, and an unknown effect as unknown', () =>
  story({}, async (world) => {
    const { batchId, ids, before } = await migrated(world, 1, (job) =>
      job.functionName === 'group' ? { ok: true } : answering()(job),
    )
    for (const job of world.jobs.slice(0, before))
      await world.result(job, { ok: true, effect: inverse(job) })
    await world.settle()
    assert.deepEqual(await ledgerOf(world, batchId, ids[0]!), [
      'cutover/notify irreversible',
      'cutover/switch to_undo',
      'prepare/group unknown',
      'prepare/create to_undo',
    ])
    const [{ entries } = { entries: 0 }] = await world.db.query<{ entries: number }>(
      `select count(*)::int as entries from attempts where (effect_json -> 'changed')::boolean`,
    )
    assert.equal(entries, 3)
  }))

it('stops at a failure, leaves what came before, and continues there when it is undone again', () =>
  story({}, async (world) => {
    const { batchId, ids, before, who } = await migrated(world)
    world.answer = ({ functionName }) =>
      functionName === 'un-switch'
        ? { fail: 'value of "x" is "later" now, not "new"', effect: 'none', isFinal: true }
        : { ok: true, effect: NOTHING }
    await undoMembers(world.engine, who)
    await world.settle()
    assert.deepEqual(calls(world, before), ['un-switch user1'])
    assert.deepEqual((await stepsOf(world, ids[0]!)).slice(0, 4), [
      'create undone',
      'group succeeded',
      'check succeeded',
      'switch undone',
    ])
    assert.equal((await batchOf(world, batchId)).status, 'completed', 'everything ends')
    const ledger = await readMemberLedger(world.engine, batchId, ids[0]!)
    assert.deepEqual(
      ledger.map(({ state }) => state),
      ['irreversible', 'to_undo', 'to_undo'],
    )
    assert.match(ledger[1]!.undoError!, /is "later" now/)
    const ways = (await listCandidates(world.engine, batchId, ids)).get(ids[0]!)!
    assert.deepEqual(
      ways.slice(0, 3).map(({ action, refusal }) => [action, refusal]),
      [...['undo', 'skip', 'mark_done'].map((action) => [action, null])],
    )
    assert.match(ways[0]!.command, /^batch undo \d+ user1@contoso\.example$/)
    // A person looked at it and passes it; the rest continues.
    await skip(world.engine, {
      stepId: await stepId(world, ids[0]!, 'switch'),
      actor: 'o',
      reason: 'kept',
    })
    await undoMembers(world.engine, who)
    await world.settle()
    assert.deepEqual(calls(world, before), ['un-switch user1', 'un-create user1'])
    assert.deepEqual(await ledgerOf(world, batchId, ids[0]!), [
      'cutover/notify irreversible',
      'cutover/switch skipped',
      'prepare/create undone',
    ])
  }))

it('stops at the point of no return unless a person asks for more', () =>
  story({}, async (world) => {
    const { batchId, ids, before, who } = await migrated(
      world,
      1,
      answering({
        create: (job) => inverse(job, { creates: [String(job.parameters.Upn)] }),
        // Of the account that was created: it does not go with it.
        switch: ({ parameters }) => ({
          ...NEVER,
          isPointOfNoReturn: true,
          target: String(parameters.Upn).toUpperCase(),
        }),
        notify: inverse,
      }),
    )
    assert.deepEqual(await ledgerOf(world, batchId, ids[0]!), [
      'cutover/notify to_undo',
      'cutover/switch irreversible',
      'prepare/create beyond',
    ])
    await undoMembers(world.engine, who)
    await world.settle()
    assert.deepEqual(calls(world, before), ['un-notify user1'])
    await undoMembers(world.engine, { ...who, isPastNoReturn: true })
    await world.settle()
    assert.deepEqual(calls(world, before + 1), ['un-create user1'])
  }))

it('of a whole batch in flight wants a hold, sends nothing while it is held, and refuses unsettled jobs', () =>
  story({}, async (world) => {
    world.answer = answering()
    await world.publish(YAML)
    const batchId = await world.batch('wave', 2, { startsInMin: 60 })
    await world.settle()
    const ids = [await memberId(world, batchId, 1), await memberId(world, batchId, 2)]
    const all = { ...order(batchId), memberIds: ids, isWholeBatch: true }
    await assert.rejects(undoMembers(world.engine, all), /hold it first/)
    await holdBatch(world.engine, order(batchId))
    const before = world.jobs.length
    assert.deepEqual((await undoMembers(world.engine, all)).done, ids)
    await world.settle()
    assert.equal(world.jobs.length, before, 'a hold holds an undo too')
    const again = await undoMembers(world.engine, all)
    assert.match(again.refused[0]!.reason, /unfinished rollback, cleanup or undo/)
    await resumeBatch(world.engine, order(batchId))
    await world.settle()
    assert.deepEqual(calls(world, before).sort(), ['un-create user1', 'un-create user2'])
    await world.pass(3600)
    assert.equal(world.jobs.length, before + 2, 'no later phase runs for people who were undone')
    assert.equal((await batchOf(world, batchId)).status, 'completed', 'nobody failed')
  }))

it('a retry after an undo does everything again, and that can be undone again', () =>
  story({}, async (world) => {
    const { batchId, ids, before, who } = await migrated(world, 1)
    await undoMembers(world.engine, who)
    await world.settle()
    const { refused } = await retryMembers(world.engine, { ...who, fromStepName: 'create' })
    assert.deepEqual(refused, [])
    await world.settle()
    assert.deepEqual(calls(world, before + 2), [
      'create user1',
      'group user1',
      'check user1',
      'switch user1',
      'notify user1',
    ])
    await undoMembers(world.engine, who)
    await world.settle()
    assert.deepEqual(calls(world, before + 7), ['un-switch user1', 'un-create user1'])
    assert.deepEqual((await ledgerOf(world, batchId, ids[0]!)).length, 6)
  }))

it('does not undo what a rollback has taken back', () =>
  story({}, async (world) => {
    const { batchId, ids, before, who } = await migrated(world, 1, (job) =>
      job.functionName === 'notify' ? { fail: 'no' } : answering({ 'switch-back': inverse })(job),
    )
    assert.equal(calls(world).at(-1), 'notify user1')
    await retryMembers(world.engine, who)
    world.answer = answering()
    await world.settle()
    assert.deepEqual(await ledgerOf(world, batchId, ids[0]!), [
      'cutover/notify irreversible',
      'cutover/notify unknown',
      'cutover/switch to_undo',
      'prepare/create to_undo',
    ])
    assert.ok(world.jobs.length > before)
  }))

it('takes back what init did once the members are done', () =>
  story({}, async (world) => {
    world.answer = answering({ prepare: inverse })
    await world.publish(
      runbook(
        'wave',
        { 'go T-0': [step('create')] },
        'init: [{ name: prepare, worker_id: w1, function: prepare, params: { Upn: batch } }]',
      ),
    )
    const batchId = await world.batch('wave', 1, { startsInMin: 0 })
    await world.settle()
    await world.pass(60)
    const before = world.jobs.length
    const who = { ...order(batchId), memberIds: [await memberId(world, batchId, 1)] }
    await undoMembers(world.engine, who)
    await assert.rejects(undoInitOf(world.engine, order(batchId)), /still undoes/)
    await world.settle()
    await undoInitOf(world.engine, order(batchId))
    await world.settle()
    assert.deepEqual(calls(world, before), ['un-create user1', 'un-prepare batch'])
    await assert.rejects(undoInitOf(world.engine, order(batchId)), /nothing left to undo/)
  }))

it('takes back what an attempt created before it failed, once the next attempt has found it', () =>
  story({}, async (world) => {
    const created = new Set<string>()
    world.answer = (job) => {
      if (job.functionName !== 'create') return answering()(job)
      const isThere = created.has('it') || !created.add('it')
      return isThere
        ? { ok: true, effect: { changed: false, ifEarlier: inverse(job) } }
        : { fail: 'made it, but it does not show yet' }
    }
    await world.publish(
      runbook('wave', { 'go T-0': [step('create', 'retry: { max_retries: 1, interval: 60s }')] }),
    )
    const batchId = await world.batch('wave', 2, { startsInMin: 0 })
    await world.settle()
    await world.pass(600)
    const states = async (number: number) =>
      ledgerOf(world, batchId, await memberId(world, batchId, number))
    // The first to try made it. The other only found it, and has nothing to undo.
    assert.deepEqual([await states(1), await states(2)].flat(), ['go/create to_undo'])
  }))

/** Both waves are prepared; the first person of the first one is in the second now. */
async function oneHasMoved(world: World) {
  world.answer = answering()
  await world.publish(YAML)
  const first = await world.batch('wave', 2, { startsInMin: 60 })
  const second = await world.batch('wave', people(3).slice(2), { startsInMin: 120 })
  await world.settle()
  const left = await memberId(world, first, 1)
  const stayed = await memberId(world, first, 2)
  await moveMember(world.engine, { ...order(first), memberId: left, toBatchId: second })
  await world.settle()
  return { first, second, left, stayed, there: await memberId(world, second, 1) }
}

it('of a wave leaves alone who has moved to another one, and the other wave takes them through', () =>
  story({}, async (world) => {
    const { first, second, left, stayed, there } = await oneHasMoved(world)
    const before = world.jobs.length
    await holdBatch(world.engine, order(first))
    const all = { ...order(first), memberIds: [left, stayed], isWholeBatch: true }
    const { done, refused } = await undoMembers(world.engine, all)
    assert.deepEqual(done, [stayed])
    assert.deepEqual(
      refused.map(({ reason }) => reason),
      [`member ${left} is in batch ${second} now, and so is what was changed: undo it there`],
    )
    await resumeBatch(world.engine, order(first))
    await world.settle()
    assert.deepEqual(calls(world, before), ['un-create user2'])
    await world.pass(3600)
    await world.pass(3600)
    assert.deepEqual(await stepsOf(world, there), [
      'create succeeded',
      'group succeeded',
      'check succeeded',
      'switch succeeded',
      'notify succeeded',
    ])
    assert.equal(calls(world).filter((call) => call === 'un-create user1').length, 0)
  }))

it('takes back in the wave where a person is now what an earlier wave did for them', () =>
  story({}, async (world) => {
    const { first, second, left, there } = await oneHasMoved(world)
    const before = world.jobs.length
    const ledger = await readMemberLedger(world.engine, second, there)
    assert.deepEqual(
      ledger.map(({ step: name, state, batchId }) => [name, state, batchId]),
      [['prepare/create', 'to_undo', first]],
    )
    const who = { ...order(second), memberIds: [there] }
    assert.deepEqual((await undoMembers(world.engine, who)).done, [there])
    await world.settle()
    assert.deepEqual(calls(world, before), ['un-create user1'])
    assert.deepEqual(await stepsOf(world, there), [
      'create undone',
      'group succeeded',
      'check succeeded',
      'undo create succeeded',
    ])
    assert.deepEqual(await stepsOf(world, left), [
      'create succeeded',
      'group succeeded',
      'check succeeded',
    ])
    const again = await undoMembers(world.engine, who)
    assert.match(again.refused[0]!.reason, /nothing left to undo/)
    // The same ledger, looked at from the wave that the person has left.
    assert.deepEqual(await ledgerOf(world, first, left), ['prepare/create undone'])
    await retryMembers(world.engine, { ...who, fromStepName: 'create' })
    await world.pass(3600)
    const ofPerson = (call: string) => call.endsWith('user1')
    assert.deepEqual(calls(world, before + 1).filter(ofPerson), [
      'create user1',
      'group user1',
      'check user1',
    ])
    const after = world.jobs.length
    await undoMembers(world.engine, who)
    await world.settle()
    assert.deepEqual(calls(world, after), ['un-create user1'])
  }))

it('repeats where a person is now the undo that failed in the wave before', () =>
  story({}, async (world) => {
    world.answer = answering()
    await world.publish(YAML)
    const first = await world.batch('wave', 1, { startsInMin: 60 })
    const second = await world.batch('wave', people(2).slice(1), { startsInMin: 120 })
    await world.settle()
    const left = await memberId(world, first, 1)
    world.answer = ({ functionName }) =>
      functionName.startsWith('un-')
        ? { fail: 'busy', effect: 'none', isFinal: true }
        : answering()({ functionName } as Job)
    await undoMembers(world.engine, { ...order(first), memberIds: [left] })
    await world.settle()
    world.answer = (job) =>
      job.functionName === 'create' ? { ok: true, effect: NOTHING } : answering()(job)
    await retryMembers(world.engine, { ...order(first), memberIds: [left], fromStepName: 'create' })
    await world.settle()
    await moveMember(world.engine, { ...order(first), memberId: left, toBatchId: second })
    await world.settle()
    const before = world.jobs.length
    const there = await memberId(world, second, 1)
    assert.deepEqual(
      (await undoMembers(world.engine, { ...order(second), memberIds: [there] })).refused,
      [],
    )
    await world.settle()
    assert.deepEqual(calls(world, before), ['un-create user1'])
    assert.deepEqual(await ledgerOf(world, second, there), ['prepare/create undone'])
  }))

it('does not begin in a wave that somebody left for another one without moving', () =>
  story({}, async (world) => {
    world.answer = answering()
    await world.publish(YAML)
    const first = await world.batch('wave', 2, { startsInMin: 60 })
    await world.settle()
    const left = await memberId(world, first, 1)
    await removeMembers(world.engine, { ...order(first), memberIds: [left] })
    const before = world.jobs.length
    // Found as it was wanted: nothing of it is a change of the second wave.
    world.answer = answering({ create: () => NOTHING })
    const second = await world.batch('wave', people(1), { startsInMin: 30 })
    await world.settle()
    const { refused } = await undoMembers(world.engine, { ...order(first), memberIds: [left] })
    assert.match(refused[0]!.reason, new RegExp(`is in batch ${second} now`))
    const there = await memberId(world, second, 1)
    assert.deepEqual(await ledgerOf(world, second, there), ['prepare/create to_undo'])
    assert.equal(calls(world, before).includes('un-create user1'), false)
    await removeMembers(world.engine, { ...order(second), memberIds: [there] })
    await readmitMembers(world.engine, { ...order(first), memberIds: [left], event: 'readd' })
    await undoMembers(world.engine, { ...order(first), memberIds: [left] })
    await world.settle()
    assert.equal(calls(world, before).at(-1), 'un-create user1')
  }))

for (const way of ['undo', 'rollback'] as const)
  it(`leaves order after a redo that never began: ${way}`, () =>
    story({}, async (world) => {
      world.answer = (job) => (job.functionName === 'poll' ? { ok: true } : answering()(job))
      const back = 'on_failure: back'
      await world.publish(
        runbook(
          'wave',
          {
            'go T-0': [step('create', back), step('group'), step('switch', 'on_failure: back-too')],
            'later T+1h': [step('notify')],
          },
          `rollbacks: { back: [${step('uncreate')}], back-too: [${step('unswitch')}] }`,
        ),
      )
      const batchId = await world.batch('wave', 1, { startsInMin: 0 })
      await world.settle()
      const who = { ...order(batchId), memberIds: [await memberId(world, batchId, 1)] }
      await holdBatch(world.engine, order(batchId))
      await redoMembers(world.engine, { ...who, fromStepName: 'create' })
      const { refused } =
        way === 'undo'
          ? await undoMembers(world.engine, who)
          : await rollBackMembers(world.engine, who)
      assert.deepEqual(refused, [])
      assert.deepEqual((await stepsOf(world, who.memberIds[0]!)).slice(0, 3), [
        way === 'undo' ? 'create cancelled' : 'create failed',
        'group cancelled',
        way === 'undo' ? 'switch cancelled' : 'switch failed',
      ])
      assert.deepEqual(await findBroken(world.db, world.clock.now(), null, 0), [])
      await resumeBatch(world.engine, order(batchId))
      await world.settle()
      assert.deepEqual(
        calls(world, 3),
        way === 'undo'
          ? ['un-switch user1', 'un-create user1']
          : ['unswitch user1', 'uncreate user1'],
      )
    }))
