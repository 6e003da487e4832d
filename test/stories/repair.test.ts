// Repairs: a person retries, redoes or passes what ended, and the counters add up afterwards.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { refreshMembers } from '../../src/db/sources/membership.ts'
import {
  acceptLate,
  markStepDone,
  redoMembers,
  removeMembers,
  retryMembers,
  setMemberVariable,
  skip,
} from '../../src/engine/orders/member-actions.ts'
import {
  batchOf,
  because,
  calls,
  jobIds,
  memberId,
  order,
  phasesOf,
  runbook,
  step,
  stepId,
  stepsOf,
} from './looking.ts'
import { type Job, people, story, type World } from './world.ts'

const create = step('create', 'output_params: { ThingId: id }')
const withId = (name: string, more = '') =>
  step(name, more).replace('"{{UserPrincipalName}}"', '"{{UserPrincipalName}}", Id: "{{ThingId}}"')
const phases = {
  'prepare T-1h': [create, withId('tag')],
  'cutover T-0': [withId('switch')],
}
const YAML = runbook('wave', phases)

/** Runs the wave to its end; members whose function is named fail. */
async function ended(world: World, failing: string, yaml = YAML, members = 2) {
  const isFailing = ({ functionName, parameters }: Job) =>
    functionName === failing && parameters.Upn === 'user1@contoso.example'
  world.answer = (job) =>
    isFailing(job) ? { fail: 'no licence' } : { ok: { id: `T-${job.batchId}` } }
  await world.publish(yaml)
  const batchId = await world.batch('wave', members, { startsInMin: 60 })
  await world.settle()
  await world.pass(3600)
  world.answer = () => ({ ok: { id: 'T-new' } })
  return { batchId, member: await memberId(world, batchId, 1) }
}

const stepOrder = async (world: World, member: number, name: string) => ({
  stepId: await stepId(world, member, name),
  actor: 'operator',
  reason: 'done by hand',
})

it('retry continues from the failed step, through every phase that has begun', () =>
  story({}, async (world) => {
    const { batchId, member } = await ended(world, 'tag')
    assert.deepEqual(await phasesOf(world, batchId), [
      'prepare completed 2: 1 passed, 1 failed',
      'cutover completed 1: 1 passed',
    ])
    await retryMembers(world.engine, { ...order(batchId), memberIds: [member] })
    assert.deepEqual(await phasesOf(world, batchId), [
      'prepare dispatched 2: 1 passed',
      'cutover dispatched 2: 1 passed',
    ])
    const before = world.jobs.length
    await world.settle()
    assert.deepEqual(calls(world, before), ['tag user1', 'switch user1'])
    assert.equal(jobIds(world, before)[0], 'step-2-retry-1')
    assert.deepEqual(await phasesOf(world, batchId), [
      'prepare completed 2: 2 passed',
      'cutover completed 2: 2 passed',
    ])
    const { status, active, failed } = await batchOf(world, batchId)
    assert.deepEqual([status, active, failed], ['completed', 2, 0])
    assert.deepEqual(await because(world, 'reopen'), [
      'it has 1 open steps again',
      'it has 1 open steps again',
      'it has open work again',
    ])
  }))

it('retry has all its retries again', () =>
  story({}, async (world) => {
    const retry = 'retry: { max_retries: 1, interval: 60s }'
    world.answer = () => ({ fail: 'busy' })
    await world.publish(runbook('wave', { 'prepare T-1h': [step('create', retry)] }))
    const batchId = await world.batch('wave', 1, { startsInMin: 60 })
    await world.settle()
    await world.pass(60)
    await retryMembers(world.engine, {
      ...order(batchId),
      memberIds: [await memberId(world, batchId, 1)],
    })
    await world.settle()
    await world.pass(60)
    assert.deepEqual(jobIds(world), [
      'step-1',
      'step-1-retry-1',
      'step-1-retry-2',
      'step-1-retry-3',
    ])
    assert.equal((await batchOf(world, batchId)).status, 'failed')
  }))

it('redo runs a step and all later ones again in a finished batch, and every counter adds up', () =>
  story({}, async (world) => {
    const { batchId, member } = await ended(world, 'nothing')
    assert.equal((await batchOf(world, batchId)).status, 'completed')
    const { done } = await redoMembers(world.engine, {
      ...order(batchId),
      memberIds: [member],
      fromStepName: 'tag',
    })
    assert.deepEqual(done, [member])
    assert.equal((await batchOf(world, batchId)).status, 'active')
    const before = world.jobs.length
    await world.settle()
    assert.deepEqual(calls(world, before), ['tag user1', 'switch user1'])
    assert.deepEqual(await phasesOf(world, batchId), [
      'prepare completed 2: 2 passed',
      'cutover completed 2: 2 passed',
    ])
    const { status, active } = await batchOf(world, batchId)
    assert.deepEqual([status, active], ['completed', 2])
    const { refused } = await redoMembers(world.engine, {
      ...order(batchId),
      memberIds: [member],
      fromStepName: 'nowhere',
    })
    assert.equal(refused[0]?.reason, `member ${member} has no step named nowhere`)
  }))

it('skip passes the step; a failed phase completes when that was its last one', () =>
  story({}, async (world) => {
    const { batchId, member } = await ended(world, 'tag', YAML, 1)
    assert.deepEqual(await phasesOf(world, batchId), [
      'prepare failed 1: 1 failed',
      'cutover skipped 0',
    ])
    assert.equal((await batchOf(world, batchId)).status, 'failed')
    await skip(world.engine, await stepOrder(world, member, 'tag'))
    await world.settle()
    assert.deepEqual(await stepsOf(world, member), [
      'create succeeded',
      'tag skipped',
      'switch succeeded',
    ])
    assert.deepEqual(await phasesOf(world, batchId), [
      'prepare completed 1: 1 passed',
      'cutover completed 1: 1 passed',
    ])
    assert.equal((await batchOf(world, batchId)).status, 'completed')
  }))

it('skipping the last step of a failed batch completes it', () =>
  story({}, async (world) => {
    const yaml = runbook('wave', { 'prepare T-1h': [step('create')] })
    const { batchId, member } = await ended(world, 'create', yaml, 1)
    assert.equal((await batchOf(world, batchId)).status, 'failed')
    await skip(world.engine, await stepOrder(world, member, 'create'))
    assert.deepEqual(await phasesOf(world, batchId), ['prepare completed 1: 1 passed'])
    const { status, active, failed } = await batchOf(world, batchId)
    assert.deepEqual([status, active, failed], ['completed', 1, 0])
    assert.deepEqual(await because(world, 'reopen'), [
      'a member passed it after all',
      'a phase did not fail after all',
    ])
  }))

it("mark done stores a person's outputs; later steps use them", () =>
  story({}, async (world) => {
    const { member } = await ended(world, 'create')
    await assert.rejects(markStepDone(world.engine, await stepOrder(world, member, 'tag')), {
      code: 'REFUSED',
      message: /step tag is not the next step of member/,
    })
    await markStepDone(world.engine, {
      ...(await stepOrder(world, member, 'create')),
      outputs: { ThingId: 'T-hand' },
    })
    const before = world.jobs.length
    await world.settle()
    assert.deepEqual(
      world.jobs.slice(before).map(({ parameters }) => parameters.Id),
      ['T-hand', 'T-hand'],
    )
    assert.deepEqual(await stepsOf(world, member), [
      'create succeeded',
      'tag succeeded',
      'switch succeeded',
    ])
  }))

/** As a tick does when the source has new data. */
async function correctData(world: World, batchId: number, memberId: number, change: object) {
  const [row] = await world.db.query<{ key: string; data: object }>(
    'select member_key as key, data_json as data from batch_members where id = $1',
    [memberId],
  )
  const { key, data } = row!
  const fresh = { memberId, key, data: JSON.stringify({ ...data, ...change }), hash: 'corrected' }
  await world.db.transaction((tx) => refreshMembers(tx, batchId, [fresh]))
}

it('a retry uses variables set by a person and data corrected by the source', () =>
  story({}, async (world) => {
    const { batchId, member } = await ended(world, 'tag')
    const set = { ...order(batchId), memberIds: [member], name: 'ThingId', value: 'T-set' }
    await setMemberVariable(world.engine, set)
    await correctData(world, batchId, member, { UserPrincipalName: 'user1@fabrikam.example' })
    await retryMembers(world.engine, { ...order(batchId), memberIds: [member] })
    const before = world.jobs.length
    await world.settle()
    assert.deepEqual(world.jobs[before]?.parameters, { Upn: 'user1@fabrikam.example', Id: 'T-set' })
    assert.deepEqual(await because(world, 'variable_set'), ['ThingId was set: as agreed'])
  }))

it('accepts a late success of a failed step as done, with its outputs', () =>
  story({}, async (world) => {
    world.answer = ({ functionName }) =>
      functionName === 'create' ? 'silent' : { ok: { id: 'unused' } }
    await world.publish(YAML)
    const batchId = await world.batch('wave', 1, { startsInMin: 60 })
    await world.settle()
    const member = await memberId(world, batchId, 1)
    await world.pass(3720)
    assert.deepEqual(await stepsOf(world, member), [
      'create failed',
      'tag cancelled',
      'switch cancelled',
    ])
    const ordered = await stepOrder(world, member, 'create')
    await assert.rejects(acceptLate(world.engine, ordered), /has no late result to accept/)
    await world.result(world.jobs[0]!, { ok: { id: 'T-late' } })
    await world.settle()
    await acceptLate(world.engine, ordered)
    await world.settle()
    assert.deepEqual(
      world.jobs.slice(1).map(({ functionName, parameters }) => [functionName, parameters.Id]),
      [
        ['tag', 'T-late'],
        ['switch', 'T-late'],
      ],
    )
    assert.equal((await batchOf(world, batchId)).status, 'completed')
  }))

it('retry uses a newly published version: definitions by name, new steps in their place', () =>
  story({}, async (world) => {
    const { batchId, member } = await ended(world, 'tag')
    const tag = withId('tag').replace('function: tag', 'function: Tag-Thing')
    await world.publish(
      runbook('wave', {
        'prepare T-1h': [create, step('license'), tag, step('check')],
        'cutover T-0': [withId('switch')],
      }),
    )
    await retryMembers(world.engine, { ...order(batchId), memberIds: [member] })
    const before = world.jobs.length
    await world.settle()
    assert.deepEqual(calls(world, before), [
      'license user1',
      'Tag-Thing user1',
      'check user1',
      'switch user1',
    ])
    const other = await memberId(world, batchId, 2)
    assert.deepEqual(await stepsOf(world, other), [
      'create succeeded',
      'tag succeeded',
      'switch succeeded',
    ])
    assert.equal((await batchOf(world, batchId)).status, 'completed')
  }))

it('a rolled-back step needs the step to start from, and nothing runs while the rollback is open', () =>
  story({}, async (world) => {
    const yaml = runbook(
      'wave',
      { 'prepare T-1h': [create, withId('tag', 'on_failure: undo'), step('check')] },
      `rollbacks: { undo: [${step('untag')}] }`,
    )
    world.answer = ({ functionName }) => {
      if (functionName === 'tag') return { fail: 'busy' }
      return functionName === 'untag' ? 'silent' : { ok: { id: 'T-1' } }
    }
    await world.publish(yaml)
    const batchId = await world.batch('wave', 1, { startsInMin: 60 })
    await world.settle()
    const member = await memberId(world, batchId, 1)
    const again = { ...order(batchId), memberIds: [member] }
    const open = `member ${member} has an unfinished rollback, cleanup or undo`
    assert.equal((await retryMembers(world.engine, again)).refused[0]?.reason, open)
    for (const repair of [skip, markStepDone]) {
      const tag = await stepOrder(world, member, 'tag')
      await assert.rejects(repair(world.engine, tag), {
        code: 'REFUSED',
        message: new RegExp(open),
      })
    }
    await world.result(world.jobs[2]!, { ok: true })
    await world.settle()
    world.answer = () => ({ ok: { id: 'T-2' } })
    await retryMembers(world.engine, { ...again, fromStepName: 'create' })
    await world.settle()
    assert.deepEqual(calls(world, 3), ['create user1', 'tag user1', 'check user1'])
    assert.deepEqual(jobIds(world, 3).slice(0, 2), ['step-1-retry-1', 'step-2-retry-1'])
    assert.equal((await batchOf(world, batchId)).status, 'completed')
  }))

it('refuses members who have not failed, were removed or are in another batch, and steps without a member', () =>
  story({}, async (world) => {
    const { batchId, member } = await ended(world, 'tag')
    const other = await memberId(world, batchId, 2)
    const outcome = await retryMembers(world.engine, { ...order(batchId), memberIds: [other] })
    assert.deepEqual(outcome.refused, [
      { memberId: other, reason: `member ${other} is active, not failed` },
    ])
    await assert.rejects(
      retryMembers(world.engine, { ...order(batchId), memberIds: [member, 4711] }),
      { code: 'MEMBER_NOT_FOUND' },
    )
    await assert.rejects(skip(world.engine, { stepId: 4711, actor: 'operator', reason: 'x' }), {
      code: 'STEP_NOT_FOUND',
    })
    const again = await world.batch('wave', people(1), { startsInMin: 600 })
    const elsewhere = await retryMembers(world.engine, { ...order(batchId), memberIds: [member] })
    assert.deepEqual(elsewhere.refused, [
      { memberId: member, reason: `member ${member} is active in batch ${again}` },
    ])
    await removeMembers(world.engine, { ...order(batchId), memberIds: [member] })
    await assert.rejects(skip(world.engine, await stepOrder(world, member, 'tag')), {
      code: 'REFUSED',
    })
    await world.settle()
    assert.deepEqual(await stepsOf(world, member), ['create succeeded', 'tag failed'])
    assert.equal((await batchOf(world, batchId)).status, 'completed')
  }))

it('an old rollback does no harm when the step is retried in a version that names another', () =>
  story({}, async (world) => {
    const yaml = (undo: string) =>
      runbook(
        'wave',
        { 'prepare T-1h': [step('create', `on_failure: ${undo}`)] },
        `rollbacks: { ${undo}: [${step(`${undo}-it`)}] }`,
      )
    world.answer = ({ functionName }) =>
      functionName === 'create' ? { fail: 'busy' } : { ok: true }
    await world.publish(yaml('undo'))
    const batchId = await world.batch('wave', 1, { startsInMin: 60 })
    await world.settle()
    const again = {
      ...order(batchId),
      memberIds: [await memberId(world, batchId, 1)],
      fromStepName: 'create',
    }
    await world.publish(yaml('revert'))
    await retryMembers(world.engine, again)
    await world.settle()
    assert.deepEqual(calls(world), [
      'create user1',
      'undo-it user1',
      'create user1',
      'revert-it user1',
    ])
    world.answer = () => ({ ok: true })
    await retryMembers(world.engine, again)
    await world.settle()
    await world.result(world.jobs[1]!, { fail: 'again' })
    await world.settle()
    const { status, held } = await batchOf(world, batchId)
    assert.deepEqual([status, held], ['completed', null])
  }))

it('no action reactivates a member who is active in another batch', () =>
  story({}, async (world) => {
    const { batchId, member } = await ended(world, 'tag')
    const second = await world.batch('wave', people(1), { startsInMin: 600 })
    const refused = { code: 'REFUSED', message: new RegExp(`is active in batch ${second}`) }
    const asked = await stepOrder(world, member, 'tag')
    await assert.rejects(skip(world.engine, asked), refused)
    await assert.rejects(markStepDone(world.engine, asked), refused)
    const retried = await retryMembers(world.engine, { ...order(batchId), memberIds: [member] })
    assert.match(retried.refused[0]!.reason, refused.message)
  }))

it('an ended batch stays ended while another of its members is active elsewhere', () =>
  story({}, async (world) => {
    const { batchId } = await ended(world, 'nothing')
    const second = await world.batch('wave', people(1), { startsInMin: 600 })
    const other = { ...order(batchId), memberIds: [await memberId(world, batchId, 2)] }
    const redo = () => redoMembers(world.engine, { ...other, fromStepName: 'switch' })
    const named = `reopening it would bring back 1 member active elsewhere .user1@contoso.example in batch ${second}.`
    await assert.rejects(redo(), { code: 'REFUSED', message: new RegExp(named) })
    assert.equal((await batchOf(world, batchId)).status, 'completed')
    await removeMembers(world.engine, {
      ...order(second),
      memberIds: [await memberId(world, second, 1)],
    })
    await redo()
    await world.settle()
    assert.equal((await batchOf(world, batchId)).status, 'completed')
  }))
