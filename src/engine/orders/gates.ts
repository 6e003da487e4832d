// What people decide about the gate of a phase: approve its start, waive its readiness, withdraw either. A decision is about the version,
// the members and the time that it saw; when they change, it is void (phase-starts.ts). Nothing here starts a phase.

import { MatoolkitError } from '../../base/errors/errors.ts'
import { sameName } from '../../base/text/same-name.ts'
import {
  endDecisions,
  type GateDecision,
  insertDecision,
  listDecisions,
} from '../../db/orders/gates.ts'
import { findRunbookVersion } from '../../db/state/runbooks.ts'
import {
  type GateDecisionKind,
  type GateFacts,
  missingAtGate,
  whyNotApprove,
  whyNotWaive,
} from '../../domain/decide/gate.ts'
import { isEffective, phaseOrder } from '../../domain/decide/next.ts'
import type { Batch, Phase } from '../../domain/state/facts.ts'
import { isBatchEnded } from '../../domain/state/transitions.ts'
import type { BatchTransaction, Engine } from '../transactions/engine.ts'
import { changeBatch, readBatch } from '../transactions/locking.ts'
import {
  decisionSubject,
  earlierPhases,
  endStaleDecisions,
  loadGateFacts,
  pendingPhase,
  stillCounts,
} from '../transactions/phase-starts.ts'
import { type BatchOrder, requireAccepted } from './batch-actions.ts'

export interface GateOrder extends BatchOrder {
  readonly phaseName: string
}

/** Counts once for each person, and not for the publisher of the batch's version (`whyNotApprove`). */
export function approveGate(engine: Engine, order: GateOrder): Promise<void> {
  return decideAtGate(engine, order, async ({ tx, draft }, phase) => {
    const { runbookName, runbookVersion } = draft.batch
    const version = await findRunbookVersion(tx, runbookName, runbookVersion)
    const published = { runbookName, runbookVersion, publishedBy: version?.publishedBy ?? null }
    requireAccepted(whyNotApprove(order.actor, phase.name, published))
    return { kind: 'approval', endsAt: null }
  })
}

/** Lets the phase start with fewer ready members than the gate asks for, until `endsAt`. */
export function waiveReadiness(
  engine: Engine,
  order: GateOrder & { readonly endsAt: Date },
): Promise<void> {
  return decideAtGate(engine, order, async (batchTx, phase) => {
    const { supplies } = await loadGateFacts(batchTx, phase, [])
    const asked = { name: phase.name, gate: phase.gate!, countsSupply: supplies.length > 0 }
    requireAccepted(whyNotWaive(asked, order.endsAt, batchTx.draft.now))
    return { kind: 'waiver', endsAt: order.endsAt }
  })
}

type Decided = { readonly kind: GateDecisionKind; readonly endsAt: Date | null }

function decideAtGate(
  engine: Engine,
  { batchId, phaseName, actor, reason }: GateOrder,
  check: (batchTx: BatchTransaction, phase: Phase) => Promise<Decided>,
): Promise<void> {
  return changeBatch(engine, batchId, actor, async (batchTx) => {
    const { tx, draft } = batchTx
    const phase = requireGate(batchTx, phaseName)
    await endStaleDecisions(batchTx)
    const { kind, endsAt } = await check(batchTx, phase)
    const subject = await decisionSubject(batchTx, phase)
    const keepsMembers = kind === 'approval' && phase.gate!.survives > 0
    const about = { ...subject, keepsMembers }
    const decision = { batchId, phaseName, kind, decidedBy: actor, reason, endsAt, ...about }
    if (!(await insertDecision(tx, decision, draft.now)))
      requireAccepted(
        kind === 'approval'
          ? `${actor} has already approved phase ${phase.name}`
          : `the readiness of phase ${phase.name} is already waived; withdraw that first`,
      )
    const until = endsAt ? `, until ${endsAt.toISOString()}` : ''
    const event = kind === 'approval' ? 'gate_approved' : 'gate_waived'
    draft.note(event, `${reason}${until}`, { phaseId: phase.id })
    lookAgain(batchTx, phase)
  })
}

/** Takes back the approval of this person, or the waiver of anybody. */
export function withdrawDecision(
  engine: Engine,
  order: GateOrder & { readonly kind: GateDecisionKind },
): Promise<void> {
  const { batchId, phaseName, actor, reason, kind } = order
  return changeBatch(engine, batchId, actor, async (batchTx) => {
    const { tx, draft } = batchTx
    const phase = requireGate(batchTx, phaseName)
    const open = await endStaleDecisions(batchTx)
    const found = open.find(
      (one) =>
        sameName(one.phaseName, phase.name) &&
        one.kind === kind &&
        (kind === 'waiver' || one.decidedBy === actor),
    )
    if (!found)
      return requireAccepted(
        kind === 'approval'
          ? `no approval of ${actor} for phase ${phase.name} is in force`
          : `no waiver for phase ${phase.name} is in force`,
      )
    await endDecisions(
      tx,
      [{ id: found.id, because: `withdrawn by ${actor}: ${reason}` }],
      draft.now,
    )
    draft.note(`${kind}_withdrawn`, reason, { phaseId: phase.id })
  })
}

/** The gate of a phase that has not started. */
function requireGate({ draft }: BatchTransaction, phaseName: string): Phase {
  const { batch } = draft
  if (isBatchEnded(batch.status)) requireAccepted(`batch ${batch.id} is ${batch.status}`)
  const known = draft.phases.filter(({ name }) => sameName(name, phaseName))
  const phase = pendingPhase(draft, phaseName)
  if (known.length === 0)
    throw new MatoolkitError('GATE_NOT_FOUND', { batchId: batch.id, phaseName })
  if (!phase) {
    const newest = phaseOrder(known).at(-1)!
    requireAccepted(`phase ${newest.name} is ${newest.status}: its gate is no longer asked`)
  }
  if (phase!.gate === null)
    throw new MatoolkitError('GATE_NOT_FOUND', { batchId: batch.id, phaseName })
  return phase!
}

/** A phase that waits at its gate is judged again at once. */
function lookAgain({ draft }: BatchTransaction, phase: Phase): void {
  if (phase.gateLookAt !== null) draft.changePhase(phase, { gateLookAt: draft.now })
}

/** A gate as it stands. */
export interface GateState {
  readonly phase: Phase
  readonly facts: GateFacts
  /** What it still needs, each as a few words; empty when it would let the phase start. */
  readonly missing: readonly string[]
  /** Phases that a member must have passed to be ready. */
  readonly earlier: readonly Phase[]
  readonly decisions: readonly (GateDecision & { readonly isCounted: boolean })[]
}

const DECISIONS_LISTED_MAX = 200

/** The gates of the batch's phases, in the order of time. Changes nothing: a decision that no longer fits only does not count. */
export function readGates(
  engine: Engine,
  batchId: number,
): Promise<{
  readonly batch: Batch
  readonly gates: readonly GateState[]
  readonly publishedBy: string | null
}> {
  return readBatch(engine, batchId, async (batchTx) => {
    const { tx, draft } = batchTx
    const all = await listDecisions(tx, batchId, DECISIONS_LISTED_MAX)
    const gates: GateState[] = []
    for (const phase of phaseOrder(draft.phases)) {
      if (phase.gate === null || !isEffective(draft, phase)) continue
      const ours = all.filter(({ phaseName }) => sameName(phaseName, phase.name))
      const subject = await decisionSubject(batchTx, phase)
      const hasPassed = phase.gatePassedAt !== null
      const decisions = ours.map((one) => ({
        ...one,
        isCounted:
          one.endedAt === null && (hasPassed || stillCounts(one, subject, phase, draft.now)),
      }))
      const facts = await loadGateFacts(
        batchTx,
        phase,
        decisions.filter(({ isCounted }) => isCounted),
      )
      const missing = hasPassed ? [] : missingAtGate(phase.gate, facts, draft.now)
      gates.push({ phase, facts, missing, earlier: earlierPhases(draft, phase), decisions })
    }
    const { runbookName, runbookVersion } = draft.batch
    const version = await findRunbookVersion(tx, runbookName, runbookVersion)
    return { batch: draft.batch, gates, publishedBy: version?.publishedBy ?? null }
  })
}
