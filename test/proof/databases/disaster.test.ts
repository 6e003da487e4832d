// The drill of docs/azure.md, "Disaster": a zone is lost and the standby takes over; a server is lost and only a backup is left. Real processes,
// two PostgreSQL servers, one address that moves from one to the other as Azure's does. Times are printed: the page quotes them.
import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, it } from 'node:test'
import pg from 'pg'
import { EXIT } from '../../../src/base/errors/errors.ts'
import { realClock } from '../../../src/base/run/clock.ts'
import { onServer, type PostgresServer, startPostgres } from '../../kit/postgres-server.ts'
import { type Started, start } from '../../kit/processes.ts'
import { runbook, step } from '../../stories/looking.ts'
import { startProxy, type TcpProxy } from '../chaos/proxy.ts'

const PEOPLE = 600
const SLOTS = 8
const JOB_MS = 50
const LOOKS_MAX = 1_200

const NOTE = `
import { appendFileSync } from 'node:fs'
export default ({ defineFunction, z }) => [
  defineFunction({
    name: 'note', description: 'Notes a person.', parameters: z.strictObject({ Upn: z.string() }),
    result: z.boolean(), permissions: {}, isIdempotent: true, undo: null,
    run: async ({ params }) => {
      await new Promise((resolve) => setTimeout(resolve, ${JOB_MS}))
      appendFileSync(process.env.MATOOLKIT_SOURCE_NOTES, params.Upn + '\\n')
      return true
    },
  }),
]
`

const seconds = (sinceMs: number) => Math.round((performance.now() - sinceMs) / 100) / 10
const tell = (sentence: string) => console.log(`  drill: ${sentence}`)

/** An installation whose processes know one address of the database. */
class Installation implements AsyncDisposable {
  readonly folder = mkdtempSync(join(tmpdir(), 'matoolkit-drill-'))
  readonly notes = join(this.folder, 'notes.txt')
  readonly #proxy: TcpProxy
  readonly #processes: Started[] = []
  readonly #env: Record<string, string>
  readonly #clock = realClock()
  #url = ''

  constructor(proxy: TcpProxy) {
    this.#proxy = proxy
    const functions = join(this.folder, 'functions')
    mkdirSync(functions)
    writeFileSync(join(functions, 'note.ts'), NOTE)
    writeFileSync(this.notes, '')
    this.#env = {
      DATABASE_URL: `postgres://postgres@127.0.0.1:${proxy.port}/postgres`,
      MATOOLKIT_TRANSPORT: 'postgres',
      MATOOLKIT_HOME: this.folder,
      MATOOLKIT_API_PORT: '0',
      MATOOLKIT_API_TOKEN_FILE: join(this.folder, 'token'),
      MATOOLKIT_WORKER_ID: 'w1',
      MATOOLKIT_IDLE_EXIT_SEC: '0',
      MATOOLKIT_MAX_PARALLELISM: String(SLOTS),
      MATOOLKIT_FUNCTIONS_FOLDER: functions,
      MATOOLKIT_SECRETS_FOLDER: join(this.folder, 'secrets'),
      MATOOLKIT_SOURCE_NOTES: this.notes,
    }
  }

  async start(): Promise<void> {
    const core = start(['serve', '--roles', 'api,orchestrator,scheduler'], this.#env)
    this.#processes.push(core)
    const [, url] = await core.saying(/"url":"(http:[^"]+)"/)
    this.#url = url!
    const worker = start(['serve', '--roles', 'worker'], this.#env)
    this.#processes.push(worker)
    await worker.saying(/"msg":"Started"/)
  }

  get core(): Started {
    return this.#processes[0]!
  }

  async run(...args: string[]): Promise<{ code: number | null; out: string; err: string }> {
    const token = readFileSync(join(this.folder, 'token'), 'utf8')
    const env = { MATOOLKIT_API_URL: this.#url, MATOOLKIT_TOKEN: token, MATOOLKIT_OUTPUT: 'table' }
    return start(args, { ...env, MATOOLKIT_HOME: this.folder }).ended
  }

  async ok(...args: string[]): Promise<string> {
    const { code, out, err } = await this.run(...args)
    assert.equal(code, EXIT.ok, `${args.join(' ')}\n${out}\n${err}`)
    return out
  }

  /** A wave of so many people, started. Returns the number of its batch. */
  async begin(name: string): Promise<void> {
    const csv = join(this.folder, `${name}.csv`)
    const rows = Array.from({ length: PEOPLE }, (_, i) => `${name}${i}@contoso.example`)
    writeFileSync(csv, `UserPrincipalName\n${rows.join('\n')}\n`)
    writeFileSync(
      join(this.folder, `${name}.yaml`),
      runbook(name, { 'cutover T-0': [step('note')] }).replace(/batch_time_column: \w+\n/, ''),
    )
    await this.ok('runbook', 'publish', join(this.folder, `${name}.yaml`))
    const said = await this.ok('batch', 'create', name, csv)
    const [, id] = /batch +(\d+)/i.exec(said)!
    await this.ok('batch', 'advance', id!, '--yes', '--reason', 'the drill')
  }

  noted(name: string): Set<string> {
    const lines = readFileSync(this.notes, 'utf8').split('\n')
    return new Set(lines.filter((line) => line.startsWith(name)))
  }

  async until(what: string, isSo: () => boolean | Promise<boolean>): Promise<void> {
    for (let look = 0; look < LOOKS_MAX; look += 1) {
      if (await isSo()) return
      await this.#clock.wait(50)
    }
    assert.fail(`never: ${what}`)
  }

  moveTo(server: PostgresServer): void {
    this.#proxy.leadTo(server.port)
    this.#proxy.dropOpen()
    this.#proxy.become('pass')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const one of this.#processes) await one[Symbol.asyncDispose]()
    await this.#proxy.close()
    rmSync(this.folder, { recursive: true })
  }
}

async function ask<Row extends pg.QueryResultRow>(server: PostgresServer, sql: string) {
  const client = new pg.Client({ connectionString: server.url })
  await client.connect()
  try {
    return (await client.query<Row>(sql)).rows
  } finally {
    await client.end()
  }
}

const SUCCEEDED = `select count(*)::int as count from step_executions where status = 'succeeded'`
const HELD = `select count(*)::int as count from holds where scope = 'system'`

describe('the drill', () => {
  const servers: PostgresServer[] = []
  after(() => {
    for (const server of servers) server.destroy()
  })

  it('loses a zone: the standby takes over within seconds, nothing is lost, held or decided twice', async () => {
    const primary = await startPostgres({ durable: true })
    servers.push(primary)
    await using at = new Installation(await startProxy(primary.port))
    await at.start()
    await at.ok('status')
    primary.stop()
    const standby = await primary.standby()
    servers.push(standby)
    primary.start()
    standby.start()
    await onServer(primary.url, `alter system set synchronous_standby_names = 'standby'`)
    await onServer(primary.url, 'select pg_reload_conf()')
    await at.until('the standby is synchronous', async () => {
      const [row] = await ask<{ sync_state: string }>(
        primary,
        'select sync_state from pg_stat_replication',
      )
      return row?.sync_state === 'sync'
    })
    await at.begin('zone')
    await at.until('a quarter is done', () => at.noted('zone').size > PEOPLE / 4)
    const lostAt = performance.now()
    primary.stop('immediate')
    await onServer(standby.url, `alter system set synchronous_standby_names = ''`).catch(() => {})
    standby.promote()
    at.moveTo(standby)
    const before = at.noted('zone').size
    await at.until('the next person is done', () => at.noted('zone').size > before + SLOTS)
    tell(`zone lost: work continues after ${seconds(lostAt)} s`)
    await at.until('all are done', async () => {
      const [row] = await ask<{ count: number }>(standby, SUCCEEDED)
      return row!.count === PEOPLE
    })
    tell(`zone lost: the wave of ${PEOPLE} is done after ${seconds(lostAt)} s`)
    assert.equal(at.noted('zone').size, PEOPLE)
    const [held] = await ask<{ count: number }>(standby, HELD)
    assert.equal(held!.count, 0, 'a standby that missed nothing is no restore')
    const twice = await ask(
      standby,
      `select step_id from attempts where outcome = 'succeeded' group by step_id having count(*) > 1`,
    )
    assert.deepEqual(twice, [])
  })

  it('loses the server: restored from a backup everything is held, status says why, and the resume finishes', async () => {
    const primary = await startPostgres({ durable: true })
    servers.push(primary)
    await using at = new Installation(await startProxy(primary.port))
    await at.start()
    await at.begin('before')
    await at.until('a quarter is done', () => at.noted('before').size > PEOPLE / 4)
    primary.stop()
    primary.backUp()
    const inBackup = at.noted('before').size
    primary.start()
    await at.until('half is done', () => at.noted('before').size > PEOPLE / 2)
    const lostAt = performance.now()
    primary.stop('immediate')
    const restored = await primary.fromBackup()
    servers.push(restored)
    restored.start()
    at.moveTo(restored)
    await at.core.saying(/Everything is on hold: restored from a backup/)
    tell(`server lost: noticed and held after ${seconds(lostAt)} s`)
    await at.until(
      'the API answers again',
      async () => (await at.run('status')).code !== EXIT.failed,
    )
    const status = await at.run('status')
    assert.match(status.out, /restored from a backup/, status.err)
    assert.notEqual(status.code, EXIT.ok, 'somebody is needed')
    const atHold = at.noted('before').size
    // Their workers name them as soon as they reach the restored database.
    await at.until('jobs that ran after the backup are named', async () =>
      /note/.test(await at.ok('db', 'restored', '--list')),
    )
    const resumedAt = performance.now()
    await at.ok('resume', '--all', '--yes', '--reason', 'compared with the tenant')
    await at.until('all are done', async () => {
      const [row] = await ask<{ count: number }>(restored, SUCCEEDED)
      return row!.count === PEOPLE
    })
    tell(
      `server lost: ${atHold - inBackup} people had run since the backup; done ${seconds(resumedAt)} s after the resume`,
    )
    assert.equal(at.noted('before').size, PEOPLE, 'nobody is forgotten')
  })
})
