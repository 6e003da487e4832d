// The postgres transport keeps the contract on both databases, and sends as part of the state's transaction.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import pg from 'pg'
import { type Bus, ORCHESTRATOR_EVENTS, workerJobs } from '../../../src/bus/bus.ts'
import { enqueue } from '../../../src/bus/outbox.ts'
import { splitBundles } from '../../../src/bus/postgres/bundle-rows.ts'
import { openPostgresBus } from '../../../src/bus/postgres/postgres-bus.ts'
import type { Db, Tx } from '../../../src/db/connection/db.ts'
import { openPostgres } from '../../../src/db/connection/postgres.ts'
import { DATABASES, openTestPostgres, type TestDatabase } from '../../kit/databases.ts'
import { variants } from '../../kit/variants.ts'
import { busContract } from '../contract.ts'
import { type BusUnderTest, drain, event, job } from '../under-test.ts'

const START = new Date('2026-03-01T10:00:00.000Z')

async function openBusUnderTest(open: () => Promise<TestDatabase>): Promise<BusUnderTest> {
  const database = await open()
  let nowMs = START.getTime()
  const clock = { now: () => new Date(nowMs) }
  // To the server a second pool is a second process. PGlite has a single connection.
  const rival = database.url ? await openPostgres({ url: database.url }) : database.db
  const [bus, other] = [database.db, rival].map((db) =>
    openPostgresBus({ db, clock, newToken: randomUUID }),
  ) as [Bus, Bus]
  return {
    bus,
    other,
    now: clock.now,
    advance: async (ms) => {
      nowMs += ms
    },
    inTransaction: (work) => database.db.transaction(work),
    close: async () => {
      await Promise.all([bus.close(), other.close()])
      if (rival !== database.db) await rival.close()
      await database.close()
    },
  }
}

for (const database of variants(DATABASES)) {
  busContract(`postgres transport on ${database.kind}`, () => openBusUnderTest(database.open))

  describe(`outbox on ${database.kind}`, () => {
    let test: TestDatabase
    let bus: Bus
    before(async () => {
      test = await database.open()
      bus = openPostgresBus({ db: test.db, clock: { now: () => START }, newToken: randomUUID })
    })
    after(() => test.close())

    it('sends when the transaction commits; a rollback also forgets the message id', async () => {
      const sent = event()
      const crash = test.db.transaction(async (tx) => {
        assert.equal(await enqueue(tx, [sent], START), 1)
        throw new Error('crash before commit')
      })
      await assert.rejects(crash, /crash before commit/)
      assert.deepEqual(await drain(bus, ORCHESTRATOR_EVENTS), [])
      await test.db.transaction((tx) => enqueue(tx, [sent], START))
      const got = await drain(bus, ORCHESTRATOR_EVENTS)
      assert.deepEqual(
        got.map(({ messageId }) => messageId),
        [sent.messageId],
      )
      assert.equal(await test.db.transaction((tx) => enqueue(tx, [sent], START)), 0)
    })

    it('sends more messages than one statement holds', async () => {
      const many = Array.from({ length: 2_500 }, () => job('w8'))
      assert.equal(await test.db.transaction((tx) => enqueue(tx, many, START)), 2_500)
      assert.equal((await drain(bus, workerJobs('w8'))).length, 2_500)
    })

    it('reads few more rows than it takes on a table that vacuum saw empty', async () => {
      // One connection, so that flushing its statistics makes them complete.
      const db = test.url ? await openPostgres({ url: test.url, poolSize: 1 }) : test.db
      const own = openPostgresBus({ db, clock: { now: () => START }, newToken: randomUUID })
      await db.query('delete from bundles')
      await db.query('vacuum analyze bundles')
      const sent = Array.from({ length: 5_000 }, () => job('w6'))
      await own.publish(sent)
      const bundles = await db.query<{ id: number }>('select id from bundles')
      await splitBundles(
        db,
        bundles.map(({ id }) => id),
        { unleased: true },
      )
      const before = await rowsRead(db)
      const taken = await own.receive(workerJobs('w6'), 200)
      await own.renew(taken)
      await own.abandon(taken.slice(0, 100))
      await own.ack(taken.slice(100))
      await own.sweep()
      const read = (await rowsRead(db)) - before
      assert.ok(read < 2_000, `${read} rows read for some 600 rows of work`)
      const leased = new Set(taken.map(({ messageId }) => messageId))
      const free = sent.map(({ messageId }) => messageId).filter((id) => !leased.has(id))
      await db.transaction((tx) => own.storedJobs.withdrawIn(tx, free.slice(0, 200)))
      const readToWithdraw = (await rowsRead(db)) - before - read
      assert.ok(readToWithdraw < 6_000, `${readToWithdraw} rows read to find 200 in 4,900`)
      if (db !== test.db) await db.close()
    })

    it('delivers by polling alone when every hint is lost', async () => {
      const deaf = openPostgresBus({
        db: { ...test.db, listen: async () => async () => {} },
        clock: { now: () => START },
        newToken: randomUUID,
      })
      await deaf.listen(workerJobs('w7'), () => assert.fail('nobody hears anything'))
      await deaf.publish([job('w7')])
      assert.equal((await drain(deaf, workerJobs('w7'))).length, 1)
    })
  })
}

/** Rows of `bundles` that statements have read so far. */
async function rowsRead(db: Db): Promise<number> {
  await db.query('select pg_stat_force_next_flush()')
  await db.query('select pg_stat_clear_snapshot()')
  const [row] = await db.query<{ rows: number }>(
    `select seq_tup_read + idx_tup_fetch as rows from pg_stat_user_tables
     where relname = 'bundles'`,
  )
  return row!.rows
}

describe('postgres transport on a server', () => {
  it('keeps neither messages nor ids of a sender killed before its commit', async () => {
    const test = await openTestPostgres()
    try {
      const bus = openPostgresBus({
        db: test.db,
        clock: { now: () => START },
        newToken: randomUUID,
      })
      const sent = event()
      await killedBeforeCommit(test, (tx) => enqueue(tx, [sent], START))
      assert.deepEqual(await drain(bus, ORCHESTRATOR_EVENTS), [])
      await bus.publish([sent])
      assert.equal((await drain(bus, ORCHESTRATOR_EVENTS)).length, 1)
    } finally {
      await test.close()
    }
  })
})

/** Runs `work` in a transaction whose connection the server then ends, as when the client's machine dies. */
async function killedBeforeCommit(test: TestDatabase, work: (tx: Tx) => Promise<unknown>) {
  const client = new pg.Client({ connectionString: test.url! })
  const gone = new Promise<void>((resolve) => client.on('end', resolve))
  client.on('error', () => {})
  await client.connect()
  await client.query('begin')
  const query: Tx['query'] = async (sql, values) =>
    (await client.query(sql, [...(values ?? [])])).rows
  const change: Tx['change'] = async (sql, values) =>
    (await client.query(sql, [...values])).rowCount ?? 0
  await work({ inTransaction: true, query, change, script: async () => {}, afterCommit: () => {} })
  const { rows } = await client.query('select pg_backend_pid() as pid')
  await test.db.query('select pg_terminate_backend($1, 5000)', [rows[0].pid])
  await gone
}
