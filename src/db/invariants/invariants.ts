// Invariants: queries that return no rows at any moment between two transactions. The demo runs them at its end, the chaos runs on a
// live database, the tests after every story and every simulated event. A finding names rows by id and never quotes data. Invariants that no query can check
// are listed with the test that does.

import type { Queryable } from '../connection/db.ts'
import { CLOCKS_DIFFER_MAX_MS } from '../connection/time.ts'
import { JOB_INVARIANTS } from './jobs.ts'
import { ORDER_INVARIANTS } from './order.ts'
import { TRANSITION_INVARIANTS } from './transitions.ts'

export interface Invariant {
  readonly id: `I${number}`
  readonly sentence: string
  /** Returns (batch_id, found) per violation. $1 is the latest time that anybody can write now, $3 how far two clocks differ; findBroken filters by batch. */
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
    sentence: 'An expired lease is taken over, and its old token can ack nothing',
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
    where: 'test/base/log/log.test.ts, and every test that plants one',
  },
]

/** Findings kept per invariant: a broken one often breaks for every member. */
const FOUND_MAX = 20

/**
 * Violations of all batches or of one. For one batch, findings without a batch are left out. Times of one row may come from two
 * processes: `clocksDifferMs` is 0 only where one process writes everything.
 */
export async function findBroken(
  db: Queryable,
  now: Date,
  batchId: number | null = null,
  clocksDifferMs = CLOCKS_DIFFER_MAX_MS,
): Promise<BrokenInvariant[]> {
  const broken: BrokenInvariant[] = []
  for (const { id, sentence, sql } of INVARIANTS) {
    const rows = await db.query<{ batchId: number | null; found: string }>(bounded(sql), [
      new Date(+now + clocksDifferMs),
      batchId,
      `${clocksDifferMs} milliseconds`,
    ])
    for (const row of rows) broken.push({ id, sentence, ...row })
  }
  return broken
}

// Materialised, then sorted and cut: with the limit inside, the planner chose fast-start plans that took a hundred times as long.
const bounded = (sql: string): string =>
  `with broken as materialized (
     select batch_id, found from (${sql}) as found_rows
      where $1::timestamptz is not null and $3::interval is not null and ($2::bigint is null or batch_id = $2::bigint)
        and not exists (select from batches b where b.id = batch_id and b.purged_at is not null))
   select batch_id, found from broken order by batch_id, found limit ${FOUND_MAX}`
