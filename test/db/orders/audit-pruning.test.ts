// Old rows of the audit go when they may, and the chain of hashes shows afterwards what it showed before.
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import type { Queryable } from '../../../src/db/connection/db.ts'
import { openPostgres } from '../../../src/db/connection/postgres.ts'
import { insertAudit } from '../../../src/db/orders/audit.ts'
import { type Expected, verifyAudit } from '../../../src/db/orders/audit-chain.ts'
import { keptFrom, pruneAudit } from '../../../src/db/orders/audit-pruning.ts'
import {
  CHAIN_LOCK,
  type ChainHead,
  findChainHead,
  sealAudit,
  sealRows,
} from '../../../src/db/orders/audit-sealing.ts'
import { DATABASES, openTestPostgres, type TestDatabase } from '../../kit/databases.ts'
import { variants } from '../../kit/variants.ts'

const day = (number: number) => new Date(Date.UTC(2026, 0, number, 12))
const EXPECTED = { keptDays: 30, now: day(400) }

for (const { kind, open } of variants(DATABASES)) {
  describe(`pruning the audit on ${kind}`, () => {
    let test: TestDatabase
    beforeEach(async () => {
      test = await open()
    })
    afterEach(() => test.close())

    const nothing = { source: null, clientApp: null, requestId: null, reason: null }
    const write = (number: number, action = 'batch.hold') =>
      insertAudit(test.db, {
        at: day(number),
        actor: 'a',
        actorName: 'A',
        action,
        subject: `day ${number}`,
        ...nothing,
      })
    const days = async (...numbers: number[]) => {
      for (const number of numbers) await write(number)
      await sealAudit(test.db)
    }
    const left = async () =>
      (await test.db.query<{ subject: string }>('select subject from audit order by id')).map(
        ({ subject }) => subject,
      )
    const broken = async (known?: ChainHead, expected: Partial<Expected> = {}) =>
      (await verifyAudit(test.db, { ...EXPECTED, ...expected, known })).broken?.why ?? null
    /** Prunes the rows from before a day, so many days later. */
    const prune = (before: number, today: number) =>
      pruneAudit(test.db, { keptDays: today - before, now: day(today) })

    it('prunes old rows up to the first young one and records it', async () => {
      await days(1, 2, 9, 3, 10)
      const [second, head] = [await headAt(2), await findChainHead(test.db)]
      assert.equal(await prune(5, 40), 2)
      assert.deepEqual(await left(), ['day 9', 'day 3', 'day 10', 'audit'])
      const verdict = await verifyAudit(test.db, { ...EXPECTED, known: head })
      assert.deepEqual(
        [verdict.broken, verdict.pruned, verdict.unsealed],
        [
          null,
          {
            through: 2,
            hash: second.hash,
            at: day(40),
            before: new Date('2026-01-05T00:00:00Z'),
          },
          0,
        ],
      )
      await sealAudit(test.db)
      assert.equal(await broken(second), null)
      assert.equal(
        await broken({ ...second, hash: head.hash }),
        'another row was seen in this place',
      )
      assert.equal((await findChainHead(test.db)).sealed, 6)
    })

    const headAt = async (sealed: number) => {
      const [row] = await test.db.query<{ hash: string }>(
        'select hash from audit where seal_number = $1',
        [sealed],
      )
      return { sealed, hash: row!.hash }
    }

    it('prunes day by day and ignores its own old row', async () => {
      await days(1, 2, 3)
      assert.equal(await prune(2, 32), 1)
      assert.equal(await prune(2, 32), 0)
      await sealAudit(test.db)
      assert.equal(await prune(4, 34), 2)
      await sealAudit(test.db)
      assert.equal(await prune(90, 120), 0)
      assert.deepEqual(await left(), ['audit', 'audit'])
      assert.equal(await broken(), null)
    })

    it('keeps unsealed rows and the newest sealed one', async () => {
      await days(1)
      await write(2)
      assert.equal(await prune(9, 40), 0)
      await sealAudit(test.db)
      assert.equal(await prune(9, 40), 1)
      assert.deepEqual(await left(), ['day 2', 'audit'])
    })

    /** The database, with something that happens after the nth statement. */
    const after = (nth: number, happen: () => Promise<unknown>): Queryable => {
      let count = 0
      const query: Queryable['query'] = async (sql, values) => {
        const rows = await test.db.query(sql, values)
        if (++count === nth) await happen()
        return rows as never
      }
      return { query }
    }

    it('verifies consistently while rows are sealed and pruned', async () => {
      await days(1, 2, 3, 4)
      for (let nth = 1; nth <= 4; nth++) {
        await write(20 + nth)
        const seal = () => sealAudit(test.db)
        const { head, unsealed, broken } = await verifyAudit(after(nth, seal), EXPECTED)
        assert.deepEqual([head.sealed + unsealed, broken], [4 + nth, null])
        await seal()
      }
      for (let nth = 1; nth <= 3; nth++) {
        let pruned = 0
        const pruneNow = async () => {
          pruned = await prune(nth + 1, 40)
        }
        assert.equal((await verifyAudit(after(nth, pruneNow), EXPECTED)).broken, null)
        assert.equal(pruned, 1)
      }
    })

    it('detects deleted, restored and rewritten rows', async () => {
      await days(1, 2, 3, 4)
      await prune(3, 40)
      await sealAudit(test.db)
      const forged = async (sql: string) => {
        class Undo extends Error {}
        let why: string | null = null
        const forging = test.db.transaction(async (tx) => {
          await tx.script(`alter table audit disable trigger audit_rows_are_immutable; ${sql}`)
          why = (await verifyAudit(tx, EXPECTED)).broken?.why ?? null
          throw new Undo()
        })
        await assert.rejects(forging, Undo)
        return why
      }
      assert.match((await forged('delete from audit where seal_number = 3'))!, /missing/)
      assert.match(
        (await forged(`update audit set seal_number = 1 where seal_number = 3`))!,
        /older than the rows that are kept/,
      )
      assert.match(
        (await forged(
          `update audit set after_json = after_json || '{"through": 3}' where subject = 'audit'`,
        ))!,
        /older|missing|follow/,
      )
      assert.match((await forged(`delete from audit where subject = 'audit'`))!, /missing/)
      await assert.rejects(
        test.db.query('delete from audit where seal_number = 3'),
        /never changed/,
      )
      assert.equal(await broken(), null)
    })

    const DELETE = 'delete from audit where seal_number <= 19'
    /** What somebody with plain DML can write: a pruning that nobody configured. */
    const forgePruning = async (before: Date, at: Date) =>
      insertAudit(test.db, {
        at,
        actor: 'system',
        actorName: 'matoolkit',
        action: 'audit.prune',
        subject: 'audit',
        ...nothing,
        after: { through: 19, hash: (await headAt(19)).hash, before: before.toISOString() },
      })
    const twenty = Array.from({ length: 20 }, (_, index) => index + 301)

    it('deletes nothing for a switch or a pruning that is not sealed, and is never truncated', async () => {
      await days(...twenty)
      await forgePruning(day(999), day(400))
      const deleting = test.db.transaction(async (tx) => {
        await tx.query(`select set_config('matoolkit.audit_pruned_through', '19', true)`)
        await tx.query(DELETE)
      })
      await assert.rejects(deleting, /never changed or deleted/)
      await assert.rejects(test.db.query('truncate audit'), /never truncated/)
      assert.equal((await left()).length, 21)
    })

    it('says what is gone when somebody pruned what no setting allows, and passes no head', async () => {
      await days(...twenty)
      const [tenth, head] = [await headAt(10), await findChainHead(test.db)]
      await forgePruning(day(999), day(390))
      await sealAudit(test.db)
      await test.db.query(DELETE)
      const gone = `rows 1 to 19 were deleted on ${day(390).toISOString()}`
      for (const known of [undefined, tenth, head]) {
        const forever = await broken(known, { keptDays: null })
        assert.equal(forever, `${gone}, but no setting (MATOOLKIT_AUDIT_KEPT_DAYS) allows it`)
        assert.match(
          (await broken(known))!,
          /^rows 1 to 19 .*although the last 30 days before are kept/,
        )
        assert.match((await broken(known, { now: day(389) }))!, /which is in the future$/)
      }
    })

    it('cannot delete young rows under a pruning that the setting would explain', async () => {
      await days(...twenty)
      await forgePruning(day(200), day(400))
      await sealAudit(test.db)
      await assert.rejects(test.db.query(DELETE), /never changed or deleted/)
    })

    it('passes no head inside the pruned rows, and the one at their end', async () => {
      await days(1, 2, 3, 10)
      const [second, third] = [await headAt(2), await headAt(3)]
      assert.equal(await prune(5, 40), 3)
      assert.match((await broken(second))!, /^rows 1 to 3 were pruned on .*this head among them/)
      assert.equal(await broken(third), null)
      assert.equal(await broken(), null)
    })
  })
}

it('is sealed by others when a sealer dies in the middle', async () => {
  const test = await openTestPostgres()
  await using _ = { [Symbol.asyncDispose]: () => test.close() }
  const dying = await openPostgres({ url: test.url!, applicationName: 'dying' })
  await using _dying = { [Symbol.asyncDispose]: () => dying.close() }
  const nothing = { source: null, clientApp: null, requestId: null, reason: null }
  for (const number of [1, 2, 3]) {
    const row = { actor: 'a', actorName: 'A', action: 'batch.hold', subject: `batch ${number}` }
    await insertAudit(test.db, { at: day(number), ...row, ...nothing })
  }
  const died = dying.transaction(async (tx) => {
    // As sealAudit does, up to its commit.
    await tx.query('select pg_advisory_xact_lock($1)', [CHAIN_LOCK])
    assert.equal((await sealRows(tx)).count, 3)
    assert.equal((await sealAudit(test.db)).count, 0, 'one sealer at a time')
    await test.db.query(
      'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = $1',
      ['dying'],
    )
  })
  await assert.rejects(died)
  assert.equal((await sealAudit(test.db)).count, 3)
  const verdict = await verifyAudit(test.db, EXPECTED)
  assert.deepEqual([verdict.broken, verdict.unsealed], [null, 0])
})

it('counts by whole days', () => {
  assert.deepEqual(
    keptFrom({ now: new Date('2026-03-02T08:00:00Z'), keptDays: 30 }),
    new Date('2026-01-31T00:00:00Z'),
  )
})
