// The database's clock, which all processes follow: a machine that runs fast must not take leases that others still own. When it jumps
// forward, each process extends the leases that last and follows once every other one knows of the jump: in a trial, 3 jobs ran twice
// and 16 polls were given up when the first process followed at once and the last a minute later. The only file whose SQL reads a clock. Accelerated and virtual clocks write false times, so only a database marked as throw-away takes them.

import { MatoolkitError } from '../../base/errors/errors.ts'
import type { Clock, RealClock } from '../../base/run/clock.ts'
import { everyLoop, type Loop } from '../../base/run/service.ts'
import type { Db, Queryable } from './db.ts'

const MEASURE_INTERVAL_MS = 5_000
/** A renewed lease has always more than this left. */
const JUMP_MIN_MS = 5_000
/** By then every process has measured twice. */
const JUMP_KNOWN_MS = 2 * MEASURE_INTERVAL_MS
/** A larger difference is reported. */
const SKEW_MAX_MS = 30_000
/** The shortest round trip is the most precise; slow ones are repeated, up to the maximum. */
const MEASURE_ROUND_TRIPS = 3
const MEASURE_ROUND_TRIPS_MAX = 10
const UNCERTAINTY_WANTED_MS = 50
/** A later measurement worse than this is ignored: the steady clock drifts by only some milliseconds a minute. */
const UNCERTAINTY_MAX_MS = 250
/**
 * The most that the times of two processes differ: each knows the database's within `UNCERTAINTY_MAX_MS`, and drifts a little until it
 * measures again. A job was settled 4 ms before it was sent, because two processes had written the two times.
 */
export const CLOCKS_DIFFER_MAX_MS = 4 * UNCERTAINTY_MAX_MS

/** One measurement, shown by `ready` and `doctor`. */
export interface ClockReport {
  readonly measuredAt: Date
  /** Positive when the machine's clock is ahead of the database's. */
  readonly machineSkewMs: number
  /** How far our time is ahead: it stands still rather than going back. */
  readonly aheadMs: number
  /** Half the round trip. */
  readonly uncertaintyMs: number
  readonly withinLimit: boolean
}

/** Called at each measurement while a jump is known and not followed yet. */
export type OnJump = (jumpMs: number) => Promise<unknown>

/** Measures once and sets `clock` to the database's time. */
export async function followDatabaseTime(
  db: Queryable,
  clock: RealClock,
  onJump: OnJump = async () => {},
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
  const isPrecise = uncertaintyMs <= UNCERTAINTY_MAX_MS
  const jumpMs = clock.behindMs(databaseMs, atSteadyMs)
  if (!clock.isSet() || (isPrecise && jumpMs < JUMP_MIN_MS)) clock.setTime(databaseMs, atSteadyMs)
  else if (isPrecise) {
    const knownMs = clock.expectJump(jumpMs)
    await onJump(jumpMs)
    if (knownMs >= JUMP_KNOWN_MS) clock.setTime(databaseMs, atSteadyMs)
  }
  const databaseNowMs = databaseMs + (machine.steadyMs() - atSteadyMs)
  const machineSkewMs = machine.wallMs() - databaseNowMs
  const aheadMs = clock.aheadMs()
  return {
    measuredAt: clock.now(),
    machineSkewMs,
    aheadMs,
    uncertaintyMs,
    withinLimit: Math.max(Math.abs(machineSkewMs), aheadMs) <= SKEW_MAX_MS,
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
  readonly onJump?: OnJump
  onReport(report: ClockReport): void
  onError(error: unknown, inARow: number): void
}

/** Measures every few seconds. Call `followDatabaseTime` once before anything reads the clock. */
export function databaseClockLoop(options: DatabaseClockOptions): Loop {
  const { db, clock, onJump, onReport, onError } = options
  return everyLoop({
    name: 'database clock',
    clock,
    intervalMs: MEASURE_INTERVAL_MS,
    runOnce: async () => onReport(await followDatabaseTime(db, clock, onJump)),
    onError,
  })
}

const THROW_AWAY_MARK = 'matoolkit: throw-away database, may run on a clock that is not real'

/** Marks an empty database as throw-away. Refuses one with tables: it may be in use. */
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

/** Throws DATABASE_NOT_THROW_AWAY when `clock` is not real and the database is not marked. */
export async function requireClockFits(db: Queryable, clock: Clock): Promise<void> {
  if (clock.kind === 'real') return
  const [row] = await db.query<{ mark: string | null }>(
    `select obj_description('public'::regnamespace, 'pg_namespace') as mark`,
  )
  if (row?.mark !== THROW_AWAY_MARK) {
    throw new MatoolkitError('DATABASE_NOT_THROW_AWAY', { clock: clock.kind })
  }
}
