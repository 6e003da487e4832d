// Who upgrades the schema, and what an old process does when it meets a newer one.
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import { requireSchema, type SchemaOptions } from '../../../src/app/upkeep/schema.ts'
import { olderLines, planSchemaUpgrade, showPlan } from '../../../src/app/upkeep/upgrade-plan.ts'
import { EXIT, type MatoolkitError } from '../../../src/base/errors/errors.ts'
import { virtualClock } from '../../../src/base/run/clock.ts'
import type { Role } from '../../../src/base/settings/process.ts'
import { makeShow } from '../../../src/cli/terminal/show.ts'
import type { Db } from '../../../src/db/connection/db.ts'
import { migrate } from '../../../src/db/schema/migrate.ts'
import { type Migration, migrationsOnDisk } from '../../../src/db/schema/migration-files.ts'
import { recordingIo } from '../../cli/recording-io.ts'
import { openRole } from '../../kit/database-roles.ts'
import { openEmptyPostgres, openTestPostgres } from '../../kit/databases.ts'
import { start } from '../../kit/processes.ts'

const folder = mkdtempSync(join(tmpdir(), 'matoolkit-schema-'))
after(() => rmSync(folder, { recursive: true }))

const NOW = new Date('2026-03-01T00:00:00Z')
const NEWEST = migrationsOnDisk().at(-1)!.version
const FILES = migrationsOnDisk().map(({ file }) => file)

/** The start of a process with these roles, and what it said while it waited. */
function starting(db: Db, roles: readonly Role[]) {
  const clock = virtualClock(NOW)
  const stop = new AbortController()
  const said: string[] = []
  const waits = Promise.withResolvers<void>()
  const options: SchemaOptions = {
    roles,
    workerId: 'w1',
    clock,
    stopping: stop.signal,
    onWaiting: ({ message }: MatoolkitError) => {
      said.push(message)
      waits.resolve()
    },
  }
  const applied = requireSchema(db, options)
  /** In small steps: the process talks to a database, which the virtual clock does not wait for. */
  const advance = async () => {
    await waits.promise
    for (let turn = 0; turn < 5; turn += 1) {
      await clock.advance(2_000)
      await db.query('select 1')
    }
  }
  return { advance, stop, said, applied }
}

const hasTables = async (db: Db) =>
  (await db.query<{ is: boolean }>("select to_regclass('batches') is not null as is"))[0]!.is

describe('the schema at start', () => {
  it('is upgraded by every process of the owner but one that is only a worker', async () => {
    const test = await openEmptyPostgres()
    await using _ = { [Symbol.asyncDispose]: () => test.close() }
    const worker = starting(test.db, ['worker'])
    await worker.advance()
    assert.deepEqual(worker.said, [
      `The database has schema version 0, but this program needs version ${NEWEST} and may not upgrade it: a worker never does. Run "matoolkit db migrate" with the DATABASE_URL of the owner.`,
    ])
    assert.equal(await hasTables(test.db), false)
    const other = starting(test.db, ['worker', 'orchestrator'])
    assert.deepEqual([await other.applied, other.said], [FILES, []])
    await worker.advance()
    assert.deepEqual(await worker.applied, [])
  })

  it('is waited for by a role that does not own the tables, until it is asked to stop', async () => {
    const test = await openEmptyPostgres()
    await using _ = { [Symbol.asyncDispose]: () => test.close() }
    await migrate(test.db, NOW, migrationsOnDisk().slice(0, 1))
    await using app = await openRole(test, 'app')
    await test.db.script(`grant select on schema_migrations to ${app.name}`)
    const waiting = starting(app.db, ['orchestrator', 'api'])
    await waiting.advance()
    waiting.stop.abort()
    await assert.rejects(waiting.applied, { code: 'SCHEMA_OLDER', exitCode: EXIT.unavailable })
    assert.equal(waiting.said.length, 1)
    assert.match(waiting.said[0]!, /schema version 1, but .* the database role "app_\w+" does not/)
    assert.equal((await test.db.query('select from schema_migrations')).length, 1)
  })
})

describe('the plan of an upgrade', () => {
  const made = (version: number, words: string): Migration => ({
    version,
    file: `00${version}_file.sql`,
    sql: `-- upgrade: ${words}`,
  })
  const processOf = (name: string, schema: number) => ({ name, schema, version: `0.${schema}.0` })
  const MIGRATIONS = [made(1, 'additive'), made(2, 'additive'), made(3, 'contracting from 2')]
  const VERSIONS = { found: 1, known: 3, lowest: 1 }
  const AT_WORK = [processOf('api@a#1', 1), processOf('api@b#1', 2), processOf('api@c#1', 3)]

  it('shows each migration, who is at work, and until when they continue', async () => {
    const plan = planSchemaUpgrade(VERSIONS, MIGRATIONS, AT_WORK)
    const io = recordingIo()
    await showPlan(makeShow('table', io), plan)
    assert.deepEqual(io.outText().trimEnd().split('\n'), [
      'The schema has version 1; "matoolkit db migrate" makes it 3.',
      '',
      'Missing',
      'MIGRATION     UPGRADE      PROGRAMS THAT CONTINUE',
      '002_file.sql  additive     schema 1 and newer',
      '003_file.sql  contracting  schema 2 and newer',
      '',
      'At work now',
      'PROCESS  RELEASE  SCHEMA  CONTINUES',
      'api@a#1  0.1.0         1  until 003_file.sql',
      'api@b#1  0.2.0         2  yes',
      'api@c#1  0.3.0         3  yes',
    ])
    assert.deepEqual(olderLines(plan), [
      'api@a#1 runs 0.1.0 and ends its work; replace it',
      'api@b#1 runs 0.2.0 and continues; replace it',
    ])
  })
})

describe('matoolkit db migrate', () => {
  it('creates the tables as owner, once, and refuses everybody else', async () => {
    const test = await openEmptyPostgres()
    await using _ = { [Symbol.asyncDispose]: () => test.close() }
    const run = (url: string, ...flags: string[]) =>
      start(['db', 'migrate', ...flags], { DATABASE_URL: url }).ended
    const planned = await run(test.url!, '--dry-run')
    assert.match(planned.out, new RegExp(`version 0; "matoolkit db migrate" makes it ${NEWEST}\\.`))
    const asData = await run(test.url!, '--dry-run', '--output', 'json')
    const pending = migrationsOnDisk().map((one) => ({
      file: one.file,
      kind: 'contracting',
      lowestProgram: one.version,
    }))
    assert.deepEqual(JSON.parse(asData.out), {
      found: 0,
      known: NEWEST,
      pending,
      processes: [],
      applied: [],
      renewedRoles: [],
    })
    assert.equal(await hasTables(test.db), false)
    const first = await run(test.url!)
    assert.equal(first.out, `Applied ${FILES.length} migrations: ${FILES.join(', ')}\n`)
    assert.equal((await run(test.url!)).out, 'The schema is current. Nothing to do.\n')
    await using app = await openRole(test, 'app')
    const refused = await run(app.url)
    assert.deepEqual([refused.code, refused.out], [EXIT.unavailable, ''])
    assert.match(refused.err, /"app_\w+" does not own the tables\. Run .*\(NOT_OWNER\)/)
    await test.db.query("insert into schema_migrations values ($1, 'next.sql', '', $2, $3)", [
      NEWEST + 1,
      NEWEST,
      NOW,
    ])
    const grant = ['db', 'grant', '--application', app.name]
    const older = await start(grant, { DATABASE_URL: test.url! }).ended
    assert.deepEqual([older.code, older.out], [EXIT.unavailable, ''])
    assert.match(older.err, /does not know all tables\. Use the newer matoolkit .*\(SCHEMA_AHEAD\)/)
    const embedded = await start(['db', 'migrate'], {}, folder).ended
    assert.equal(embedded.code, EXIT.usage)
    assert.match(embedded.err, /DATABASE_URL is not set/)
  })
})

describe('an old process that meets a schema beyond it', () => {
  it('says so once, takes no more work, is not ready, and loses nothing', async () => {
    const test = await openTestPostgres()
    await using _ = { [Symbol.asyncDispose]: () => test.close() }
    const served = start(['serve', '--roles', 'api,orchestrator,scheduler,worker'], {
      DATABASE_URL: test.url!,
      MATOOLKIT_API_PORT: '0',
      MATOOLKIT_API_TOKEN_FILE: join(folder, 'api-token'),
      MATOOLKIT_SECRETS_FOLDER: join(folder, 'secrets'),
      MATOOLKIT_WORKER_ID: 'w1',
    })
    await using _served = { [Symbol.asyncDispose]: async () => served.kill('SIGKILL') }
    const [, url] = await served.saying(/"url":"(http:[^"]+)"/)
    await test.db.script(`
      alter table bundles rename column bodies to contents;
      alter table batches rename to waves;
      insert into schema_migrations values (${NEWEST + 1}, 'next.sql', '', ${NEWEST + 1}, '2026-03-01');
      insert into bundles (topic, subscription, message_ids, message_type, contents, enqueued_at, visible_at, expires_at, size)
        values ('worker-results', 'orchestrator', 'm1', 'worker-result', '{}', '2026-03-01', '2026-03-01', '2090-03-01', 1)`)
    await served.saying(/Stood down/)
    const ready = await fetch(`${url}/api/ready`)
    const { checks } = (await ready.json()) as { checks: { name: string; about: string }[] }
    assert.equal(ready.status, 503)
    assert.equal(
      checks.find(({ name }) => name === 'schema')!.about,
      `the database has version ${NEWEST + 1}, this program knows version ${NEWEST}`,
    )
    const status = await fetch(`${url}/api/status`)
    assert.equal(status.status, 503)
    assert.equal(((await status.json()) as { code: string }).code, 'SCHEMA_NEWER')
    assert.equal((await fetch(`${url}/api/health`)).status, 200)
    const waiting = await test.db.query("select from bundles where message_ids = 'm1'")
    const dead = await test.db.query('select from dead_letters')
    assert.deepEqual([waiting.length, dead.length], [1, 0])
    served.kill('SIGTERM')
    const { code, out } = await served.ended
    assert.equal(code, EXIT.ok, out)
    const { length: said } = out.match(/"code":"SCHEMA_NEWER"/g)!
    assert.equal(said, 1, out)
    const errors = out.split('\n').filter((line) => /"level":"(warn|error)"/.test(line))
    assert.ok(errors.length <= 8, errors.join('\n'))
  })
})
