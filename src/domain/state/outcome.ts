// What became of people, in words for people. A status is what the engine needs; an outcome says whether somebody got through.
import type { BatchStatus } from './transitions.ts'

/** `stopped`: the batch was cancelled, or failed in init, before this person got through. */
export const OUTCOMES = ['in_progress', 'migrated', 'failed', 'removed', 'stopped'] as const
export type Outcome = (typeof OUTCOMES)[number]

export interface OutcomeFacts {
  readonly status: BatchStatus
  readonly membersActive: number
  readonly membersFailed: number
  readonly membersRemoved: number
  /** A phase has not started, or was cancelled before it did. */
  readonly hasPhaseToCome: boolean
  /** A started phase does not have the steps of all its members yet. */
  readonly isExpanding: boolean
  /** Members with open steps, in the phase with most of them. */
  readonly membersOpen: number
  /** Of a cancelled batch: members who passed every phase. */
  readonly membersThrough: number
}

/** Active members have one outcome all together, or each its own: by whether a step waits, or by whether one was cancelled. */
export type ActiveOutcome = 'in_progress' | 'migrated' | 'stopped' | 'by_wait' | 'by_cancelled'

export function activeOutcome(batch: OutcomeFacts): ActiveOutcome {
  const { status, hasPhaseToCome, isExpanding } = batch
  if (status === 'completed') return 'migrated'
  if (status === 'cancelled' || status === 'failed')
    return hasPhaseToCome ? 'stopped' : 'by_cancelled'
  return status !== 'active' || hasPhaseToCome || isExpanding ? 'in_progress' : 'by_wait'
}

export type OutcomeCounts = Readonly<
  Record<'inProgress' | 'migrated' | 'failed' | 'removed' | 'stopped', number>
>

/** From counters alone. The counts add up to all members. */
export function outcomeCounts(batch: OutcomeFacts): OutcomeCounts {
  const { membersActive: active, membersFailed: failed, membersRemoved: removed } = batch
  const none = { inProgress: 0, migrated: 0, stopped: 0, failed, removed }
  switch (activeOutcome(batch)) {
    case 'in_progress':
      return { ...none, inProgress: active }
    case 'migrated':
      return { ...none, migrated: active }
    case 'stopped':
      return { ...none, stopped: active }
    case 'by_wait': {
      const inProgress = Math.min(active, batch.membersOpen)
      return { ...none, inProgress, migrated: active - inProgress }
    }
    case 'by_cancelled': {
      const migrated = Math.min(active, batch.membersThrough)
      return { ...none, migrated, stopped: active - migrated }
    }
  }
}

/** What a member's step waits for; see the table `waits`. */
export interface CurrentStep {
  readonly stepId: number
  readonly stepKind: 'init' | 'phase' | 'rollback' | 'removal' | 'undo'
  readonly phaseName: string | null
  readonly stepName: string
  readonly workerId: string
  readonly attempt: number
  readonly waitsFor: 'slot' | 'window' | 'job' | 'retry' | 'poll'
  readonly since: Date
  readonly wakeAt: Date | null
}

export interface WhereFacts {
  readonly outcome: Outcome
  readonly step: CurrentStep | null
  readonly batch: {
    readonly status: BatchStatus
    readonly isManual: boolean
    readonly endedAt: Date | null
  }
  /** Covers the member or the worker of its step. */
  readonly hold: { readonly heldBy: string; readonly reason: string } | null
  /** The next phase that has not started. */
  readonly nextPhase: { readonly name: string; readonly dueAt: Date | null } | null
  readonly removedBy: string | null
  readonly movedToBatchId: number | null
  readonly failure: { readonly phaseName: string; readonly stepName: string } | null
}

/** Where a person stands and what comes next, without a full stop. Times are instants; the reader's program shows them in a zone. */
export interface Where {
  /** The whole sentence. */
  readonly where: string
  /** Its part about what runs or is waited for; null when nothing is. A reader of the sentence need not take it apart. */
  readonly doing: string | null
  /** A hold is what is waited for: of the member, the worker of its step, the batch, the runbook or the system. */
  readonly isHeld: boolean
}

export function whereOf(facts: WhereFacts): Where {
  const doing = doingText(facts)
  const end = endText(facts)
  const where = [end, doing].filter((part) => part !== null).join('; ')
  const isRunning = facts.step?.waitsFor === 'job'
  return { where, doing, isHeld: doing !== null && facts.hold !== null && !isRunning }
}

function doingText(facts: WhereFacts): string | null {
  const { outcome, step } = facts
  // After the end of all steps only a repair is told, of what failed or left.
  if (outcome === 'migrated' || outcome === 'stopped') return null
  if (step !== null) return stepText(step, facts)
  return outcome === 'in_progress' ? waitText(facts) : null
}

/** How it ended for a person; null for one in progress. */
function endText(facts: WhereFacts): string | null {
  const { outcome, batch, failure } = facts
  switch (outcome) {
    case 'in_progress':
      return null
    case 'migrated':
      return batch.endedAt ? `finished ${iso(batch.endedAt)}` : 'finished'
    case 'stopped':
      return `the batch was ${batch.status === 'cancelled' ? 'cancelled' : 'stopped in init'}`
    case 'failed':
      return failure ? `failed in ${failure.phaseName} / ${failure.stepName}` : 'failed'
    case 'removed':
      return removalText(facts)
  }
}

const iso = (at: Date): string => at.toISOString()

const removalText = ({ removedBy, movedToBatchId }: WhereFacts): string => {
  if (movedToBatchId !== null) return `moved to batch ${movedToBatchId}`
  return removedBy === 'source' ? 'left the data source' : `removed by ${removedBy}`
}

function stepText(step: CurrentStep, { hold }: WhereFacts): string {
  const { workerId, attempt, since, wakeAt, waitsFor, stepKind, stepName } = step
  const what = stepKind === 'phase' ? '' : `${stepKind} step ${stepName} `
  if (waitsFor === 'job')
    return `${what}running on worker ${workerId}, attempt ${attempt + 1}, since ${iso(since)}`
  if (hold !== null) return heldText(hold)
  if (waitsFor === 'window')
    return `${what}waits for the change window${wakeAt ? `, which opens at ${iso(wakeAt)}` : ''}`
  if (waitsFor === 'slot') return `${what}waits for a free slot of worker ${workerId}`
  if (waitsFor === 'retry') return `${what}attempt ${attempt + 1} at ${iso(wakeAt!)}`
  return `${what}next poll at ${iso(wakeAt!)}`
}

const heldText = ({ heldBy, reason }: NonNullable<WhereFacts['hold']>): string =>
  `held by ${heldBy}: ${reason}`

function waitText({ batch, hold, nextPhase }: WhereFacts): string {
  if (hold !== null) return heldText(hold)
  if (batch.status === 'init_dispatched') return 'waits for the init steps of the batch'
  if (nextPhase === null) return 'its steps are being prepared'
  const { name, dueAt } = nextPhase
  if (batch.isManual || dueAt === null) return `waits until phase ${name} is advanced`
  return `waits for phase ${name} at ${iso(dueAt)}`
}

/** What became of one person, in words: `in progress`, `moved to batch 9`. */
export const outcomeWord = (outcome: Outcome, movedToBatchId: number | null = null): string =>
  outcome === 'removed' && movedToBatchId !== null
    ? `moved to batch ${movedToBatchId}`
    : outcome.replace('_', ' ')

/** `29 migrated`; `20 migrated, 9 in progress, 1 failed`. Parts without anybody are left out. */
export function outcomeText(counts: OutcomeCounts): string {
  const { inProgress, migrated, failed, removed, stopped } = counts
  const parts = [
    [migrated, 'migrated'],
    [inProgress, 'in progress'],
    [failed, 'failed'],
    [stopped, 'stopped'],
    [removed, 'removed'],
  ] as const
  const shown = parts.filter(([count]) => count > 0).map(([count, word]) => `${count} ${word}`)
  return shown.length === 0 ? 'no members' : shown.join(', ')
}
