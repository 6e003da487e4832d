// Where a person stands and what comes next, as a sentence.
import { isUnderWay, type PersonState } from './person-state.ts'
import type { BatchStatus } from './transitions.ts'

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
  readonly state: PersonState
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
  const { state, step, batch } = facts
  // After the end of all steps only a repair is told, of what failed or left.
  if (state === 'done' || state === 'stopped') return null
  if (step !== null) return stepText(step, facts)
  return isUnderWay(state) && batch.endedAt === null ? waitText(facts) : null
}

/** How it ended for a person; null for one for whom something is to come. */
function endText(facts: WhereFacts): string | null {
  const { state, batch, failure } = facts
  const place = failure ? `failed in ${failure.phaseName} / ${failure.stepName}` : 'failed'
  switch (state) {
    case 'scheduled':
    case 'preparing':
    case 'cutting_over':
      return null
    case 'cut_over':
      return batch.endedAt ? stopText(batch.status) : null
    case 'done':
      return batch.endedAt ? `finished ${iso(batch.endedAt)}` : 'finished'
    case 'stopped':
      return stopText(batch.status)
    case 'failed':
      return place
    case 'rolled_back':
      return `${place}, rolled back`
    case 'taken_back':
      return 'taken back'
    case 'removed':
      return removalText(facts)
  }
}

const stopText = (status: BatchStatus): string =>
  `the batch was ${status === 'cancelled' ? 'cancelled' : 'stopped in init'}`

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
