// A rolling upgrade with real processes on one server. The former release is this program. The next one is a copy of it with a later
// version and three migrations: a column on every table, one of them filled for old rows, and an index. The former is at work on a batch
// while the next one migrates and joins. Both work; then a migration shuts the former out; the next one finishes the batch.
import assert from 'node:assert/strict'
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, it } from 'node:test'
import { EXIT } from '../../../src/base/errors/errors.ts'
import { realClock } from '../../../src/base/run/clock.ts'
import type { Db } from '../../../src/db/connection/db.ts'
import { migrate } from '../../../src/db/schema/migrate.ts'
import { type Migration, migrationsOnDisk } from '../../../src/db/schema/migration-files.ts'
import { listProcesses } from '../../../src/db/schema/processes.ts'
import { createBatch } from '../../../src/engine/orders/create.ts'
import { publishRunbook } from '../../../src/engine/orders/publish.ts'
import { openTestPostgres } from '../../kit/databases.ts'
import { brokenInvariants } from '../../kit/invariants.ts'
import { ROOT, start } from '../../kit/processes.ts'
import { faultsIn } from '../../stories/releases/additive.ts'
import { openWorld, people } from '../../stories/world.ts'

const folder = mkdtempSync(join(tmpdir(), 'matoolkit-rolling-'))
after(() => rmSync(folder, { recursive: true }))

const NEXT = '0.2.0'
const MEMBERS = 30
/** A slow machine needs seconds; longer than this means that it hangs. */
const CALLS_MS_MAX = 60_000
const STEPS = ['first', 'second']
const CLOCK = realClock()
const NEWEST = migrationsOnDisk().at(-1)!.version
const TABLES = migrationsOnDisk().flatMap(({ sql }) =>
  [...sql.matchAll(/^create table (\w+)/gm)].map(([, name]) => name!),
)

const migration = (after: number, name: string, sql: string): Migration => {
  const version = NEWEST + after
  return { version, file: `${String(version).padStart(3, '0')}_${name}.sql`, sql }
}

/** A statement of the former release that takes all columns of a table would break: connections keep their statements prepared. */
const ADDED: readonly Migration[] = [
  migration(
    1,
    'more',
    `-- upgrade: additive\n${TABLES.map((table) => `alter table ${table} add column added_note text;`).join('\n')}`,
  ),
  migration(
    2,
    'old_rows',
    "-- upgrade: backfill\nupdate step_executions set added_note = 'old' where id in (select id from step_executions where added_note is null limit 7)",
  ),
  migration(
    3,
    'found',
    '-- upgrade: index\ncreate index concurrently if not exists steps_by_note on step_executions (added_note)',
  ),
]
const SHUTS_OUT = migration(4, 'shuts_out', `-- upgrade: contracting from ${NEWEST + 3}\nselect 1`)

/** The next release: the same code, so that only the upgrade itself is under test. */
function nextRelease(): string {
  const root = join(folder, 'next')
  mkdirSync(root)
  for (const part of ['src', 'sandbox', 'sql'])
    cpSync(join(ROOT, part), join(root, part), { recursive: true })
  symlinkSync(join(ROOT, 'node_modules'), join(root, 'node_modules'))
  const manifest = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  writeFileSync(join(root, 'package.json'), JSON.stringify({ ...manifest, version: NEXT }))
  for (const { file, sql } of ADDED) writeFileSync(join(root, 'sql', file), sql)
  return root
}

interface Call {
  readonly release: string
  readonly jobId: string
}

/** Where the steps of the test call: it sees who runs what, and lets a call end when it wants. */
async function openGate() {
  const calls: Call[] = []
  const held: { readonly release: string; readonly answer: ServerResponse }[] = []
  const waiting = new Set<() => void>()
  let isOpen = true
  const server = createServer((request, answer) => {
    const [, release, jobId] = request.url!.split('/')
    calls.push({ release: release!, jobId: jobId! })
    if (isOpen) answer.end()
    else held.push({ release: release!, answer })
    for (const look of waiting) look()
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    close: () => server.close(),
    /** From now on calls wait. */
    shut: () => {
      isOpen = false
    },
    /** Lets those of a release end; without one all, from now on. */
    let: (release?: string) => {
      isOpen = release === undefined
      const ends = held.filter((one) => isOpen || one.release === release)
      for (const one of ends) {
        held.splice(held.indexOf(one), 1)
        one.answer.end()
      }
    },
    until: (isSo: () => boolean) =>
      new Promise<void>((resolve, reject) => {
        const over = AbortSignal.timeout(CALLS_MS_MAX)
        over.onabort = () => reject(new Error(`the time is over: ${JSON.stringify(calls)}`))
        const look = () => {
          if (!isSo()) return
          waiting.delete(look)
          resolve()
        }
        waiting.add(look)
        look()
      }),
  }
}

const FUNCTION = `
export default ({ defineFunction, z }) =>
  defineFunction({
    name: 'Call-Test', description: 'Calls the test.', parameters: z.strictObject({ Who: z.string() }), result: z.boolean(),
    permissions: {}, isIdempotent: false, undo: null,
    run: async ({ jobId }) => (await fetch(process.env.GATE + '/' + process.env.RELEASE + '/' + jobId)).ok,
  })
`
const RUNBOOK = `
name: rolling
data_source: { type: csv, path: people.csv, primary_key: Name, batch_time_column: When }
phases:
  - name: cutover
    offset: T-0
    steps:
${STEPS.map((name) => `      - { name: ${name}, worker_id: w1, function: Call-Test, params: { Who: "{{Name}}" } }`).join('\n')}
`

async function createWork(db: Db): Promise<void> {
  const world = await openWorld({ database: { db, close: async () => {} } })
  const engine = { ...world.engine, clock: CLOCK }
  await publishRunbook(engine, { yaml: RUNBOOK, publishedBy: 'author' })
  const sourceTime = CLOCK.now()
  await createBatch(engine, {
    runbookName: 'rolling',
    sourceTime,
    members: people(MEMBERS),
    createdBy: 'tester',
  })
}

async function untilCompleted(db: Db): Promise<void> {
  for (;;) {
    const [batch] = await db.query<{ status: string }>('select status from batches')
    if (batch!.status === 'completed') return
    await CLOCK.wait(50)
  }
}

async function assertAllRanOnce(db: Db, calls: readonly Call[]): Promise<void> {
  const jobs = calls.map(({ jobId }) => jobId)
  assert.equal(new Set(jobs).size, MEMBERS * STEPS.length)
  assert.equal(jobs.length, MEMBERS * STEPS.length, 'a job ran twice')
  for (const table of ['dead_letters', 'waits'])
    assert.deepEqual(await db.query(`select from ${table}`), [], table)
  assert.deepEqual(await db.query('select status, count(*)::int from step_executions group by 1'), [
    { status: 'succeeded', count: MEMBERS * STEPS.length },
  ])
  assert.deepEqual(await brokenInvariants(db, CLOCK.now()), [])
}

const errorsIn = (out: string): string[] =>
  out.split('\n').filter((line) => /"level":"(warn|error)"/.test(line) && !/No tenant/.test(line))

it('the former release works while the next one migrates and joins, and nothing is lost or run twice', async () => {
  for (const one of ADDED) assert.deepEqual(faultsIn(one), [], one.file)
  const test = await openTestPostgres()
  await using _ = { [Symbol.asyncDispose]: () => test.close() }
  const gate = await openGate()
  await using _gate = { [Symbol.asyncDispose]: async () => void gate.close() }
  mkdirSync(join(folder, 'functions'))
  writeFileSync(join(folder, 'functions', 'call.ts'), FUNCTION)
  const serve = (release: string, root?: string) =>
    start(
      ['serve', '--roles', 'orchestrator,worker'],
      {
        DATABASE_URL: test.url!,
        MATOOLKIT_WORKER_ID: 'w1',
        RELEASE: release,
        GATE: gate.url,
        // Each release runs jobs that the other has signed.
        MATOOLKIT_JOB_KEY: Buffer.alloc(32, 1).toString('base64'),
        MATOOLKIT_FUNCTIONS_FOLDER: join(folder, 'functions'),
        MATOOLKIT_SECRETS_FOLDER: join(folder, `secrets-${release}`),
      },
      folder,
      root,
    )
  const callsOf = (release: string) => gate.calls.filter((call) => call.release === release).length

  await createWork(test.db)
  await using former = serve('former')
  await gate.until(() => callsOf('former') >= 8)
  gate.shut()
  await using next = serve('next', nextRelease())
  await next.saying(new RegExp(`Applied ${ADDED.length} database migrations`))
  await former.saying(/A newer program has upgraded the schema; this one continues/)
  await gate.until(() => callsOf('next') > 0)
  const before = callsOf('former')
  gate.let('former')
  await gate.until(() => callsOf('former') > before)

  const processes = await listProcesses(test.db)
  assert.deepEqual(
    processes.map(({ version, schema }) => [version, schema]),
    [
      ['0.1.0', NEWEST],
      [NEXT, NEWEST + ADDED.length],
    ],
  )
  const all = [...migrationsOnDisk(), ...ADDED, SHUTS_OUT]
  await assert.rejects(migrate(test.db, CLOCK.now(), all), {
    code: 'SCHEMA_IN_USE',
    message: /are at work: orchestrator,worker@\S+ \(0\.1\.0\)\. Replace/,
  })
  await migrate(test.db, CLOCK.now(), all, { stopsOlder: true })
  await former.saying(/This process takes no more work/)
  gate.let('former')
  await former.saying(/Stood down/)
  const atStop = callsOf('former')
  gate.let()
  await gate.until(() => gate.calls.length >= MEMBERS * STEPS.length)
  await untilCompleted(test.db)
  await assertAllRanOnce(test.db, gate.calls)
  assert.equal(callsOf('former'), atStop)
  for (const one of [former, next]) one.kill('SIGTERM')
  const [old, young] = await Promise.all([former.ended, next.ended])
  assert.deepEqual([old.code, young.code], [EXIT.ok, EXIT.ok], old.out + young.out)
  assert.equal(errorsIn(old.out).length, 1, old.out)
  assert.match(errorsIn(old.out)[0]!, /"code":"SCHEMA_NEWER"/)
  assert.deepEqual(errorsIn(young.out), [])
})
