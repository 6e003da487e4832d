// Messages sent together are one row until a part of them is needed. These tests read the table; contract-course.ts shows that
// consumers see no difference.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, beforeEach, describe, it } from 'node:test'
import { BUNDLE_MAX, packBundles } from '../../src/bus/bundles.ts'
import {
  EXPIRED,
  ORCHESTRATOR_EVENTS,
  type OutgoingMessage,
  workerJobs,
} from '../../src/bus/bus.ts'
import { enqueueRows, type OutboxRow } from '../../src/bus/outbox.ts'
import { BUNDLE_STRIDE } from '../../src/bus/postgres/bundle-rows.ts'
import { openPostgresBus, type PostgresBus } from '../../src/bus/postgres/postgres-bus.ts'
import { withdraw as withdrawIn } from '../../src/bus/postgres/withdraw.ts'
import type { Db } from '../../src/db/connection/db.ts'
import { openPostgres } from '../../src/db/connection/postgres.ts'
import { DATABASES, openTestPostgres, type TestDatabase } from '../kit/databases.ts'
import { variants } from '../kit/variants.ts'
import { DAY, drain, event, idsOf, job, MINUTE, SECOND } from './under-test.ts'

const START = new Date('2026-03-01T10:00:00.000Z')
const W1 = workerJobs('w1')
const jobs = (count: number): OutgoingMessage[] => Array.from({ length: count }, () => job('w1'))
const idsSent = (sent: readonly OutgoingMessage[]) => sent.map(({ messageId }) => messageId)

function row(messageId: string, body: string, rest: Partial<OutboxRow> = {}): OutboxRow {
  const envelope = {
    topic: 'worker-results',
    subscription: 'orchestrator',
    workerId: null,
  } as const
  const times = { visibleAt: START, expiresAt: new Date(+START + DAY) }
  return { ...envelope, ...times, messageType: 'worker-result', messageId, body, ...rest }
}

/** Withdraws in a transaction of its own. */
const withdraw = (db: Db, ids: readonly string[]) => db.transaction((tx) => withdrawIn(tx, ids))

describe('packing', () => {
  const sizesOf = (rows: readonly OutboxRow[]) => packBundles(rows).map(({ ids }) => ids.length)

  it('bundles messages with the same envelope, in order', () => {
    const rows = ['a', 'b', 'c', 'd'].map((id, i) =>
      row(id, '{}', i % 2 ? { messageType: 'x' } : {}),
    )
    assert.deepEqual(
      packBundles(rows).map(({ ids }) => ids),
      [
        ['a', 'c'],
        ['b', 'd'],
      ],
    )
    const later = { visibleAt: new Date(+START + 1) }
    assert.deepEqual(sizesOf([row('a', '{}'), row('b', '{}', later), row('c', '{}')]), [2, 1])
  })

  it('fills a bundle up to its limits of messages and bytes', () => {
    const many = Array.from({ length: 2 * BUNDLE_MAX + 1 }, (_, i) => row(`${i}`, '{}'))
    assert.deepEqual(sizesOf(many), [BUNDLE_MAX, BUNDLE_MAX, 1])
    const large = 'ä'.repeat(50_000)
    assert.deepEqual(sizesOf([1, 2, 3].map((i) => row(`${i}`, large))), [2, 1])
    assert.ok(BUNDLE_MAX < BUNDLE_STRIDE, 'every message of a bundle has a number')
  })

  it('gives a body with a line break its own row', () => {
    assert.deepEqual(
      packBundles([row('a', '1'), row('b', '2\n3'), row('c', '4')]).map(({ ids }) => ids),
      [['a', 'c'], ['b']],
    )
  })
})

for (const database of variants(DATABASES)) {
  describe(`bundles on ${database.kind}`, () => {
    let test: TestDatabase
    let bus: PostgresBus
    let nowMs = +START
    const clock = { now: () => new Date(nowMs) }
    before(async () => {
      test = await database.open()
      bus = openPostgresBus({ db: test.db, clock, newToken: randomUUID })
    })
    beforeEach(() => test.db.query('delete from bundles'))
    after(() => test.close())

    /** Messages per row, in queue order. */
    const sizes = async () => {
      const rows = await test.db.query<{ size: number }>('select size from bundles order by id')
      return rows.map(({ size }) => size)
    }

    it('stores, leases and acknowledges messages sent together as one row', async () => {
      const sent = jobs(300)
      await bus.publish(sent)
      assert.deepEqual(await sizes(), [300])
      const taken = await bus.receive(W1, 500)
      assert.deepEqual(idsOf(taken), idsSent(sent).sort())
      assert.deepEqual(await bus.renew(taken), [])
      assert.deepEqual(await sizes(), [300])
      assert.deepEqual(await bus.ack(taken), [])
      assert.deepEqual(await sizes(), [])
    })

    it('receives several bundles up to the limit and leaves the next one whole', async () => {
      for (const count of [30, 40, 50]) await bus.publish(jobs(count))
      assert.equal((await bus.receive(W1, 100)).length, 70)
      assert.equal((await bus.receive(W1, 100)).length, 50)
      assert.deepEqual(await sizes(), [30, 40, 50])
    })

    it('receives large messages in chunks of bounded bytes, and all of them', async () => {
      const large = 'x'.repeat(200_000)
      const sent = Array.from({ length: 60 }, () => job('w1', undefined, large))
      await bus.publish(sent)
      const chunks: string[][] = []
      for (let taken = await bus.receive(W1, 500); taken.length > 0; ) {
        chunks.push(taken.map(({ messageId }) => messageId))
        await bus.ack(taken)
        taken = await bus.receive(W1, 500)
      }
      assert.deepEqual(chunks.flat().sort(), idsSent(sent).sort())
      assert.ok(
        chunks.every(({ length }) => length <= 21),
        `${chunks.map(({ length }) => length)}`,
      )
    })

    it('splits a bundle larger than the limit and hints other consumers', async () => {
      await bus.publish(jobs(20))
      const heard = Promise.withResolvers<void>()
      const stop = await bus.listen(W1, heard.resolve)
      const first = await bus.receive(W1, 8)
      await heard.promise
      await stop()
      const second = await bus.receive(W1, 100)
      assert.deepEqual([first.length, second.length], [8, 12])
      assert.deepEqual(await sizes(), Array(20).fill(1))
      assert.deepEqual(await bus.ack([...first, ...second]), [])
      assert.deepEqual(await sizes(), [])
    })

    it('keeps the rest of a bundle when a part is acknowledged, dead-lettered or abandoned', async () => {
      const sent = jobs(10)
      await bus.publish(sent)
      const taken = await bus.receive(W1, 10)
      assert.deepEqual(await bus.ack(taken.slice(0, 4)), [])
      assert.deepEqual(await sizes(), Array(6).fill(1))
      await bus.deadLetter(taken.slice(4, 5), 'Odd', 'for the test')
      await bus.abandon(taken.slice(5, 7))
      const letters = await bus.deadLetters.list(W1, 10)
      assert.equal(letters.items.at(-1)?.messageId, taken[4]!.messageId)
      const again = await bus.receive(W1, 10)
      assert.deepEqual(idsOf(again), idsOf(taken.slice(5, 7)))
      assert.deepEqual(await bus.ack([...taken.slice(7), ...again]), [])
      assert.deepEqual(await sizes(), [])
    })

    it('acknowledges a message named twice once, and no other', async () => {
      await bus.publish(jobs(2))
      const taken = await bus.receive(W1, 2)
      assert.deepEqual(await bus.ack([taken[0]!, taken[0]!]), [])
      assert.deepEqual(await sizes(), [1])
    })

    it('acknowledges all of a bundle that was split after the claim', async () => {
      await bus.publish(jobs(10))
      const taken = await bus.receive(W1, 10)
      await bus.renew(taken.slice(3))
      assert.equal((await sizes()).length, 10)
      assert.deepEqual(await bus.ack(taken), [])
      assert.deepEqual(await sizes(), [])
    })

    it('ignores the old consumer of a bundle, whole or in parts', async () => {
      await bus.publish(jobs(10))
      const slow = await bus.receive(W1, 10)
      nowMs += MINUTE
      const current = await bus.receive(W1, 10)
      assert.equal(current.length, 10)
      for (const part of [slow, slow.slice(0, 3)]) {
        assert.deepEqual(idsOf(await bus.ack(part)), idsOf(part))
        assert.deepEqual(idsOf(await bus.renew(part)), idsOf(part))
        await bus.abandon(part)
        await bus.deadLetter(part, 'Odd', 'too late')
      }
      assert.deepEqual(await sizes(), [10])
      assert.deepEqual(await bus.ack(current), [])
    })

    it('withdraws single messages of a bundle, but no leased ones', async () => {
      const [sent, leased] = [jobs(10), jobs(5)]
      await bus.publish(leased)
      await bus.receive(W1, 5)
      await bus.publish(sent)
      const wanted = [...idsSent(sent).slice(0, 3), ...idsSent(leased)]
      const withdrawn = await withdraw(test.db, wanted)
      assert.deepEqual(withdrawn.sort(), idsSent(sent).slice(0, 3).sort())
      assert.deepEqual(idsOf(await bus.receive(W1, 20)), idsSent(sent).slice(3).sort())
    })

    it('returns any text unchanged, alone or in a bundle', async () => {
      const bodies = [
        '',
        ' ',
        '\n',
        'a\nb',
        '\u001e',
        '\u001e\u001f',
        '"{\\}',
        "'",
        'ä€😀',
        'null',
        '\t',
      ]
      const rows = bodies.map((body, i) => row(`odd-${database.kind}-${i}`, body))
      await test.db.transaction((tx) => enqueueRows(tx, rows, clock.now()))
      const alone = row(`alone-${database.kind}`, '')
      await test.db.transaction((tx) => enqueueRows(tx, [alone], clock.now()))
      const taken = await drain(bus, { topic: 'worker-results', name: 'orchestrator' })
      const got = new Map(taken.map(({ messageId, body }) => [messageId, body]))
      for (const { messageId, body } of [...rows, alone]) assert.equal(got.get(messageId), body)
      const shown = await test.db.query<{ body: string }>(
        'select body from messages order by message_id',
      )
      assert.deepEqual(shown.map(({ body }) => body).sort(), [...bodies, ''].sort())
    })

    it('dead-letters every message of an expired bundle, on receive and on sweep', async () => {
      for (const look of [() => bus.receive(ORCHESTRATOR_EVENTS, 3), () => bus.sweep()]) {
        const expiresAt = new Date(nowMs + SECOND)
        const sent = Array.from({ length: 7 }, () => event(undefined, { expiresAt }))
        await bus.publish(sent)
        nowMs += MINUTE
        await look()
        const { items } = await bus.deadLetters.list(ORCHESTRATOR_EVENTS, 100)
        const expired = items.filter(({ reason }) => reason === EXPIRED)
        const ids = new Set(expired.map(({ messageId }) => messageId))
        for (const id of idsSent(sent)) assert.ok(ids.has(id), `${id} is in the dead letters`)
        assert.deepEqual(await sizes(), [])
      }
    })

    it('shows a message under the number that it keeps when its bundle is split', async () => {
      await bus.publish(jobs(4))
      const shown = () => test.db.query('select id, message_id, body from messages order by id')
      const before = await shown()
      await bus.receive(W1, 1)
      assert.deepEqual(await shown(), before)
    })
  })
}

it('gives two concurrent withdrawals from one bundle their own messages', async () => {
  const test = await openTestPostgres()
  const otherDb = await openPostgres({ url: test.url! })
  try {
    const clock = { now: () => START }
    const bus = openPostgresBus({ db: test.db, clock, newToken: randomUUID })
    for (let round = 0; round < 10; round += 1) {
      const sent = jobs(20)
      await bus.publish(sent)
      const ids = idsSent(sent)
      const halves = [ids.slice(0, 8), ids.slice(8, 16)]
      const [first, second, taken] = await Promise.all([
        withdraw(test.db, halves[0]!),
        withdraw(otherDb, halves[1]!),
        bus.receive(W1, 2),
      ])
      const rest = await drain(bus, W1)
      assert.ok(first.every((id) => halves[0]!.includes(id)))
      assert.ok(second.every((id) => halves[1]!.includes(id)))
      assert.deepEqual([...first, ...second, ...idsOf(taken), ...idsOf(rest)].sort(), ids.sort())
      assert.ok(first.length + second.length >= 14, 'messages that nobody received were withdrawn')
      await bus.ack([...taken, ...rest])
    }
  } finally {
    await otherDb.close()
    await test.close()
  }
})
