// What keeps holds free of reads: the connections that reads may use, how many of a caller's requests are in work, and where texts of
// callers are read. The measured story is test/proof/operators/hold-under-load.test.ts.
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { describe, it } from 'node:test'
import { READ_LIMITS, ReadLane } from '../../../src/api/http/read-lane.ts'
import { describedRoutes } from '../../../src/api/routes.ts'
import { SEARCH_LIMITS, TextSearch } from '../../../src/api/services/text-search.ts'
import type { Db } from '../../../src/db/connection/db.ts'
import { withTimeLimit } from '../../../src/db/connection/lane-db.ts'
import type { Engine } from '../../../src/engine/transactions/engine.ts'
import { openTestPostgres } from '../../kit/databases.ts'

/** A database whose statements end when they are told to. */
function slowDb(kind: Db['kind'] = 'postgres') {
  const running: (() => void)[] = []
  const wait = () => new Promise<never[]>((resolve) => running.push(() => resolve([])))
  const db = { kind, query: wait, transaction: wait, script: wait } as unknown as Db
  return { db, running }
}

const engineWith = (db: Db) => ({ db }) as Engine

describe('reads', () => {
  for (const { kind, poolSize, used } of [
    { kind: 'postgres', poolSize: 10, used: 10 - READ_LIMITS.connectionsLeft },
    { kind: 'postgres', poolSize: 2, used: 1 },
    { kind: 'pglite', poolSize: 10, used: 1 },
  ] as const)
    it(`use ${used} of ${poolSize} connections at most (${kind})`, async () => {
      const { db, running } = slowDb(kind)
      const reads = new ReadLane(db, poolSize).engineOf(engineWith(db)).db
      const all = Array.from({ length: 30 }, () => reads.query('select'))
      assert.equal(running.length, used)
      // A change does not stand in their queue.
      void db.query('update')
      assert.equal(running.length, used + 1)
      for (let done = 0; done < running.length; done += 1) {
        running[done]!()
        await new Promise(setImmediate)
      }
      await Promise.all(all)
    })

  it('of one caller are few at a time, and no more wait than a caller with patience has', async () => {
    const lane = new ReadLane(slowDb().db, 10)
    const ends: (() => void)[] = []
    const read = () => lane.run('ann', () => new Promise<void>((resolve) => ends.push(resolve)))
    const all = Array.from({ length: READ_LIMITS.atOnce + READ_LIMITS.waitingMax }, read)
    assert.equal(ends.length, READ_LIMITS.atOnce)
    await assert.rejects(read(), { code: 'CALLER_BUSY' })
    await lane.run('bob', async () => {})
    for (let done = 0; done < all.length; done += 1) {
      ends[done]!()
      await new Promise(setImmediate)
    }
    await Promise.all(all)
  })
})

describe('a hold', () => {
  it('is known as one, so that reads wait for it', () => {
    const holds = describedRoutes().filter(({ action }) =>
      ['hold.set', 'members.hold'].includes(action ?? ''),
    )
    assert.deepEqual(holds.map(({ path }) => path).toSorted(), [
      '/api/batches/{batchId}/members/hold',
      '/api/holds',
    ])
    for (const { operation, isHold } of holds) assert.equal(isHold, true, operation)
  })

  it('is not followed by a statement of a read before it is answered', async () => {
    const { db, running } = slowDb()
    const lane = new ReadLane(db, 10)
    const reads = lane.engineOf(engineWith(db)).db
    const hold = Promise.withResolvers<void>()
    const held = lane.pausedDuring(() => hold.promise)
    const reading = reads.query('select')
    assert.equal(running.length, 0)
    hold.resolve()
    await held
    assert.equal(running.length, 1)
    running[0]!()
    await reading
  })
})

describe('a search in the data of every member', () => {
  it('runs alone, and so many wait at most', async () => {
    const { db, running } = slowDb()
    const search = new TextSearch()
    const all = Array.from({ length: 1 + SEARCH_LIMITS.waitingMax }, () => search.find(db, 'x', 1))
    assert.equal(running.length, 1)
    await assert.rejects(search.find(db, 'x', 1), { code: 'SEARCHES_BUSY' })
    for (let done = 0; done < all.length; done += 1) {
      running[done]!()
      await new Promise(setImmediate)
    }
    await Promise.all(all)
  })

  it('is ended by the server after its time', async () => {
    const test = await openTestPostgres()
    const refusal = () => new Error('too slow')
    const limited = withTimeLimit(test.db, 10, refusal, (tx) => tx.query('select pg_sleep(60)'))
    await assert.rejects(limited, /too slow/)
    const [row] = await test.db.query<{ limit: string }>(
      `select current_setting('statement_timeout') as limit`,
    )
    assert.equal(row!.limit, '1min')
    await test.close()
  })
})

describe('texts of callers', () => {
  it('are read in the thread only', () => {
    const readers = globSync('src/api/**/*.ts').filter((file) =>
      /^import (?!type)[^;]*?\b(?:readRunbook|readDocument|previewMessage|planRun)\b[^;]*? from/m.test(
        readFileSync(file, 'utf8'),
      ),
    )
    assert.deepEqual(readers, ['src/api/services/runbook-thread.ts'])
  })
})
