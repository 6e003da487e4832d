// Every release's mid-flight database migrates to the schema of today, and the engine finishes its batches.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { migrate } from '../../../src/db/schema/migrate.ts'
import { STEP_STATUSES } from '../../../src/domain/state/transitions.ts'
import { openEmptyPostgres } from '../../kit/databases.ts'
import { brokenInvariants } from '../../kit/invariants.ts'
import { openWorld, START } from '../world.ts'
import { listFixtures, migrationHashes, restoreFixture } from './fixture.ts'

const TEN_MINUTES = 600
const HELP = 'before the release is out, write its fixture again: scripts/release-fixture.ts'

describe('fixtures of releases', () => {
  it('exist', () => assert.ok(listFixtures().length > 0))

  for (const fixture of listFixtures()) {
    const valuesIn = (table: string, column: string) =>
      [...new Set(fixture.tables[table]!.map((row) => String(row[column])))].sort()

    it(`${fixture.release} has steps in every status, every kind of wait and messages`, () => {
      assert.deepEqual(valuesIn('step_executions', 'status'), [...STEP_STATUSES].sort())
      assert.deepEqual(valuesIn('step_executions', 'kind'), [
        'init',
        'phase',
        'removal',
        'rollback',
        'undo',
      ])
      assert.deepEqual(valuesIn('waits', 'kind'), ['job', 'poll', 'retry', 'slot'])
      assert.deepEqual(valuesIn('bundles', 'topic'), ['worker-jobs', 'worker-results'])
      assert.deepEqual(valuesIn('batch_members', 'status'), ['active', 'failed', 'removed'])
    })

    it(`${fixture.release} has the migrations it was released with`, () => {
      const hashes = migrationHashes()
      for (const [file, hash] of Object.entries(fixture.migrations)) {
        assert.equal(hashes[file], hash, `${file} was changed: add a migration instead (${HELP})`)
      }
    })

    it(`${fixture.release} migrates and its batches finish`, async () => {
      const test = await openEmptyPostgres()
      await restoreFixture(test.db, fixture)
      const now = new Date(fixture.now)
      await migrate(test.db, now)
      const world = await openWorld({ database: test })
      await world.clock.advance(+now - +START)
      assert.deepEqual(await brokenInvariants(world.db, now), [])
      for (let round = 0; round < 24; round += 1) await world.pass(TEN_MINUTES)
      const batches = await world.db.query('select status from batches order by id')
      assert.deepEqual(batches, [{ status: 'completed' }, { status: 'completed' }])
      for (const table of ['waits', 'bundles']) {
        assert.deepEqual(await world.db.query(`select from ${table}`), [], table)
      }
      assert.deepEqual(await brokenInvariants(world.db, world.clock.now()), [])
      await world.close()
    })
  }
})
