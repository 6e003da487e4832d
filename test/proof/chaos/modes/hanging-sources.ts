// Real schedulers and real data sources, four of which hang: two servers accept the connection and stay silent, two queries wait for a
// lock. There are fewer lanes than hanging sources, so that these could take every one. The healthy ones must tick as if nothing were,
// and nobody of a hanging source may leave.
import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { realClock } from '../../../../src/base/run/clock.ts'
import type { Db } from '../../../../src/db/connection/db.ts'
import { openPostgres } from '../../../../src/db/connection/postgres.ts'
import { setAutomation } from '../../../../src/engine/orders/automation.ts'
import { publishRunbook } from '../../../../src/engine/orders/publish.ts'
import { Fleet } from '../fleet.ts'
import { readJournals } from '../journal.ts'
import type { ChaosMode } from '../mode.ts'
import { chaosDoor } from '../process.ts'
import { startProxy, type TcpProxy } from '../proxy.ts'
import { WORKER_ID } from '../runbooks.ts'
import { brokenInvariantsOf } from '../watcher.ts'
import {
  type ChaosOptions,
  type ChaosSetup,
  givenUp,
  harmOf,
  openSetup,
  type Verdict,
} from '../world.ts'

const clock = realClock()
const HEALTHY = ['north', 'south', 'east', 'west', 'centre', 'abroad']
const SILENT = ['silent1', 'silent2']
const LOCKED = ['locked1', 'locked2']
const HANGING = [...SILENT, ...LOCKED]
const SCHEDULERS = 2
const LANES = 1
const INTERVAL_MS = 10_000
/** So that a lane would be lost for far longer than an interval. */
const TIMEOUT_MS = 60_000
/** An interval, the scheduler's look every 5 s, and a busy machine. */
const GAP_MAX_MS = 25_000
const AGAIN_MAX_MS = TIMEOUT_MS + 2 * GAP_MAX_MS
const LOOK_MS = 250
/** Far enough ahead that only membership changes. */
const WHEN = '2100-01-01T00:00:00Z'

interface World {
  readonly setup: ChaosSetup
  readonly fleet: Fleet
  /** Between the schedulers and the silent servers. */
  readonly proxy: TcpProxy
  readonly folder: string
  readonly options: ChaosOptions
}

const yamlOf = (name: string): string => {
  const source = HEALTHY.includes(name)
    ? `type: csv, path: ${name}.csv`
    : `type: postgres, connection: ${variableOf(name)}, query: "select upn, due from ${name}"`
  return `
name: ${name}
data_source: { ${source}, primary_key: upn, batch_time_column: due }
phases:
  - { name: all, offset: T-0, steps: [{ name: s, worker_id: ${WORKER_ID}, function: Effect, params: { A: "{{upn}}" } }] }
`
}

const variableOf = (name: string): string =>
  `MATOOLKIT_SOURCE_${SILENT.includes(name) ? 'SILENT' : 'LOCKED'}`

const personOf = (source: string, number: number): string => `${source}${number}@contoso.example`

function writeCsv(folder: string, name: string, members: number): void {
  const place = join(folder, `${name}.csv`)
  const lines = Array.from({ length: members }, (_, at) => `${personOf(name, at)},${WHEN}`)
  // As people should: a scheduler never sees half a file.
  writeFileSync(`${place}.new`, ['upn,due', ...lines, ''].join('\n'))
  renameSync(`${place}.new`, place)
}

async function fillSources({ setup, folder, options }: World): Promise<void> {
  const engine = chaosDoor(setup.db, clock)
  for (const name of HANGING)
    await setup.db.script(`
      create table ${name} as select '${name}' || n || '@contoso.example' as upn, timestamptz '${WHEN}' as due
        from generate_series(0, ${options.members - 1}) as n`)
  mkdirSync(folder)
  for (const name of HEALTHY) writeCsv(folder, name, options.members)
  for (const runbookName of [...HEALTHY, ...HANGING]) {
    await publishRunbook(engine, { yaml: yamlOf(runbookName), publishedBy: 'chaos' })
    await setAutomation(engine, { runbookName, isEnabled: true, actor: 'chaos' })
  }
}

async function run(options: ChaosOptions): Promise<Verdict> {
  const setup = await openSetup(options.seed)
  const proxy = await startProxy(setup.server.port)
  const folder = join(setup.folder, 'sources')
  const connections = {
    MATOOLKIT_SOURCE_SILENT: setup.server.url.replace(`:${setup.server.port}/`, `:${proxy.port}/`),
    MATOOLKIT_SOURCE_LOCKED: setup.server.url,
  }
  const times = { intervalMs: INTERVAL_MS, timeoutMs: TIMEOUT_MS }
  const sources = { folder, connections, ...times, lanes: LANES }
  const fleet = new Fleet(
    Array.from({ length: SCHEDULERS }, (_, at) =>
      setup.partOf(`scheduler-${at + 1}`, ['scheduler'], { sources }),
    ),
  )
  try {
    const world = { setup, fleet, proxy, folder, options }
    await fillSources(world)
    await fleet.start()
    return await Promise.race([hangAndHeal(world), givenUp(options.giveUp)])
  } finally {
    await fleet.killAll()
    await proxy.close()
    await setup.close()
  }
}

/** Which of these sources have fewer members than that. */
async function without(db: Db, names: readonly string[], members: number): Promise<string[]> {
  const rows = await db.query<{ name: string; members: number }>(
    `select b.runbook_name as name, count(*)::int as members from batch_members m join batches b on b.id = m.batch_id
      where m.status = 'active' group by b.runbook_name`,
  )
  const counts = new Map(rows.map(({ name, members: count }) => [name, count]))
  return names.filter((name) => (counts.get(name) ?? 0) < members)
}

/** The sources that still lack somebody when the time is over. */
async function untilMembers(
  db: Db,
  names: readonly string[],
  members: number,
  maxMs: number,
): Promise<string[]> {
  const giveUp = AbortSignal.timeout(maxMs)
  for (;;) {
    const lacking = await without(db, names, members)
    if (lacking.length === 0 || giveUp.aborted) return lacking
    await clock.wait(LOOK_MS)
  }
}

/** Runs `work` while the four hang. */
async function whileHanging({ setup, proxy, fleet }: World, work: () => Promise<void>) {
  const locker = await openPostgres({ url: setup.server.url, poolSize: 1 })
  const happened = { at: Date.now(), what: 'four hang', who: 'sources', until: 0 }
  fleet.happened.push(happened)
  proxy.become('stall')
  try {
    await locker.transaction(async (tx) => {
      await tx.query(`set local idle_in_transaction_session_timeout = 0`)
      await tx.query(`lock table ${LOCKED.join(', ')} in access exclusive mode`)
      await work()
    })
  } finally {
    proxy.become('reset')
    proxy.become('pass')
    happened.until = Date.now()
    await locker.close()
  }
}

async function hangAndHeal(world: World): Promise<Verdict> {
  const { setup, fleet, options } = world
  const { db } = setup
  const { members, minutes, say, seed } = options
  const startedAt = Date.now()
  const findings: string[] = []
  const all = [...HEALTHY, ...HANGING]
  for (const name of await untilMembers(db, all, members, AGAIN_MAX_MS))
    findings.push(`the source ${name} was not read before anything hung`)
  const joined: number[] = []
  const hungAt = Date.now()
  await whileHanging(world, async () => {
    // Until all four have been asked, the healthy ones have nothing to suffer from.
    await clock.wait(INTERVAL_MS + GAP_MAX_MS / 2)
    fleet.askToStop('scheduler-1')
    while (joined.length === 0 || Date.now() < hungAt + minutes * 60_000) {
      const beganAt = Date.now()
      const expected = members + joined.length + 1
      for (const name of HEALTHY) writeCsv(world.folder, name, expected)
      for (const name of await untilMembers(db, HEALTHY, expected, GAP_MAX_MS))
        findings.push(`a new person of ${name} had not joined after ${GAP_MAX_MS} ms`)
      joined.push(Date.now() - beganAt)
    }
    findings.push(...(await goneOf(db, members)))
  })
  const [gap] = await gapsOf(db, hungAt)
  if (gap && gap.ms > GAP_MAX_MS)
    findings.push(`${gap.name} was not queried for ${gap.ms} ms while others hung`)
  say('the sources answer again')
  for (const name of HANGING)
    await db.query(`insert into ${name} values ('${name}new@contoso.example', '${WHEN}')`)
  for (const name of await untilMembers(db, HANGING, members + 1, AGAIN_MAX_MS))
    findings.push(`${name} answers again, and its new person has not joined`)
  findings.push(...(await endOf(world)))
  const figures = {
    seconds: Math.round((Date.now() - startedAt) / 1_000),
    members: all.length * members,
    healthyGapMaxMs: gap?.ms ?? 0,
    joinedMaxMs: Math.max(...joined),
    ticksThatHung: await countHung(db),
    harm: harmOf(fleet.happened),
    restarts: fleet.restarts,
  }
  const again = `npm run chaos -- --mode hanging-sources --seed ${seed} --minutes ${minutes} --members ${members}`
  return { figures, findings, report: [...findings, 'again:', `  ${again}`].join('\n') }
}

/** Everybody of a source that hangs is still a member, and nothing waits for a person: no answer is no answer. */
async function goneOf(db: Db, members: number): Promise<string[]> {
  const lacking = await without(db, HANGING, members)
  const [row] = await db.query<{ reviews: number; absences: number }>(
    'select (select count(*) from reviews)::int as reviews, (select count(*) from source_absences)::int as absences',
  )
  return [
    ...lacking.map((name) => `people left ${name} while it hung`),
    ...(row!.reviews + row!.absences > 0
      ? [`${row!.reviews + row!.absences} people count as missing`]
      : []),
  ]
}

/** The longest time between the starts of two ticks of a healthy source, since then and until now. */
const gapsOf = (db: Db, sinceMs: number): Promise<{ name: string; ms: number }[]> =>
  db.query<{ name: string; ms: number }>(
    `select name, max(extract(epoch from next - at) * 1000)::int as ms
       from (select runbook_name as name, started_at as at,
                    coalesce(lead(started_at) over (partition by runbook_name order by id), $2) as next
               from source_ticks where runbook_name = any($1::text[])) as t
      where next > $3 group by name order by ms desc limit 1`,
    [HEALTHY, clock.now(), new Date(sinceMs)],
  )

async function countHung(db: Db): Promise<number> {
  const [row] = await db.query<{ count: number }>(
    `select count(*)::int as count from source_ticks where outcome <> 'good' and runbook_name = any($1::text[])`,
    [HANGING],
  )
  return row!.count
}

/** What must hold at the end. */
async function endOf({ setup, fleet }: World): Promise<string[]> {
  const { db, folder } = setup
  const failed = await db.query<{ said: string }>(
    `select distinct runbook_name || ' failed: ' || coalesce(error, outcome) as said from source_ticks
      where runbook_name = any($1::text[]) and outcome = 'failed' limit 10`,
    [HEALTHY],
  )
  const exits = [...(await fleet.stop())].filter(([, code]) => code !== 0)
  return [
    ...failed.map(({ said }) => said),
    ...exits.map(([name, code]) => `${name} was asked to stop and ended with ${code}`),
    ...fleet.findings,
    ...(await brokenInvariantsOf(db, clock.now)),
    ...readJournals(folder, 'noticed')
      .filter(({ what }) => what === 'unexpected')
      .map(({ name, message }) => `${name}: ${message}`),
  ]
}

export const hangingSourcesMode: ChaosMode = {
  name: 'hanging-sources',
  sabotage:
    'four of ten data sources hang: two servers accept a connection and stay silent, two queries wait for a lock; a scheduler restarts meanwhile',
  holds:
    'healthy sources are queried at their interval and newcomers join, nobody of a hanging source leaves or counts as missing, each is read again once it answers, all invariants',
  defaults: { minutes: 1.5, members: 50 },
  run,
}
