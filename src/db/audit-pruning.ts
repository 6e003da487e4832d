// Prunes the oldest audit rows, when a setting limits how long they are kept. An audit row, sealed like any other, records where the
// chain starts afterwards; verification starts there. Rows go in chain order, so a young row keeps all rows sealed after it.
import { insertAudit } from './audit.ts'
import type { Db, Queryable } from './db.ts'

const ROWS_PER_CHUNK = 5_000
const ACTION = 'audit.prune'
/** Sealing and pruning exclude each other. Any number that nothing else uses for advisory locks in this database. */
export const CHAIN_LOCK = 7_263_406

export interface Pruning {
  /** The last pruned row's number and hash, on which the next row's hash builds. */
  readonly through: number
  readonly hash: string
  readonly at: Date
}

interface OldRow {
  readonly sealNumber: number
  readonly hash: string
  readonly at: Date
  readonly action: string
}

/** Prunes up to a chunk of sealed rows older than `before` and returns their count. Keeps the newest sealed row. */
export function pruneAudit(db: Db, before: Date, now: Date): Promise<number> {
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
      ...{ at: now, actor: 'system', actorName: 'matoolkit', action: ACTION, subject: 'audit' },
      ...{ reason: `rows from before ${before.toISOString()} are not kept` },
      ...{ source: null, clientApp: null, requestId: null },
      after: { through: last.sealNumber, hash: last.hash, rows: old.length },
    })
    await tx.query(`select set_config('matoolkit.audit_pruned_through', $1::text, true)`, [
      String(last.sealNumber),
    ])
    await tx.query('delete from audit where seal_number <= $1', [last.sealNumber])
    return old.length
  })
}

const listOldest = (db: Queryable, limit: number): Promise<OldRow[]> =>
  db.query<OldRow>(
    `select seal_number as "sealNumber", hash, at, action from audit
      where seal_number is not null order by seal_number limit $1`,
    [limit],
  )

/** The last pruning; null when nothing was ever pruned. */
export async function findPruning(db: Queryable): Promise<Pruning | null> {
  const rows = await db.query<Pruning>(
    `select (after_json->>'through')::bigint as through, after_json->>'hash' as hash, at
       from audit where action = '${ACTION}' order by id desc limit 1`,
  )
  return rows[0] ?? null
}
