// Immediate runbooks: every new key starts at once, and none twice without a reason.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { removeMembers } from '../../src/engine/orders/member-actions.ts'
import { tickDueRunbooks } from '../../src/scheduler/scheduler.ts'
import { calls, memberId, order, runbook, step } from './looking.ts'
import {
  batchesOf,
  issuesOf,
  type Programme,
  type Row,
  range,
  startProgramme,
  wave,
} from './programme.ts'
import { story } from './world.ts'

const YAML = runbook('wave', { 'now T-0': [step('create')] }).replace(
  'batch_time_column: When',
  'batch_time: immediate',
)

const immediate = (tell: (world: Programme) => Promise<void>): Promise<void> =>
  story({}, async (base) => tell(await startProgramme(base, YAML)))

const people = (...numbers: number[]): Row[] =>
  wave(0, ...numbers).map(({ UserPrincipalName }) => ({ UserPrincipalName: UserPrincipalName! }))

const changed = (rows: readonly Row[], number: number): Row[] =>
  rows.map((one) =>
    one.UserPrincipalName === `user${number}@contoso.example` ? { ...one, Note: 'new' } : one,
  )

it('starts everybody once, in the batch of these five minutes', () =>
  immediate(async (world) => {
    await world.tick(people(1, 2))
    assert.equal((await batchesOf(world)).length, 1)
    await world.tick()
    await world.tick(people(1, 2, 3))
    assert.deepEqual(calls(world), ['create user1', 'create user2', 'create user3'])
    assert.equal((await batchesOf(world)).length, 2)
  }))

it('a second tick within five minutes joins the batch and removes nobody', () =>
  immediate(async (world) => {
    world.answer = () => 'silent'
    await world.tick(people(1, 2))
    await world.db.query(`update source_states set due_at = '2026-01-01'`)
    world.rows = people(1, 2, 3)
    await world.pass(1)
    await tickDueRunbooks(world.options, new AbortController().signal)
    assert.equal((await batchesOf(world)).length, 1)
    assert.match((await batchesOf(world))[0]!, /user1, user2, user3$/)
    await world.settle()
    for (const job of world.jobs) await world.result(job, { ok: true })
    await world.settle()
  }))

it('a new version restarts nobody, neither unfinished nor done members', () =>
  immediate(async (world) => {
    world.answer = ({ parameters }) =>
      String(parameters.Upn).startsWith('user2') ? 'silent' : { ok: true }
    await world.tick(people(1))
    await world.tick(people(1, 2))
    assert.deepEqual(calls(world), ['create user1', 'create user2'])
    await world.publish(YAML.replace('phases:', 'description: again\nphases:'))
    await world.tick()
    await world.tick()
    assert.equal(calls(world).length, 2)
    await world.result(world.jobs[1]!, { ok: true })
    await world.settle()
  }))

it('restarts a member after a changed row or a return', () =>
  immediate(async (world) => {
    const all = people(...range(1, 10))
    await world.tick(all)
    assert.equal(calls(world).length, 10)
    await world.tick(changed(all, 1))
    assert.deepEqual(calls(world, 10), ['create user1'])
    await world.tick(changed(all, 1).slice(0, 9))
    await world.tick(changed(all, 1))
    assert.equal(calls(world).length, 11)
    await world.tick(changed(all, 1).slice(0, 9))
    await world.tick()
    await world.tick(changed(all, 1))
    assert.deepEqual(calls(world, 11), ['create user10'])
    await world.tick()
    assert.equal(calls(world).length, 12)
  }))

it('an empty or halved result restarts nobody', () =>
  immediate(async (world) => {
    const all = people(...range(1, 10))
    await world.tick(all)
    for (const rows of [[], all.slice(0, 5)]) {
      await world.tick(rows)
      await world.tick()
      assert.deepEqual(await issuesOf(world), ['many_absent'])
      await world.tick(all)
      await world.tick()
    }
    assert.equal(calls(world).length, 10)
  }))

it('restarts a member that a person removed only when a person says so', () =>
  immediate(async (world) => {
    world.answer = ({ parameters }) =>
      String(parameters.Upn).startsWith('user2') ? 'silent' : { ok: true }
    await world.tick(people(1, 2))
    await removeMembers(world.engine, { ...order(1), memberIds: [await memberId(world, 1, 1)] })
    await world.result(world.jobs.at(-1)!, { ok: true })
    await world.settle()
    await world.tick(changed(people(1, 2), 1))
    assert.equal(calls(world).length, 2)
  }))

it('refreshes data by key, and leaves failed members failed', () =>
  immediate(async (world) => {
    world.answer = ({ parameters }) =>
      String(parameters.Upn).startsWith('user2') ? 'silent' : { fail: 'no' }
    await world.tick(people(1, 2))
    const { counts } = (await world.tick(changed(people(1, 2), 1)))!
    assert.deepEqual(counts, { refreshed: 1 })
    assert.match((await batchesOf(world))[0]!, /user1 failed, user2$/)
    await world.result(world.jobs.at(-1)!, { ok: true })
    await world.settle()
  }))
