import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { migrate, migrationsOnDisk } from '../../src/db/migrate.ts'
import { openPostgres } from '../../src/db/postgres.ts'
import { DATABASES, openEmptyPostgres, type TestDatabase } from '../databases.ts'

const NOW = new Date('2026-03-01T00:00:00Z')

for (const database of DATABASES) {
  describe(`migrate on ${database.kind}`, () => {
    let test: TestDatabase
    before(async () => {
      test = await database.openEmpty()
    })
    after(() => test.close())

    it('applies every file once', async () => {
      const files = migrationsOnDisk().map(({ file }) => file)
      assert.deepEqual(await migrate(test.db, NOW), files)
      assert.deepEqual(await migrate(test.db, NOW), [])
      const rows = await test.db.query(
        'select file, applied_at from schema_migrations order by version',
      )
      assert.deepEqual(
        rows,
        files.map((file) => ({ file, applied_at: NOW })),
      )
    })

    it('refuses a newer schema', async () => {
      const older = migrationsOnDisk().slice(0, -1)
      const newest = migrationsOnDisk().at(-1)!.version
      await assert.rejects(migrate(test.db, NOW, older), {
        code: 'SCHEMA_NEWER',
        message: new RegExp(
          `schema version ${newest}, but this program supports versions up to ${newest - 1}`,
        ),
      })
    })

    it('refuses an edited migration', async () => {
      const edited = migrationsOnDisk().map((one, i) =>
        i === 0 ? { ...one, sql: `${one.sql} ` } : one,
      )
      await assert.rejects(migrate(test.db, NOW, edited), {
        code: 'SCHEMA_EDITED',
        message: /001_state\.sql/,
      })
    })

    it('refuses a database of an unreleased version', async () => {
      const unreleased = await database.openEmpty()
      const created = { version: 1, file: '001_core.sql', sql: 'create table boxes (id bigint)' }
      const last = { version: 99, file: '099_last.sql', sql: 'select 1' }
      await migrate(unreleased.db, NOW, [created, last])
      await assert.rejects(migrate(unreleased.db, NOW), {
        code: 'SCHEMA_UNRELEASED',
        message: /"001_core\.sql" where this version has "001_state\.sql".*empty database/,
      })
      await unreleased.close()
    })

    it('leaves nothing of a file that fails half-way', async () => {
      const bad = [
        ...migrationsOnDisk(),
        { version: 999, file: '999_bad.sql', sql: 'create table half (a int); select 1/0' },
      ]
      await assert.rejects(migrate(test.db, NOW, bad), /division by zero/)
      assert.deepEqual(await test.db.query("select to_regclass('half') as half"), [{ half: null }])
    })
  })
}

it('applies each file once when two processes start at once', async () => {
  const test = await openEmptyPostgres()
  const second = await openPostgres({ url: test.url! })
  const [one, two] = await Promise.all([migrate(test.db, NOW), migrate(second, NOW)])
  assert.equal([...one, ...two].length, migrationsOnDisk().length)
  await second.close()
  await test.close()
})
