// Batches: inserts them, holds a broken one, finds the next. Later changes go through facts.ts and changes.ts.

import type { Queryable, Tx } from '../connection/db.ts'
import { UNFINISHED_BATCHES } from '../connection/status-lists.ts'

export interface NewBatch {
  readonly runbookId: number
  readonly runbookName: string
  readonly runbookVersion: number
  /** Null for a manual batch. */
  readonly sourceTime: Date | null
  readonly createdBy: string
}

/** A sequence does not roll back, so a dry run takes its numbers from here. They never last. */
const DRY_RUN_FROM = 2 ** 52

/** Whether a dry run made the batch: its number means nothing. */
export const isDryRunBatch = (batchId: number): boolean => batchId >= DRY_RUN_FROM

/** Null when the runbook has a batch with this source time, in any status. */
export async function insertBatch(
  tx: Tx,
  batch: NewBatch,
  now: Date,
  isDryRun: boolean,
): Promise<number | null> {
  const [column, value, kind] = isDryRun
    ? [
        'id, ',
        `greatest(${DRY_RUN_FROM}, (select max(id) + 1 from batches)), `,
        'overriding system value',
      ]
    : ['', '', '']
  const rows = await tx.query<{ id: number }>(
    `insert into batches (${column}runbook_id, runbook_name, runbook_version, source_time, batch_start_time, is_manual, created_by,
                          status, detected_at) ${kind}
     values (${value}$1, lower($2), $3, $4, $4, $5, $6, 'detected', $7)
     on conflict (runbook_name, source_time) where source_time is not null do nothing
     returning id`,
    [
      batch.runbookId,
      batch.runbookName,
      batch.runbookVersion,
      batch.sourceTime,
      batch.sourceTime === null,
      batch.createdBy,
      now,
    ],
  )
  return rows[0]?.id ?? null
}

/** Only sets the hold, for a batch that cannot be loaded. False when it is held already or does not exist. */
export async function holdRow(
  tx: Tx,
  batchId: number,
  by: string,
  reason: string,
  now: Date,
): Promise<boolean> {
  const rows = await tx.query(
    `update batches set held_at = $2, held_by = $3, held_reason = $4 where id = $1 and held_at is null returning id`,
    [batchId, now, by, reason],
  )
  return rows.length > 0
}

/** The unfinished batch of the runbook that starts next after this one, manual ones last; null when there is none. */
export async function findNextBatch(db: Queryable, batchId: number): Promise<number | null> {
  const rows = await db.query<{ id: number }>(
    `select b.id from batches own join batches b on b.runbook_name = own.runbook_name and b.id <> own.id
      where own.id = $1 and b.status in ${UNFINISHED_BATCHES}
        and (b.batch_start_time is null or own.batch_start_time is null or b.batch_start_time > own.batch_start_time)
      order by b.is_manual, b.batch_start_time, b.id limit 1`,
    [batchId],
  )
  return rows[0]?.id ?? null
}
