// Prunes the oldest audit rows, when a setting limits how long they are kept. An audit row records what goes and by which setting; it is
// sealed before anything is deleted, and the database deletes nothing else. Verification starts with the first row kept and
// compares the pruning with the setting. Rows go in chain order, so a young row keeps all rows sealed after it.

import type { Db, Queryable } from '../connection/db.ts'
import { insertAudit } from './audit.ts'
import { CHAIN_LOCK, sealRows } from './audit-sealing.ts'

const ROWS_PER_CHUNK = 5_000
const ACTION = 'audit.prune'

export interface Pruning {
  /** The last pruned row's number and hash, on which the next row's hash builds. */
  readonly through: number
  readonly hash: string
  readonly at: Date
  /** Rows from before this time were not kept; null when the pruning does not say. */
  readonly before: Date | null
}

/** Pruning by the setting: rows of so many whole days stay. */
export interface Retention {
  readonly keptDays: number
  readonly now: Date
}

const DAY_MS = 24 * 3_600_000

/** Start of the first day to keep. Whole days, so that pruning writes one audit row a day instead of one a minute. */
export const keptFrom = ({ now, keptDays }: Retention): Date =>
  new Date(Math.floor((+now - keptDays * DAY_MS) / DAY_MS) * DAY_MS)

/** Why the setting does not explain the pruning; null when it does. */
export function whyUnconfigured(
  { before, at, through }: Pruning,
  keptDays: number | null,
  now: Date,
): string | null {
  const gone = `rows 1 to ${through} were deleted on ${at.toISOString()}`
  if (keptDays === null) return `${gone}, but no setting (MATOOLKIT_AUDIT_KEPT_DAYS) allows it`
  if (at > now) return `${gone}, which is in the future`
  const kept = keptFrom({ now: at, keptDays })
  return before !== null && before <= kept
    ? null
    : `${gone}, although the last ${keptDays} days before are kept (MATOOLKIT_AUDIT_KEPT_DAYS)`
}

interface OldRow {
  readonly sealNumber: number
  readonly hash: string
  readonly at: Date
  readonly action: string
}

/** Prunes up to a chunk of sealed rows older than `before` and returns their count. Keeps the newest sealed row. */
export function pruneAudit(db: Db, retention: Retention): Promise<number> {
  const before = keptFrom(retention)
  return db.transaction(async (tx) => {
    const [lock] = await tx.query<{ mine: boolean }>(
      'select pg_try_advisory_xact_lock($1) as mine',
      [CHAIN_LOCK],
    )
    const [oldest] = await listOldest(tx, 1)
    if (!lock!.mine || !oldest || oldest.at >= before) return 0
    const rows = await listOldest(tx, ROWS_PER_CHUNK + 1)
    const young = rows.findIndex(({ at }) => at >= before)
    const old = rows.slice(0, young === -1 ? -1 : young)
    const last = old.at(-1)
    // The previous pruning's own row is no reason to prune again: that would repeat every day.
    if (!last || old.every(({ action }) => action === ACTION)) return 0
    await insertAudit(tx, {
      at: retention.now,
      actor: 'system',
      actorName: 'matoolkit',
      action: ACTION,
      subject: 'audit',
      reason: `rows from before ${before.toISOString()} are not kept`,
      source: null,
      clientApp: null,
      requestId: null,
      after: {
        through: last.sealNumber,
        hash: last.hash,
        rows: old.length,
        before: before.toISOString(),
        keptDays: retention.keptDays,
      },
    })
    while ((await sealRows(tx)).count > 0);
    await tx.query('delete from audit where seal_number <= $1', [last.sealNumber])
    return old.length
  })
}

const listOldest = (db: Queryable, limit: number): Promise<OldRow[]> =>
  db.query<OldRow>(
    `select seal_number, hash, at, action from audit
      where seal_number is not null order by seal_number limit $1`,
    [limit],
  )

/** The last sealed pruning; null when nothing was ever pruned. One that is not sealed has deleted nothing. */
export async function findPruning(db: Queryable): Promise<Pruning | null> {
  const rows = await db.query<Pruning>(
    `select (after_json->>'through')::bigint as through, after_json->>'hash' as hash, at,
            (after_json->>'before')::timestamptz as before
       from audit where action = '${ACTION}' and hash is not null order by seal_number desc limit 1`,
  )
  return rows[0] ?? null
}
