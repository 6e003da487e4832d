// The report of a rehearsal: from what happened to a verdict with reasons. Pure: the same facts give the same report.

import { countText } from '../../base/text/count-text.ts'
import { durationText } from '../../base/text/duration.ts'
import type {
  NotUndoable,
  RehearsedBatch,
  RehearsedPhase,
  RehearsedStep,
  SourceTrouble,
} from '../../db/views/rehearsal.ts'
import { whenText } from '../../domain/runbook/conditions.ts'
import { factsFrom, mayChangeTenant } from '../../domain/runbook/function-facts.ts'
import type { Runbook } from '../../domain/runbook/model.ts'
import type { RunbookProblem } from '../../domain/runbook/read.ts'
import { stepLists } from '../../domain/runbook/steps.ts'
import {
  isUnderWay,
  PERSON_STATES,
  type PersonState,
  type StateCounts,
} from '../../domain/state/person-state.ts'
import { M365_CATALOGUE } from '../../m365/catalogue.ts'
import type { CallCount, ServiceUse } from './call-meter.ts'
import { loadText, namesText, type RehearsalMessages } from './messages.ts'
import {
  type NotificationFacts,
  notificationReportOf,
  type RehearsedNotificationReport,
} from './report-notifications.ts'
import type { NotRestored } from './rollback-check.ts'

export type Verdict = 'ready' | 'ready with warnings' | 'not ready'

export interface FailedGroup {
  readonly kind: string
  readonly phase: string | null
  readonly step: string
  readonly count: number
  readonly message: string
  readonly remedy: string | null
  /** The first few. */
  readonly people: readonly string[]
}

export interface RehearsalFacts {
  readonly runbook: Runbook
  readonly lint: readonly RunbookProblem[]
  readonly seed: number
  readonly slots: number
  readonly slotsOf: (workerId: string) => number
  readonly rows: number
  /** The names of the faults in use. */
  readonly faults: readonly string[]
  readonly startedAt: Date
  readonly endedAt: Date
  readonly stuckBecause: string | null
  readonly happened: readonly { readonly at: string; readonly what: string }[]
  readonly batches: readonly RehearsedBatch[]
  readonly phases: readonly RehearsedPhase[]
  readonly steps: readonly RehearsedStep[]
  readonly failures: readonly FailedGroup[]
  /** People who failed while their past was repeated. */
  readonly unrepeated: number
  readonly rolledBack: number
  readonly notRestored: readonly NotRestored[]
  readonly failedUndos: number
  /** What an undo of the batch would leave. */
  readonly staysAfterUndo: readonly NotUndoable[]
  readonly messages: RehearsalMessages
  /** Attempts without a result: lost, expired or dead-lettered. */
  readonly repeated: number
  readonly sourceTrouble: readonly SourceTrouble[]
  readonly notifications: NotificationFacts
  readonly services: readonly ServiceUse[]
  readonly operations: readonly CallCount[]
  readonly tenants: readonly RehearsedTenant[]
  readonly assumptions: readonly string[]
}

export interface RehearsedTenant {
  readonly name: string
  readonly domains: readonly string[]
  readonly users: number
  readonly groups: number
}

export interface TimelinePhase {
  readonly batchId: number
  readonly phase: string
  readonly status: string
  readonly dueAt: string | null
  readonly startedAt: string | null
  readonly endedAt: string | null
  readonly members: number
  readonly failed: number
  readonly p50Sec: number | null
  readonly p95Sec: number | null
  readonly worstSec: number | null
  /** To the next phase; null for the last one. */
  readonly gapSec: number | null
  readonly isLate: boolean
  /** Lost while its changes waited for a change window; part of the times above. */
  readonly windowWaitSec: number
  /** The worst member's time with ten times as many members. */
  readonly tenTimesSec: number | null
  readonly tenTimesFits: boolean | null
}

export interface RehearsalReport {
  readonly verdict: Verdict
  readonly faults: readonly string[]
  readonly reasons: readonly string[]
  readonly warnings: readonly string[]
  readonly runbook: string
  readonly seed: number
  readonly slots: number
  readonly members: StateCounts & { readonly total: number }
  readonly startedAt: string
  readonly endedAt: string
  readonly batches: readonly (StateCounts & {
    readonly id: number
    readonly startTime: string | null
    readonly status: string
    readonly heldReason: string | null
    readonly members: number
  })[]
  readonly events: readonly { readonly at: string; readonly what: string }[]
  readonly timeline: readonly TimelinePhase[]
  /** Of all phases together. */
  readonly windowWaitSec: number
  readonly failures: readonly FailedGroup[]
  readonly neverRan: readonly { readonly where: string; readonly step: string }[]
  /** What an undo of the batch would leave, and the point of no return. */
  readonly staysAfterUndo: readonly NotUndoable[]
  /** Who would have been told what and when. */
  readonly messages: RehearsalMessages
  readonly rollbacks: {
    readonly ran: number
    readonly failed: number
    readonly notRestored: readonly NotRestored[]
  }
  readonly calls: {
    readonly total: number
    readonly services: readonly ServiceUse[]
    readonly operations: readonly CallCount[]
  }
  /** Who would have been told what, and when. Nothing was sent. */
  readonly notifications: Omit<RehearsedNotificationReport, 'warnings'>
  readonly source: readonly SourceTrouble[]
  readonly tenants: readonly RehearsedTenant[]
  readonly assumptions: readonly string[]
}

const MORE_MEMBERS = 10
/** Above this share of the gap, one bad day is enough to overrun. */
const TIGHT_SHARE = 0.5
/** A shorter wait for a change window is no surprise on a night. */
const WINDOW_WAIT_SEC = 3_600

export function reportOf(facts: RehearsalFacts): RehearsalReport {
  const timeline = timelineOf(facts)
  const neverRan = neverRanIn(facts)
  const members = membersOf(facts.batches)
  const reasons = reasonsOf(facts, timeline, members)
  const { warnings: untold, ...notifications } = notificationReportOf(
    facts.notifications,
    facts.runbook,
  )
  const warnings = [...warningsOf(facts, timeline, neverRan, members), ...untold]
  const verdict =
    reasons.length > 0 ? 'not ready' : warnings.length > 0 ? 'ready with warnings' : 'ready'
  return {
    verdict,
    faults: facts.faults,
    reasons,
    warnings,
    runbook: facts.runbook.name,
    seed: facts.seed,
    slots: facts.slots,
    members,
    startedAt: facts.startedAt.toISOString(),
    endedAt: facts.endedAt.toISOString(),
    batches: facts.batches.map((batch) => {
      const { total, ...counts } = membersOf([batch])
      const { id, startTime, status, heldReason } = batch
      const shown = { id, startTime: startTime?.toISOString() ?? null, status, heldReason }
      return { ...shown, members: total, ...counts }
    }),
    events: facts.happened,
    timeline,
    windowWaitSec: timeline.reduce((sum, phase) => sum + phase.windowWaitSec, 0),
    failures: facts.failures,
    neverRan: neverRan.map(({ where, step }) => ({ where, step })),
    staysAfterUndo: facts.staysAfterUndo,
    messages: facts.messages,
    rollbacks: { ran: facts.rolledBack, failed: facts.failedUndos, notRestored: facts.notRestored },
    calls: {
      total: facts.services.reduce((sum, { calls }) => sum + calls, 0),
      services: facts.services,
      operations: facts.operations,
    },
    notifications,
    source: facts.sourceTrouble,
    tenants: facts.tenants,
    assumptions: facts.assumptions,
  }
}

function membersOf(batches: readonly RehearsedBatch[]): RehearsalReport['members'] {
  const counts = Object.fromEntries(
    PERSON_STATES.map((state) => [
      state,
      batches.reduce((sum, { states }) => sum + states[state], 0),
    ]),
  ) as StateCounts
  return { total: sumOf(counts, () => true), ...counts }
}

const sumOf = (counts: StateCounts, isCounted: (state: PersonState) => boolean): number =>
  PERSON_STATES.reduce((sum, state) => sum + (isCounted(state) ? counts[state] : 0), 0)

function timelineOf(facts: RehearsalFacts): TimelinePhase[] {
  const round = (sec: number | null): number | null => (sec === null ? null : Math.round(sec))
  return facts.phases.map((phase, at) => {
    const next = facts.phases.slice(at + 1).find((one) => one.batchId === phase.batchId)
    const gapSec =
      next?.dueAt && phase.dueAt ? Math.round((+next.dueAt - +phase.dueAt) / 1_000) : null
    const tenTimesSec = tenTimesOf(phase, facts)
    return {
      batchId: phase.batchId,
      phase: phase.name,
      status: phase.status,
      dueAt: phase.dueAt?.toISOString() ?? null,
      startedAt: phase.startedAt?.toISOString() ?? null,
      endedAt: phase.endedAt?.toISOString() ?? null,
      members: phase.members,
      failed: phase.failed,
      p50Sec: round(phase.p50Sec),
      p95Sec: round(phase.p95Sec),
      worstSec: round(phase.worstSec),
      gapSec,
      isLate: Boolean(next?.dueAt && phase.lastAt && phase.lastAt > next.dueAt),
      windowWaitSec: hasChanges(facts, phase) ? Math.round(phase.closedSec) : 0,
      tenTimesSec,
      tenTimesFits: gapSec === null || tenTimesSec === null ? null : tenTimesSec <= gapSec,
    }
  })
}

/** A rehearsal's workers have the functions of the program. */
const FACTS_OF = factsFrom([M365_CATALOGUE])

/** A phase that only reads waits for no window. */
const hasChanges = ({ runbook }: RehearsalFacts, { name }: RehearsedPhase): boolean =>
  runbook.phases.some(
    (phase) =>
      phase.name === name &&
      phase.steps.some((step) => mayChangeTenant(FACTS_OF(step.workerId, step.function))),
  )

/** `waited 8h for the change window`; null when it lost no time. */
export const windowWaitText = ({
  windowWaitSec,
}: Pick<TimelinePhase, 'windowWaitSec'>): string | null =>
  windowWaitSec === 0 ? null : `waited ${durationText(windowWaitSec * 1_000)} for the change window`

/** How the phase went, in a few words. */
export function resultText(phase: TimelinePhase): string {
  return [outcomeWords(phase), windowWaitText(phase)].filter((text) => text !== null).join(', ')
}

function outcomeWords({ status, isLate, worstSec }: TimelinePhase): string {
  if (isLate) return 'overran'
  if (status === 'skipped') return 'skipped'
  return worstSec === null ? 'no one ran it' : 'in time'
}

/** More members need more time in the slots of the busiest worker; waiting for polls and replication takes no longer. */
function tenTimesOf(
  { name, worstSec }: RehearsedPhase,
  { steps, slotsOf, phases }: RehearsalFacts,
) {
  if (worstSec === null) return null
  const inPhase = steps.filter((step) => step.kind === 'phase' && step.phaseName === name)
  const byWorker = Map.groupBy(inPhase, ({ workerId }) => workerId)
  const times = [...byWorker].map(
    ([workerId, all]) => all.reduce((sum, one) => sum + one.workSec, 0) / slotsOf(workerId),
  )
  const waves = phases.filter((phase) => phase.name === name).length
  const slotSec = Math.max(0, ...times) / waves
  return Math.round(worstSec + (MORE_MEMBERS - 1) * slotSec)
}

interface UnrunStep {
  readonly where: string
  readonly step: string
  readonly isForEverybody: boolean
}

/** Steps of the runbook that no member was sent to. */
function neverRanIn({ runbook, steps }: RehearsalFacts): UnrunStep[] {
  const ran = new Set(
    steps
      .filter((one) => one.ran > 0)
      .map((one) => keyOf(one.kind, placeOf(one, runbook), one.stepName)),
  )
  return stepLists(runbook).flatMap(({ kind, name: place, steps: list }) =>
    list
      .filter(({ name }) => !ran.has(keyOf(kind, place, name)))
      .map(({ name, when }) => ({
        where: place === null ? kind : `${kind} ${place}`,
        step: when.length === 0 ? name : `${name}, only when ${whenText(when)}`,
        isForEverybody: (kind === 'phase' || kind === 'init') && when.length === 0,
      })),
  )
}

/** The phase of a step; of a rollback step, the rollback that the step before it names: two may have steps of one name. */
function placeOf(
  { kind, phaseName, originStep }: RehearsedStep,
  { init, phases }: Runbook,
): string | null {
  if (kind !== 'rollback') return kind === 'phase' ? phaseName : null
  const steps = phases.find(({ name }) => name === phaseName)?.steps ?? init
  return steps.find(({ name }) => name === originStep)?.onFailure ?? null
}

const keyOf = (kind: string, phase: string | null, step: string): string =>
  `${kind} ${phase ?? ''} ${step}`.toLowerCase()

const ofWhich = (text: string | null): string => (text === null ? '' : `; it ${text}`)

function reasonsOf(
  facts: RehearsalFacts,
  timeline: readonly TimelinePhase[],
  members: RehearsalReport['members'],
): string[] {
  const late = timeline.filter(({ isLate }) => isLate)
  const rows = facts.sourceTrouble.filter(({ what }) => what === 'row')
  const unfinished = members.stopped + sumOf(members, isUnderWay)
  const failed = members.failed + members.rolled_back
  return [
    ...(facts.rows === 0 ? ['The member file has no people.'] : []),
    ...(failed > 0
      ? [`${failed} of ${countText(members.total, 'member')} would have failed.`]
      : []),
    ...(facts.unrepeated > 0
      ? [
          `${countText(facts.unrepeated, 'member')} could not be brought to where they are now: a step that they have passed fails on the simulated tenants.`,
        ]
      : []),
    ...(unfinished > 0
      ? [`${unfinished} of ${countText(members.total, 'member')} would not have got through.`]
      : []),
    ...facts.batches.flatMap(({ id, heldReason }) =>
      heldReason === null ? [] : [`Batch ${id} was held: ${heldReason}`],
    ),
    ...facts.batches.flatMap(({ id, status }) =>
      status === 'failed' ? [`Batch ${id} failed.`] : [],
    ),
    ...(facts.stuckBecause === null ? [] : [facts.stuckBecause]),
    ...late.map(
      ({ phase, batchId, worstSec, gapSec, windowWaitSec }) =>
        `Phase ${phase} of batch ${batchId} took up to ${durationText((worstSec ?? 0) * 1_000)}, longer than the ${durationText((gapSec ?? 0) * 1_000)} to the next phase${ofWhich(windowWaitText({ windowWaitSec }))}.`,
    ),
    ...(facts.notRestored.length > 0
      ? [`${countText(facts.notRestored.length, 'rollback')} did not restore the tenant.`]
      : []),
    ...(facts.failedUndos > 0 ? [`${countText(facts.failedUndos, 'rollback')} failed.`] : []),
    ...rows.map(
      ({ kind, count, example }) =>
        `${countText(count, 'row')} cannot be used (${kind}): ${example}`,
    ),
    ...(members.total === 0 && facts.rows > 0 ? ['No member was found in the source.'] : []),
  ]
}

function warningsOf(
  facts: RehearsalFacts,
  timeline: readonly TimelinePhase[],
  neverRan: readonly UnrunStep[],
  { removed }: RehearsalReport['members'],
): string[] {
  const tight = timeline.filter(
    ({ p95Sec, gapSec, isLate }) =>
      !isLate && p95Sec !== null && gapSec !== null && p95Sec > gapSec * TIGHT_SHARE,
  )
  const unrun = neverRan.filter(({ isForEverybody }) => isForEverybody)
  const tooLong = timeline.filter(({ tenTimesFits, isLate }) => tenTimesFits === false && !isLate)
  const skipped = timeline.filter(({ status }) => status === 'skipped')
  const waited = timeline.filter(({ windowWaitSec }) => windowWaitSec >= WINDOW_WAIT_SEC)
  return [
    ...facts.lint.map(({ code, line, message }) => `Line ${line}, ${code}: ${message}`),
    ...tight.map(
      ({ phase, batchId, p95Sec, gapSec }) =>
        `Phase ${phase} of batch ${batchId} is tight: 1 of 20 members needs ${durationText(p95Sec! * 1_000)} or more of the ${durationText(gapSec! * 1_000)} to the next phase.`,
    ),
    ...tooLong.map(
      ({ phase, batchId, tenTimesSec, gapSec }) =>
        `With ten times as many members, phase ${phase} of batch ${batchId} takes about ${durationText(tenTimesSec! * 1_000)}, longer than the ${durationText(gapSec! * 1_000)} to the next phase.`,
    ),
    ...waited.map((one) => `Phase ${one.phase} of batch ${one.batchId} ${windowWaitText(one)}.`),
    ...skipped.map(({ phase, batchId }) => `Phase ${phase} of batch ${batchId} was skipped.`),
    ...unrun.map(({ where, step }) => `Step ${step} of ${where} never ran.`),
    ...facts.services
      .filter(({ throttled }) => throttled > 0)
      .map(
        ({ service, throttled, throttledSec }) =>
          `${service} throttled ${countText(throttled, 'call')}, ${durationText(throttledSec * 1_000)} in all.`,
      ),
    ...(facts.repeated > 0
      ? [
          `${countText(facts.repeated, 'job')} ended without a result or waited too long, and ran again or failed.`,
        ]
      : []),
    ...facts.sourceTrouble
      .filter(({ what }) => what === 'review')
      .map(
        ({ kind, count, example }) =>
          `${countText(count, `${kind} waits`, `${kind}s wait`)} for a person: ${example}`,
      ),
    ...facts.sourceTrouble
      .filter(({ what }) => what === 'query')
      .map(
        ({ count, example }) =>
          `${countText(count, 'query', 'queries')} of the source failed: ${example}`,
      ),
    ...messageWarnings(facts.messages, timeline),
    ...(removed > 0 ? [`${countText(removed, 'member was', 'members were')} removed.`] : []),
  ]
}

/** A mailbox sends no faster than Exchange accepts. Nobody hears anything without an address. */
function messageWarnings(
  messages: RehearsalMessages,
  timeline: readonly TimelinePhase[],
): string[] {
  const tooMany = messages.loads.filter(({ batchId, phase, takesSec }) => {
    const gapSec = timeline.find((one) => one.batchId === batchId && one.phase === phase)?.gapSec
    return typeof gapSec === 'number' && takesSec > gapSec
  })
  const { withoutAddress } = messages
  return [
    ...tooMany.map((load) => `${loadText(load, messages)}, longer than until the next phase.`),
    ...(withoutAddress.count > 0
      ? [
          `${countText(withoutAddress.count, 'member has', 'members have')} no address for messages: ${namesText(withoutAddress)}.`,
        ]
      : []),
  ]
}
