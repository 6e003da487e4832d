// Changes of many members, kept so that people can come back to them: who asked for what, and which members it changed or refused.
// Progress is written in the transaction of its chunk, so the rows say exactly what was done.
import type { Json } from '../../base/text/json.ts'
import { arrayParams } from '../connection/arrays.ts'
import type { Queryable, Tx } from '../connection/db.ts'

export interface NewBulkAction {
  readonly batchId: number
  /** As in the audit: `members.retry`. */
  readonly action: string
  readonly startedBy: string
  readonly reason: string
  readonly selection: Json
  readonly options: Json
  readonly selectedCount: number
}

export async function insertBulkAction(tx: Tx, given: NewBulkAction, now: Date): Promise<number> {
  const { batchId, action, startedBy, reason, selection, options, selectedCount } = given
  const rows = await tx.query<{ id: number }>(
    `insert into bulk_actions (batch_id, action, started_by, started_at, progress_at, reason, selection_json, options_json, selected_count)
     values ($1, $2, $3, $4, $4, $5, $6::jsonb, $7::jsonb, $8) returning id`,
    [
      batchId,
      action,
      startedBy,
      now,
      reason,
      JSON.stringify(selection),
      JSON.stringify(options),
      selectedCount,
    ],
  )
  return rows[0]!.id
}

export interface ActionProgress {
  readonly done: readonly number[]
  readonly refused: readonly { readonly memberId: number; readonly reason: string }[]
}

export async function addProgress(
  tx: Tx,
  actionId: number,
  { done, refused }: ActionProgress,
  now: Date,
): Promise<void> {
  const members = [...done.map((memberId) => ({ memberId, reason: null })), ...refused]
  await tx.query(
    `insert into bulk_action_members (action_id, member_id, refusal)
     select $1, m.id, m.refusal from unnest($2::bigint[], $3::text[]) as m (id, refusal)`,
    [
      actionId,
      ...arrayParams(
        members,
        (one) => one.memberId,
        (one) => one.reason,
      ),
    ],
  )
  await tx.query(
    `update bulk_actions set done_count = done_count + $2, refused_count = refused_count + $3, progress_at = $4 where id = $1`,
    [actionId, done.length, refused.length, now],
  )
}

export async function endBulkAction(db: Queryable, actionId: number, now: Date): Promise<void> {
  await db.query('update bulk_actions set ended_at = $2 where id = $1 and ended_at is null', [
    actionId,
    now,
  ])
}
