// Reads of members are audited in groups, each before its answer, and one failure does not affect the others.
import assert from 'node:assert/strict'
import { afterEach, beforeEach, it } from 'node:test'
import { ReadAudit } from '../../../src/api/http/read-audit.ts'
import type { Queryable } from '../../../src/db/connection/db.ts'
import type { AuditEntry } from '../../../src/db/orders/audit.ts'
import { openTestPglite, type TestDatabase } from '../../kit/databases.ts'

let test: TestDatabase
let statements: number
let db: Queryable
beforeEach(async () => {
  test = await openTestPglite()
  statements = 0
  db = {
    query: (sql, values) => {
      statements += 1
      return test.db.query(sql, values)
    },
  }
})
afterEach(() => test.close())

const entry = (subject: string, query = ''): AuditEntry => ({
  at: new Date('2026-03-02T08:00:00Z'),
  actor: 'a',
  actorName: 'A "b"',
  action: 'read members',
  subject,
  reason: null,
  source: '::1',
  clientApp: null,
  requestId: 'r1',
  after: { query },
})

const noted = () =>
  test.db.query<{ subject: string; query: string; before: unknown }>(
    `select subject, after_json->>'query' as query, before_json as before from audit order by id`,
  )

it('writes the reads that arrived during a write in one statement, in order', async () => {
  const notes = new ReadAudit(db)
  await Promise.all(
    ['1', '2', '3', '4'].map((subject) => notes.record(entry(subject, `q${subject}`), subject)),
  )
  assert.equal(statements, 2)
  assert.deepEqual(
    await noted(),
    ['1', '2', '3', '4'].map((subject) => ({ subject, query: `q${subject}`, before: null })),
  )
  await notes.record(entry('5'), '5')
  assert.equal((await noted()).length, 5)
})

it('refuses the read that cannot be recorded, and no other', async () => {
  const notes = new ReadAudit(db)
  const subjects = ['0', '1', '2\u0000', '3']
  const outcomes = await Promise.allSettled(
    subjects.map((subject) => notes.record(entry(subject), subject)),
  )
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'fulfilled', 'rejected', 'fulfilled'],
  )
  assert.deepEqual(
    (await noted()).map(({ subject }) => subject),
    ['0', '1', '3'],
  )
})

it('counts repeats for ten minutes, and writes them as one row', async () => {
  const notes = new ReadAudit(db)
  const at = (minutes: number) => new Date(Date.UTC(2026, 2, 2, 8, minutes))
  const read = (minutes: number, actor = 'a', what = 'x') =>
    notes.record({ ...entry('s'), actor, at: at(minutes) }, what)
  const rows = () =>
    test.db.query<{ actor: string; at: Date; repeated: number | null }>(
      `select actor, at, (after_json->>'repeated')::int as repeated from audit order by id`,
    )
  await read(0)
  await read(1)
  await read(2, 'b')
  await read(3, 'a', 'y')
  await read(9)
  assert.deepEqual(
    (await rows()).map(({ actor }) => actor),
    ['a', 'b', 'a'],
  )
  await notes.writeDue(at(9))
  assert.equal((await rows()).length, 3)
  await notes.writeDue(at(10))
  assert.deepEqual((await rows()).slice(3), [{ actor: 'a', at: at(9), repeated: 2 }])
  await read(11)
  await read(12, 'b')
  await read(13, 'b')
  assert.equal((await rows()).length, 6, 'a new ten minutes, and who read once more after them')
  await notes.close()
  assert.deepEqual((await rows()).slice(6), [{ actor: 'b', at: at(13), repeated: 1 }])
})

it('puts on record what could not be written the first time', async () => {
  let isDown = true
  const notes = new ReadAudit({
    query: async (sql, values) => {
      if (isDown) throw new Error('down')
      return db.query(sql, values)
    },
  })
  await assert.rejects(notes.record(entry('s'), 's'))
  isDown = false
  await notes.record(entry('s'), 's')
  assert.equal((await noted()).length, 1)
})
