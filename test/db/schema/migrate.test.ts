import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { openPostgres } from '../../../src/db/connection/postgres.ts'
import {
  findNewerSchema,
  findSchemaGap,
  isClosed,
  migrate,
} from '../../../src/db/schema/migrate.ts'
import {
  type Migration,
  migrationsOnDisk,
  upgradeOf,
} from '../../../src/db/schema/migration-files.ts'
import { connectionNameOf, listProcesses } from '../../../src/db/schema/processes.ts'
import { DATABASES, openEmptyPostgres, type TestDatabase } from '../../kit/databases.ts'
import { variants } from '../../kit/variants.ts'

const NOW = new Date('2026-03-01T00:00:00Z')

for (const database of variants(DATABASES)) {
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
        files.map((file) => ({ file, appliedAt: NOW })),
      )
    })

    it('refuses a newer schema that does not say it is compatible', async () => {
      const older = migrationsOnDisk().slice(0, -1)
      const newest = migrationsOnDisk().at(-1)!.version
      await assert.rejects(migrate(test.db, NOW, older), {
        code: 'SCHEMA_NEWER',
        message: new RegExp(
          `schema version ${newest}, which needs a program of schema version ${newest} or newer; this one has ${newest - 1}`,
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

    it('refuses a database of a version that kept its migrations differently', async () => {
      const early = await database.openEmpty()
      await early.db.script(`create table schema_migrations (version integer primary key, file text, hash text, applied_at timestamptz);
        insert into schema_migrations values (1, '001_state.sql', 'abc', '2026-01-01Z')`)
      const refused = {
        code: 'SCHEMA_UNRELEASED',
        message:
          /schema_migrations without lowest_program.*cannot be upgraded; start with an empty database/,
      }
      await assert.rejects(migrate(early.db, NOW), refused)
      await assert.rejects(
        findSchemaGap(early.db),
        refused,
        'a worker, which never upgrades, waits for nothing',
      )
      await early.close()
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

const file = (version: number, sql: string): Migration => ({
  version,
  file: `00${version}_file.sql`,
  sql,
})
const FIRST = file(1, 'create table things (id int primary key, name text, old text)')
const ADDS = file(2, '-- upgrade: additive\nalter table things add column size int')
const FILLS = file(
  3,
  '-- upgrade: backfill\nupdate things set size = 1 where id in (select id from things where size is null limit 4)',
)
const INDEXES = file(
  4,
  '-- upgrade: index\ncreate index concurrently if not exists by_size on things (size)',
)
const DROPS = file(5, '-- upgrade: contracting from 2\nalter table things drop column old')
const ALL = [FIRST, ADDS, FILLS, INDEXES, DROPS]
const knows = (count: number) => ALL.slice(0, count)

for (const database of variants(DATABASES)) {
  describe(`an older program and a newer schema on ${database.kind}`, () => {
    let test: TestDatabase
    before(async () => {
      test = await database.openEmpty()
    })
    after(() => test.close())

    it('go together until a migration says from which program on', async () => {
      const { db } = test
      await migrate(db, NOW, knows(1))
      await db.query('insert into things select n, $1 from generate_series(1, 10) as n', ['box'])
      assert.deepEqual(await migrate(db, NOW, knows(4)), [ADDS.file, FILLS.file, INDEXES.file])
      assert.deepEqual(await db.query('select from things where size is null'), [])
      assert.deepEqual(
        await db.query("select indisvalid from pg_index where indexrelid = 'by_size'::regclass"),
        [{ indisvalid: true }],
      )
      assert.deepEqual(await migrate(db, NOW, knows(1)), [])
      assert.equal(await findSchemaGap(db, knows(1)), null)
      const ahead = await findNewerSchema(db, knows(1))
      assert.deepEqual(ahead, { found: 4, known: 1, lowest: 1 })
      assert.equal(isClosed(ahead!), false)
      assert.deepEqual(await migrate(db, NOW, ALL), [DROPS.file])
      assert.deepEqual(await migrate(db, NOW, knows(2)), [])
      const closed = { found: 5, known: 1, lowest: 2 }
      assert.deepEqual(await findNewerSchema(db, knows(1)), closed)
      assert.equal(isClosed(closed), true)
      await assert.rejects(migrate(db, NOW, knows(1)), { code: 'SCHEMA_NEWER' })
      await assert.rejects(findSchemaGap(db, knows(1)), { code: 'SCHEMA_NEWER' })
    })
  })
}

describe('a migration while programs are at work', () => {
  const named = (schema: number) =>
    connectionNameOf({ version: '0.1.0', schema, roles: ['api'], host: 'web-1', pid: 7 })

  it('is refused if it would end one of them, unless that is wanted', async () => {
    const test = await openEmptyPostgres()
    await using _ = { [Symbol.asyncDispose]: () => test.close() }
    const open = (schema: number) =>
      openPostgres({ url: test.url!, applicationName: named(schema) })
    await migrate(test.db, NOW, knows(1))
    const [older, newer] = [await open(1), await open(2)]
    assert.deepEqual(await listProcesses(test.db), [
      { version: '0.1.0', schema: 1, name: 'api@web-1#7' },
      { version: '0.1.0', schema: 2, name: 'api@web-1#7' },
    ])
    await assert.rejects(migrate(test.db, NOW, ALL), {
      code: 'SCHEMA_IN_USE',
      message: /005_file\.sql .* before schema version 2 use.*: api@web-1#7 \(0\.1\.0\)\. Replace/,
    })
    const versions = { found: 4, known: 1, lowest: 1 }
    assert.deepEqual(await findNewerSchema(test.db, knows(1)), versions)
    assert.deepEqual(await test.db.query('select old from things'), [])
    assert.deepEqual(await migrate(test.db, NOW, ALL, { stopsOlder: true }), [DROPS.file])
    await Promise.all([older.close(), newer.close()])
  })

  it('lets them pass when it gets no lock, and tries again', async () => {
    const test = await openEmptyPostgres()
    await using _ = { [Symbol.asyncDispose]: () => test.close() }
    await migrate(test.db, NOW, knows(1))
    const other = await openPostgres({ url: test.url! })
    const [reads, ends] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const long = other.transaction(async (tx) => {
      await tx.query('select count(*) from things')
      reads.resolve()
      await ends.promise
    })
    await reads.promise
    await assert.rejects(migrate(test.db, NOW, knows(2), { lockWaitMs: 50 }), {
      code: 'SCHEMA_BUSY',
      message: /002_file\.sql got no lock in 1 attempt:/,
    })
    assert.deepEqual(await test.db.query('select version from schema_migrations'), [{ version: 1 }])
    const pauses: number[] = []
    const pause = async (ms: number) => {
      pauses.push(ms)
      // What came behind the migration has passed.
      await test.db.query('insert into things values ($1)', [pauses.length])
      ends.resolve()
      await long
    }
    assert.deepEqual(await migrate(test.db, NOW, knows(2), { pause, lockWaitMs: 50 }), [ADDS.file])
    assert.deepEqual(pauses, [1_000])
    await other.close()
  })

  it('builds an index again that a cut connection left unusable', async () => {
    const test = await openEmptyPostgres()
    await using _ = { [Symbol.asyncDispose]: () => test.close() }
    await migrate(test.db, NOW, knows(3))
    await test.db.query('insert into things (id, size) values (1, 1), (2, 1)', [])
    await assert.rejects(
      test.db.script('create unique index concurrently by_size on things (size)'),
      /could not create unique index/,
    )
    const isValid = () =>
      test.db.query("select indisvalid from pg_index where indexrelid = 'by_size'::regclass")
    assert.deepEqual(await isValid(), [{ indisvalid: false }])
    assert.deepEqual(await migrate(test.db, NOW, knows(4)), [INDEXES.file])
    assert.deepEqual(await isValid(), [{ indisvalid: true }])
  })
})

describe('what a migration declares', () => {
  it('is one of four words, and without any only programs that know it continue', () => {
    assert.deepEqual(ALL.map(upgradeOf), [
      { kind: 'contracting', from: 1 },
      { kind: 'additive', from: null },
      { kind: 'backfill', from: null },
      { kind: 'index', from: null },
      { kind: 'contracting', from: 2 },
    ])
    const wrong = ['addditive', 'contracting', 'contracting from 6', 'contracting from x', '']
    for (const words of wrong) {
      const migration = file(5, `-- upgrade: ${words}\nselect 1`)
      assert.throws(() => upgradeOf(migration), /005_file\.sql declares "upgrade: /)
    }
    const twice = file(5, '-- upgrade: additive\n-- upgrade: index\nselect 1')
    assert.throws(() => upgradeOf(twice), /declares "upgrade: additive", "index"/)
  })
})

describe('the name of a process', () => {
  it('fits the server and keeps the end of a long host', () => {
    const process = { version: '12.10.11', schema: 104, pid: 4_194_304 }
    const host = 'matoolkit-orchestrator--r12-6d8f9c7b5-x2k4z'
    const long = connectionNameOf({ ...process, host, roles: ['scheduler', 'orchestrator'] })
    assert.equal(long, 'matoolkit 12.10.11/104 scheduler,orchestrator@7b5-x2k4z#4194304')
    assert.ok(long.length <= 63)
    const roles = ['scheduler', 'orchestrator', 'api', 'worker']
    assert.equal(
      connectionNameOf({ version: '0.1.0', schema: 4, pid: 1, roles, host: 'my host' }),
      'matoolkit 0.1.0/4 all@myhost#1',
    )
  })
})

it('applies each file once when two processes start at once', async () => {
  const test = await openEmptyPostgres()
  const second = await openPostgres({ url: test.url! })
  const [one, two] = await Promise.all([migrate(test.db, NOW), migrate(second, NOW)])
  assert.equal([...one, ...two].length, migrationsOnDisk().length)
  await second.close()
  await test.close()
})
