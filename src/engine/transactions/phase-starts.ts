// What a phase with a gate or a ramp needs to know before it starts, read in the transaction that may start it: under the batch's
// exclusive lock neither members, version nor time can change any more. Decisions that no longer fit become void here.

import { sameName } from '../../base/text/same-name.ts'
import {
  type CountingSteps,
  countPassedInactive,
  countReady,
  countSupplies,
  endDecisions,
  findMemberAt,
  type GateDecision,
  hashMembers,
  listOpenDecisions,
} from '../../db/orders/gates.ts'
import { type NeededSupply, neededSupply } from '../../domain/decide/counted-supply.ts'
import type { Draft } from '../../domain/decide/draft.ts'
import {
  type GateFacts,
  type GateSubject,
  readyFromCounts,
  voidedBecause,
} from '../../domain/decide/gate.ts'
import { isEffective, phaseOrder } from '../../domain/decide/next.ts'
import { shareAfter } from '../../domain/decide/ramp.ts'
import { phaseNamed } from '../../domain/runbook/steps.ts'
import type { Phase } from '../../domain/state/facts.ts'
import type { BatchTransaction } from './engine.ts'
import { requireExclusive } from './engine.ts'

/** For these phases; without a gate and a ramp there is nothing to load. */
export async function loadStartFacts(
  batchTx: BatchTransaction,
  phases: readonly Phase[],
): Promise<void> {
  const guarded = phases.filter(({ gate, rampPercents }) => gate !== null || rampPercents !== null)
  if (guarded.length === 0) return
  requireExclusive(batchTx)
  const { draft } = batchTx
  const isGated = guarded.some(({ gate, status }) => gate !== null && status === 'pending')
  const decisions = isGated ? await endStaleDecisions(batchTx) : []
  for (const phase of guarded) {
    const isAsked = phase.gate !== null && phase.status === 'pending'
    const gate = isAsked ? await loadGateFacts(batchTx, phase, decisions) : null
    draft.starts.set(phase.id, { gate, share: await loadShare(batchTx, phase) })
  }
}

async function loadShare({ tx, draft }: BatchTransaction, phase: Phase) {
  const { rampPercents, rampShare } = phase
  if (rampPercents === null) return null
  const { share, members } = shareAfter(rampPercents, rampShare, membersPresent(draft))
  const through = members === null ? null : await findMemberAt(tx, draft.batch.id, members)
  return { share, through }
}

const membersPresent = ({ batch }: Draft): number => batch.membersActive + batch.membersFailed

/** The earlier phases that a member must have passed to be ready. */
export const earlierPhases = (draft: Draft, phase: Phase): Phase[] => {
  const ordered = phaseOrder(
    draft.phases.filter((one) => isEffective(draft, one) && one.status !== 'skipped'),
  )
  return ordered.slice(0, ordered.indexOf(phase))
}

export async function loadGateFacts(
  batchTx: BatchTransaction,
  phase: Phase,
  decisions: readonly GateDecision[],
): Promise<GateFacts> {
  const { draft } = batchTx
  const ours = decisions.filter(({ phaseName }) => sameName(phaseName, phase.name))
  const waiver = ours.find(({ kind }) => kind === 'waiver')
  const earlier = earlierPhases(draft, phase)
  return {
    approvedBy: ours.filter(({ kind }) => kind === 'approval').map(({ decidedBy }) => decidedBy),
    waiver: waiver ? { by: waiver.decidedBy, endsAt: waiver.endsAt! } : null,
    ready: await loadReady(batchTx, earlier),
    members: membersPresent(draft),
    supplies: await loadSupplies(batchTx, earlier),
  }
}

/** From the phases' counters where they tell: reading the steps of 100,000 members takes most of a second, and the batch is locked. */
async function loadReady({ tx, draft }: BatchTransaction, earlier: readonly Phase[]) {
  const { id, membersActive } = draft.batch
  // Before the first phase there is nothing to pass.
  if (earlier.length === 0) return membersActive
  const phaseIds = earlier.map((phase) => phase.id)
  const inactive = await countPassedInactive(tx, id, phaseIds)
  const passed = earlier.map((phase) => phase.members.passed - (inactive.get(phase.id) ?? 0))
  return readyFromCounts(membersActive, passed) ?? (await countReady(tx, id, phaseIds))
}

async function loadSupplies({ tx, draft }: BatchTransaction, earlier: readonly Phase[]) {
  const members = membersPresent(draft)
  const needed: NeededSupply[] = []
  for (const counting of countingSteps(draft, earlier)) {
    const counted = await countSupplies(tx, draft.batch.id, counting)
    needed.push(...counted.map((one) => neededSupply(one, counting.supply.noun, members)))
  }
  return needed
}

/** The steps of earlier phases whose functions count a supply, by function. */
function countingSteps(draft: Draft, earlier: readonly Phase[]): CountingSteps[] {
  const found = earlier.flatMap((phase) =>
    [...draft.runbooks.values()]
      .flatMap((runbook) => phaseNamed(runbook, phase.name)?.steps ?? [])
      .flatMap((step) => {
        const supply = draft.factsOf(step.workerId, step.function)?.countsSupply
        return supply ? [{ phaseId: phase.id, step, supply }] : []
      }),
  )
  const byFunction = Map.groupBy(found, ({ step }) => step.function.toLowerCase())
  return [...byFunction.values()].map((steps) => ({
    phaseIds: [...new Set(steps.map(({ phaseId }) => phaseId))],
    stepNames: [...new Set(steps.map(({ step }) => step.name))],
    functionName: steps[0]!.step.function,
    supply: steps[0]!.supply,
  }))
}

/** What a decision made now is about. */
export async function decisionSubject(
  { tx, draft }: BatchTransaction,
  phase: Phase,
): Promise<GateSubject> {
  return subjectWith(draft, phase, await hashMembers(tx, draft.batch.id))
}

const subjectWith = (draft: Draft, phase: Phase, membersHash: string): GateSubject => ({
  runbookVersion: draft.batch.runbookVersion,
  membersHash,
  membersPresent: membersPresent(draft),
  membersRemoved: draft.batch.membersRemoved,
  dueAt: phase.dueAt,
})

/** Ends decisions about another version, other members or another time, and waivers that are over. Returns those that count. */
export async function endStaleDecisions(batchTx: BatchTransaction): Promise<GateDecision[]> {
  const { tx, draft } = batchTx
  const open = await listOpenDecisions(tx, draft.batch.id)
  if (open.length === 0) return []
  const membersHash = await hashMembers(tx, draft.batch.id)
  const ended: { id: number; because: string }[] = []
  const counting: GateDecision[] = []
  for (const decision of open) {
    const phase = pendingPhase(draft, decision.phaseName)
    // Its phase has started: the decision has done its work and stays as it was.
    if (!phase) continue
    const subject = subjectWith(draft, phase, membersHash)
    const because = endedBecause(decision, subject, phase, draft.now)
    if (because === null) counting.push(decision)
    else {
      ended.push({ id: decision.id, because })
      draft.note(
        `${decision.kind}_void`,
        `the ${decision.kind} of ${decision.decidedBy} is void: ${because}`,
        {
          phaseId: phase.id,
        },
      )
    }
  }
  await endDecisions(tx, ended, draft.now)
  return counting
}

const endedBecause = (
  decision: GateDecision,
  subject: GateSubject,
  { gate }: Phase,
  now: Date,
): string | null =>
  decision.endsAt !== null && decision.endsAt <= now
    ? `it ended at ${decision.endsAt.toISOString()}`
    : voidedBecause(decision, subject, {
        changed: decision.changed,
        survives: gate?.survives ?? 0,
      })

export const stillCounts = (
  decision: GateDecision,
  subject: GateSubject,
  phase: Phase,
  now: Date,
): boolean => endedBecause(decision, subject, phase, now) === null

/** The phase of this name that has not started; null when there is none. */
export const pendingPhase = (draft: Draft, name: string): Phase | null =>
  draft.phases.find((phase) => phase.status === 'pending' && sameName(phase.name, name)) ?? null
