// When each source is read next, and by which scheduler. The lease is one guarded row with a deadline: one scheduler gets it, and it
// expires when that one dies. Ticks are kept for a month.
import type { Json } from '../../base/text/json.ts'
import type { Queryable, Tx } from '../connection/db.ts'

export interface DueRunbook {
  readonly name: string
  readonly version: number
}

/** Active runbooks with automation on that are due and not leased, longest due first. */
export function listDueRunbooks(db: Queryable, now: Date, limit: number): Promise<DueRunbook[]> {
  return db.query<DueRunbook>(
    `select r.name, r.version from runbooks r
       join runbook_automation_settings a on a.runbook_name = lower(r.name) and a.automation_enabled
       left join source_states s on s.runbook_name = lower(r.name)
      where r.is_active and (s.due_at is null or s.due_at <= $1) and (s.leased_until is null or s.leased_until <= $1)
      order by s.due_at nulls first, r.id limit $2`,
    [now, limit],
  )
}

export interface TickLease {
  readonly runbookName: string
  readonly token: string
  readonly until: Date
}

/** False when another scheduler has the lease, or the runbook is not due. */
export async function takeLease(
  tx: Tx,
  { runbookName, token, until }: TickLease,
  now: Date,
  { evenIfNotDue }: { evenIfNotDue: boolean },
): Promise<boolean> {
  const rows = await tx.query(
    `insert into source_states as s (runbook_name, due_at, lease_token, leased_until) values (lower($1), $2, $3, $4)
     on conflict (runbook_name) do update set lease_token = excluded.lease_token, leased_until = excluded.leased_until
      where (s.leased_until is null or s.leased_until <= $2) and (s.due_at <= $2 or $5)
     returning runbook_name`,
    [runbookName, now, token, until, evenIfNotDue],
  )
  if (rows.length === 0) return false
  await tx.query(
    `update source_ticks set outcome = 'abandoned', ended_at = $2 where runbook_name = lower($1) and outcome = 'running'`,
    [runbookName, now],
  )
  return true
}

/** Extends the lease and locks its row; false when another scheduler took it over. */
export async function renewLease(
  tx: Tx,
  { runbookName, token, until }: TickLease,
): Promise<boolean> {
  const rows = await tx.query(
    `update source_states set leased_until = greatest(leased_until, $3) where runbook_name = lower($1) and lease_token = $2
     returning runbook_name`,
    [runbookName, token, until],
  )
  return rows.length > 0
}

/** Whether this version is still active and automation on. */
export async function isStillAutomated(
  tx: Tx,
  runbookName: string,
  version: number,
): Promise<boolean> {
  const rows = await tx.query(
    `select from runbooks r join runbook_automation_settings a on a.runbook_name = lower(r.name) and a.automation_enabled
      where lower(r.name) = lower($1) and r.version = $2 and r.is_active`,
    [runbookName, version],
  )
  return rows.length > 0
}

export async function releaseLease(
  tx: Tx,
  { runbookName, token }: TickLease,
  dueAt: Date,
): Promise<void> {
  await tx.query(
    `update source_states set lease_token = null, leased_until = null, due_at = $3
      where runbook_name = lower($1) and lease_token = $2`,
    [runbookName, token, dueAt],
  )
}

export async function insertTick(
  tx: Tx,
  tick: { runbookName: string; version: number; startedBy: string },
  now: Date,
): Promise<number> {
  const rows = await tx.query<{ id: number }>(
    `insert into source_ticks (runbook_name, runbook_version, started_by, started_at, outcome)
     values (lower($1), $2, $3, $4, 'running') returning id`,
    [tick.runbookName, tick.version, tick.startedBy, now],
  )
  return rows[0]!.id
}

export interface TickEnd {
  /** `abandoned`: the result is no longer needed; not an error. */
  readonly outcome: 'good' | 'failed' | 'abandoned'
  readonly rowCount: number | null
  readonly groupCount: number | null
  readonly counts: Json
  readonly error: string | null
}

/** Also sets the runbook's last error, which stays until a good tick. */
export async function endTick(
  tx: Tx,
  tickId: number,
  runbookName: string,
  end: TickEnd,
  now: Date,
): Promise<void> {
  await tx.query(
    `update source_ticks set outcome = $2, ended_at = $3, row_count = $4, group_count = $5, counts = $6::jsonb, error = $7
      where id = $1 and outcome = 'running'`,
    [tickId, end.outcome, now, end.rowCount, end.groupCount, JSON.stringify(end.counts), end.error],
  )
  if (end.outcome === 'abandoned') return
  await tx.query(
    `update runbooks set last_error = $2, last_error_at = case when $2::text is null then null else $3::timestamptz end
      where lower(name) = lower($1) and is_active and (last_error is not null or $2::text is not null)`,
    [runbookName, end.error, now],
  )
}

const DAYS_KEPT = 30

export async function forgetOldTicks(tx: Tx, runbookName: string, now: Date): Promise<void> {
  await tx.query('delete from source_ticks where runbook_name = lower($1) and started_at < $2', [
    runbookName,
    new Date(+now - DAYS_KEPT * 86_400_000),
  ])
}

export interface TickRow {
  readonly id: number
  readonly runbookVersion: number
  readonly startedBy: string
  readonly startedAt: Date
  readonly endedAt: Date | null
  readonly outcome: 'running' | 'good' | 'failed' | 'abandoned'
  readonly rowCount: number | null
  readonly groupCount: number | null
  readonly counts: Readonly<Record<string, number>>
  readonly error: string | null
}

/** Newest first; `before` is the last id seen. */
export function listTicks(
  db: Queryable,
  runbookName: string,
  { limit, before = null }: { limit: number; before?: number | null },
): Promise<TickRow[]> {
  return db.query<TickRow>(
    `select id, runbook_version, started_by, started_at, ended_at,
            outcome, row_count, group_count, counts, error
       from source_ticks where runbook_name = lower($1) and ($2::bigint is null or id < $2)
      order by id desc limit $3`,
    [runbookName, before, limit],
  )
}
