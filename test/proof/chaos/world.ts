// A chaos run: three orchestrators with their timers, three workers, operators, a real server and a faulty network. Faults strike
// until the time is over and the current batch is done; then everything heals, and every check runs. Batches follow each other for
// the whole run.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isTransient } from '../../../src/base/errors/transient.ts'
import { realClock } from '../../../src/base/run/clock.ts'
import type { Db } from '../../../src/db/connection/db.ts'
import { openPostgres } from '../../../src/db/connection/postgres.ts'
import { migrate } from '../../../src/db/schema/migrate.ts'
import { configureWorkers } from '../../../src/db/state/workers.ts'
import { createBatch } from '../../../src/engine/orders/create.ts'
import { publishRunbook } from '../../../src/engine/orders/publish.ts'
import { type PostgresServer, startPostgres } from '../../kit/postgres-server.ts'
import {
  missingAcknowledged,
  missingEffects,
  outOfOrder,
  repeatedJobs,
  unhealthy,
} from './checks.ts'
import { doHarm, type Harm } from './faults.ts'
import { Fleet, type Happened } from './fleet.ts'
import { readJournals } from './journal.ts'
import { chaosDoor, type Part, type Role } from './process.ts'
import { startProxy, type TcpProxy } from './proxy.ts'
import { LARGE, LARGE_YAML, SMALL_YAML, WORKER_ID } from './runbooks.ts'
import { brokenInvariantsOf, makeWatcher, type Watcher } from './watcher.ts'

export interface ChaosOptions {
  /** The mode's name, for the command that repeats the run. Default: kills. */
  readonly mode?: string
  readonly seed: number
  readonly minutes: number
  /** Members of a batch; each has five steps. */
  readonly members: number
  /** The time a healthy system may take to take a lapsed lease over. */
  readonly takeoverMaxMs: number
  /** Ends the run early, with everything it started. */
  readonly giveUp?: AbortSignal
  readonly say: (line: string) => void
}

export interface Figures {
  readonly [name: string]: number | Readonly<Record<string, number>>
}

export interface Verdict {
  readonly figures: Figures
  readonly findings: readonly string[]
  /** The place to search after a finding. */
  readonly report: string
}

/** Short, so that a minute holds many takeovers. Everything else is in proportion, as in production. */
export const LEASE_MS = 5_000
const STATEMENT_TIMEOUT_MS = 4_000
const WORK_MS = 60
const SLOTS = 8
const ORCHESTRATORS = 3
const WORKERS = 3
/** After healing; leases, error pauses and timeouts add up to far less. */
const HEAL_MAX_MS = 180_000

const clock = realClock()

export interface ChaosSetup {
  readonly folder: string
  readonly server: PostgresServer
  readonly proxy: TcpProxy
  /** Bypasses the proxy. */
  readonly db: Db
  partOf(name: string, roles: readonly Role[], over?: Partial<Part>): Part
  close(): Promise<void>
}

/** A server with schema and runbooks, a proxy in front of it, and a folder for journals and logs. */
export async function openSetup(seed: number): Promise<ChaosSetup> {
  const server = await startPostgres({ durable: true })
  try {
    return await setupOn(server, seed)
  } catch (error) {
    server.destroy()
    throw error
  }
}

async function setupOn(server: PostgresServer, seed: number): Promise<ChaosSetup> {
  // After an hour's run on a busy machine an invariant took longer than two minutes, and the verdict was lost.
  const db = await openPostgres({ url: server.url, poolSize: 3, statementTimeoutMs: 900_000 })
  await prepare(db)
  const proxy = await startProxy(server.port)
  const folder = mkdtempSync(join(tmpdir(), 'matoolkit-chaos-'))
  const url = server.url.replace(`:${server.port}/`, `:${proxy.port}/`)
  const part = {
    url,
    folder,
    seed,
    leaseMs: LEASE_MS,
    statementTimeoutMs: STATEMENT_TIMEOUT_MS,
    workMs: WORK_MS,
    slots: SLOTS,
  }
  return {
    folder,
    server,
    proxy,
    db,
    partOf: (name, roles, over = {}) => ({ ...part, name, roles, ...over }),
    close: async () => {
      await db.close()
      await proxy.close()
      server.destroy()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** The schema, the worker and the runbooks. */
export async function prepare(db: Db): Promise<void> {
  await migrate(db, clock.now())
  await configureWorkers(db, [WORKER_ID])
  const engine = chaosDoor(db, clock)
  for (const yaml of [LARGE_YAML, SMALL_YAML]) {
    await publishRunbook(engine, { yaml, publishedBy: 'chaos' })
  }
}

/** A batch whose cut-over is now, with members of no other batch. */
export async function createLarge(db: Db, members: number): Promise<number> {
  const engine = chaosDoor(db, clock)
  const sourceTime = clock.now()
  const { batchId } = await createBatch(engine, {
    runbookName: LARGE,
    sourceTime,
    members: Array.from({ length: members }, (_, index) => {
      const key = `user-${sourceTime.getTime()}-${index}@contoso.example`
      return { key, data: { Upn: key } }
    }),
    createdBy: 'chaos',
  })
  return batchId
}

export async function runChaos(options: ChaosOptions, harm: Harm = doHarm): Promise<Verdict> {
  const setup = await openSetup(options.seed)
  const names = (role: Role, count: number) =>
    Array.from({ length: count }, (_, index) => setup.partOf(`${role}-${index + 1}`, [role]))
  const fleet = new Fleet([
    ...names('orchestrator', ORCHESTRATORS),
    ...names('worker', WORKERS),
    ...names('operators', 1),
  ])
  try {
    await fleet.start()
    return await Promise.race([harmAndHeal(options, setup, fleet, harm), givenUp(options.giveUp)])
  } finally {
    await fleet.killAll()
    await setup.close()
  }
}

export function givenUp(giveUp: AbortSignal | undefined): Promise<never> {
  return new Promise((_, reject) => {
    giveUp?.addEventListener('abort', () => reject(new Error('the run was given up')))
  })
}

async function harmAndHeal(
  options: ChaosOptions,
  setup: ChaosSetup,
  fleet: Fleet,
  harm: Harm,
): Promise<Verdict> {
  const { db, server, proxy } = setup
  const startedAt = Date.now()
  const watcher = makeWatcher(db, fleet, clock)
  const over = new AbortController()
  const watching = watcher.watch(over.signal)
  const harmOver = new AbortController()
  const cutConnections = async () => {
    await db.query(
      `select pg_terminate_backend(pid) from pg_stat_activity where application_name ~ '^(orchestrator|worker|operators)'`,
    )
  }
  const batchIds = [await createLarge(db, options.members)]
  const harming = harm(
    { fleet, server, proxy, clock, leaseMs: LEASE_MS, cutConnections },
    options.seed,
    harmOver.signal,
  )
  const endsAt = startedAt + options.minutes * 60_000
  const create = (members: number) => createLarge(db, members)
  const run = await batchAfterBatch(options, { create, watcher, batchIds, endsAt })
  harmOver.abort()
  await harming
  options.say('the harm is over; healing')
  const healed = await heal(fleet, watcher, run.openBatchId, db)
  over.abort()
  await watching
  const findings = [...run.findings, ...healed, ...(await settle(fleet, db))]
  return verdictOf({
    options,
    setup,
    fleet,
    watcher,
    findings,
    batches: batchIds.length,
    startedAt,
  })
}

/** Creates batch after batch until the time is over. The last one is usually open then. */
export async function batchAfterBatch(
  { members, say }: ChaosOptions,
  run: {
    create: (members: number) => Promise<number>
    watcher: Watcher
    batchIds: number[]
    endsAt: number
  },
): Promise<{ findings: string[]; openBatchId: number | null }> {
  const { create, watcher, batchIds, endsAt } = run
  const findings: string[] = []
  for (;;) {
    const leftMs = Math.max(0, endsAt - Date.now())
    const status = await watcher.untilEnded(batchIds.at(-1)!, AbortSignal.timeout(leftMs))
    if (status === null) return { findings, openBatchId: batchIds.at(-1)! }
    say(`batch ${batchIds.length} of ${members} members is ${status}`)
    if (status !== 'completed') findings.push(`batch ${batchIds.at(-1)} ended ${status}`)
    if (Date.now() >= endsAt) return { findings, openBatchId: null }
    batchIds.push(await patiently(() => create(members)))
  }
}

/** The database may be down at this moment. */
export async function patiently<T>(ask: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await ask()
    } catch (error) {
      if (!isTransient(error)) throw error
      await clock.wait(500)
    }
  }
}

/** A run that is out of time says what was still open. */
async function notEnded(db: Db, what: string, batchId: number | null = null): Promise<string> {
  const rows = await patiently(() =>
    db.query<{ said: string }>(
      `select count(*) || ' ' || s.status || case when w.kind is null then '' else ' (waits for ' || w.kind || ')' end as said
         from step_executions s left join waits w on w.step_id = s.id
        where ($1::bigint is null or s.batch_id = $1) and (s.completed_at is null or w.kind is not null)
        group by s.status, w.kind order by count(*) desc`,
      [batchId],
    ),
  )
  const open = rows.map(({ said }) => said).join(', ') || 'no step; its phases or members are'
  return `${what} did not end within ${HEAL_MAX_MS / 1_000} s of healing; still open: ${open}`
}

export async function heal(
  fleet: Fleet,
  watcher: Watcher,
  batchId: number | null,
  db: Db,
): Promise<string[]> {
  await fleet.allReady()
  if (batchId === null) return []
  const status = await watcher.untilEnded(batchId, AbortSignal.timeout(HEAL_MAX_MS))
  if (status === null) return [await notEnded(db, `batch ${batchId}`, batchId)]
  return status === 'completed' ? [] : [`batch ${batchId} ended ${status}`]
}

/** Operators stop first, then everything they left must end, and then every process is asked to stop. */
export async function settle(fleet: Fleet, db: Db): Promise<string[]> {
  const findings: string[] = []
  if (fleet.has('operators-1')) fleet.retire('operators-1')
  const open = `select count(*) as open from batches where ended_at is null or rollback_open + removal_open + undo_open > 0`
  const giveUp = AbortSignal.timeout(HEAL_MAX_MS)
  for (;;) {
    const [row] = await db.query<{ open: number }>(open)
    if (row!.open === 0) break
    if (giveUp.aborted) {
      findings.push(await notEnded(db, `${row!.open} batches`))
      break
    }
    await clock.wait(250)
  }
  for (const [name, code] of await fleet.stop()) {
    if (code !== 0) findings.push(`${name} was asked to stop and ended with ${code}`)
  }
  return findings
}

interface Ended {
  readonly options: ChaosOptions
  readonly setup: ChaosSetup
  readonly fleet: Fleet
  readonly watcher: Watcher
  readonly findings: readonly string[]
  readonly batches: number
  readonly startedAt: number
}

async function verdictOf(ended: Ended): Promise<Verdict> {
  const { options, setup, fleet, watcher } = ended
  const { db, folder } = setup
  const effects = readJournals(folder, 'effects')
  const noticed = readJournals(folder, 'noticed')
  const repeated = repeatedJobs({ effects, happened: fleet.happened, noticed }, LEASE_MS)
  const unexpected = noticed.filter(({ what }) => what === 'unexpected')
  const takeoverMs = Math.round(watcher.takeoverMaxMs())
  const isSlow = takeoverMs > options.takeoverMaxMs
  const findings = [
    ...(isSlow ? [`a lapsed lease was taken over only after ${takeoverMs} ms`] : []),
    ...ended.findings,
    ...fleet.findings,
    ...watcher.findings,
    ...(await brokenInvariantsOf(db, clock.now)),
    ...(await missingAcknowledged(db, folder)),
    ...(await missingEffects(db, effects)),
    ...outOfOrder(effects),
    ...repeated.found,
    ...(await unhealthy(db)),
    ...unexpected.map(({ name, message }) => `${name}: ${message}`),
  ]
  const [done] = await db.query<{ steps: number }>(
    `select count(*) as steps from step_executions where status = 'succeeded'`,
  )
  const figures: Figures = {
    seconds: Math.round((Date.now() - ended.startedAt) / 1_000),
    members: ended.batches * options.members,
    stepsSucceeded: done!.steps,
    jobsRun: effects.filter(({ what }) => what === 'begin').length,
    jobsRepeated: repeated.jobs,
    ordersAcknowledged: readJournals(folder, 'acknowledged').length,
    harm: harmOf(fleet.happened),
    restarts: fleet.restarts,
    leasesLost: noticed.reduce((sum, { count = 0 }) => sum + count, 0),
    errorsOfTheMoment: noticed.filter(({ what }) => what === 'error').length,
    invariantSamples: watcher.samples.invariants,
    takeoverAfterLeaseMaxMs: takeoverMs,
  }
  return { figures, findings, report: await reportOf(options, fleet.happened, db, findings) }
}

const kindOf = ({ who, what }: Happened): string => {
  const target = who.replace(/-\d+$/, '')
  return `${target} ${what.replace(/ for \d+ ms$/, '')}`
}

/** How often each kind of harm was done. */
export const harmOf = (happened: readonly Happened[]): Record<string, number> =>
  countBy(happened, kindOf)

function countBy<T>(all: readonly T[], keyOf: (one: T) => string): Record<string, number> {
  const groups = [...Map.groupBy(all, keyOf)].sort(([a], [b]) => (a < b ? -1 : 1))
  return Object.fromEntries(groups.map(([key, some]) => [key, some.length]))
}

const LAST_SHOWN = 40

async function reportOf(
  { mode = 'kills', seed, minutes, members }: ChaosOptions,
  happened: readonly Happened[],
  db: Db,
  findings: readonly string[],
): Promise<string> {
  if (findings.length === 0) return ''
  const events = await db.query<{ line: string }>(
    `select concat_ws(' ', at, 'batch', batch_id, 'member', batch_member_id, 'step', step_id, entity, event, job_id, actor, because) as line
       from events order by id desc limit ${LAST_SHOWN}`,
  )
  const harm = happened
    .slice(-LAST_SHOWN)
    .map(({ at, who, pid, what }) => `${new Date(at).toISOString()} ${who} ${pid ?? ''} ${what}`)
  return [
    `seed ${seed}: ${findings.length} findings`,
    ...findings.map((finding) => `  ${finding}`),
    'what was done, the last last:',
    ...harm.map((line) => `  ${line}`),
    'the last events, newest first:',
    ...events.map(({ line }) => `  ${line}`),
    'again, as far as real processes can be replayed:',
    `  npm run chaos -- --mode ${mode} --seed ${seed} --minutes ${minutes} --members ${members}`,
  ].join('\n')
}
