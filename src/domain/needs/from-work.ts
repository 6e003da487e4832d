// Needs of work under way, from the facts that show them: holds, gates, failures, stuck work, phases that will be late.
import { commandLine } from '../../base/text/command-line.ts'
import { countText } from '../../base/text/count-text.ts'
import { durationText } from '../../base/text/duration.ts'
import {
  HELD_BY_GATE,
  HELD_BY_RAMP,
  type Hold,
  isAutomaticHold,
  nameOfHeld,
  resumeCommand,
} from '../state/holds.ts'
import type { NeedKind } from './kinds.ts'
import { makeNeed, type Need } from './needs.ts'
import type { Stuck, StuckKind } from './stuck.ts'

/** What a hold stops: a batch and its runbook, a runbook, or the batches that wait for a worker. */
export type HeldWork = Pick<Need, 'batchIds' | 'runbookNames'>

/**
 * A hold that a person set is as planned, until a phase is late behind it. A hold of everything never is: it does not end by itself. Null
 * for a held member: the others carry on.
 */
export function holdNeed(hold: Hold, held: HeldWork): Need | null {
  const { scope, target, heldAt, heldBy, reason } = hold
  if (scope === 'member') return null
  const isAutomatic = isAutomaticHold(heldBy)
  const kind = holdKind(hold)
  const isFuse = kind === 'failure_limit'
  const who = isAutomatic ? `the ${heldBy}` : heldBy
  // What the gate lacked then is a need of its own while it lacks it.
  const stated = kind === 'gate_waiting' ? 'resume it once its gate is open' : reason
  return makeNeed(
    {
      kind,
      severity: isAutomatic || scope === 'system' ? 'urgent' : 'planned',
      ...held,
      title: `${nameOfHeld(hold)} is held${isFuse ? ': too many failures' : ''}`,
      text: `${nameOfHeld(hold)} is held by ${who} since ${heldAt.toISOString()}: ${stated.replace(/\.$/, '')}`,
      since: heldAt,
      command:
        kind === 'gate_waiting'
          ? commandLine`batch get ${target} --gates`
          : isFuse
            ? commandLine`failures ${target}`
            : resumeCommand(hold),
    },
    scope,
    target,
    +heldAt,
  )
}

function holdKind({ scope, heldBy }: Hold): NeedKind {
  if (scope === 'system') return 'everything_held'
  if (heldBy === HELD_BY_GATE) return 'gate_waiting'
  return heldBy === 'fuse' || heldBy === HELD_BY_RAMP ? 'failure_limit' : 'batch_held'
}

/** A phase whose gate lacks something for certain, less than a day before its time or after it. */
export interface UnapprovedGate {
  readonly phaseId: number
  readonly phaseName: string
  readonly batchId: number
  readonly runbookName: string
  readonly dueAt: Date
  readonly needed: number
  readonly given: number
  /** Null: it asks for none, or that is waived. */
  readonly readyPercent: number | null
  /** Who can still be ready: all but those who failed. */
  readonly active: number
  readonly present: number
  readonly since: Date
}

/** People need time to find each other; in the last hour they have none. */
const GATE_URGENT_MS = 3_600_000

export function gateNeed(gate: UnapprovedGate, now: Date): Need {
  const { phaseId, phaseName, batchId, runbookName, dueAt, since } = gate
  const missing = missingText(gate)
  const isUrgent = +dueAt - +now <= GATE_URGENT_MS
  const phase = `phase ${phaseName} of batch ${batchId}`
  return makeNeed(
    {
      kind: 'gate_waiting',
      severity: isUrgent ? 'urgent' : 'soon',
      runbookNames: [runbookName],
      batchIds: [batchId],
      title: `${phase} needs ${gate.given < gate.needed ? 'approval' : 'more ready people'}`,
      text:
        dueAt > now
          ? `${phase} has ${missing} for the start at ${dueAt.toISOString()}; without them the batch is held then`
          : `${phase} was due at ${dueAt.toISOString()} and has ${missing}`,
      since,
      dueAt,
      command: commandLine`batch get ${batchId} --gates`,
    },
    phaseId,
    +dueAt,
    ...(isUrgent ? [GROWN_URGENT] : []),
  )
}

/** `0 of 1 approvals and at most 8 of 10 people ready (95 % needed)`. */
function missingText({ needed, given, readyPercent, active, present }: UnapprovedGate): string {
  const parts = [
    ...(given < needed ? [`${given} of ${needed} approvals`] : []),
    ...(readyPercent !== null && active * 100 < readyPercent * present
      ? [
          `at most ${active} of ${countText(present, 'person', 'people')} ready (${readyPercent} % needed)`,
        ]
      : []),
  ]
  return parts.join(' and ')
}

/** Ends the key of a need that has become urgent: it is told again, and what it was is not "cleared". */
const GROWN_URGENT = 'urgent'

/** Whether the need with this key has become urgent instead of being over. */
export const hasGrown = (key: string, current: ReadonlySet<string>): boolean =>
  current.has(`${key}:${GROWN_URGENT}`)

export interface FailedBatch {
  readonly id: number
  readonly runbookName: string
  readonly membersFailed: number
  readonly failedInInit: boolean
  readonly since: Date
  /** Rises with each change of a failure. */
  readonly failureRevision: number
  /** Null while the batch runs. */
  readonly endedAt: Date | null
}

/** A failure of a wave that ended longer ago waits, and is no alarm. It does not vanish: people are still where it left them. */
export const NEWS_MS = 24 * 3_600_000

/** Counted, not told: an error message may name people. */
export function failedNeed(batch: FailedBatch, now: Date): Need {
  const { id, runbookName, membersFailed, failedInInit, since, failureRevision, endedAt } = batch
  const isOld = endedAt !== null && +now - +endedAt > NEWS_MS
  const text = failedInInit
    ? `the init steps of batch ${id} failed`
    : `${countText(membersFailed, 'person', 'people')} of batch ${id} failed`
  return makeNeed(
    {
      kind: 'people_failed',
      runbookNames: [runbookName],
      batchIds: [id],
      title: text,
      text,
      count: membersFailed || 1,
      mark: String(failureRevision),
      ...(isOld && { severity: 'later' as const }),
      since,
      command: commandLine`failures ${id}`,
    },
    id,
  )
}

/** A phase that is forecast to miss its time, as it was told first. */
export interface ForecastMiss {
  readonly phaseId: number
  readonly phaseName: string
  readonly batchId: number
  readonly runbookName: string
  readonly deadline: Date
  readonly deadlineOf: string
  readonly bySec: number
  readonly because: string
  readonly since: Date
}

export const missNeed = (miss: ForecastMiss): Need =>
  makeNeed(
    {
      kind: 'forecast_miss',
      runbookNames: [miss.runbookName],
      batchIds: [miss.batchId],
      title: `phase ${miss.phaseName} of batch ${miss.batchId} will miss ${miss.deadlineOf} by ${durationText(miss.bySec * 1_000)}`,
      text: `batch ${miss.batchId}: ${miss.because}`,
      since: miss.since,
      command: commandLine`batch get ${miss.batchId} --forecast`,
    },
    miss.phaseId,
    +miss.deadline,
  )

export interface StuckBatch {
  readonly batchId: number
  readonly runbookName: string
  readonly stuck: readonly Stuck[]
}

/** Null: waits as planned, or is a need of its own. */
const NEED_OF_STUCK = {
  held: null,
  not_advanced: null,
  reviews_open: null,
  worker_busy: null,
  window_closed: null,
  phase_overdue: 'phase_late',
  worker_unknown: 'worker_silent',
  worker_silent: 'worker_silent',
  result_overdue: 'stuck',
  retry_overdue: 'stuck',
  poll_overdue: 'stuck',
} as const satisfies Readonly<Record<StuckKind, NeedKind | null>>

type Found = Stuck & Omit<StuckBatch, 'stuck'>

/** A silent worker is one need, however many batches wait for it. */
export function stuckNeeds(batches: readonly StuckBatch[], now: Date): Need[] {
  const all = batches.flatMap(({ stuck, ...batch }) => stuck.map((one) => ({ ...one, ...batch })))
  const byWorker = Map.groupBy(
    all.filter(({ kind }) => NEED_OF_STUCK[kind] === 'worker_silent'),
    ({ workerId }) => workerId!,
  )
  return [
    ...[...byWorker].map(([workerId, found]) => silentWorkerNeed(workerId, found, now)),
    ...all.flatMap((one) => blockedNeed(one, now) ?? []),
  ]
}

function blockedNeed(found: Found, now: Date): Need | null {
  const { kind: why, batchId, runbookName, because, count, since, workerId } = found
  const kind = NEED_OF_STUCK[why]
  if (kind !== 'stuck' && kind !== 'phase_late') return null
  const isLate = kind === 'phase_late'
  return makeNeed(
    {
      kind,
      runbookNames: [runbookName],
      batchIds: [batchId],
      title: isLate ? `a phase of batch ${batchId} is late` : `batch ${batchId} is stuck`,
      text: `batch ${batchId} is ${isLate ? 'late' : 'stuck'}: ${because}`,
      count: isLate ? 1 : count,
      since: since ?? now,
      command: commandLine`status ${batchId}`,
    },
    batchId,
    isLate ? +since! : why,
    workerId ?? '',
  )
}

function silentWorkerNeed(workerId: string, found: readonly Found[], now: Date): Need {
  const ids = [...new Set(found.map(({ batchId }) => batchId))]
  const steps = found.reduce((sum, { count }) => sum + count, 0)
  const where = ids.length === 1 ? `batch ${ids[0]}` : countText(ids.length, 'batch', 'batches')
  return makeNeed(
    {
      kind: 'worker_silent',
      workerId,
      runbookNames: [...new Set(found.map(({ runbookName }) => runbookName))],
      batchIds: ids,
      title: `worker ${workerId} is silent`,
      text: `${found[0]!.aboutWorker!}; ${countText(steps, 'step waits', 'steps wait')} for it in ${where}`,
      count: steps,
      since: new Date(Math.min(...found.map(({ since }) => +(since ?? now)))),
      command: commandLine`worker list ${workerId}`,
    },
    workerId,
  )
}

/** Never silent about what was left out: somebody has to look. */
export function notLookedAt(now: Date): Need {
  const text = 'more batches are late and may be stuck'
  const about = { kind: 'stuck', runbookNames: null, batchIds: [], title: text, text } as const
  return makeNeed({ ...about, since: now, command: commandLine`batch list --sort oldest` }, 'more')
}
