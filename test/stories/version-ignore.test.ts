// Versions published over unfinished batches, with the default: phases that have begun stay, pending ones are the new version's, missed
// ones are skipped and reported.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { cancelBatch, holdBatch, resumeBatch } from '../../src/engine/orders/batch-actions.ts'
import { addMembers } from '../../src/engine/orders/create.ts'
import { retryMembers } from '../../src/engine/orders/member-actions.ts'
import { deactivateRunbook } from '../../src/engine/orders/publish.ts'
import {
  batchOf,
  because,
  calls,
  memberId,
  order,
  rowsOf,
  runbook,
  step,
  stepsOf,
  versionOf,
} from './looking.ts'
import { people, story, type World } from './world.ts'

const ONE = runbook('wave', {
  'prepare T-1h': [step('create'), step('tag')],
  'cutover T-0': [step('switch')],
})
const TWO = runbook('Wave', {
  'Prepare T-1h': [step('create'), step('license')],
  'cutover T-0': [step('switch').replace('function: switch', 'function: Switch-2')],
  'after T+1h': [step('check')],
})

async function begin(world: World, yaml = ONE, startsInMin = 60, members = 2): Promise<number> {
  await world.publish(yaml)
  return world.batch('wave', members, { startsInMin })
}

it('between phases: ended phases stay, pending ones are replaced, joiners get the new definitions', () =>
  story({}, async (world) => {
    const batchId = await begin(world)
    await world.settle()
    await world.publish(TWO)
    await world.settle()
    assert.deepEqual(await rowsOf(world, batchId), [
      'prepare 1 completed',
      'cutover 1 superseded',
      'cutover 2 pending',
      'after 2 pending',
    ])
    assert.equal(await versionOf(world, batchId), 2)
    assert.deepEqual(await because(world, 'version_changed'), [
      'from version 1 to 2, published by author: Prepare carried over, cutover pending, after pending',
    ])
    await addMembers(world.engine, batchId, people(3).slice(2), 'source')
    await world.settle()
    assert.deepEqual(calls(world, 4), ['create user3', 'license user3'])
    await world.pass(2 * 3600)
    const cut = ['Switch-2 user1', 'Switch-2 user2', 'Switch-2 user3']
    assert.deepEqual(calls(world, 6), [...cut, 'check user1', 'check user2', 'check user3'])
    assert.equal((await batchOf(world, batchId)).status, 'completed')
  }))

it('while a phase runs: its members finish it as it was, retries included', () =>
  story({}, async (world) => {
    const retried = ONE.replaceAll(
      'name: tag,',
      'name: tag, retry: { max_retries: 1, interval: 60s },',
    )
    world.answer = ({ functionName }) => (functionName === 'tag' ? { fail: 'busy' } : { ok: true })
    const batchId = await begin(world, retried)
    await world.settle()
    await world.publish(TWO)
    await world.settle()
    assert.deepEqual(await rowsOf(world, batchId), [
      'prepare 1 dispatched',
      'cutover 1 superseded',
      'cutover 2 pending',
      'after 2 pending',
    ])
    world.answer = () => ({ ok: true })
    await world.pass(60)
    assert.deepEqual(calls(world, 4), ['tag user1', 'tag user2'])
    await world.pass(2 * 3600)
    assert.equal((await batchOf(world, batchId)).status, 'completed')
    const member = await memberId(world, batchId, 1)
    assert.deepEqual(await stepsOf(world, member), [
      'create succeeded',
      'tag succeeded',
      'switch succeeded',
      'check succeeded',
    ])
  }))

it('polls continue with the settings they began with, and time out by them', () =>
  story({}, async (world) => {
    const poll = (text: string, timeout: string) =>
      runbook('wave', {
        'prepare T-0': [step(text, `poll: { interval: 1m, timeout: ${timeout} }`)],
      })
    world.answer = () => ({ ok: { complete: false } })
    const batchId = await begin(world, poll('wait', '5m'), 0, 1)
    await world.settle()
    await world.publish(poll('wait', '30m').replace('function: wait', 'function: Wait-2'))
    for (let minute = 0; minute < 6; minute++) await world.pass(60)
    assert.deepEqual(new Set(calls(world)), new Set(['wait user1']))
    assert.equal(world.jobs.length, 5)
    const member = await memberId(world, batchId, 1)
    assert.deepEqual(await stepsOf(world, member), ['wait poll_timeout'])
    assert.equal((await batchOf(world, batchId)).status, 'failed')
  }))

it('a retried member gets the new definitions, by name', () =>
  story({}, async (world) => {
    world.answer = ({ functionName, parameters }) =>
      functionName === 'tag' && String(parameters.Upn).startsWith('user1')
        ? { fail: 'no' }
        : { ok: true }
    const batchId = await begin(world)
    await world.settle()
    const better = ONE.replace('function: tag', 'function: Tag-2')
    await world.publish(better)
    await world.settle()
    const member = await memberId(world, batchId, 1)
    await retryMembers(world.engine, { ...order(batchId), memberIds: [member] })
    await world.settle()
    assert.deepEqual(calls(world, 4), ['Tag-2 user1'])
  }))

it('missed on hold: skipped, reported in the answer and the timeline; the rest continues', () =>
  story({}, async (world) => {
    const batchId = await begin(world, ONE, 120)
    await world.settle()
    await holdBatch(world.engine, order(batchId))
    await world.pass(90 * 60)
    const { impact } = await world.publish(TWO)
    const dueAt = new Date(+world.clock.now() - 30 * 60_000)
    assert.deepEqual(impact.skipped, { total: 1, listed: [{ batchId, phase: 'Prepare', dueAt }] })
    await world.settle()
    assert.deepEqual(await rowsOf(world, batchId), [
      'prepare 1 superseded',
      'cutover 1 superseded',
      'Prepare 2 skipped overdue',
      'cutover 2 pending',
      'after 2 pending',
    ])
    assert.deepEqual(await because(world, 'create_overdue'), [
      `version 2: it was due at ${dueAt.toISOString()} and has not begun`,
    ])
    await resumeBatch(world.engine, order(batchId))
    await world.pass(3600)
    assert.deepEqual(calls(world), ['Switch-2 user1', 'Switch-2 user2'])
    await world.pass(3600)
    assert.equal((await batchOf(world, batchId)).status, 'completed')
  }))

it('published just before a phase is due, or in that second: it starts on time, as the answer said', () =>
  story({}, async (world) => {
    const soon = await begin(world, ONE, 60 + 1 / 60)
    await world.pass(0)
    assert.deepEqual(world.jobs, [])
    const { impact } = await world.publish(TWO)
    assert.equal(impact.skipped.total, 0)
    await world.pass(1)
    assert.deepEqual(await rowsOf(world, soon), [
      'prepare 1 superseded',
      'cutover 1 superseded',
      'Prepare 2 completed',
      'cutover 2 pending',
      'after 2 pending',
    ])
    await world.clock.advance(3600_000)
    assert.deepEqual((await world.publish(ONE)).impact.skipped.listed, [])
    await world.pass(5)
    assert.deepEqual(calls(world, 4), ['switch user1', 'switch user2'])
  }))

it('a dropped phase does not run, and the batch ends without it', () =>
  story({}, async (world) => {
    const batchId = await begin(world)
    await world.settle()
    await world.publish(runbook('wave', { 'prepare T-1h': [step('create')] }))
    await world.settle()
    assert.deepEqual(await rowsOf(world, batchId), ['prepare 1 completed', 'cutover 1 superseded'])
    assert.equal((await batchOf(world, batchId)).status, 'completed')
  }))

it('keeps ended phases; a retried member gets the new definitions and no new phases', () =>
  story({}, async (world) => {
    world.answer = ({ functionName, parameters }) =>
      functionName === 'switch' && String(parameters.Upn).startsWith('user1')
        ? { fail: 'no' }
        : { ok: true }
    const ended = await begin(world, ONE, 60)
    await world.pass(3600)
    const cancelled = await world.batch('wave', people(3).slice(2), { startsInMin: 600 })
    await cancelBatch(world.engine, order(cancelled))
    const { impact } = await world.publish(TWO, { overdueBehavior: 'rerun', rerunInit: true })
    assert.equal(impact.batches, 0)
    await world.pass(60)
    assert.equal(await versionOf(world, ended), 1)
    assert.equal(await versionOf(world, cancelled), 1)
    const member = await memberId(world, ended, 1)
    await retryMembers(world.engine, { ...order(ended), memberIds: [member] })
    await world.settle()
    assert.deepEqual(calls(world, 6), ['license user1', 'Switch-2 user1'])
    assert.deepEqual(await rowsOf(world, ended), ['prepare 1 completed', 'cutover 1 completed'])
    assert.equal((await batchOf(world, ended)).status, 'completed')
    assert.equal(await versionOf(world, ended), 2)
  }))

it('several versions between two transactions: upgrades straight to the active one, by its own decisions', () =>
  story({}, async (world) => {
    const batchId = await begin(world)
    await world.settle()
    const done = world.jobs.length
    await world.publish(TWO, { overdueBehavior: 'rerun', rerunInit: true })
    await world.publish(ONE)
    await world.settle()
    assert.deepEqual(await rowsOf(world, batchId), [
      'prepare 1 completed',
      'cutover 1 superseded',
      'cutover 3 pending',
    ])
    assert.deepEqual(await because(world, 'version_changed'), [
      'from version 1 to 3, published by author: prepare carried over, cutover pending',
    ])
    assert.equal(world.jobs.length, done)
  }))

it('a deactivated version: unfinished batches finish on the version they have', () =>
  story({}, async (world) => {
    const batchId = await begin(world)
    await world.settle()
    const wish = { name: 'WAVE', version: 1, actor: 'ada', reason: 'programme over' }
    assert.deepEqual(await deactivateRunbook(world.engine, wish), { isChanged: true })
    assert.deepEqual(await deactivateRunbook(world.engine, wish), { isChanged: false })
    await assert.rejects(world.batch('wave', 1, { startsInMin: 999 }), {
      code: 'RUNBOOK_NOT_FOUND',
    })
    await world.pass(3600)
    assert.equal((await batchOf(world, batchId)).status, 'completed')
    assert.equal(await versionOf(world, batchId), 1)
  }))
