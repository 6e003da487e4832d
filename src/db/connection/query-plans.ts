// Cached query plans for chunks. A chunk runs the same twenty statements again and again: planning them each time was a twentieth of
// PostgreSQL's work for a step, and nearly all of it for a chunk of one result.
//
// A cached plan made for an empty table reads all of a full one. So plans are cached only once the two tables that never shrink are
// large enough for index lookups to win; from then on the plan stays right. Other plans than index lookups are turned off.
// Only for transactions that touch rows by key; all others plan each time (SESSION in postgres.ts).
import type { Tx } from './db.ts'

/** Table sizes from which plans are cached: about 10,000 steps and 1,500 members. */
export const LEAST_BYTES = { step_executions: 4 * 2 ** 20, batch_members: 2 ** 20 }

const IS_GROWN = Object.entries(LEAST_BYTES)
  .map(([table, bytes]) => `pg_relation_size('${table}') >= ${bytes}`)
  .join(' and ')

/** Lasts until the transaction ends. Send it before the statements it is for. */
export async function keepQueryPlans(tx: Tx): Promise<void> {
  await tx.query(
    `select set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true),
            set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true)
      where ${IS_GROWN}`,
    [],
  )
}
