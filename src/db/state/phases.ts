// Inserts phases, for a new batch or a version upgrade, and finds members by their steps in phases.
import type { PhaseToCreate } from '../../domain/decide/version-upgrade.ts'
import { arrayParams, idsParam, timeParam } from '../connection/arrays.ts'
import type { Queryable, Tx } from '../connection/db.ts'
import { OPEN_STEPS } from '../connection/status-lists.ts'

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
                                   skipped_because, completed_at, gate_approvals, gate_ready_percent, ramp_percents)
     select $1, name, index, offset_minutes, due_at, $2, case when is_overdue then 'skipped' else 'pending' end,
            case when is_overdue then 'overdue' end, case when is_overdue then $3::timestamptz end, approvals, ready,
            ramp::integer[]
       from unnest($4::text[], $5::int[], $6::int[], $7::timestamptz[], $8::bool[], $9::int[], $10::int[], $11::text[])
            with ordinality as p (name, index, offset_minutes, due_at, is_overdue, approvals, ready, ramp, n)
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

/** Members with an open step in one of these phases. */
export async function listMembersOpenIn(
  tx: Tx,
  batchId: number,
  phaseIds: readonly number[],
): Promise<number[]> {
  const rows = await tx.query<{ id: number }>(
    `select distinct batch_member_id as id from step_executions
      where batch_id = $1 and kind = 'phase' and phase_execution_id = any($2::bigint[])
        and status in ${OPEN_STEPS}
      order by 1`,
    [batchId, idsParam(phaseIds)],
  )
  return rows.map(({ id }) => id)
}

/** Members with a pending step in a started phase but no wait: an earlier phase blocks them. */
export async function listMembersIdle(tx: Tx, batchId: number): Promise<number[]> {
  const rows = await tx.query<{ id: number }>(
    `select distinct s.batch_member_id as id
       from step_executions s join phase_executions p on p.id = s.phase_execution_id and p.status = 'dispatched'
      where s.batch_id = $1 and s.kind = 'phase' and s.status = 'pending'
        and not exists (select from waits w where w.batch_id = $1 and w.batch_member_id = s.batch_member_id)
      order by 1`,
    [batchId],
  )
  return rows.map(({ id }) => id)
}
