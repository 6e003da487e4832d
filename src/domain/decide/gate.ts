// The gate of a phase: approvals and readiness that must be there before it starts. Checked in the transaction that starts the phase,
// from decisions that were made about this version, these members and this time.

import { countText } from '../../base/text/count-text.ts'
import type { Gate } from '../runbook/model.ts'
import { isShort, type NeededSupply } from './counted-supply.ts'

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
  /** Who waived the readiness, supplies included, and until when; null: nobody. */
  readonly waiver: { readonly by: string; readonly endsAt: Date } | null
  /** Active members who have passed every earlier phase. */
  readonly ready: number
  /** Members who are not removed. */
  readonly members: number
  /** What steps of earlier phases have counted. */
  readonly supplies: readonly NeededSupply[]
}

/**
 * Members who have passed every phase, from how many active ones have passed each; null when that does not tell. Somebody who is missing
 * in one phase alone is counted by it; two phases may lack the same people or others.
 */
export function readyFromCounts(active: number, passed: readonly number[]): number | null {
  const short = passed.filter((count) => count < active)
  return short.length > 1 ? null : (short[0] ?? active)
}

/** Whole percent, rounded down: 94.9 % are not 95 %. */
export const readyPercentOf = ({ ready, members }: Pick<GateFacts, 'ready' | 'members'>): number =>
  members === 0 ? 100 : Math.floor((ready * 100) / members)

/** The version that a batch runs, and who published it. */
interface PublishedVersion {
  readonly runbookName: string
  readonly runbookVersion: number
  readonly publishedBy: string | null
}

/** Why a person may not approve the start of a phase; null if they may. The publisher may not: an approval is a second pair of eyes. */
export function whyNotApprove(
  actor: string,
  phaseName: string,
  { runbookName, runbookVersion, publishedBy }: PublishedVersion,
): string | null {
  if (publishedBy !== actor) return null
  return `${actor} published version ${runbookVersion} of ${runbookName}, so another person must approve phase ${phaseName}`
}

/** Why the readiness of a phase cannot be waived; null if it can. */
export function whyNotWaive(
  {
    name,
    gate,
    countsSupply,
  }: { readonly name: string; readonly gate: Gate; readonly countsSupply: boolean },
  endsAt: Date,
  now: Date,
): string | null {
  if (gate.readyPercent === null && !countsSupply)
    return `the gate of phase ${name} asks for no readiness, so there is nothing to waive`
  if (endsAt <= now) return `a waiver until ${endsAt.toISOString()} would be over already`
  return null
}

/** What is missing, each as a few words; empty when the gate is passed. */
export function missingAtGate(gate: Gate, facts: GateFacts, now: Date): string[] {
  const missing: string[] = []
  const { approvedBy, waiver, ready, members, supplies } = facts
  if (approvedBy.length < gate.approvals)
    missing.push(`${approvedBy.length} of ${gate.approvals} approvals`)
  const isReady = gate.readyPercent === null || ready * 100 >= gate.readyPercent * members
  const isWaived = waiver !== null && waiver.endsAt > now
  if (isWaived) return missing
  if (!isReady)
    missing.push(
      `${ready} of ${members} members ready (${readyPercentOf(facts)} %), ${gate.readyPercent} % needed`,
    )
  missing.push(...supplies.filter(isShort).map(supplyText))
  return missing
}

/** `licences SPE_E3: 60 free, 100 needed`. */
const supplyText = ({ noun, name, free, needed }: NeededSupply): string =>
  `${noun} ${name}: ${free} free, ${needed} needed`

/** Why the gate is passed, for the event. */
export function gatePassedText(gate: Gate, facts: GateFacts): string {
  const approved =
    facts.approvedBy.length === 0
      ? 'no approval needed'
      : `approved by ${facts.approvedBy.join(', ')}`
  const waived = facts.waiver ? `, readiness waived by ${facts.waiver.by}` : ''
  const supplies = facts.supplies.map((one) => `; ${supplyText(one)}`).join('')
  if (gate.readyPercent === null) return `${approved}${supplies}${supplies && waived}`
  return `${approved}; ${facts.ready} of ${facts.members} members ready${supplies}${waived}`
}

const timeText = (at: Date | null): string => at?.toISOString() ?? 'no time'

/** How many people joined or left since an approval of a gate that lets it survive some; null elsewhere. */
export interface Changed {
  readonly changed: number | null
  readonly survives: number
}

/** Why a decision no longer counts; null while it does. */
export function voidedBecause(
  decided: GateSubject,
  now: GateSubject,
  { changed, survives }: Changed = { changed: null, survives: 0 },
): string | null {
  if (decided.runbookVersion !== now.runbookVersion)
    return `version ${now.runbookVersion} replaced version ${decided.runbookVersion}`
  if (+(decided.dueAt ?? 0) !== +(now.dueAt ?? 0))
    return `the phase moved from ${timeText(decided.dueAt)} to ${timeText(now.dueAt)}`
  const isSame =
    decided.membersHash === now.membersHash &&
    decided.membersPresent === now.membersPresent &&
    decided.membersRemoved === now.membersRemoved
  if (isSame || (changed !== null && changed <= survives)) return null
  return changed === null
    ? 'the members changed'
    : `${countText(changed, 'person', 'people')} joined or left, and it survives ${survives}`
}
