// Phases: finds those that are due or not yet expanded, inserts them for a new batch or a version upgrade, and locks their expansion.
import type { PhaseToCreate } from '../../domain/decide/version-upgrade.ts'
import { arrayParams, idsParam, timeParam } from '../connection/arrays.ts'
import type { Queryable, Tx } from '../connection/db.ts'
import { BATCH_IS_FREE } from './holds.ts'

export async function findPhaseBatch(db: Queryable, phaseIds: readonly number[]) {
  return db.query<{ id: number; batchId: number }>(
    'select id, batch_id from phase_executions where id = any($1::bigint[])',
    [phaseIds],
  )
}

/**
 * Due phases of active batches that no hold stops, oldest first: those to start, and those whose share of a ramp has soaked. One that
 * waits at its gate comes when that is looked at again.
 */
export async function listDuePhases(db: Queryable, now: Date, limit: number) {
  return db.query<{ id: number; batchId: number }>(
    `select p.id, p.batch_id
       from (select id, batch_id, due_at as at from phase_executions
              where status = 'pending' and due_at <= $1 and (gate_look_at is null or gate_look_at <= $1)
             union all
             select id, batch_id, soak_ends_at from phase_executions where status = 'dispatched' and soak_ends_at <= $1) as p
       join batches b on b.id = p.batch_id
      where b.status = 'active' and ${BATCH_IS_FREE}
      order by p.at, p.id limit $2`,
    [now, limit],
  )
}

/** When the next phase falls due after `now` and up to `until`, in an active batch that no hold stops; null when none does. */
export async function findNextPhaseDue(db: Queryable, now: Date, until: Date) {
  const [next] = await db.query<{ at: Date | null }>(
    `select min(p.due_at) as at from phase_executions p join batches b on b.id = p.batch_id
      where p.status = 'pending' and p.due_at > $1 and p.due_at <= $2 and b.status = 'active' and ${BATCH_IS_FREE}`,
    [now, until],
  )
  return next!.at
}

/** Started phases without all members' steps, in batches that no hold stops. */
export async function listUnexpandedPhases(db: Queryable, limit: number) {
  return db.query<{ id: number; batchId: number; membersActive: number }>(
    `select p.id, p.batch_id, b.members_active
       from phase_executions p join batches b on b.id = p.batch_id
      where p.status = 'dispatched' and p.expanded_at is null and ${BATCH_IS_FREE}
        and (p.ramp_through is null or p.expanded_through < p.ramp_through)
      order by p.id limit $1`,
    [limit],
  )
}

/** Overdue phases are inserted as skipped. Returns ids in order. */
export async function insertPhases(
  tx: Tx,
  batchId: number,
  runbookVersion: number,
  phases: readonly PhaseToCreate[],
  now: Date,
): Promise<number[]> {
  // Identity values rise in the order of the rows.
  const rows = await tx.query<{ id: number }>(
    `insert into phase_executions (batch_id, phase_name, phase_index, offset_minutes, due_at, runbook_version, status,
                                   skipped_because, completed_at, gate_approvals, gate_survives, gate_ready_percent, ramp_percents)
     select $1, name, index, offset_minutes, due_at, $2, case when is_overdue then 'skipped' else 'pending' end,
            case when is_overdue then 'overdue' end, case when is_overdue then $3::timestamptz end, approvals, survives, ready,
            ramp::integer[]
       from unnest($4::text[], $5::int[], $6::int[], $7::timestamptz[], $8::bool[], $9::int[], $10::int[], $11::int[], $12::text[])
            with ordinality as p (name, index, offset_minutes, due_at, is_overdue, approvals, survives, ready, ramp, n)
      order by n
     returning id`,
    [
      batchId,
      runbookVersion,
      now,
      ...arrayParams(
        phases,
        (p) => p.name,
        (p) => p.index,
        (p) => p.offsetMinutes,
        (p) => timeParam(p.dueAt),
        (p) => p.isOverdue,
        (p) => p.gate?.approvals ?? null,
        (p) => p.gate?.survives ?? null,
        (p) => p.gate?.readyPercent ?? null,
        (p) => p.rampPercents && `{${p.rampPercents.join(',')}}`,
      ),
    ],
  )
  return rows.map(({ id }) => id).sort((a, b) => a - b)
}

/** The last member with steps, by phase. */
export async function loadMarks(
  db: Queryable,
  batchIds: readonly number[],
): Promise<ReadonlyMap<number, number>> {
  const rows = await db.query<{ id: number; through: number }>(
    'select id, expanded_through as through from phase_executions where batch_id = any($1::bigint[])',
    [idsParam(batchIds)],
  )
  return new Map(rows.map(({ id, through }) => [id, through]))
}

/** Only one transaction at a time writes the phase's steps. Not a row lock: that would block the counters. */
export async function lockExpansion(tx: Tx, phaseId: number): Promise<void> {
  await tx.query('select pg_advisory_xact_lock($1, $2)', [EXPANSIONS, phaseId % 2 ** 31])
}

/** Two-number advisory locks; all others here use one 64-bit number, a separate space. */
const EXPANSIONS = 1

/** Steps written ahead (a member who moved in had passed them) follow to the phase row that replaces theirs. */
export async function rehomeSteps(
  tx: Tx,
  batchId: number,
  pairs: readonly { readonly from: number; readonly to: number }[],
): Promise<void> {
  await tx.query(
    `update step_executions s set phase_execution_id = p.new
       from unnest($2::bigint[], $3::bigint[]) as p (old, new)
      where s.batch_id = $1 and s.kind = 'phase' and s.phase_execution_id = p.old`,
    [
      batchId,
      ...arrayParams(
        pairs,
        (m) => m.from,
        (m) => m.to,
      ),
    ],
  )
}
