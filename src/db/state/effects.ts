// The undo ledger: what the settled jobs of members changed, with the inverse of each. It is a column of `attempts`, written by the
// statement that writes the attempt: a result costs no statement more, and a duplicate has no second entry.

import type { Json } from '../../base/text/json.ts'
import type { Ledger, LedgerEntry } from '../../domain/decide/undo-ledger.ts'
import { readEffect } from '../../domain/state/effects.ts'
import type { StepStatus } from '../../domain/state/transitions.ts'
import { idsParam } from '../connection/arrays.ts'
import type { Queryable } from '../connection/db.ts'
import { COMPENSATION } from '../connection/status-lists.ts'
import { loadStepsElsewhere } from './step-facts.ts'

interface EffectRow extends Omit<LedgerEntry, 'effect'> {
  readonly memberId: number | null
  readonly effect: Json
}

const ENTRY = `
  a.step_id, s.function_name, a.attempt, a.worker_id, a.outcome, a.effect_json as effect, a.settled_at`

/** A row of the same person in a batch of the same runbook. */
interface RowOfPerson {
  /** The member that was asked for. */
  readonly memberId: number
  readonly rowId: number
  readonly batchId: number
  /** 1 where the person is now. */
  readonly rank: number
}

/** The ledger of each member's person over all waves, in the order in which the jobs ended. */
export async function loadLedgers(
  db: Queryable,
  memberIds: readonly number[],
): Promise<Map<number, Ledger>> {
  const rows = await loadRowsOfPeople(db, memberIds)
  const rowIds = [...new Set(rows.map(({ rowId }) => rowId))]
  const others = rows.filter(({ memberId, rowId }) => rowId !== memberId)
  const entries = await loadEntries(db, rowIds)
  const steps =
    others.length === 0
      ? []
      : await loadStepsElsewhere(db, [...new Set(others.map(({ rowId }) => rowId))])
  const entriesOf = Map.groupBy(entries, ({ memberId }) => memberId)
  const stepsOf = Map.groupBy(steps, ({ step }) => step.memberId)
  return new Map(
    [...Map.groupBy(rows, ({ memberId }) => memberId)].map(([memberId, own]) => {
      const now = own.find(({ rank }) => rank === 1)!
      const ledger: Ledger = {
        entries: own
          .flatMap(({ rowId }) => entriesOf.get(rowId) ?? [])
          .sort((a, b) => a.id - b.id)
          .map(entryOf),
        elsewhere: own.flatMap(({ rowId }) =>
          rowId === memberId ? [] : (stepsOf.get(rowId) ?? []),
        ),
        nowInBatchId: now.rowId === memberId ? null : now.batchId,
      }
      return [memberId, ledger]
    }),
  )
}

/** A person is where they are not removed, in a wave that has not ended before one that has; else where they were last. */
const loadRowsOfPeople = (db: Queryable, memberIds: readonly number[]): Promise<RowOfPerson[]> =>
  db.query<RowOfPerson>(
    `select own.id as member_id, m.id as row_id, m.batch_id,
            row_number() over (partition by own.id order by m.status = 'removed', b.ended_at is not null and m.status <> 'removed',
              m.status <> 'active', m.moved_to_batch_id is not null, m.id desc)::int as rank
       from batch_members own join batches ob on ob.id = own.batch_id
       join batch_members m on m.key_folded = own.key_folded
       join batches b on b.id = m.batch_id and b.runbook_name = ob.runbook_name
      where own.id = any($1::bigint[])
      order by own.id, m.id`,
    [idsParam(memberIds)],
  )

const loadEntries = (
  db: Queryable,
  rowIds: readonly number[],
): Promise<(EffectRow & { readonly id: number })[]> =>
  db.query(
    `select a.id, s.batch_member_id as member_id, ${ENTRY}
       from step_executions s join attempts a on a.step_id = s.id
      where ((s.kind = 'phase' and s.batch_member_id = any($1::bigint[]))
          or (s.kind in ${COMPENSATION} and s.batch_member_id = any($1::bigint[])))`,
    [idsParam(rowIds)],
  )

/** The ledger of the batch itself: init, its rollback and its undo. */
export async function loadLedgerOfInit(db: Queryable, batchId: number): Promise<LedgerEntry[]> {
  const rows = await db.query<EffectRow>(
    `select null as member_id, ${ENTRY}
       from step_executions s join attempts a on a.step_id = s.id
      where s.batch_id = $1 and s.batch_member_id is null
      order by a.id`,
    [batchId],
  )
  return rows.map(entryOf)
}

const entryOf = ({ effect, ...entry }: EffectRow): LedgerEntry => ({
  stepId: entry.stepId,
  functionName: entry.functionName,
  attempt: entry.attempt,
  workerId: entry.workerId,
  outcome: entry.outcome,
  settledAt: entry.settledAt,
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
    `select false as is_init, s.status, count(*)::int as count
       from batch_members m join step_executions s on s.batch_member_id = m.id and s.kind = 'undo'
      where m.batch_id = $1 group by s.status
      union all
     select true, s.status, count(*)::int from step_executions s
      where s.batch_member_id is null and s.kind = 'undo' and s.batch_id = $1 group by s.status`,
    [batchId],
  )
