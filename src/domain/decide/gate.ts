// The gate of a phase: approvals and readiness that must be there before it starts. Checked in the transaction that starts the phase,
// from decisions that were made about this version, these members and this time.
import type { Gate } from '../runbook/model.ts'

export const GATE_DECISIONS = ['approval', 'waiver'] as const
export type GateDecisionKind = (typeof GATE_DECISIONS)[number]

/** What a decision is about. When one of them changes, the decision is void. */
export interface GateSubject {
  readonly runbookVersion: number
  /** Of the ids of the members who are not removed. */
  readonly membersHash: string
  readonly membersPresent: number
  readonly membersRemoved: number
  /** Null in a manual batch. */
  readonly dueAt: Date | null
}

/** The facts that a gate is judged by. */
export interface GateFacts {
  /** Who approved, and still does. */
  readonly approvedBy: readonly string[]
  /** Who waived the readiness, and until when; null: nobody. */
  readonly waiver: { readonly by: string; readonly endsAt: Date } | null
  /** Active members who have passed every earlier phase. */
  readonly ready: number
  /** Members who are not removed. */
  readonly members: number
}

/** Whole percent, rounded down: 94.9 % are not 95 %. */
export const readyPercentOf = ({ ready, members }: Pick<GateFacts, 'ready' | 'members'>): number =>
  members === 0 ? 100 : Math.floor((ready * 100) / members)

/** What is missing, each as a few words; empty when the gate is passed. */
export function missingAtGate(gate: Gate, facts: GateFacts, now: Date): string[] {
  const missing: string[] = []
  const { approvedBy, waiver, ready, members } = facts
  if (approvedBy.length < gate.approvals)
    missing.push(`${approvedBy.length} of ${gate.approvals} approvals`)
  const isReady = gate.readyPercent === null || ready * 100 >= gate.readyPercent * members
  const isWaived = waiver !== null && waiver.endsAt > now
  if (!isReady && !isWaived)
    missing.push(
      `${ready} of ${members} members ready (${readyPercentOf(facts)} %), ${gate.readyPercent} % needed`,
    )
  return missing
}

/** Why the gate is passed, for the event. */
export function gatePassedText(gate: Gate, facts: GateFacts): string {
  const approved =
    facts.approvedBy.length === 0
      ? 'no approval needed'
      : `approved by ${facts.approvedBy.join(', ')}`
  if (gate.readyPercent === null) return approved
  const waived = facts.waiver ? `, readiness waived by ${facts.waiver.by}` : ''
  return `${approved}; ${facts.ready} of ${facts.members} members ready${waived}`
}

const timeText = (at: Date | null): string => at?.toISOString() ?? 'no time'

/** Why a decision no longer counts; null while it does. */
export function voidedBecause(decided: GateSubject, now: GateSubject): string | null {
  if (decided.runbookVersion !== now.runbookVersion)
    return `version ${now.runbookVersion} replaced version ${decided.runbookVersion}`
  if (+(decided.dueAt ?? 0) !== +(now.dueAt ?? 0))
    return `the phase moved from ${timeText(decided.dueAt)} to ${timeText(now.dueAt)}`
  const isSame =
    decided.membersHash === now.membersHash &&
    decided.membersPresent === now.membersPresent &&
    decided.membersRemoved === now.membersRemoved
  return isSame ? null : 'the members changed'
}
