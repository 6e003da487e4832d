// The undo ledger: what the settled jobs of members changed, with the inverse of each. It is a column of `attempts`, written by the
// statement that writes the attempt: a result costs no statement more, and a duplicate has no second entry.

import type { Json } from '../../base/text/json.ts'
import type { LedgerEntry } from '../../domain/decide/undo.ts'
import { readEffect } from '../../domain/state/effects.ts'
import type { StepStatus } from '../../domain/state/transitions.ts'
import { idsParam } from '../connection/arrays.ts'
import type { Queryable } from '../connection/db.ts'
import { COMPENSATION } from '../connection/status-lists.ts'

interface EffectRow extends Omit<LedgerEntry, 'effect'> {
  readonly memberId: number | null
  readonly effect: Json
}

const ENTRY = `
  a.step_id as "stepId", s.function_name as "functionName", a.attempt, a.worker_id as "workerId", a.outcome, a.effect_json as effect, a.settled_at as "settledAt"`

/** The ledger of each member, in the order in which the jobs ended. */
export async function loadLedgers(
  db: Queryable,
  memberIds: readonly number[],
): Promise<Map<number, LedgerEntry[]>> {
  const rows = await db.query<EffectRow>(
    `select s.batch_member_id as "memberId", ${ENTRY}
       from step_executions s join attempts a on a.step_id = s.id
      where ((s.kind = 'phase' and s.batch_member_id = any($1::bigint[]))
          or (s.kind in ${COMPENSATION} and s.batch_member_id = any($1::bigint[])))
      order by a.id`,
    [idsParam(memberIds)],
  )
  const ledgers = new Map<number, LedgerEntry[]>(memberIds.map((id) => [id, []]))
  for (const row of rows) ledgers.get(row.memberId!)!.push(entryOf(row))
  return ledgers
}

/** The ledger of the batch itself: init, its rollback and its undo. */
export async function loadLedgerOfInit(db: Queryable, batchId: number): Promise<LedgerEntry[]> {
  const rows = await db.query<EffectRow>(
    `select null as "memberId", ${ENTRY}
       from step_executions s join attempts a on a.step_id = s.id
      where s.batch_id = $1 and s.batch_member_id is null
      order by a.id`,
    [batchId],
  )
  return rows.map(entryOf)
}

const entryOf = ({ memberId, effect, ...entry }: EffectRow): LedgerEntry => ({
  ...entry,
  effect: readEffect(effect),
})

export interface UndoStepCount {
  readonly isInit: boolean
  readonly status: StepStatus
  readonly count: number
}

/** The undo steps of a batch by status: those of its members, and those of init. */
export const countUndoSteps = (db: Queryable, batchId: number): Promise<UndoStepCount[]> =>
  db.query<UndoStepCount>(
    `select false as "isInit", s.status, count(*)::int as count
       from batch_members m join step_executions s on s.batch_member_id = m.id and s.kind = 'undo'
      where m.batch_id = $1 group by s.status
      union all
     select true, s.status, count(*)::int from step_executions s
      where s.batch_member_id is null and s.kind = 'undo' and s.batch_id = $1 group by s.status`,
    [batchId],
  )
