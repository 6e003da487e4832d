// Leavers: missing in two good ticks, never many at once, and after the cut-over only with a person's approval.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { approveReviews, dismissReviews } from '../../src/engine/orders/reviews.ts'
import { calls, runbook, step } from './looking.ts'
import {
  at,
  batchesOf,
  heldOf,
  issuesOf,
  PHASES,
  type Programme,
  programme,
  range,
  reviewIds,
  row,
  startProgramme,
  wave,
} from './programme.ts'
import { story } from './world.ts'

const WHO = { actor: 'operator', reason: 'checked with HR' }

const removedOf = async (world: Programme): Promise<number> =>
  (await batchesOf(world)).join().split(' removed').length - 1

it('does not remove a key that is missing once', () =>
  programme(async (world) => {
    await world.tick(wave(40, ...range(1, 10)))
    for (let round = 0; round < 4; round++) {
      const { counts } = (await world.tick(wave(40, ...range(2, 10))))!
      assert.deepEqual(counts, { missing: 1 })
      await world.tick(wave(40, ...range(1, 10)))
    }
    assert.equal(await removedOf(world), 0)
    await world.tick(wave(40, ...range(2, 10)))
    const { counts } = (await world.tick())!
    assert.deepEqual(counts, { removed: 1 })
    assert.equal(await removedOf(world), 1)
  }))

it('a failed tick between two good ones neither counts nor resets the count', () =>
  programme(async (world) => {
    await world.tick(wave(40, ...range(1, 10)))
    await world.tick(wave(40, ...range(2, 10)))
    await world.tick(new Error('the source is down'))
    assert.equal(await removedOf(world), 0)
    await world.tick(wave(40, ...range(2, 10)))
    assert.equal(await removedOf(world), 1)
  }))

it('a leaver who comes back rejoins when the cleanup has ended, and starts over', () =>
  programme(async (world) => {
    await world.tick(wave(20, ...range(1, 10)))
    world.answer = ({ functionName }) => (functionName === 'revoke' ? 'silent' : { ok: true })
    await world.tick(wave(20, ...range(2, 10)))
    await world.tick()
    assert.deepEqual(calls(world, 10), ['revoke user1'])
    const { counts } = (await world.tick(wave(20, ...range(1, 10))))!
    assert.deepEqual(counts, { postponed: 1 })
    await world.result(world.jobs.at(-1)!, { ok: true })
    await world.settle()
    assert.deepEqual((await world.tick())!.counts, { rejoined: 1 })
    assert.deepEqual(calls(world, 11), ['create user1'])
    assert.equal(await removedOf(world), 0)
  }))

it('believes a source that loses 15 % per tick only once', () =>
  programme(async (world) => {
    await world.tick(wave(40, ...range(1, 100)))
    for (let left = 85; left > 20; left -= 15) await world.tick(wave(40, ...range(1, left)))
    await world.tick()
    assert.equal(await removedOf(world), 15)
    const held = await heldOf(world)
    assert.equal(held.length, 60)
    assert.equal(held[0], 'removal user26 many')
    assert.equal(calls(world).filter((call) => call.startsWith('revoke')).length, 15)
    await world.tick(wave(40, ...range(1, 100)))
    assert.deepEqual(await heldOf(world), [])
    await world.tick()
    assert.equal(await removedOf(world), 0)
  }))

it('approving names the reviews seen: when one has changed nothing is done', () =>
  programme(async (world) => {
    await world.tick(wave(40, ...range(1, 10)))
    await world.tick(wave(40, ...range(6, 10)))
    await world.tick()
    assert.equal((await heldOf(world)).length, 5)
    const seen = await reviewIds(world, 'removal')
    await world.tick(wave(40, 1, ...range(6, 10)))
    await assert.rejects(approveReviews(world.engine, { ...WHO, reviewIds: seen }), {
      code: 'REVIEW_CHANGED',
      message: /^1 of the 5 reviews/,
    })
    assert.equal(await removedOf(world), 0)
    const now = await reviewIds(world, 'removal')
    const { doneCount, refused } = await approveReviews(world.engine, { ...WHO, reviewIds: now })
    assert.deepEqual([doneCount, refused], [4, []])
    await world.settle()
    assert.equal(await removedOf(world), 4)
    assert.deepEqual(await heldOf(world), [])
    await world.tick()
    assert.deepEqual(await heldOf(world), [])
  }))

it('a dismissal lasts until the key is back', () =>
  programme(async (world) => {
    const all = wave(40, ...range(1, 10))
    await world.tick(all)
    await world.tick(wave(40, ...range(6, 10)))
    await world.tick()
    await dismissReviews(world.engine, { ...WHO, reviewIds: await reviewIds(world, 'removal') })
    for (const rows of [wave(40, ...range(6, 10)), [], wave(40, ...range(6, 10))]) {
      await world.tick(rows)
      await world.tick()
    }
    assert.equal((await heldOf(world)).filter((line) => line.startsWith('(')).length, 5)
    assert.equal(await removedOf(world), 0)
    await world.tick(all)
    assert.deepEqual(await heldOf(world), [])
    await world.tick(wave(40, ...range(2, 10)))
    await world.tick()
    assert.equal(await removedOf(world), 1)
  }))

it('after the start a removal waits for a person, and the member continues', () =>
  programme(async (world) => {
    world.answer = ({ functionName }) => (functionName === 'switch' ? 'silent' : { ok: true })
    await world.tick(wave(2, ...range(1, 10)))
    await world.tickUntil(2)
    await world.tick(wave(2, ...range(2, 10)))
    await world.tick()
    assert.deepEqual(await heldOf(world), ['removal user1 begun'])
    for (const job of world.jobs.filter(({ functionName }) => functionName === 'switch'))
      await world.result(job, { ok: true })
    await world.settle()
    assert.match((await batchesOf(world))[0]!, /^2h completed: user1, user2/)
    await world.tick()
    assert.deepEqual(await heldOf(world), [])
  }))

it('removals_after_start: run removes them without a person', () =>
  story({}, async (base) => {
    const yaml = runbook(
      'wave',
      PHASES,
      `safeguards: { removals_after_start: run }\non_member_removed: [${step('revoke')}]`,
    )
    const world = await startProgramme(base, yaml)
    world.answer = ({ functionName }) => (functionName === 'switch' ? 'silent' : { ok: true })
    await world.tick(wave(2, ...range(1, 10)))
    await world.tickUntil(2)
    await world.tick(wave(2, ...range(2, 10)))
    await world.tick()
    assert.equal(await removedOf(world), 1)
    assert.deepEqual(await heldOf(world), [])
  }))

it('an empty result removes nobody', () =>
  programme(async (world) => {
    await world.tick([...wave(30, 1, 2), ...wave(50, 3)])
    await world.tick([])
    await world.tick([])
    assert.deepEqual(await batchesOf(world), ['30h active: user1, user2', '50h active: user3'])
    assert.deepEqual(await issuesOf(world), ['group_gone', 'group_gone'])
    assert.equal(world.reports.at(-1)!.outcome, 'good')
    await world.tick([...wave(30, 1, 2), ...wave(50, 3)])
    assert.deepEqual(await issuesOf(world), [])
  }))

it('a key that changes its case is the same member', () =>
  programme(async (world) => {
    await world.tick(wave(40, 1, 2))
    const spelt = row(1, at(40), { UserPrincipalName: ' USER1@Contoso.example ' })
    const { counts } = (await world.tick([spelt, row(2, at(40))]))!
    assert.deepEqual(counts, { refreshed: 1, issues: 1 })
    assert.deepEqual(await batchesOf(world), ['40h active: USER1, user2'])
    assert.deepEqual((await world.tick())!.counts, {})
  }))

it('the same key twice: equal rows count once, different ones are unused and do no harm', () =>
  programme(async (world) => {
    await world.tick([...wave(40, 1, 2, 2), row(3, at(40)), row(3, at(60))])
    assert.deepEqual(await batchesOf(world), ['40h active: user1, user2'])
    assert.deepEqual(await issuesOf(world), ['duplicate user3'])
    await world.tick([row(1, at(40), { Name: 'x' }), row(1, at(40)), ...wave(40, 2)])
    await world.tick()
    assert.deepEqual(await batchesOf(world), ['40h active: user1, user2'])
    assert.deepEqual(await issuesOf(world), ['duplicate user1'])
  }))

it('reports rows without a key or a readable time, and keeps their members', () =>
  programme(async (world) => {
    await world.tick(wave(40, ...range(1, 4)))
    const rows = [...wave(40, 2, 3, 4), row(1, 'soon'), { UserPrincipalName: null, When: at(40) }]
    await world.tick(rows)
    await world.tick(rows)
    assert.deepEqual(await issuesOf(world), ['unusable user1', 'no_key'])
    assert.equal(await removedOf(world), 0)
  }))
