// Batches that a new version affects: those to upgrade, and what a publisher sees of unfinished ones.
import type { PhaseSummary } from '../../domain/decide/version-upgrade.ts'
import type { Batch } from '../../domain/state/facts.ts'
import { idsParam } from '../connection/arrays.ts'
import type { Queryable } from '../connection/db.ts'
import { UNFINISHED_BATCHES } from '../connection/status-lists.ts'
import { BATCH_HELD_AT, IS_APPROVED } from './holds.ts'

/**
 * Unfinished batches that are not on the active version, oldest first. A batch held by `heldBy` is left out: a person looks at it
 * first, and its next change upgrades it.
 */
export async function listOutdatedBatches(
  db: Queryable,
  heldBy: string,
  limit: number,
): Promise<number[]> {
  const rows = await db.query<{ id: number }>(
    `select b.id from batches b join runbooks r on lower(r.name) = b.runbook_name and r.is_active
      where b.status in ${UNFINISHED_BATCHES} and b.runbook_version < r.version
        and b.held_by is distinct from $1
      order by b.id limit $2`,
    [heldBy, limit],
  )
  return rows.map(({ id }) => id)
}

export type UnfinishedBatch = Pick<
  Batch,
  | 'id'
  | 'status'
  | 'runbookVersion'
  | 'isManual'
  | 'startTime'
  | 'heldAt'
  | 'membersActive'
  | 'windowOverrideUntil'
>

/** Unfinished batches of the runbook, in id order. */
export async function listUnfinished(
  db: Queryable,
  runbookName: string,
  after: number,
  limit: number,
): Promise<UnfinishedBatch[]> {
  return db.query<UnfinishedBatch>(
    `select id, status, runbook_version, is_manual, batch_start_time as start_time,
            ${BATCH_HELD_AT} as held_at, members_active,
            window_override_until
       from batches b
      where runbook_name = lower($1) and status in ${UNFINISHED_BATCHES} and id > $2
      order by id limit $3`,
    [runbookName, after, limit],
  )
}

export type PhaseOfBatch = PhaseSummary & {
  readonly batchId: number
  readonly isApproved: boolean
}

export async function listPhasesOf(
  db: Queryable,
  batchIds: readonly number[],
): Promise<PhaseOfBatch[]> {
  return db.query<PhaseOfBatch>(
    `select batch_id, phase_name as name, phase_index as index, offset_minutes,
            runbook_version, due_at, status, skipped_because,
            dispatched_at, to_json(ramp_percents) as ramp_percents, ${IS_APPROVED} as is_approved,
            case when gate_approvals is not null
                 then json_build_object('approvals', gate_approvals, 'survives', coalesce(gate_survives, 0), 'readyPercent', gate_ready_percent) end as gate
       from phase_executions p where batch_id = any($1::bigint[]) order by id`,
    [idsParam(batchIds)],
  )
}

/** Active members by batch and name who have no value for the name in any case, in data, outputs or init outputs. */
export async function countLacking(
  db: Queryable,
  batchIds: readonly number[],
  names: readonly string[],
): Promise<{ batchId: number; name: string; members: number }[]> {
  return db.query(
    `select m.batch_id, wanted.name, count(*) as members
       from batch_members m join batches b on b.id = m.batch_id cross join unnest($2::text[]) as wanted (name)
      where m.batch_id = any($1::bigint[]) and m.status = 'active'
        and not m.data_json ? wanted.name and not m.worker_data_json ? wanted.name and not b.outputs_json ? wanted.name
        and not exists (select from jsonb_object_keys(m.data_json || m.worker_data_json || b.outputs_json) as has (name)
                         where lower(btrim(has.name)) = lower(btrim(wanted.name)))
      group by 1, 2 order by 1, 2`,
    [idsParam(batchIds), names],
  )
}
