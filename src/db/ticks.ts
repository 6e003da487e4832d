// When each source is asked and by whom. A lease is one guarded row with a deadline: of any number of schedulers one gets it, and
// when that one dies it passes on by itself. Ticks are kept for a month.
import type { Json } from '../domain/json.ts'
import type { Queryable, Tx } from './db.ts'

export interface DueRunbook {
  readonly name: string
  readonly version: number
}

/** Runbooks with an active version whose automation is on, whose time has come and whom nobody is asking now; the longest due first. */
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

/** The names of all runbooks that are asked at all, due or not. */
export async function listAutomatedRunbooks(db: Queryable): Promise<string[]> {
  const rows = await db.query<{ name: string }>(
    `select r.name from runbooks r
       join runbook_automation_settings a on a.runbook_name = lower(r.name) and a.automation_enabled
      where r.is_active order by lower(r.name)`,
  )
  return rows.map(({ name }) => name)
}

export interface TickLease {
  readonly runbookName: string
  readonly token: string
  readonly until: Date
}

/** False when somebody else has it, or when it is not due and nobody insists. */
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

/** Proves that the lease is still ours and makes it last longer; false when it has passed on. Locks its row to the transaction's end. */
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

/** This version is the active one and its automation is on. */
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
  /** `abandoned` when its result is not wanted any more; that is nobody's mistake. */
  readonly outcome: 'good' | 'failed' | 'abandoned'
  readonly rowCount: number | null
  readonly groupCount: number | null
  readonly counts: Json
  readonly error: string | null
}

/** The end of the tick, and what the runbook's last error is from now on: kept until a good tick. */
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

/** The newest first; `before` is the id of the last one seen. */
export function listTicks(
  db: Queryable,
  runbookName: string,
  { limit, before = null }: { limit: number; before?: number | null },
): Promise<TickRow[]> {
  return db.query<TickRow>(
    `select id, runbook_version as "runbookVersion", started_by as "startedBy", started_at as "startedAt", ended_at as "endedAt",
            outcome, row_count as "rowCount", group_count as "groupCount", counts, error
       from source_ticks where runbook_name = lower($1) and ($2::bigint is null or id < $2)
      order by id desc limit $3`,
    [runbookName, before, limit],
  )
}
