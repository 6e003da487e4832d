// Live events: none missed and none twice, whatever the order of commits; many listeners from one look; who is slow is sent away.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import {
  type EventFeed,
  type EventSelection,
  openEventFeed,
} from '../../src/api/events/event-feed.ts'
import type { Clock } from '../../src/clock.ts'
import type { Db, Queryable } from '../../src/db/db.ts'
import { openPostgres } from '../../src/db/postgres.ts'
import { createLog } from '../../src/log.ts'
import { openTestPostgres, type TestDatabase } from '../databases.ts'

const START = new Date('2026-03-02T08:00:00Z')
/** Longer than any hole is waited for. */
const STEPS_MAX = 300

/** A clock whose time passes when a test says so, and only once everybody who runs has come to wait for it. */
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
      // The look that this began has ended when the feed waits again.
      await arrived.promise
    },
  }
}

const note = (db: Queryable, because: string, batchId = 1) =>
  db.query(
    `insert into events (at, batch_id, entity, event, actor, because) values ($1, $2, 'batch', 'noted', 'test', $3)`,
    [START, batchId, because],
  )

/** Reads a stream as a listener does, and keeps what it was told. */
function listenTo(feed: EventFeed, selection: EventSelection = {}, from: number | null = null) {
  const gone = new AbortController()
  const { frames, cut } = feed.listen({ selection, after: from, signal: gone.signal })
  const iterator = frames[Symbol.asyncIterator]()
  const text = { all: '' }
  const ended = (async () => {
    for (;;) {
      const { value, done } = await iterator.next()
      if (done) return
      text.all += value
    }
  })()
  const told = () =>
    [...text.all.matchAll(/^id: \d+\ndata: (.*)$/gm)].map(
      ([, json]) => (JSON.parse(json!) as { because: string }).because,
    )
  const lastId = () => Number([...text.all.matchAll(/^id: (\d+)$/gm)].at(-1)?.[1] ?? 0)
  /** Lets time pass until so many have been told. Other tests share the server: their transactions can hold the stream back. */
  const heardBy = async (clock: ReturnType<typeof steppedClock>, count: number) => {
    for (let steps = 0; steps < STEPS_MAX && told().length < count; steps++) {
      await clock.step()
      await new Promise(setImmediate)
    }
    assert.equal(told().length, count)
  }
  return { told, heardBy, lastId, text, ended, cut, leave: () => gone.abort() }
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

  it('an event of a slow transaction is told before the later ids of a quick one', async () => {
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
    assert.deepEqual(listener.told(), [])
    // Who comes now and never heard of the quick one misses neither.
    const late = listenTo(open(steppedClock()), {}, 0)
    hold.resolve()
    await slow
    await listener.heardBy(clock, 2)
    assert.deepEqual(listener.told(), ['slow', 'quick'])
    listener.leave()
    late.leave()
  })

  it('the hole of a transaction that was rolled back stops nothing', async () => {
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
    assert.deepEqual(listener.told(), ['after it'])
    listener.leave()
  })

  it('whoever was away is told everything since, in order and once', async () => {
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
    assert.deepEqual([...first.told(), ...second.told()], ['one', ...more, 'live'])
    second.leave()
  })

  it('two hundred listeners cost one look, and each gets what it asked for', async () => {
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
      listenTo(feed, index % 2 === 0 ? { batchId: 8 } : { entities: ['step'] }),
    )
    await clock.step()
    await note(database.db, 'for the even ones', 8)
    const before = looks
    await clock.step()
    assert.equal(looks - before, 1)
    await listeners[0]!.heardBy(clock, 1)
    for (const [index, listener] of listeners.entries()) {
      assert.deepEqual(listener.told(), index % 2 === 0 ? ['for the even ones'] : [])
      listener.leave()
    }
  })

  it('a listener that does not read is sent away with a reason, then cut; the others go on', async () => {
    const clock = steppedClock()
    const feed = open(clock)
    const quick = listenTo(feed)
    const gone = new AbortController()
    const { frames, cut } = feed.listen({ selection: {}, after: null, signal: gone.signal })
    const slow = frames[Symbol.asyncIterator]()
    await slow.next()
    // Read once more, so that it is live; this is never waited for before the end.
    const next = slow.next()
    await clock.step()
    const long = 'x'.repeat(2_000)
    for (let round = 0; round < 3; round++) {
      await database.db.query(
        `insert into events (at, batch_id, entity, event, actor, because)
         select $1, 1, 'batch', 'noted', 'test', $2 || n from generate_series(1, 400) as n`,
        [START, long],
      )
      await quick.heardBy(clock, (round + 1) * 400)
    }
    assert.equal(quick.told().length, 1_200)
    assert.match(String((await next).value), /^id: /)
    assert.match(String((await slow.next()).value), /^event: end\ndata: .*you read too slowly/)
    assert.ok(!cut.aborted)
    for (let waited = 0; waited < 20; waited++) await clock.step()
    assert.ok(cut.aborted)
    assert.match(lines.at(-1)!, /Closed event stream/)
    gone.abort()
    quick.leave()
  })

  it('quiet lines have a heartbeat, and end after half an hour for a fresh token', async () => {
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

  it('there is a limit to listeners, and who leaves makes room', async () => {
    const feed = open(steppedClock(), database.db, 1)
    const first = listenTo(feed)
    assert.throws(() => listenTo(feed), { code: 'LISTENERS_FULL' })
    first.leave()
    listenTo(feed).leave()
  })

  it('a database that is away for a while is told in the log and waited for', async () => {
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
    assert.deepEqual(listener.told(), ['back'])
    listener.leave()
  })
})
