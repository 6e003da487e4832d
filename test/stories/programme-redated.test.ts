// A wave that gets a new date in the source, and many members who move at once: both batches wait for a person's choice.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { resumeBatch } from '../../src/engine/orders/batch-actions.ts'
import { approveReviews, dismissReviews, type MoveChoice } from '../../src/engine/orders/reviews.ts'
import { calls, order } from './looking.ts'
import {
  batchesOf,
  heldOf,
  type Programme,
  programme,
  range,
  reviewIds,
  wave,
} from './programme.ts'

const WHO = { actor: 'operator', reason: 'the programme office said so' }

const decide = async (world: Programme, choice: MoveChoice, more: object = {}) =>
  approveReviews(world.engine, {
    ...WHO,
    choice,
    ...more,
    reviewIds: await reviewIds(world, 'move'),
  })

/** Six members, prepared and due in 20 hours; the source now says 44. */
async function redated(world: Programme): Promise<void> {
  await world.tick(wave(20, ...range(1, 6)))
  assert.equal(calls(world).length, 6)
  await world.tick(wave(44, ...range(1, 6)))
  assert.deepEqual(await batchesOf(world), [`20h active held: ${six}`])
  assert.equal((await heldOf(world))[0], 'move user1 redated')
}
const six = 'user1, user2, user3, user4, user5, user6'

it('starts nothing at the old time before a person has chosen', () =>
  programme(async (world) => {
    await redated(world)
    await world.tickUntil(22)
    assert.equal(calls(world).length, 6)
    assert.deepEqual(await batchesOf(world), [`20h active held: ${six}`])
  }))

it('reschedule: the batch starts at the new time, and the new time maps to it', () =>
  programme(async (world) => {
    await redated(world)
    await decide(world, 'reschedule')
    assert.deepEqual(await batchesOf(world), [`20h active: ${six}`])
    await world.tick()
    assert.deepEqual(await heldOf(world), [])
    await world.tick(wave(44, ...range(1, 7)))
    assert.deepEqual(await batchesOf(world), [`20h active: ${six}, user7`])
    await world.tickUntil(43, 4)
    assert.deepEqual(calls(world, 6), ['create user7'])
    await world.tickUntil(45)
    assert.deepEqual(await batchesOf(world), [`20h completed: ${six}, user7`])
    assert.equal(calls(world, 7).length, 7)
    await world.tick(wave(44, ...range(1, 8)))
    assert.deepEqual(await heldOf(world), ['join user8 late'])
  }))

for (const choice of ['reschedule', 'move'] as const) {
  it(`${choice}: a date in the past by mistake starts nothing, until it is corrected in the source`, () =>
    programme(async (world) => {
      await world.tick(wave(20, ...range(1, 6)))
      await world.tick(wave(-4, ...range(1, 6)))
      await assert.rejects(decide(world, choice), {
        code: 'WOULD_BE_OVERDUE',
        message: /phases of batch 1 are overdue and start at once: cutover\..*--allow-overdue/,
      })
      await world.tickUntil(3)
      assert.deepEqual(await batchesOf(world), [`20h active held: ${six}`])
      assert.equal(calls(world).length, 6)
      assert.equal((await heldOf(world)).length, 6)
      await world.tick(wave(44, ...range(1, 6)))
      await decide(world, choice)
      await world.settle()
      assert.equal(calls(world).length, 6)
      assert.doesNotMatch((await batchesOf(world)).join(), /held/)
    }))

  it(`${choice}: a date in the past that is meant starts at once`, () =>
    programme(async (world) => {
      await world.tick(wave(20, ...range(1, 6)))
      await world.tick(wave(-4, ...range(1, 6)))
      const { doneCount } = await decide(world, choice, { allowOverdue: true })
      await world.settle()
      assert.equal(doneCount, 6)
      assert.equal(calls(world, 6).filter((call) => call.startsWith('switch')).length, 6)
    }))
}

it('move: the members go to a batch of the new time, with their passed steps', () =>
  programme(async (world) => {
    await redated(world)
    const { doneCount } = await decide(world, 'move')
    assert.equal(doneCount, 6)
    await world.tick()
    const [old, fresh] = await batchesOf(world)
    assert.match(old!, /^20h (active|completed): user1 removed to 2, /)
    assert.equal(fresh, `44h active: ${six}`)
    await world.tickUntil(46, 4)
    assert.equal(calls(world, 6).length, 6)
    assert.deepEqual(
      new Set(calls(world, 6).map((call) => call.split(' ')[0])),
      new Set(['switch']),
    )
  }))

it('dismiss: the members stay at the old time, and new members at the other get a batch there', () =>
  programme(async (world) => {
    await redated(world)
    await dismissReviews(world.engine, { ...WHO, reviewIds: await reviewIds(world, 'move') })
    await world.tick(wave(44, ...range(1, 7)))
    assert.deepEqual(await batchesOf(world), [`20h active: ${six}`, '44h active: user7'])
    await world.tickUntil(21)
    assert.equal((await batchesOf(world))[0], `20h completed: ${six}`)
  }))

it('moves a member with an unsettled job when it has settled; until then the batch waits', () =>
  programme(async (world) => {
    world.answer = ({ parameters }) =>
      String(parameters.Upn).startsWith('user6') ? 'silent' : { ok: true }
    await redated(world)
    const { doneCount, refused } = await decide(world, 'move')
    assert.deepEqual([doneCount, refused.length], [5, 1])
    assert.deepEqual(await heldOf(world), ['move user6 redated'])
    assert.match((await batchesOf(world))[0]!, /^20h active held/)
    await world.result(world.jobs[5]!, { ok: true })
    await world.settle()
    await decide(world, 'move')
    await world.tick()
    assert.equal((await batchesOf(world))[1], `44h active: ${six}`)
    assert.deepEqual(await heldOf(world), [])
  }))

it('resumes the batch when the source takes the new date back', () =>
  programme(async (world) => {
    await redated(world)
    await world.tick(wave(20, ...range(1, 6)))
    assert.deepEqual(await batchesOf(world), [`20h active: ${six}`])
    assert.deepEqual(await heldOf(world), [])
  }))

it('does not overrule a person who resumes', () =>
  programme(async (world) => {
    await redated(world)
    await resumeBatch(world.engine, order(1))
    await world.tick()
    assert.deepEqual(await batchesOf(world), [`20h active: ${six}`])
    assert.equal((await heldOf(world)).length, 6)
  }))

it('many moves at once hold both batches, and a few do not', () =>
  programme(async (world) => {
    const rows = (moved: number) => [
      ...wave(30, ...range(moved + 1, 20)),
      ...wave(54, ...range(1, moved), 21),
    ]
    await world.tick(rows(0))
    await world.tick(rows(3))
    assert.equal(world.reports.at(-1)!.counts.moved, 3)
    await world.tick(rows(8))
    assert.equal((await heldOf(world)).length, 5)
    const [first, second] = await batchesOf(world)
    assert.match(first!, /^30h active held/)
    assert.match(second!, /^54h active held/)
    await assert.rejects(decide(world, 'reschedule'), /still in the source at its own time/)
    // Only "move" is possible here, so nobody needs to choose it.
    await approveReviews(world.engine, { ...WHO, reviewIds: await reviewIds(world, 'move') })
    await world.tick()
    const [old, fresh] = await batchesOf(world)
    assert.match(old!, /^30h active: user1 removed to 2/)
    assert.equal(
      fresh,
      '54h active: user1, user2, user3, user4, user5, user6, user7, user8, user21',
    )
  }))

it('holds and resumes both a re-dated wave and one that existed at its new time', () =>
  programme(async (world) => {
    await world.tick([...wave(20, ...range(1, 4)), ...wave(44, 5, 6)])
    await world.tick(wave(44, ...range(1, 6)))
    assert.deepEqual(await batchesOf(world), [
      '20h active held: user1, user2, user3, user4',
      '44h active held: user5, user6',
    ])
    await decide(world, 'reschedule')
    await world.tick()
    assert.deepEqual(await batchesOf(world), [
      '20h active: user1, user2, user3, user4',
      '44h active: user5, user6',
    ])
    await world.tickUntil(45, 4)
    for (const line of await batchesOf(world)) assert.match(line, /completed/)
  }))

it('holds a new batch at the new time too', () =>
  programme(async (world) => {
    await world.tick(wave(20, ...range(1, 4)))
    await world.tick(wave(44, ...range(1, 6)))
    assert.deepEqual(await batchesOf(world), [
      '20h active held: user1, user2, user3, user4',
      '44h active held: user5, user6',
    ])
    await decide(world, 'move')
    await world.tick()
    assert.equal((await batchesOf(world))[1], `44h active: ${six}`)
  }))
