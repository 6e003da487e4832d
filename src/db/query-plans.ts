// Plans that are kept. A chunk runs the same twenty statements again and again; planning them anew each time was a twentieth of all
// that PostgreSQL did for a step, and nearly all of it where a chunk is a single result.
//
// A plan that was made while a table was empty, and kept, reads all of it when it is full. So plans are kept only when the two tables
// that grow without end have grown so far that looking up some hundred rows is cheaper than anything else: rows never leave them, and
// what is right then stays right. In the small tables nothing but looking up is allowed.
// For transactions that touch rows by their keys; all others are planned each time (SESSION in postgres.ts).
import type { Tx } from './db.ts'

/** Bytes of the tables from which on plans are kept: some 10,000 steps, some 1,500 members. */
export const LEAST_BYTES = { step_executions: 4 * 2 ** 20, batch_members: 2 ** 20 }

const IS_GROWN = Object.entries(LEAST_BYTES)
  .map(([table, bytes]) => `pg_relation_size('${table}') >= ${bytes}`)
  .join(' and ')

/** Until the transaction ends. To be given to the connection before the statements that it is for. */
export async function keepQueryPlans(tx: Tx): Promise<void> {
  await tx.query(
    `select set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true),
            set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true)
      where ${IS_GROWN}`,
    [],
  )
}
