// The seeded world, a short sweep: the real engine, bus and workers under faults, one event at a time; then healed, and everything
// must end. A seed that fails is replayed by its number.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import type { Db } from '../src/db/db.ts'
import { migrate } from '../src/db/migrate.ts'
import { openTestPglite, type TestDatabase } from './databases.ts'
import { prepareChecks } from './simulation/checks.ts'
import { preparedDb } from './simulation/prepared-db.ts'
import { runSeed } from './simulation/run.ts'

const SEEDS = 25

describe('the seeded world', () => {
  let test: TestDatabase
  let db: Db
  before(async () => {
    test = await openTestPglite()
    db = preparedDb(test.db)
    await migrate(db, new Date('2026-03-01T00:00:00Z'))
    await prepareChecks(db)
  })
  after(() => test.close())

  it(`keeps every promise over ${SEEDS} seeds, and every batch ends`, async () => {
    let events = 0
    for (let seed = 1; seed <= SEEDS; seed++) {
      const run = await runSeed({ db, seed })
      assert.deepEqual(run.found, [], `seed ${seed}\n${run.log.slice(-40).join('\n')}`)
      events += run.events
    }
    assert.ok(events > SEEDS * 50, `only ${events} events`)
  })

  it('does the same again with the same seed', async () => {
    const [one, two] = [await runSeed({ db, seed: 7 }), await runSeed({ db, seed: 7 })]
    assert.equal(one.fingerprint, two.fingerprint)
    assert.notEqual(one.fingerprint, (await runSeed({ db, seed: 8 })).fingerprint)
  })
})
