// Live events: each exactly once, whatever the order of commits; one query for many listeners; slow listeners miss nothing.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import {
  type EventFeed,
  type ListenRequest,
  openEventFeed,
} from '../../../src/api/events/event-feed.ts'
import { createLog } from '../../../src/base/log/log.ts'
import type { Clock } from '../../../src/base/run/clock.ts'
import type { Db, Queryable } from '../../../src/db/connection/db.ts'
import { openPostgres } from '../../../src/db/connection/postgres.ts'
import type { EventSelection } from '../../../src/db/views/events.ts'
import { openTestPostgres, type TestDatabase } from '../../kit/databases.ts'
import { collectGarbage } from '../../scheduler/sources/under-test.ts'

const START = new Date('2026-03-02T08:00:00Z')
/** Longer than the feed waits for any gap. */
const STEPS_MAX = 300

/** A clock that advances when a test says so, and only once everything that runs waits for it. */
function steppedClock(): Clock & { step(ms?: number): Promise<void> } {
  let nowMs = +START
  const waiting = new Set<{ atMs: number; wake: () => void }>()
  let arrived = Promise.withResolvers<void>()
  return {
    kind: 'virtual',
    now: () => new Date(nowMs),
    wait: (ms, signal) =>
      new Promise((resolve) => {
        const one = {
          atMs: nowMs + ms,
          wake: () => {
            waiting.delete(one)
            resolve()
          },
        }
        waiting.add(one)
        signal?.addEventListener('abort', one.wake)
        arrived.resolve()
      }),
    step: async (ms = 500) => {
      await arrived.promise
      arrived = Promise.withResolvers<void>()
      nowMs += ms
      for (const one of [...waiting]) if (one.atMs <= nowMs) one.wake()
      // The query that this started has ended when the feed waits again.
      await arrived.promise
    },
  }
}

const note = (db: Queryable, because: string, batchId = 1) =>
  db.query(
    `insert into events (at, batch_id, entity, event, actor, because) values ($1, $2, 'batch', 'noted', 'test', $3)`,
    [START, batchId, because],
  )

const ADA = { person: 'ada', tokenEndsAt: null }

/** Reads a stream as a listener does and keeps the events. */
function listenTo(
  feed: EventFeed,
  selection: EventSelection = {},
  from: number | null = null,
  caller: Pick<ListenRequest, 'person' | 'tokenEndsAt'> = ADA,
) {
  const gone = new AbortController()
  const { frames, cut } = feed.listen({ ...caller, selection, after: from, signal: gone.signal })
  const iterator = frames[Symbol.asyncIterator]()
  const text = { all: '' }
  const ended = (async () => {
    for (;;) {
      const { value, done } = await iterator.next()
      if (done) return
      text.all += value
    }
  })()
  const received = () =>
    [...text.all.matchAll(/^id: \d+\ndata: (.*)$/gm)].map(
      ([, json]) => (JSON.parse(json!) as { because: string }).because,
    )
  const lastId = () => Number([...text.all.matchAll(/^id: (\d+)$/gm)].at(-1)?.[1] ?? 0)
  /** Advances time until `count` events arrived. Other tests share the server, and their transactions can delay the stream. */
  const heardBy = async (clock: ReturnType<typeof steppedClock>, count: number) => {
    for (let steps = 0; steps < STEPS_MAX && received().length < count; steps++) {
      await clock.step()
      await new Promise(setImmediate)
    }
    assert.equal(received().length, count)
  }
  return { received, heardBy, lastId, text, ended, cut, leave: () => gone.abort() }
}

describe('live events', () => {
  let database: TestDatabase
  let other: Db
  before(async () => {
    database = await openTestPostgres()
    other = await openPostgres({ url: database.url! })
  })
  after(async () => {
    await other.close()
    await database.close()
  })
  const lines: string[] = []
  const log = createLog({
    level: 'debug',
    format: 'json',
    clock: { now: () => START },
    destination: { write: (line: string) => lines.push(line) },
  })
  const open = (clock: Clock, db: Db = database.db, listenersMax?: number) =>
    openEventFeed({ db, clock, log, ...(listenersMax !== undefined && { listenersMax }) })

  it('an event of a slow transaction comes before the later ids of a fast one', async () => {
    const clock = steppedClock()
    const feed = open(clock)
    const listener = listenTo(feed)
    await clock.step()
    const hold = Promise.withResolvers<void>()
    const written = Promise.withResolvers<void>()
    const slow = other.transaction(async (tx) => {
      await note(tx, 'slow')
      written.resolve()
      await hold.promise
    })
    await written.promise
    await note(database.db, 'quick')
    await clock.step()
    await clock.step()
    assert.deepEqual(listener.received(), [])
    // A listener that connects now misses neither.
    const late = listenTo(open(steppedClock()), {}, 0)
    hold.resolve()
    await slow
    await listener.heardBy(clock, 2)
    assert.deepEqual(listener.received(), ['slow', 'quick'])
    listener.leave()
    late.leave()
  })

  it('the gap of a rolled-back transaction blocks nothing', async () => {
    const clock = steppedClock()
    const listener = listenTo(open(clock))
    await clock.step()
    await assert.rejects(
      other.transaction(async (tx) => {
        await note(tx, 'never')
        throw new Error('no')
      }),
    )
    await note(database.db, 'after it')
    await listener.heardBy(clock, 1)
    assert.deepEqual(listener.received(), ['after it'])
    listener.leave()
  })

  it('a returning listener gets every missed event, in order and once', async () => {
    const clock = steppedClock()
    const feed = open(clock)
    const first = listenTo(feed, { batchId: 5 })
    await clock.step()
    await note(database.db, 'one', 5)
    await note(database.db, 'not mine', 6)
    await first.heardBy(clock, 1)
    first.leave()
    const more = Array.from({ length: 1_200 }, (_, index) => `more ${index}`)
    await database.db.query(
      `insert into events (at, batch_id, entity, event, actor, because)
       select $1, 5, 'batch', 'noted', 'test', text from unnest($2::text[]) as t (text)`,
      [START, more],
    )
    const again = steppedClock()
    const second = listenTo(open(again), { batchId: 5 }, first.lastId())
    await second.heardBy(again, more.length)
    await note(database.db, 'live', 5)
    await second.heardBy(again, more.length + 1)
    assert.deepEqual([...first.received(), ...second.received()], ['one', ...more, 'live'])
    second.leave()
  })

  it('200 listeners cost one query, and each gets the events it asked for', async () => {
    let looks = 0
    const { db } = database
    const counting: Db = {
      ...db,
      query: (sql, values) => {
        if (sql.includes('pg_snapshot_xmin')) looks += 1
        return db.query(sql, values)
      },
    }
    const clock = steppedClock()
    const feed = open(clock, counting)
    const listeners = Array.from({ length: 200 }, (_, index) =>
      listenTo(feed, index % 2 === 0 ? { batchId: 8 } : { entities: ['step'] }, null, {
        ...ADA,
        person: `person ${index}`,
      }),
    )
    await clock.step()
    await note(database.db, 'for the even ones', 8)
    const before = looks
    await clock.step()
    assert.equal(looks - before, 1)
    await listeners[0]!.heardBy(clock, 1)
    for (const [index, listener] of listeners.entries()) {
      assert.deepEqual(listener.received(), index % 2 === 0 ? ['for the even ones'] : [])
      listener.leave()
    }
  })

  it('events that nobody wants pass by unread', async () => {
    const { db } = database
    let lines = 0
    const counting: Db = {
      ...db,
      query: async <Row = Record<string, unknown>>(sql: string, values?: readonly unknown[]) => {
        const rows = await db.query<Row>(sql, values)
        if (sql.includes('pg_snapshot_xmin')) lines += rows.length
        return rows
      },
    }
    const clock = steppedClock()
    const listener = listenTo(open(clock, counting), { batchId: 11 })
    await clock.step()
    lines = 0
    await db.query(
      `insert into events (at, batch_id, entity, event, actor, because)
       select $1, 10, 'batch', 'noted', 'test', n::text from generate_series(1, 3000) as n`,
      [START],
    )
    await note(db, 'wanted', 11)
    await listener.heardBy(clock, 1)
    assert.deepEqual(listener.received(), ['wanted'])
    assert.ok(lines < 10, `${lines} lines`)
    listener.leave()
  })

  it('a listener that joins during a read misses nothing of it', async () => {
    const { db } = database
    let gate: Promise<void> | null = null
    let reached = Promise.withResolvers<void>()
    const gated: Db = {
      ...db,
      query: async (sql, values) => {
        if (sql.includes('pg_snapshot_xmin') && gate) {
          reached.resolve()
          await gate
        }
        return db.query(sql, values)
      },
    }
    const clock = steppedClock()
    const feed = open(clock, gated)
    const first = listenTo(feed, { batchId: 12 })
    await clock.step()
    const { promise, resolve } = Promise.withResolvers<void>()
    gate = promise
    reached = Promise.withResolvers<void>()
    const stepped = clock.step()
    await reached.promise
    const second = listenTo(feed, { batchId: 13 })
    await new Promise(setImmediate)
    await note(db, 'of the first', 12)
    await note(db, 'of the second', 13)
    gate = null
    resolve()
    await stepped
    await second.heardBy(clock, 1)
    assert.deepEqual([first.received(), second.received()], [['of the first'], ['of the second']])
    first.leave()
    second.leave()
  })

  it('a listener that reads slowly gets every event later; nothing is queued for it and the others continue', async () => {
    const clock = steppedClock()
    let looks = 0
    const { db } = database
    const counting: Db = {
      ...db,
      query: (sql, values) => {
        looks += 1
        return db.query(sql, values)
      },
    }
    const feed = open(clock, counting)
    const quick = listenTo(feed)
    const gone = new AbortController()
    const request = { ...ADA, selection: {}, after: null, signal: gone.signal }
    const slow = feed.listen(request).frames[Symbol.asyncIterator]()
    await slow.next()
    // One more read makes it live; nobody awaits it before the end.
    const next = slow.next()
    await clock.step()
    const long = 'x'.repeat(2_000)
    for (let round = 0; round < 3; round++) {
      await database.db.query(
        `insert into events (at, batch_id, entity, event, actor, because)
         select $1, 1, 'batch', 'noted', 'test', $2 || n from generate_series(1, 400) as n`,
        [START, `${long} ${round} `],
      )
      await quick.heardBy(clock, (round + 1) * 400)
    }
    const before = looks
    const received = [String((await next).value)]
    const ids = () => received.join('').match(/^id: \d+$/gm) ?? []
    while (ids().length < 1_200) received.push(String((await slow.next()).value))
    assert.equal(new Set(ids()).size, 1_200)
    assert.deepEqual(ids(), quick.text.all.match(/^id: \d+$/gm))
    // It came from the database, in pages of at most 100 events.
    assert.ok(looks - before >= 10, `${looks - before} reads`)
    assert.ok(Math.max(...received.map((text) => text.length)) < 300_000)
    await note(database.db, 'live again')
    const last = slow.next()
    await quick.heardBy(clock, 1_201)
    assert.match(String((await last).value), /live again/)
    gone.abort()
    quick.leave()
  })

  it('200 listeners that stop reading cost a page each, and the others continue', async () => {
    const clock = steppedClock()
    const feed = open(clock)
    const quick = listenTo(feed, { batchId: 7 })
    const gone = new AbortController()
    const slow = Array.from({ length: 200 }, (_, index) => {
      const caller = { person: `person ${index}`, tokenEndsAt: null }
      const selection = { batchId: 7 }
      const stream = feed.listen({ ...caller, selection, after: null, signal: gone.signal })
      return stream.frames[Symbol.asyncIterator]()
    })
    for (const one of slow) await one.next()
    const pending = slow.map((one) => one.next())
    await clock.step()
    collectGarbage()
    const before = process.memoryUsage().heapUsed
    // In transactions of 1,000: 8 MB of events in all, of which each listener may keep a page.
    for (let round = 0; round < 4; round++) {
      await database.db.query(
        `insert into events (at, batch_id, entity, event, actor, because)
         select $1, 7, 'batch', 'noted', 'test', $2 || n from generate_series(1, 1000) as n`,
        [START, 'x'.repeat(2_000)],
      )
      await quick.heardBy(clock, (round + 1) * 1_000)
    }
    const kept = await Promise.all(pending)
    for (const [index, one] of slow.entries()) kept[index] = await one.next()
    collectGarbage()
    const grownMb = (process.memoryUsage().heapUsed - before) / 2 ** 20
    assert.ok(kept.every(({ done }) => !done))
    assert.ok(grownMb < 60, `the heap grew by ${Math.round(grownMb)} MB`)
    gone.abort()
    quick.leave()
  })

  it('a live listener gets every event of many writers, the last ones too', async () => {
    const [writers, transactions] = [6, 60]
    const clock = steppedClock()
    const listener = listenTo(open(clock), { batchId: 9 })
    await clock.step()
    const pool = await openPostgres({ url: database.url!, poolSize: writers })
    // Ids are given out in one order and committed in another; every fifth transaction is rolled back.
    const write = async (writer: number) => {
      for (let turn = 0; turn < transactions; turn++) {
        const isLost = (writer + turn) % 5 === 0
        const writing = pool.transaction(async (tx) => {
          await note(tx, `${writer} ${turn} a`, 9)
          for (let wait = 0; wait < (writer * turn) % 7; wait++) await tx.query('select 1')
          await note(tx, `${writer} ${turn} b`, 9)
          if (isLost) throw new Error('rolled back')
        })
        await (isLost ? assert.rejects(writing) : writing)
        // One of them turns the clock: faster than its transactions, the feed would give up waiting for them.
        if (writer === 0) await clock.step()
      }
    }
    await Promise.all(Array.from({ length: writers }, (_, writer) => write(writer)))
    const rows = await database.db.query<{ because: string }>(
      'select because from events where batch_id = 9 order by id',
    )
    await listener.heardBy(clock, rows.length)
    assert.equal(rows.length, (2 * (writers * transactions * 4)) / 5)
    assert.deepEqual(
      listener.received(),
      rows.map(({ because }) => because),
    )
    listener.leave()
    await pool.close()
  })

  it('a stream that is never read is cut after its time', async () => {
    const clock = steppedClock()
    const feed = open(clock)
    const gone = new AbortController()
    const { frames, cut } = feed.listen({ ...ADA, selection: {}, after: 0, signal: gone.signal })
    const idle = frames[Symbol.asyncIterator]()
    await idle.next()
    void idle.next()
    await clock.step(30 * 60_000)
    assert.ok(!cut.aborted)
    for (let waited = 0; waited < 20; waited++) await clock.step()
    assert.ok(cut.aborted)
    assert.match(lines.at(-1)!, /Closed event stream/)
    gone.abort()
  })

  it('a stream ends with the token of its caller', async () => {
    const clock = steppedClock()
    const tokenEndsAt = new Date(+START + 60_000)
    const listener = listenTo(open(clock), {}, null, { person: 'ada', tokenEndsAt })
    await clock.step(59_000)
    assert.doesNotMatch(listener.text.all, /event: end/)
    await clock.step(1_000)
    await listener.ended
    assert.match(listener.text.all, /event: end\ndata: .*fresh token/)
  })

  it('one caller may have 20 streams and leaves the rest to others', async () => {
    const feed = open(steppedClock())
    const own = Array.from({ length: 20 }, () => listenTo(feed))
    assert.throws(() => listenTo(feed), { code: 'LISTENERS_OF_PERSON_FULL' })
    listenTo(feed, {}, null, { person: 'bob', tokenEndsAt: null }).leave()
    own[0]!.leave()
    own.push(listenTo(feed))
    for (const one of own) one.leave()
  })

  it('idle streams get a heartbeat, and end after 30 minutes for a fresh token', async () => {
    const clock = steppedClock()
    const listener = listenTo(open(clock))
    for (let steps = 0; steps < 4; steps++) await clock.step(5_000)
    assert.match(listener.text.all, /^: still here$/m)
    await clock.step(30 * 60_000)
    await listener.ended
    assert.match(
      listener.text.all,
      /event: end\ndata: \{"reason":"time limit reached; reconnect with a fresh token"\}/,
    )
  })

  it('listeners are limited, and a closed stream makes place for another', async () => {
    const feed = open(steppedClock(), database.db, 1)
    const first = listenTo(feed)
    assert.throws(() => listenTo(feed), { code: 'LISTENERS_FULL' })
    first.leave()
    listenTo(feed).leave()
  })

  it('an unreachable database is logged, and the stream continues when it is back', async () => {
    const { db } = database
    let isAway = false
    const failing: Db = {
      ...db,
      query: (sql, values) => (isAway ? Promise.reject(new Error('away')) : db.query(sql, values)),
    }
    const clock = steppedClock()
    const listener = listenTo(open(clock, failing))
    await clock.step()
    isAway = true
    await clock.step()
    assert.match(lines.at(-1)!, /Reading live events failed/)
    isAway = false
    await note(database.db, 'back')
    await clock.step(5_000)
    await listener.heardBy(clock, 1)
    assert.deepEqual(listener.received(), ['back'])
    listener.leave()
  })
})
