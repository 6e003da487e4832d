// Listing reviews, and deciding them while ticks run, on a real server.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import type { Tx } from '../../src/db/connection/db.ts'
import { openPostgres } from '../../src/db/connection/postgres.ts'
import { countReviews, listReviews } from '../../src/db/sources/reviews.ts'
import { approveReviews, dismissReviews } from '../../src/engine/orders/reviews.ts'
import { tickDueRunbooks } from '../../src/scheduler/scheduler.ts'
import { openTestPostgres } from '../kit/databases.ts'
import {
  batchesOf,
  heldOf,
  type Programme,
  programme,
  range,
  reviewIds,
  startProgramme,
  TICK_SEC,
  wave,
} from '../stories/programme.ts'
import { story } from '../stories/world.ts'

const WHO = { actor: 'operator', reason: 'checked' }
const NEVER = new AbortController().signal

it('lists reviews by runbook, batch and kind, in pages, with counts', () =>
  programme(async (world) => {
    await world.tick([...wave(40, ...range(1, 10)), ...wave(60, ...range(11, 13))])
    await world.tick([...wave(40, ...range(6, 10)), ...wave(90, ...range(11, 13))])
    await world.tick()
    assert.deepEqual(await countReviews(world.db, { runbookName: 'WAVE' }), {
      removal: 5,
      move: 3,
      join: 0,
    })
    assert.deepEqual(await countReviews(world.db, { batchId: 2 }), { removal: 0, move: 3, join: 0 })
    const page = await listReviews(world.db, { runbookName: 'wave', kind: 'removal', limit: 3 })
    const rest = await listReviews(world.db, { batchId: 1, limit: 10, after: page.at(-1)!.id })
    assert.deepEqual(
      [...page, ...rest].map(({ key, kind }) => `${kind} ${key.split('@')[0]}`),
      range(1, 5).map((number) => `removal user${number}`),
    )
    assert.match(
      page[0]!.reason,
      /^5 of 10 members would leave batch 1 within 24 hours, more than 20 %$/,
    )
    await dismissReviews(world.engine, { ...WHO, reviewIds: [page[0]!.id] })
    assert.equal((await listReviews(world.db, { batchId: 1, limit: 10 })).length, 4)
    const all = await listReviews(world.db, { batchId: 1, limit: 10, withDismissed: true })
    assert.deepEqual([all[0]!.dismissedBy, all.length], ['operator', 5])
  }))

it('refuses an empty list, other kinds, several waves and a missing choice', () =>
  programme(async (world) => {
    await world.tick([...wave(40, 1, 2), ...wave(60, 3, 4), ...wave(80, 5)])
    await world.tick([...wave(100, 1, 2, 3, 4), ...wave(80, 5)])
    const moves = await reviewIds(world, 'move')
    const refused = { code: 'REFUSED' }
    const approve = (ids: readonly number[], more: object = {}) =>
      approveReviews(world.engine, { ...WHO, reviewIds: ids, ...more })
    await assert.rejects(approve([]), refused)
    await assert.rejects(approve(moves, { kind: 'removal' }), refused)
    await assert.rejects(approve(moves, { kind: 'join' }), refused)
    await assert.rejects(approve(moves, { choice: 'move' }), /several batches/)
    await assert.rejects(approve(moves.slice(0, 2)), /choose reschedule/)
    await assert.rejects(dismissReviews(world.engine, { ...WHO, reviewIds: [999] }), {
      code: 'REVIEW_CHANGED',
    })
    assert.equal((await heldOf(world)).length, 4)
  }))

it('refuses reviews of several kinds in one approval, and dismisses them together', () =>
  programme(async (world) => {
    await world.tick([...wave(40, ...range(1, 10)), ...wave(60, 11, 12)])
    await world.tick([...wave(40, ...range(6, 10)), ...wave(90, 11, 12)])
    await world.tick()
    const [removals, moves] = [await reviewIds(world, 'removal'), await reviewIds(world, 'move')]
    assert.ok(removals.length > 0 && moves.length > 0)
    const all = [...removals, ...moves]
    const approve = (ids: readonly number[], more: object = {}) =>
      approveReviews(world.engine, { ...WHO, reviewIds: ids, ...more })
    await assert.rejects(approve(all), /is a removal, not a move; approve each kind/)
    await assert.rejects(approve(removals, { choice: 'move' }), /"move" is a choice for moves/)
    await dismissReviews(world.engine, { ...WHO, reviewIds: all })
    assert.deepEqual(await listReviews(world.db, { limit: 10 }), [])
    assert.doesNotMatch((await batchesOf(world)).join(), /held/)
  }))

/** A person and a tick at the same moment, each on its own connection. */
async function race(tell: (world: Programme, person: Programme['engine']) => Promise<void>) {
  const test = await openTestPostgres()
  const other = await openPostgres({ url: test.url! })
  try {
    await story({ database: test }, async (base) => {
      const world = await startProgramme(base)
      await tell(world, { ...world.engine, db: other })
    })
  } finally {
    await other.close()
  }
}

const tickNow = async (world: Programme): Promise<void> => {
  await world.pass(TICK_SEC)
  await tickDueRunbooks(world.options, NEVER)
}

const codeOf = (error: unknown): string => (error as { code: string }).code

it('removes a leaver who returns during the approval entirely or not at all', () =>
  race(async (world, person) => {
    for (let round = 0; round < 5; round += 1) {
      const all = wave(40, ...range(1, 10))
      await world.tick(all)
      await world.tick()
      await world.tick(wave(40, ...range(6, 10)))
      await world.tick()
      const heldNow = await reviewIds(world, 'removal')
      assert.equal(heldNow.length, 5)
      world.rows = all
      await world.pass(TICK_SEC)
      const [confirmed] = await Promise.all([
        approveReviews(person, { ...WHO, reviewIds: heldNow }).then(
          ({ doneCount }) => doneCount,
          codeOf,
        ),
        tickDueRunbooks(world.options, NEVER),
      ])
      await world.settle()
      assert.ok(confirmed === 5 || confirmed === 'REVIEW_CHANGED', String(confirmed))
      assert.deepEqual(await heldOf(world), [])
      // A day later, so that this round does not count against the next.
      await world.tick()
      await world.tick()
      assert.deepEqual(await batchesOf(world), [
        `40h active: ${range(1, 10)
          .map((number) => `user${number}`)
          .join(', ')}`,
      ])
    }
  }))

it('moves a wave once when a person approves it during a tick', () =>
  race(async (world, person) => {
    await world.tick(wave(40, ...range(1, 20)))
    await world.tick(wave(64, ...range(1, 20)))
    const moves = await reviewIds(world, 'move')
    await Promise.all([
      approveReviews(person, { ...WHO, reviewIds: moves, choice: 'move' }),
      tickNow(world),
    ])
    await world.tick()
    await world.tick()
    const [old, fresh] = await batchesOf(world)
    assert.match(old!, /^40h \w+: user1 removed to 2,/)
    assert.match(fresh!, /^64h active: user1, .* user20$/)
    assert.deepEqual(await heldOf(world), [])
  }))

it('locks the batch of a joiner before its row, as every other change does', () =>
  race(async (world, person) => {
    await world.tick(wave(40, 1, 2))
    world.rows = wave(40, 1, 2, 3)
    let tick = Promise.resolve()
    await person.db.transaction(async (tx) => {
      await tx.query('select pg_advisory_xact_lock(-1)')
      tick = tickNow(world)
      while ((await waitingForBatch(tx)) === 0) await setImmediate()
      await tx.query('select from batches where id = 1 for update nowait')
    })
    await tick
    assert.match((await batchesOf(world))[0]!, /^40h \w+: user1, user2, user3$/)
  }))

/** Transactions that wait for the lock of some batch; those have negative keys. */
const waitingForBatch = async (tx: Tx): Promise<number> => {
  const [row] = await tx.query<{ count: number }>(
    `select count(*)::int as count from pg_locks where locktype = 'advisory' and objsubid = 1 and not granted`,
  )
  return row!.count
}
