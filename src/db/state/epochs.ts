// The epochs of the database: the present one, a new one after a restore, and the numbers that must not repeat after it.
import type { Queryable, Tx } from '../connection/db.ts'

/** The present epoch, and what PostgreSQL shows now. */
export interface EpochState {
  /** -1 before the first start. */
  readonly number: number
  readonly epoch: string
  /** Null before the first start. */
  readonly beganAt: Date | null
  /** Null before the first start. */
  readonly sign: string | null
  readonly signNow: string
  readonly newest: SeenEvent | null
  /** When the event that was asked for happened; null when it is not there. */
  readonly seenAt: Date | null
}

export interface SeenEvent {
  readonly id: number
  readonly at: Date
}

/** The newest event that a process knows of. */
export interface LastSeen {
  event: SeenEvent | null
}

/**
 * The epoch now; null when PostgreSQL shows that the database was restored, or when the event $id of the time $at is gone, and no new
 * epoch has begun: nothing may be decided before.
 */
export const epochUnless = (id: string, at: string): string =>
  `case when ${id}::bigint is null
          or exists (select from events where id = ${id} and date_trunc('milliseconds', at) = ${at}::timestamptz)
        then current_epoch() end`

/** The values for `epochUnless`. */
export const seenParams = (seen: LastSeen | null): [number | null, Date | null] =>
  seen?.event ? [seen.event.id, seen.event.at] : [null, null]

/** `seenId`: an event that the caller saw earlier. */
export async function readEpochState(
  db: Queryable,
  seenId: number | null = null,
): Promise<EpochState> {
  const [row] = await db.query<Omit<EpochState, 'newest'> & { id: number | null; at: Date | null }>(
    `select coalesce(e.number, -1) as number, coalesce(e.epoch, '') as epoch, e.began_at, e.sign, database_sign() as sign_now, n.id, n.at,
            (select at from events where id = $1) as seen_at
       from (select) as one
       left join lateral (select * from epochs order by number desc limit 1) as e on true
       left join lateral (select id, at from events order by id desc limit 1) as n on true`,
    [seenId],
  )
  const { id, at, ...state } = row!
  return { ...state, newest: id === null ? null : { id, at: at! } }
}

/** See `epochUnless`. */
export async function readEpoch(
  db: Queryable,
  seen: LastSeen | null = null,
): Promise<string | null> {
  const [row] = await db.query<{ epoch: string | null }>(
    `select ${epochUnless('$1', '$2')} as epoch`,
    seenParams(seen),
  )
  return row!.epoch
}

/** For a process that only takes jobs: fails while they may belong to a time that is gone (`newest_event` in sql/002_bus.sql). */
export async function readNewestEvent(db: Queryable, seen: LastSeen): Promise<SeenEvent | null> {
  const [row] = await db.query<SeenEvent>(
    'select id, at from newest_event($1, $2)',
    seenParams(seen),
  )
  return row ?? null
}

/** Of a new database: its ids are plain. */
export async function insertFirstEpoch(db: Queryable, now: Date): Promise<void> {
  await db.query(
    `insert into epochs (number, epoch, sign, began_at, begun_by, because, settled_at)
     select 0, '', database_sign(), $1, 'system', 'the first start', $1 on conflict do nothing`,
    [now],
  )
}

export interface NewEpoch {
  readonly number: number
  readonly epoch: string
  readonly begunBy: string
  readonly because: string
  readonly backupAt: Date
}

export async function insertEpoch(tx: Tx, epoch: NewEpoch, now: Date): Promise<void> {
  await tx.query(
    `insert into epochs (number, epoch, sign, began_at, begun_by, because, backup_at)
     values ($1, $2, database_sign(), $3, $4, $5, $6)`,
    [epoch.number, epoch.epoch, now, epoch.begunBy, epoch.because, epoch.backupAt],
  )
}

/** A standby took over: the same epoch, on this PostgreSQL from now on. False when another process was first, or a later epoch began. */
export async function moveEpoch(tx: Tx, number: number): Promise<boolean> {
  const moved = await tx.change(
    `update epochs set sign = database_sign()
      where number = $1 and sign <> database_sign() and not exists (select from epochs where number > $1)`,
    [number],
  )
  return moved > 0
}

/**
 * Numbers given out after the backup are not given out again: a note about batch 14 must not lead to another batch 14, a listener that
 * has read event 80,008 must not miss the next, and an old job must not name somebody else's step. Call it after `insertEpoch`; a
 * rollback does not undo it.
 */
export async function skipNumbers(tx: Tx): Promise<void> {
  await tx.query('select skip_numbers()')
}

/** The epoch whose earlier jobs are not all given back yet. */
export async function findUnsettledEpoch(db: Queryable): Promise<string | null> {
  const [row] = await db.query<{ epoch: string }>(
    'select epoch from epochs where settled_at is null order by number desc limit 1',
  )
  return row?.epoch ?? null
}

export async function markEpochsSettled(db: Queryable, now: Date): Promise<void> {
  await db.query('update epochs set settled_at = $1 where settled_at is null', [now])
}

export interface EarlierJob {
  readonly stepId: number
  readonly batchId: number
  readonly memberId: number | null
  readonly jobId: string
}

/** Unsettled jobs of earlier epochs. */
export function listEarlierJobs(
  db: Queryable,
  epoch: string,
  limit: number,
): Promise<EarlierJob[]> {
  return db.query<EarlierJob>(
    `select step_id, batch_id, batch_member_id as member_id, job_id
       from waits where kind = 'job' and split_part(job_id, '~', 2) <> $1 order by batch_id, step_id limit $2`,
    [epoch, limit],
  )
}

export async function countJobsOut(db: Queryable): Promise<number> {
  const [row] = await db.query<{ jobs: number }>(
    `select count(*)::int as jobs from waits where kind = 'job'`,
  )
  return row!.jobs
}
