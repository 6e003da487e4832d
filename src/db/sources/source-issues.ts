// Issues of a runbook's last good tick: rows it could not use, changes it did not make. Replaced as a whole when they differ.
import { createHash } from 'node:crypto'
import type { Issue } from '../../domain/sources/compare.ts'
import { arrayParams } from '../connection/arrays.ts'
import type { Queryable, Tx } from '../connection/db.ts'

/** `issues` are cut to their limit already. */
export async function replaceIssues(
  tx: Tx,
  runbookName: string,
  tickId: number,
  issues: readonly Issue[],
  now: Date,
): Promise<void> {
  const digest = createHash('sha256').update(JSON.stringify(issues)).digest('base64url')
  const changed = await tx.query(
    `update source_states set issues_digest = $2 where runbook_name = lower($1) and issues_digest <> $2 returning runbook_name`,
    [runbookName, digest],
  )
  if (changed.length === 0) return
  await tx.query('delete from source_issues where runbook_name = lower($1)', [runbookName])
  await tx.query(
    `insert into source_issues (runbook_name, tick_id, kind, member_key, column_name, batch_id, reason, found_at)
     select lower($1), $2, kind, key, col, batch, reason, $3
       from unnest($4::text[], $5::text[], $6::text[], $7::bigint[], $8::text[]) with ordinality
            as i (kind, key, col, batch, reason, n)
      order by n`,
    [
      runbookName,
      tickId,
      now,
      ...arrayParams(
        issues,
        (one) => one.kind,
        (one) => one.key,
        (one) => one.column,
        (one) => one.batchId,
        (one) => one.reason,
      ),
    ],
  )
}

export interface IssueRow extends Issue {
  readonly id: number
  readonly tickId: number
  readonly foundAt: Date
}

/** In the order found; `after` is the last id seen. */
export function listIssues(
  db: Queryable,
  runbookName: string,
  { limit, after = 0 }: { limit: number; after?: number },
): Promise<IssueRow[]> {
  return db.query<IssueRow>(
    `select id, tick_id, kind, member_key as key, column_name as "column", batch_id, reason,
            found_at
       from source_issues where runbook_name = lower($1) and id > $2 order by id limit $3`,
    [runbookName, after, limit],
  )
}
