// What must be true of the tables at every moment between two transactions, each as a query that must return no rows.
// `doctor` runs them on a living database, the tests after every story and every simulated event: both use this list.
// A finding names rows by their numbers and never quotes data. What no query of the state can tell is listed with the place
// where it is tested instead, so that a missing number is never taken for an oversight.

import type { Queryable } from '../db.ts'
import { JOB_INVARIANTS } from './jobs.ts'
import { ORDER_INVARIANTS } from './order.ts'
import { TRANSITION_INVARIANTS } from './transitions.ts'

export interface Invariant {
  readonly id: `I${number}`
  readonly sentence: string
  /** Rows of (batch_id, found), one for each violation. $1 is now; the batch to look at is filtered around it. */
  readonly sql: string
}

export interface TestedElsewhere {
  readonly id: `I${number}`
  readonly sentence: string
  readonly where: string
}

export interface BrokenInvariant {
  readonly id: string
  readonly sentence: string
  readonly batchId: number | null
  readonly found: string
}

const number = ({ id }: { id: string }): number => Number(id.slice(1))

export const INVARIANTS: readonly Invariant[] = [
  ...ORDER_INVARIANTS,
  ...TRANSITION_INVARIANTS,
  ...JOB_INVARIANTS,
].sort((a, b) => number(a) - number(b))

export const TESTED_ELSEWHERE: readonly TestedElsewhere[] = [
  {
    id: 'I22',
    sentence: 'A lease that lapsed is taken again, and its old holder can settle nothing',
    where: 'test/bus/contract.ts: who holds a message is a matter of time, not of rows',
  },
  {
    id: 'I25',
    sentence: 'A tick removes no more than the limit without confirmation',
    where: 'the tests of the tick over a data source: it depends on what the source answered',
  },
  {
    id: 'I27',
    sentence: 'A worker runs no function outside its list',
    where: 'the tests of the worker, which has no database',
  },
  {
    id: 'I29',
    sentence:
      'No planted secret or personal text is in a log line, an error or a dead letter reason',
    where: 'test/log.test.ts, and every test that plants one',
  },
]

/** Findings per invariant that are worth reading; a broken one often breaks for every member. */
const FOUND_MAX = 20

/** Every violation, of all batches or of one. What belongs to no batch is left out when one is asked for. */
export async function findBroken(
  db: Queryable,
  now: Date,
  batchId: number | null = null,
): Promise<BrokenInvariant[]> {
  const broken: BrokenInvariant[] = []
  for (const { id, sentence, sql } of INVARIANTS) {
    const rows = await db.query<{ batchId: number | null; found: string }>(bounded(sql), [
      now,
      batchId,
    ])
    for (const row of rows) broken.push({ id, sentence, ...row })
  }
  return broken
}

// Found first, then ordered and cut: seeing the limit, the planner chose plans that begin fast and took a hundred times as long.
const bounded = (sql: string): string =>
  `with broken as materialized (
     select batch_id, found from (${sql}) as found_rows
      where $1::timestamptz is not null and ($2::bigint is null or batch_id = $2::bigint))
   select batch_id as "batchId", found from broken order by batch_id, found limit ${FOUND_MAX}`
