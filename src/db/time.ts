// The database's time, and which clocks a database bears. This is the one file whose SQL may read a clock: all processes follow
// the database's, so a machine that runs fast cannot take leases that others still hold. Time that is not real (accelerated,
// virtual) writes rows that lie about when things happened, so it is refused on any database not marked as throw-away.
import type { Clock, RealClock } from '../clock.ts'
import { MatoolkitError } from '../errors.ts'
import { everyLoop, type Loop } from '../service.ts'
import type { Db, Queryable } from './db.ts'

const MEASURE_INTERVAL_MS = 60_000
/** The shortest of a few round trips is the one least spoilt by a queue or a slow network; more are made while all are slow. */
const MEASURE_ROUND_TRIPS = 3
const MEASURE_ROUND_TRIPS_MAX = 10
const UNCERTAINTY_WANTED_MS = 50
/**
 * Time that is known this badly is not taken over from a database that has been measured before: the steady clock, which gains or
 * loses some milliseconds a minute, knows it better. A machine that is seconds off takes leases that others still hold.
 */
const UNCERTAINTY_MAX_MS = 250

/** What one measurement found; `ready` and `doctor` show it. */
export interface ClockReport {
  readonly measuredAt: Date
  /** The machine's clock minus the database's: positive when the machine runs ahead. */
  readonly machineSkewMs: number
  /** How far our own time is ahead because it stood still rather than go back. */
  readonly aheadMs: number
  /** The measurement is right to within this many milliseconds: half the round trip. */
  readonly uncertaintyMs: number
  readonly withinLimit: boolean
}

/** Measures once, sets `clock` to the database's time, and says how far off the machine was. */
export async function followDatabaseTime(
  db: Queryable,
  clock: RealClock,
  maxSkewMs: number,
): Promise<ClockReport> {
  const { machine } = clock
  let best: { databaseMs: number; atSteadyMs: number; uncertaintyMs: number } | undefined
  for (let trip = 0; trip < MEASURE_ROUND_TRIPS_MAX; trip++) {
    if (trip >= MEASURE_ROUND_TRIPS && best!.uncertaintyMs <= UNCERTAINTY_WANTED_MS) break
    const sentMs = machine.steadyMs()
    const databaseMs = await readDatabaseMs(db)
    const uncertaintyMs = (machine.steadyMs() - sentMs) / 2
    if (!best || uncertaintyMs < best.uncertaintyMs) {
      best = { databaseMs, atSteadyMs: sentMs + uncertaintyMs, uncertaintyMs }
    }
  }
  const { databaseMs, atSteadyMs, uncertaintyMs } = best!
  if (uncertaintyMs <= UNCERTAINTY_MAX_MS || !clock.isSet()) clock.setTime(databaseMs, atSteadyMs)
  const databaseNowMs = databaseMs + (machine.steadyMs() - atSteadyMs)
  const machineSkewMs = machine.wallMs() - databaseNowMs
  const aheadMs = clock.aheadMs()
  return {
    measuredAt: clock.now(),
    machineSkewMs,
    aheadMs,
    uncertaintyMs,
    withinLimit: Math.max(Math.abs(machineSkewMs), aheadMs) <= maxSkewMs,
  }
}

async function readDatabaseMs(db: Queryable): Promise<number> {
  const [row] = await db.query<{ ms: number }>(
    'select (extract(epoch from clock_timestamp()) * 1000)::float8 as ms',
  )
  return row!.ms
}

export interface DatabaseClockOptions {
  readonly db: Queryable
  readonly clock: RealClock
  readonly maxSkewMs: number
  onReport(report: ClockReport): void
  onError(error: unknown, inARow: number): void
}

/** Keeps `clock` on the database's time, measured each minute. Call `followDatabaseTime` once before anything reads the clock. */
export function databaseClockLoop(options: DatabaseClockOptions): Loop {
  const { db, clock, maxSkewMs, onReport, onError } = options
  return everyLoop({
    name: 'database clock',
    clock,
    intervalMs: MEASURE_INTERVAL_MS,
    runOnce: async () => onReport(await followDatabaseTime(db, clock, maxSkewMs)),
    onError,
  })
}

const THROW_AWAY_MARK = 'matoolkit: throw-away database, may run on a clock that is not real'

/** Marks an empty database as throw-away. A database that already holds tables is refused: it might be somebody's. */
export async function markDisposable(db: Db): Promise<void> {
  await db.transaction(async (tx) => {
    const [row] = await tx.query<{ tables: number }>(
      `select count(*)::int as tables from pg_class c join pg_namespace n on n.oid = c.relnamespace
       where c.relkind in ('r', 'p') and n.nspname not in ('pg_catalog', 'information_schema', 'pg_toast')`,
    )
    if (row!.tables > 0) throw new MatoolkitError('DATABASE_NOT_EMPTY', { tables: row!.tables })
    await tx.query(`comment on schema public is '${THROW_AWAY_MARK}'`)
  })
}

/** Throws DATABASE_NOT_THROW_AWAY when `clock` is not real and the database was not marked. Whoever joins the two calls this first. */
export async function requireClockFits(db: Queryable, clock: Clock): Promise<void> {
  if (clock.kind === 'real') return
  const [row] = await db.query<{ mark: string | null }>(
    `select obj_description('public'::regnamespace, 'pg_namespace') as mark`,
  )
  if (row?.mark !== THROW_AWAY_MARK) {
    throw new MatoolkitError('DATABASE_NOT_THROW_AWAY', { clock: clock.kind })
  }
}
