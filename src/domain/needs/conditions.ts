// What people hear of: a condition is open while something needs them, or an ending that is told once. Each has a stable key, so
// that looking again opens nothing twice. Texts name batches, runbooks and workers, never a member: channels lead out of the house.

import { commandLine } from '../../base/text/command-line.ts'
import { countText } from '../../base/text/count-text.ts'
import { durationText } from '../../base/text/duration.ts'
import { HELD_BY_GATE, HELD_BY_RAMP, type Hold, nameOfHeld, resumeCommand } from '../state/holds.ts'
import {
  type Attention,
  type AttentionKind,
  attentionText,
  describeAttention,
} from './attention.ts'
import { isBlocking } from './status.ts'
import type { Stuck } from './stuck.ts'

export const CONDITIONS = {
  failure_limit: 'More people failed than `safeguards` or a ramp allow, and the batch is held.',
  batch_held: 'A batch, a runbook, a worker or everything is held.',
  gate_waiting: 'A phase is due within a day and its gate lacks approvals.',
  review_waiting: 'A change of the source waits for a decision.',
  stuck: 'Steps of a batch are overdue, or wait for a worker that nobody knows.',
  worker_silent: 'Work waits for a worker that has not been seen for three minutes.',
  source_failing: 'The last query of a data source failed.',
  dead_letters: 'Messages could not be handled.',
  phase_late: 'A phase has not begun a minute after its time.',
  forecast_miss: 'A phase is forecast to end too late for T-0, or for the phase after it.',
  phase_ended: 'A phase has ended.',
  batch_ended: 'A batch has ended.',
} as const
export type ConditionKind = keyof typeof CONDITIONS
export const CONDITION_KINDS = Object.keys(CONDITIONS) as ConditionKind[]

/** They pass quiet hours and digests, unless the settings say otherwise. */
export const URGENT_KINDS: readonly ConditionKind[] = [
  'failure_limit',
  'batch_held',
  'stuck',
  'worker_silent',
  'phase_late',
  'forecast_miss',
]

export interface Condition {
  /** The same for as long as it is open, and never again for an ending. */
  readonly key: string
  readonly kind: ConditionKind
  /** The runbooks concerned; null: all. */
  readonly runbookNames: readonly string[] | null
  readonly batchId: number | null
  /** A few words. */
  readonly title: string
  /** A sentence without its full stop; times are instants. */
  readonly text: string
  /** Handles it, or shows it in full. */
  readonly command: string
  readonly since: Date
  /** It is over when it is told, and is not cleared. */
  readonly isEnding: boolean
}

const TITLE_CHARS_MAX = 120
const TEXT_CHARS_MAX = 600
const cut = (text: string, max: number): string =>
  text.length <= max ? text : `${text.slice(0, max - 1)}…`

const conditionOf = (
  given: Omit<Condition, 'key' | 'isEnding'>,
  ...identity: readonly (string | number)[]
): Condition => ({
  ...given,
  title: cut(given.title, TITLE_CHARS_MAX),
  text: cut(given.text, TEXT_CHARS_MAX),
  key: [given.kind, ...identity].join(':'),
  isEnding: given.kind === 'phase_ended' || given.kind === 'batch_ended',
})

const capital = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)

/** Null for a held member: the others carry on, and its key is a person. `runbookName` is that of a held batch. */
export function holdCondition(hold: Hold, runbookName: string | null): Condition | null {
  const { scope, target, heldAt, heldBy, reason } = hold
  if (scope === 'member') return null
  const isFuse = heldBy === 'fuse' || heldBy === HELD_BY_RAMP
  const isGate = heldBy === HELD_BY_GATE
  const runbooks = { system: null, worker: null, runbook: [target], batch: [runbookName ?? ''] }
  return conditionOf(
    {
      kind: isFuse ? 'failure_limit' : 'batch_held',
      runbookNames: runbooks[scope],
      batchId: scope === 'batch' ? Number(target) : null,
      title: `${capital(nameOfHeld(hold))} is held${isFuse ? ': too many failures' : ''}`,
      text: isFuse ? reason : `Held by ${heldBy}: ${reason}`,
      command: isFuse
        ? commandLine`failures ${target}`
        : isGate
          ? commandLine`batch gates ${target}`
          : resumeCommand(hold),
      since: heldAt,
    },
    scope,
    target,
    +heldAt,
  )
}

/** A phase whose gate lacks approvals, less than a day before its time. */
export interface UnapprovedGate {
  readonly phaseId: number
  readonly phaseName: string
  readonly batchId: number
  readonly runbookName: string
  readonly dueAt: Date
  readonly needed: number
  readonly given: number
  readonly since: Date
}

export const gateCondition = (gate: UnapprovedGate): Condition =>
  conditionOf(
    {
      kind: 'gate_waiting',
      runbookNames: [gate.runbookName],
      batchId: gate.batchId,
      title: `Phase ${gate.phaseName} of batch ${gate.batchId} needs approval`,
      text: `${gate.given} of ${gate.needed} approvals for the start at ${gate.dueAt.toISOString()}; without them the batch is held then`,
      command: commandLine`batch gates ${gate.batchId}`,
      since: gate.since,
    },
    gate.phaseId,
    +gate.dueAt,
  )

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

export const missCondition = (miss: ForecastMiss): Condition =>
  conditionOf(
    {
      kind: 'forecast_miss',
      runbookNames: [miss.runbookName],
      batchId: miss.batchId,
      title: `Phase ${miss.phaseName} of batch ${miss.batchId} will miss ${miss.deadlineOf} by ${durationText(miss.bySec * 1_000)}`,
      text: capital(miss.because),
      command: commandLine`batch forecast ${miss.batchId}`,
      since: miss.since,
    },
    miss.phaseId,
    +miss.deadline,
  )

/** Null for what waits for nobody tonight. */
const ATTENTION = {
  removals: 'review_waiting',
  moves: 'review_waiting',
  latecomers: 'review_waiting',
  source_failing: 'source_failing',
  rows_left_out: null,
  dead_letters: 'dead_letters',
  // The channel that would tell it does not work.
  channel_failing: null,
} as const satisfies Readonly<Record<AttentionKind, ConditionKind | null>>

export function attentionCondition(item: Attention, now: Date): Condition | null {
  const kind = ATTENTION[item.kind]
  if (kind === null) return null
  const { runbookName, batchId, toTime, topic } = item
  const text = attentionText(item, (at) => at.toISOString())
  const where = batchId === null ? (runbookName ?? topic) : `batch ${batchId}`
  const titles = {
    review_waiting: `A decision about ${where} is needed`,
    source_failing: `The source of ${runbookName} fails`,
    dead_letters: `Messages on ${topic} could not be handled`,
  }
  return conditionOf(
    {
      kind,
      runbookNames: runbookName === null ? null : [runbookName],
      batchId,
      title: titles[kind],
      text,
      command: describeAttention(item).command,
      since: item.since ?? now,
    },
    item.kind,
    runbookName?.toLowerCase() ?? topic ?? '',
    batchId ?? '',
    toTime === null ? '' : +toTime,
  )
}

export interface StuckBatch {
  readonly batchId: number
  readonly runbookName: string
  readonly stuck: readonly Stuck[]
}

/** A silent worker is one condition, however many batches wait for it. */
export function stuckConditions(batches: readonly StuckBatch[], now: Date): Condition[] {
  const all = batches.flatMap(({ stuck, ...batch }) =>
    stuck.filter(({ kind }) => isBlocking(kind)).map((one) => ({ ...one, ...batch })),
  )
  const isOfWorker = ({ kind }: Stuck) => kind === 'worker_silent' || kind === 'worker_unknown'
  const byWorker = Map.groupBy(all.filter(isOfWorker), ({ workerId }) => workerId!)
  const ofWorkers = [...byWorker].map(([workerId, found]) => silentWorker(workerId, found, now))
  const ofBatches = all
    .filter((one) => !isOfWorker(one))
    .map(({ kind, batchId, runbookName, because, since, workerId }) => {
      const isLate = kind === 'phase_overdue'
      const given = {
        kind: isLate ? ('phase_late' as const) : ('stuck' as const),
        runbookNames: [runbookName],
        batchId,
        title: isLate ? `A phase of batch ${batchId} is late` : `Batch ${batchId} is stuck`,
        text: because,
        command: commandLine`stuck ${batchId}`,
        since: since ?? now,
      }
      return conditionOf(given, batchId, isLate ? +since! : kind, workerId ?? '')
    })
  return [...ofWorkers, ...ofBatches]
}

function silentWorker(
  workerId: string,
  found: readonly (Stuck & Omit<StuckBatch, 'stuck'>)[],
  now: Date,
): Condition {
  const ids = [...new Set(found.map(({ batchId }) => batchId))]
  const steps = found.reduce((sum, { count }) => sum + count, 0)
  const who = found[0]!.aboutWorker!
  const since = found.map((one) => +(one.since ?? now))
  return conditionOf(
    {
      kind: 'worker_silent',
      runbookNames: [...new Set(found.map(({ runbookName }) => runbookName))],
      batchId: ids.length === 1 ? ids[0]! : null,
      title: `Worker ${workerId} is silent`,
      text: `${who}; ${countText(steps, 'step waits', 'steps wait')} in ${countText(ids.length, 'batch', 'batches')}`,
      command: commandLine`worker list`,
      since: new Date(Math.min(...since)),
    },
    workerId,
  )
}

export interface Ending {
  readonly kind: 'phase_ended' | 'batch_ended'
  /** Of the phase or the batch. */
  readonly id: number
  readonly batchId: number
  readonly runbookName: string
  /** Null for a batch. */
  readonly phaseName: string | null
  readonly status: string
  readonly endedAt: Date
  readonly failed: number
  readonly total: number
}

export function endingCondition(ending: Ending): Condition {
  const { kind, id, batchId, runbookName, phaseName, status, endedAt } = ending
  const what = phaseName === null ? `Batch ${batchId}` : `Phase ${phaseName} of batch ${batchId}`
  const { failed, total } = ending
  return conditionOf(
    {
      kind,
      runbookNames: [runbookName],
      batchId,
      title: `${what}: ${status}`,
      text: `${failed === 0 ? 'None' : failed} of ${countText(total, 'person', 'people')} failed`,
      command: failed > 0 ? commandLine`failures ${batchId}` : commandLine`batch get ${batchId}`,
      since: endedAt,
    },
    id,
    +endedAt,
  )
}
