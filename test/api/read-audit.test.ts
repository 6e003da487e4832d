// Reads of members are audited in groups, each before its answer, and one failure does not affect the others.
import assert from 'node:assert/strict'
import { afterEach, beforeEach, it } from 'node:test'
import { ReadAudit } from '../../src/api/http/read-audit.ts'
import type { AuditEntry } from '../../src/db/audit.ts'
import type { Queryable } from '../../src/db/db.ts'
import { openTestPglite, type TestDatabase } from '../databases.ts'

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
  ...{
    at: new Date('2026-03-02T08:00:00Z'),
    actor: 'a',
    actorName: 'A "b"',
    action: 'read members',
  },
  ...{ subject, reason: null, source: '::1', clientApp: null, requestId: 'r1', after: { query } },
})

const noted = () =>
  test.db.query<{ subject: string; query: string; before: unknown }>(
    `select subject, after_json->>'query' as query, before_json as before from audit order by id`,
  )

it('writes the reads that arrived during a write in one statement, in order', async () => {
  const notes = new ReadAudit(db)
  await Promise.all(
    ['1', '2', '3', '4'].map((subject) => notes.record(entry(subject, `q${subject}`))),
  )
  assert.equal(statements, 2)
  assert.deepEqual(
    await noted(),
    ['1', '2', '3', '4'].map((subject) => ({ subject, query: `q${subject}`, before: null })),
  )
  await notes.record(entry('5'))
  assert.equal((await noted()).length, 5)
})

it('refuses the read that cannot be recorded, and no other', async () => {
  const notes = new ReadAudit(db)
  const subjects = ['0', '1', '2\u0000', '3']
  const outcomes = await Promise.allSettled(subjects.map((subject) => notes.record(entry(subject))))
  assert.deepEqual(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'fulfilled', 'rejected', 'fulfilled'],
  )
  assert.deepEqual(
    (await noted()).map(({ subject }) => subject),
    ['0', '1', '3'],
  )
})
