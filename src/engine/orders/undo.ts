// Undoes what jobs have changed for members, or by init, as tracked steps. See src/domain/decide/undo.ts.

import type { Json } from '../../base/text/json.ts'
import { loadLedgerOfInit, loadLedgers } from '../../db/state/effects.ts'
import { lockMembership } from '../../db/state/members.ts'
import type { Draft } from '../../domain/decide/draft.ts'
import type { Refusal } from '../../domain/decide/membership.ts'
import {
  planUndo,
  type UndoItem,
  type UndoScope,
  undoInit,
  undoMember,
} from '../../domain/decide/undo.ts'
import { type Ledger, NO_LEDGER } from '../../domain/decide/undo-ledger.ts'
import { isReversible, setBy } from '../../domain/state/effects.ts'
import { isBatchEnded } from '../../domain/state/transitions.ts'
import type { Engine } from '../transactions/engine.ts'
import { loadBatchSteps, loadMembersWithSteps } from '../transactions/loading.ts'
import { changeBatch, readBatch } from '../transactions/locking.ts'
import { type BatchOrder, requireAccepted } from './batch-actions.ts'
import { eachMember, type MembersOrder, type MembersOutcome } from './member-actions.ts'

/** A change in the ledger, as people see it. */
export interface ShownEffect {
  readonly stepId: number
  /** The wave in which it was changed; the undo takes place where the person is now. */
  readonly batchId: number
  readonly kind: string
  /** `phase/step`, or the step's name where it has no phase. */
  readonly step: string
  readonly functionName: string | null
  readonly attempt: number
  readonly at: Date
  readonly state: UndoItem['state']
  readonly note: string | null
  /** Null when it is unknown. */
  readonly target: string | null
  readonly before: Json
  /** What was set, as far as it is known. */
  readonly after: Json
  /** What was done before it stays, unless a person asks for more. */
  readonly isPointOfNoReturn: boolean
  readonly undo: { readonly functionName: string; readonly parameters: Json } | null
  readonly undoStepId: number | null
  readonly undoError: string | null
}

function shownEffect({ step, phaseName, batchId, entry, state, note, row }: UndoItem): ShownEffect {
  const effect = entry.effect?.changed ? entry.effect : null
  const reversible = effect && isReversible(effect) ? effect : null
  return {
    stepId: step.id,
    batchId,
    kind: step.kind,
    attempt: entry.attempt,
    at: entry.settledAt,
    step: phaseName ? `${phaseName}/${step.definition.stepName}` : step.definition.stepName,
    state,
    note,
    target: effect?.target ?? null,
    functionName: entry.functionName,
    before: (reversible?.before ?? null) as Json,
    after: (reversible && setBy(reversible)) as Json,
    isPointOfNoReturn:
      effect !== null && !isReversible(effect) && effect.isPointOfNoReturn === true,
    undo: reversible && {
      functionName: reversible.undo.functionName,
      parameters: reversible.undo.parameters as Json,
    },
    undoStepId: row?.id ?? null,
    undoError: row?.error ?? null,
  }
}

export interface UndoOrder extends MembersOrder, UndoScope {
  /** The whole batch was named: then nothing of it may be sent meanwhile. */
  readonly isWholeBatch?: boolean
  /** Told what the ledger has of each member, before its undo begins. */
  readonly onPlan?: (memberId: number, plan: readonly ShownEffect[]) => void
}

/** Undoes what jobs have changed for members, the last change first. */
export function undoMembers(engine: Engine, order: UndoOrder): Promise<MembersOutcome> {
  const ledgers = new Map<number, Ledger>()
  return eachMember(
    engine,
    order,
    async (batchTx, ids) => {
      const { tx, draft } = batchTx
      if (order.isWholeBatch) requireAccepted(refuseInFlight(draft))
      // Nobody joins another wave while it is decided where the way back begins.
      await lockMembership(tx, draft.batch.runbookName)
      await loadMembersWithSteps(batchTx, ids, { all: true })
      for (const [id, ledger] of await loadLedgers(tx, ids)) ledgers.set(id, ledger)
      return []
    },
    ({ draft }, member) => {
      const ledger = ledgers.get(member.id)!
      const plan = planUndo(draft, member.id, ledger, order)
      const refusal = undoMember(draft, member, plan, ledger, order.reason)
      order.onPlan?.(member.id, plan.map(shownEffect))
      return refusal
    },
  )
}

const refuseInFlight = ({ batch }: Draft): Refusal =>
  isBatchEnded(batch.status) || batch.heldAt !== null
    ? null
    : `batch ${batch.id} is ${batch.status}: hold it first (hold --batch ${batch.id}), so that nothing is sent meanwhile`

/** The ledger of one member, the last change first; changes nothing. */
export function readMemberLedger(
  engine: Engine,
  batchId: number,
  memberId: number,
): Promise<ShownEffect[]> {
  return readBatch(engine, batchId, async (batchTx) => {
    const { tx, draft } = batchTx
    await loadMembersWithSteps(batchTx, [memberId], { all: true })
    const ledger = (await loadLedgers(tx, [memberId])).get(memberId)!
    return planUndo(draft, memberId, ledger).map(shownEffect)
  })
}

/** The ledger of init, the last change first; changes nothing. */
export function readInitLedger(
  engine: Engine,
  batchId: number,
  scope: UndoScope,
): Promise<ShownEffect[]> {
  return readBatch(engine, batchId, async (batchTx) => {
    const { tx, draft } = batchTx
    await loadBatchSteps(batchTx)
    const ledger = { ...NO_LEDGER, entries: await loadLedgerOfInit(tx, batchId) }
    return planUndo(draft, null, ledger, scope).map(shownEffect)
  })
}

/** Undoes what init has changed, once no undo of a member is open. */
export function undoInitOf(engine: Engine, order: BatchOrder & UndoScope): Promise<ShownEffect[]> {
  return changeBatch(engine, order.batchId, order.actor, async (batchTx) => {
    const { tx, draft } = batchTx
    if (draft.batch.undoOpen > 0)
      requireAccepted(`batch ${order.batchId} still undoes what was done for its members`)
    requireAccepted(refuseInFlight(draft))
    await loadBatchSteps(batchTx)
    const ledger = { ...NO_LEDGER, entries: await loadLedgerOfInit(tx, order.batchId) }
    const plan = planUndo(draft, null, ledger, order)
    requireAccepted(undoInit(draft, plan, order.reason))
    return plan.map(shownEffect)
  })
}
