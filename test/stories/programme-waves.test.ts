// Waves from the source: they appear, members join, leave and move, and ended waves stay as they are.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { createBatch } from '../../src/engine/orders/create.ts'
import { removeMembers } from '../../src/engine/orders/member-actions.ts'
import { approveReviews, dismissReviews } from '../../src/engine/orders/reviews.ts'
import { calls, memberId, order, stepsOf } from './looking.ts'
import {
  at,
  batchesOf,
  heldOf,
  issuesOf,
  programme,
  range,
  reviewIds,
  row,
  wave,
} from './programme.ts'
import { people } from './world.ts'

const WHO = { actor: 'operator', reason: 'as agreed' }

it('finds a wave, and every member passes its phases', () =>
  programme(async (world) => {
    await world.tick(wave(25, 1, 2))
    assert.deepEqual(await batchesOf(world), ['25h active: user1, user2'])
    await world.tickUntil(26)
    assert.deepEqual(calls(world), ['create user1', 'create user2', 'switch user1', 'switch user2'])
    assert.deepEqual(await batchesOf(world), ['25h completed: user1, user2'])
    const { outcome, counts } = world.reports[0]!
    assert.deepEqual([outcome, counts], ['good', { batches: 1, joined: 2 }])
    assert.deepEqual(world.reports.at(-1)!.counts, {})
  }))

it('runs three weeks, four waves, late joiners, a leaver, a mover and a rejoiner', () =>
  programme(async (world) => {
    const week = 7 * 24
    const [first, second, third, fourth] = [48, week, 2 * week, 3 * week]
    const plan = () => [
      ...wave(first, ...range(1, 5)),
      ...wave(second, ...range(6, 12)),
      ...wave(third, ...range(13, 20)),
      ...wave(fourth, 21),
    ]
    const without = (...numbers: number[]) =>
      plan().filter(
        (one) =>
          !numbers.some((number) => one.UserPrincipalName === `user${number}@contoso.example`),
      )
    await world.tick(plan())
    await world.tickUntil(30, 6)
    await world.tick([...plan(), ...wave(first, 30)])
    assert.deepEqual(calls(world).slice(5), ['create user30'])
    const joined = [...plan(), ...wave(first, 30)]
    await world.tickUntil(100, 12)
    assert.equal(
      (await batchesOf(world))[0],
      '48h completed: user1, user2, user3, user4, user5, user30',
    )
    world.rows = joined.filter((one) => one.UserPrincipalName !== 'user7@contoso.example')
    await world.tickUntil(110, 5)
    assert.equal(
      (await batchesOf(world))[1],
      '168h active: user6, user7 removed, user8, user9, user10, user11, user12',
    )
    world.rows = [...without(14), ...wave(first, 30), ...wave(second, 14)]
    await world.tickUntil(120, 5)
    assert.deepEqual((await batchesOf(world)).slice(1), [
      '168h active: user6, user7, user8, user9, user10, user11, user12, user14',
      '336h active: user13, user14 removed to 2, user15, user16, user17, user18, user19, user20',
      '504h active: user21',
    ])
    await world.tickUntil(3 * week + 24, 12)
    const switched = calls(world).filter((call) => call.startsWith('switch'))
    assert.equal(switched.length, 22)
    assert.equal(new Set(switched).size, 22)
    for (const line of await batchesOf(world)) assert.match(line, /^\d+h completed/)
    assert.deepEqual(await heldOf(world), [])
  }))

it('a latecomer to an ended batch waits for a person, who approves or dismisses', () =>
  programme(async (world) => {
    await world.tick(wave(2, 1, 2))
    await world.tickUntil(3)
    assert.deepEqual(await batchesOf(world), ['2h completed: user1, user2'])
    const before = world.jobs.length
    await world.tick(wave(2, 1, 2, 3, 4))
    assert.deepEqual(await heldOf(world), ['join user3 late', 'join user4 late'])
    assert.equal(world.jobs.length, before)
    const [third, fourth] = await reviewIds(world, 'join')
    await dismissReviews(world.engine, { ...WHO, reviewIds: [fourth!] })
    assert.deepEqual(await approveReviews(world.engine, { ...WHO, reviewIds: [third!] }), {
      kind: 'join',
      doneCount: 1,
      refused: [],
    })
    await world.settle()
    assert.deepEqual(calls(world, before), ['create user3', 'switch user3'])
    await world.tick()
    assert.deepEqual(await batchesOf(world), ['2h completed: user1, user2, user3'])
    assert.deepEqual(await heldOf(world), ['(join user4 late)'])
    await assert.rejects(approveReviews(world.engine, { ...WHO, reviewIds: [third!] }), {
      code: 'REVIEW_CHANGED',
    })
    await world.tick(wave(2, 1, 2, 3))
    assert.deepEqual(await heldOf(world), [])
  }))

it('a leaver who is back after the wave has ended is a latecomer; once approved, it starts over', () =>
  programme(async (world) => {
    await world.tick(wave(20, 1, 2))
    await world.tick(wave(20, 2))
    await world.tick()
    assert.deepEqual(calls(world), ['create user1', 'create user2', 'revoke user1'])
    await world.tickUntil(21, 4)
    await world.tick([row(1, at(20), { Licence: 'E5' }), ...wave(20, 2)])
    assert.deepEqual(await batchesOf(world), ['20h completed: user1 removed, user2'])
    assert.deepEqual(await heldOf(world), ['join user1 late'])
    const heldNow = await reviewIds(world, 'join')
    assert.deepEqual(await approveReviews(world.engine, { ...WHO, reviewIds: heldNow }), {
      kind: 'join',
      doneCount: 1,
      refused: [],
    })
    assert.deepEqual((await world.tick())!.counts, {})
    assert.deepEqual(calls(world).slice(-2), ['create user1', 'switch user1'])
    assert.deepEqual(await batchesOf(world), ['20h completed: user1, user2'])
    assert.deepEqual(await heldOf(world), [])
  }))

it('a query that drops migrated members removes nobody', () =>
  programme(async (world) => {
    await world.tick(wave(2, ...range(1, 6)))
    await world.tickUntil(1)
    // Each disappears once the source sees it migrated, one by one, then the whole wave.
    world.answer = ({ functionName }) => (functionName === 'switch' ? 'silent' : { ok: true })
    await world.tickUntil(2)
    for (const job of world.jobs
      .filter(({ functionName }) => functionName === 'switch')
      .slice(0, 5))
      await world.result(job, { ok: true })
    await world.settle()
    for (const left of [3, 5, 6]) {
      await world.tick(wave(2, ...range(left, 6)))
      await world.tick()
    }
    assert.deepEqual(await batchesOf(world), [
      '2h active: user1, user2, user3, user4, user5, user6',
    ])
    assert.equal((await heldOf(world)).length, 5)
    await world.tick([])
    await world.tick()
    assert.deepEqual(await heldOf(world), [])
    assert.deepEqual(await issuesOf(world), ['group_gone'])
    assert.equal(calls(world).filter((call) => call.startsWith('revoke')).length, 0)
    await world.result(world.jobs.at(-1)!, { ok: true })
    await world.tick()
    assert.match((await batchesOf(world))[0]!, /^2h completed: user1, user2/)
  }))

it('a member done in one batch and listed in another waits for a person', () =>
  programme(async (world) => {
    await world.tick(wave(2, 1, 2))
    await world.tickUntil(3)
    // Somebody corrects the date of a wave that ended long ago.
    await world.tick(wave(50, 1, 2, 3))
    assert.deepEqual((await batchesOf(world)).slice(1), ['50h active: user3'])
    assert.deepEqual(await heldOf(world), ['join user1 done', 'join user2 done'])
    await approveReviews(world.engine, {
      ...WHO,
      reviewIds: (await reviewIds(world, 'join')).slice(0, 1),
    })
    await world.tick()
    assert.deepEqual((await batchesOf(world)).slice(1), ['50h active: user1, user3'])
    assert.deepEqual(await heldOf(world), ['join user2 done'])
  }))

it('a member who failed in an ended batch joins the next one', () =>
  programme(async (world) => {
    world.answer = ({ parameters }) =>
      String(parameters.Upn).startsWith('user1') ? { fail: 'no licence' } : { ok: true }
    await world.tick(wave(2, 1, 2))
    await world.tickUntil(3)
    assert.deepEqual(await batchesOf(world), ['2h completed: user1 failed, user2'])
    world.answer = () => ({ ok: true })
    await world.tick([...wave(2, 2), ...wave(5, 1)])
    assert.deepEqual(await batchesOf(world), [
      '2h completed: user1 failed, user2',
      '5h active: user1',
    ])
    await world.tickUntil(6)
    assert.equal((await batchesOf(world))[1], '5h completed: user1')
  }))

it('a failed member stays failed, and a retry uses its corrected data', () =>
  programme(async (world) => {
    world.answer = () => ({ fail: 'no licence' })
    await world.tick([row(1, at(30), { Licence: 'none' }), row(2, at(30))])
    await world.tickUntil(7)
    assert.deepEqual(await batchesOf(world), ['30h active: user1 failed, user2 failed'])
    const { counts } = (await world.tick([row(1, at(30), { Licence: 'E5' }), row(2, at(30))]))!
    assert.equal(counts.refreshed, 1)
    const data = await world.db.query(
      `select data_json ->> 'Licence' as it, status from batch_members order by id`,
    )
    assert.deepEqual(data, [
      { it: 'E5', status: 'failed' },
      { it: null, status: 'failed' },
    ])
    await world.tickUntil(31)
  }))

it('only a person brings back a member that a person removed, into this wave or another', () =>
  programme(async (world) => {
    await world.tick([...wave(30, 1, 2), ...wave(50, 3)])
    const first = await memberId(world, 1, 1)
    await removeMembers(world.engine, { ...order(1), memberIds: [first] })
    await world.tick()
    await world.tick()
    assert.equal((await batchesOf(world))[0], '30h active: user1 removed, user2')
    assert.deepEqual(await heldOf(world), [])
    await world.tick([...wave(30, 2), ...wave(50, 1, 3)])
    assert.deepEqual(await heldOf(world), ['join user1 removed'])
    await approveReviews(world.engine, { ...WHO, reviewIds: await reviewIds(world, 'join') })
    await world.tick()
    assert.deepEqual(await batchesOf(world), [
      '30h active: user1 removed, user2',
      '50h active: user1, user3',
    ])
  }))

it('a key of a manual batch stays there, whatever the source says', () =>
  programme(async (world) => {
    const manual = { runbookName: 'wave', sourceTime: null, createdBy: 'operator' }
    await createBatch(world.engine, { ...manual, members: people(1) })
    await world.tick(wave(30, 1, 2))
    assert.deepEqual(await batchesOf(world), ['30h active: user2', 'manual detected: user1'])
    assert.deepEqual(await issuesOf(world), ['in_manual_batch user1'])
  }))

it('a mover keeps its passed steps, and stays once the cut-over has begun', () =>
  programme(async (world) => {
    await world.tick([...wave(20, 1, 2), ...wave(40, 3)])
    assert.deepEqual(calls(world), ['create user1', 'create user2'])
    const { counts } = (await world.tick([...wave(20, 2), ...wave(40, 1, 3)]))!
    assert.equal(counts.moved, 1)
    assert.deepEqual(await batchesOf(world), [
      '20h active: user1 removed to 2, user2',
      '40h active: user1, user3',
    ])
    const moved = await memberId(world, 2, 1)
    assert.deepEqual(await stepsOf(world, moved), ['create succeeded'])
    world.answer = ({ functionName }) => (functionName === 'switch' ? 'silent' : { ok: true })
    await world.tickUntil(20)
    await world.tick([...wave(20, 9), ...wave(40, 1, 2, 3)])
    assert.deepEqual(await issuesOf(world), ['move_refused user2'])
    world.answer = () => ({ ok: true })
    await world.tickUntil(41, 4)
    const revoked = calls(world).filter((call) => call.startsWith('revoke'))
    assert.deepEqual(revoked, [])
  }))

it('a move to a time without a wave creates the wave', () =>
  programme(async (world) => {
    await world.tick(wave(30, ...range(1, 6)))
    await world.tick([...wave(30, ...range(2, 6)), ...wave(54, 1)])
    assert.deepEqual(await batchesOf(world), [
      '30h active: user1 removed to 2, user2, user3, user4, user5, user6',
      '54h active: user1',
    ])
  }))

it('holds a wave first seen days after its cut-over', () =>
  programme(async (world) => {
    await world.tick([...wave(-48, 1), ...wave(-1, 2)])
    assert.deepEqual(await batchesOf(world), ['-48h active held: user1', '-1h completed: user2'])
    await world.tick()
    assert.equal((await batchesOf(world))[0], '-48h active held: user1')
  }))
