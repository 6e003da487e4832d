// Blocked work and why, in sentences: what a batch's steps wait for, and whether it will come. Waits in their normal course are not
// reported.
import { countText } from '../../base/text/count-text.ts'
import { type Action, resumeAction } from '../decide/actions.ts'
import { holdOnAll, holdsOnAll } from '../decide/held.ts'
import { shareText } from '../decide/ramp.ts'
import type { Batch, Phase } from '../state/facts.ts'
import { type HoldsOnBatch, tellHold } from '../state/holds.ts'
import { windowText } from '../windows/window-text.ts'

export interface WaitGroup {
  readonly workerId: string
  readonly kind: 'slot' | 'job' | 'retry' | 'poll'
  readonly count: number
  /** False when only the first of them were counted. */
  readonly isCountExact: boolean
  readonly since: Date
  /** How many of them are past their time. */
  readonly overdue: number
  readonly wakeAt: Date | null
  /** An example. */
  readonly stepId: number
}

export interface WorkerFacts {
  readonly workerId: string
  /** It announced itself or is configured. */
  readonly isKnown: boolean
  readonly isConfigured: boolean
  readonly lastSeenAt: Date | null
  /** Mean run time of its jobs; null before its first answer. */
  readonly jobMs: number | null
  /** The jobs it may have outstanding. */
  readonly jobLimit: number
  readonly outstanding: number
  /** When its oldest outstanding job was sent. */
  readonly oldestSentAt: Date | null
}

export type StuckKind =
  | 'held'
  | 'not_advanced'
  | 'phase_overdue'
  | 'reviews_open'
  | 'worker_unknown'
  | 'worker_silent'
  | 'worker_busy'
  | 'window_closed'
  | 'result_overdue'
  | 'retry_overdue'
  | 'poll_overdue'

export interface Stuck {
  readonly kind: StuckKind
  readonly because: string
  /** The part of `because` about the worker, where a silent or unknown one is the reason. */
  readonly aboutWorker: string | null
  readonly count: number
  readonly isCountExact: boolean
  readonly since: Date | null
  readonly workerId: string | null
  /** An example of the steps. */
  readonly stepId: number | null
  /** What an operator may do about it now. */
  readonly actions: readonly Action[]
}

export interface StuckFacts {
  readonly batch: Pick<
    Batch,
    | 'id'
    | 'status'
    | 'isManual'
    | 'heldAt'
    | 'heldBy'
    | 'heldReason'
    | 'endedAt'
    | 'membersActive'
    | 'windowClosedAt'
  > & { readonly windowOpensAt: Date | null }
  readonly holds: HoldsOnBatch
  readonly phases: readonly Phase[]
  readonly waits: readonly WaitGroup[]
  readonly workers: readonly WorkerFacts[]
  /** Removals, moves and latecomers that wait for a person. */
  readonly openReviews: number
  readonly now: Date
}

/** Workers announce themselves every 20 seconds. One that died is noticed as soon as its jobs' leases end. */
const SILENT_AFTER_MS = 60_000
/** What a platform needs to notice a job, fetch the image and start a worker that announces itself. */
const WOKEN_AFTER_MS = 5 * 60_000
/** Timers act to the second; anything later than this is blocked. */
export const LATE_AFTER_MS = 60_000
/** A job that is out for so long holds others up. */
const SLOW_AFTER_MS = 15 * 60_000

type SignsOfLife = Pick<WorkerFacts, 'isConfigured' | 'lastSeenAt' | 'oldestSentAt' | 'jobMs'>

/**
 * A declared worker may sleep while it has no job, and takes its time to wake for one. One that never announces itself lives as long as
 * it has ever answered.
 */
export function isSilent(worker: SignsOfLife, now: Date): boolean {
  const { isConfigured, lastSeenAt, oldestSentAt, jobMs } = worker
  if (!isConfigured) return lastSeenAt === null || +now - +lastSeenAt > SILENT_AFTER_MS
  if (oldestSentAt === null || (lastSeenAt === null && jobMs !== null)) return false
  const wasAwake = lastSeenAt !== null && lastSeenAt >= oldestSentAt
  return wasAwake ? +now - +lastSeenAt > SILENT_AFTER_MS : +now - +oldestSentAt > WOKEN_AFTER_MS
}

export const WORKER_STATES = ['ok', 'silent', 'unknown', 'draining', 'drained'] as const

interface StateFacts extends SignsOfLife, Pick<WorkerFacts, 'isKnown' | 'outstanding'> {
  /** By a hold of its own. */
  readonly isHeld: boolean
}

/** A hold drains a worker: it gets nothing new and finishes what it has. */
export function workerState(facts: StateFacts, now: Date): (typeof WORKER_STATES)[number] {
  if (facts.isHeld) return facts.outstanding > 0 ? 'draining' : 'drained'
  if (!facts.isKnown) return 'unknown'
  return isSilent(facts, now) ? 'silent' : 'ok'
}

export function findStuck(facts: StuckFacts): Stuck[] {
  return [
    ...ofBatch(facts),
    ...ofPhases(facts),
    ...facts.waits.flatMap((group) => ofWait(facts, group)),
  ]
}

function ofBatch({ batch, holds, phases, openReviews }: StuckFacts): Stuck[] {
  const found: Stuck[] = []
  const common = { isCountExact: true, workerId: null, aboutWorker: null, stepId: null }
  for (const hold of holdsOnAll(batch, holds)) {
    const counted = { count: batch.membersActive, since: hold.heldAt }
    const actions = [resumeAction(hold)]
    found.push({ ...common, ...counted, kind: 'held', because: tellHold(hold), actions })
  }
  if (batch.windowClosedAt !== null) found.push(ofWindow(batch, batch.windowClosedAt))
  found.push(...ofHeldMembers(holds))
  const next = phases.find(({ status }) => status === 'pending')
  const isBusy = phases.some(({ status }) => status === 'dispatched')
  if (
    batch.isManual &&
    batch.endedAt === null &&
    next &&
    !isBusy &&
    batch.status !== 'init_dispatched'
  ) {
    const because = `manual batch ${batch.id} waits to be advanced to ${next.name}`
    const command = `batch advance ${batch.id}`
    const advance: Action = { action: 'advance', about: 'start the next phase', command }
    found.push({
      ...common,
      kind: 'not_advanced',
      because,
      count: batch.membersActive,
      since: null,
      // A held batch is not advanced: the resume comes first, and is shown.
      actions: holdsOnAll(batch, holds).length > 0 ? [] : [advance],
    })
  }
  if (openReviews > 0) {
    const because = `${countText(openReviews, 'change from the data source waits', 'changes from the data source wait')} for a review`
    const actions = [inspect('see the changes and decide', `review list --batch ${batch.id}`)]
    const counted = { count: openReviews, since: null }
    found.push({ ...common, ...counted, kind: 'reviews_open', because, actions })
  }
  return found
}

/** As planned: nothing is sent until then, and nobody need do anything. */
function ofWindow({ id, membersActive, windowOpensAt }: StuckFacts['batch'], since: Date): Stuck {
  const because = `steps that change a tenant wait for ${windowText(windowOpensAt)}`
  const override = `batch override-window ${id} --until +1h`
  const actions: Action[] = [inspect('send them anyway, with a reason', override)]
  const counted = { count: membersActive, isCountExact: true }
  return {
    kind: 'window_closed',
    because,
    ...counted,
    since,
    workerId: null,
    aboutWorker: null,
    stepId: null,
    actions,
  }
}

const inspect = (about: string, command: string): Action => ({ action: 'inspect', about, command })
const SEE_ROLES = inspect('see whether the roles are running', 'doctor')

function ofHeldMembers({ members }: HoldsOnBatch): Stuck[] {
  const [first] = members.values()
  if (!first) return []
  const others = members.size - 1
  const more =
    others === 0
      ? ''
      : `; and ${others} ${others === 1 ? 'other' : 'others'}, see "matoolkit hold list"`
  const because = `${tellHold(first)}${more}`
  const where = { isCountExact: true, workerId: null, aboutWorker: null, stepId: null }
  const rest = others === 0 ? [] : [inspect('list all holds', 'hold list')]
  const actions = [resumeAction(first), ...rest]
  return [{ kind: 'held', because, count: members.size, since: first.heldAt, ...where, actions }]
}

function ofPhases({ batch, holds, phases, now }: StuckFacts): Stuck[] {
  if (batch.endedAt !== null) return []
  const hold = holdOnAll(batch, holds)
  return phases.flatMap(({ status, dueAt, name, gateLookAt }) => {
    if (status !== 'pending' || dueAt === null || +now - +dueAt <= LATE_AFTER_MS) return []
    const isAtGate = gateLookAt !== null && batch.status === 'active'
    const why = hold
      ? tellHold(hold)
      : isAtGate
        ? 'its gate has not passed'
        : batch.status === 'active'
          ? 'no orchestrator has started it'
          : `the batch is ${batch.status}`
    const because = `phase ${name} was due at ${dueAt.toISOString()}, but ${why}`
    const counted = { count: batch.membersActive, isCountExact: true }
    const seeGates = inspect('see what the gate needs', `batch get ${batch.id} --gates`)
    const where = {
      workerId: null,
      aboutWorker: null,
      stepId: null,
      actions: [hold ? resumeAction(hold) : isAtGate ? seeGates : SEE_ROLES],
    }
    return [{ kind: 'phase_overdue', because, ...counted, since: dueAt, ...where }]
  })
}

function ofWait(facts: StuckFacts, group: WaitGroup): Stuck[] {
  const { workerId, kind, since, stepId, isCountExact } = group
  const report: Report = (kind, count, because, ...actions) => [
    { kind, because, aboutWorker: null, count, isCountExact, since, workerId, stepId, actions },
  ]
  const worker = facts.workers.find((candidate) => candidate.workerId === workerId)
  const hold = facts.holds.workers.get(workerId)
  // Held steps wait for the end of the hold and for nothing else.
  if (hold && kind !== 'job')
    return kind === 'slot' ? report('held', group.count, tellHold(hold), resumeAction(hold)) : []
  if (kind === 'slot') return ofSlot(facts, group, worker, report)
  if (kind === 'job' && worker && isSilent(worker, facts.now)) {
    const waits = `${many(group, 'job is', 'jobs are')} unsettled`
    return ofWorker(report, 'worker_silent', group.count, silence(worker), waits)
  }
  const isLate = group.wakeAt !== null && +facts.now - +group.wakeAt > LATE_AFTER_MS
  // Retries and polls of a held batch wait with it, and the hold is reported.
  const isWaiting = kind !== 'job' && holdsOnAll(facts.batch, facts.holds).length > 0
  if (group.overdue === 0 || !isLate || isWaiting) return []
  const noun = { job: 'result', retry: 'retry', poll: 'poll' }[kind]
  const because = `${many({ ...group, count: group.overdue }, `${noun} is`, `${noun}s are`)} overdue since ${group.wakeAt!.toISOString()}; is an orchestrator running?`
  return report(`${noun}_overdue` as StuckKind, group.overdue, because, SEE_ROLES)
}

type Report = (kind: StuckKind, count: number, because: string, ...actions: Action[]) => Stuck[]

const ofWorker = (
  report: Report,
  kind: StuckKind,
  count: number,
  aboutWorker: string,
  waits: string,
): Stuck[] =>
  report(kind, count, `${aboutWorker}; ${waits}`).map((one) => ({
    ...one,
    aboutWorker,
    actions: [inspect('see the worker', `worker list ${one.workerId}`)],
  }))

function ofSlot(
  { now, batch, holds }: StuckFacts,
  group: WaitGroup,
  worker: WorkerFacts | undefined,
  report: Report,
): Stuck[] {
  const { workerId, count } = group
  if (!worker?.isKnown) {
    const waits = `${waiting(group)} for it`
    return ofWorker(report, 'worker_unknown', count, unknownWorker(workerId), waits)
  }
  if (isSilent(worker, now)) {
    return ofWorker(report, 'worker_silent', count, silence(worker), `${waiting(group)} for it`)
  }
  const { outstanding, jobLimit, oldestSentAt } = worker
  // A busy worker takes the next job when one has ended: that is the normal course, unless none ends for long.
  const isSlow = oldestSentAt !== null && +now - +oldestSentAt > SLOW_AFTER_MS
  if (outstanding < jobLimit || !isSlow || holdsOnAll(batch, holds).length > 0) return []
  const because = `worker ${workerId} works on ${countText(outstanding, 'job')}, the oldest sent at ${oldestSentAt.toISOString()}; ${waiting(group)} for a slot`
  const command = `batch steps ${batch.id} --worker ${workerId} --status dispatched,polling`
  return report('worker_busy', count, because, inspect('see what it works on', command))
}

const waiting = (group: WaitGroup): string => many(group, 'step waits', 'steps wait')

const many = ({ count, isCountExact }: WaitGroup, one: string, several: string): string =>
  isCountExact ? countText(count, one, several) : `${count} or more ${several}`

const silence = ({ workerId, lastSeenAt }: WorkerFacts): string =>
  lastSeenAt === null
    ? `worker ${workerId} has not announced itself`
    : `worker ${workerId} was last seen at ${lastSeenAt.toISOString()}`

/** Whose steps of a phase wait: for this worker, or as this held member. */
export interface PhaseWaiter {
  readonly phaseId: number
  readonly workerId: string | null
  /** The worker has the job; else the step waits for a slot. */
  readonly isSent: boolean
  readonly memberId: number | null
}

export interface PhaseWaitFacts
  extends Pick<StuckFacts, 'batch' | 'holds' | 'phases' | 'workers' | 'now'> {
  readonly waiters: readonly PhaseWaiter[]
}

/** Why nothing of a phase is sent, by its id: a hold, or a worker that is unknown or silent. Without a full stop; times in UTC. */
export function waitsOfPhases(facts: PhaseWaitFacts): ReadonlyMap<number, string> {
  const { batch, holds, phases } = facts
  const found = new Map<number, string>()
  if (batch.endedAt !== null) return found
  const hold = holdOnAll(batch, holds)
  for (const phase of phases.filter((one) => isPhaseDue(one, facts.now))) {
    const reasons = hold
      ? [tellHold(hold)]
      : [...ofStart(phase), ...whyWindow(batch, phase), ...whyWaiting(facts, phase)]
    if (reasons.length > 0) found.set(phase.id, reasons.join('; '))
  }
  return found
}

const whyWindow = (
  { windowClosedAt, windowOpensAt }: StuckFacts['batch'],
  { status, steps }: Phase,
): string[] =>
  windowClosedAt !== null && status === 'dispatched' && steps.pending > 0
    ? [windowText(windowOpensAt)]
    : []

/** A gate that has not passed, and a share of a ramp that soaks. */
function ofStart(phase: Phase): string[] {
  if (phase.status === 'pending' && phase.gateLookAt !== null) return ['its gate has not passed']
  if (phase.soakEndsAt === null) return []
  return [`${shareText(phase)} has ended and soaks until ${phase.soakEndsAt.toISOString()}`]
}

/** It runs, or its time has come. */
export const isPhaseDue = ({ status, dueAt }: Phase, now: Date): boolean =>
  status === 'dispatched' || (status === 'pending' && dueAt !== null && dueAt <= now)

/** Held members named with a phase; `hold list` has all. */
const HELD_MEMBERS_NAMED = 1

function whyWaiting(
  { holds, workers, waiters, now }: PhaseWaitFacts,
  { id }: Phase,
): readonly string[] {
  const ofPhase = waiters.filter(({ phaseId }) => phaseId === id)
  const ofWorkers = ofPhase.flatMap(({ workerId, isSent }) => {
    if (workerId === null) return []
    const hold = holds.workers.get(workerId)
    if (hold && !isSent) return [tellHold(hold)]
    const worker = workers.find((candidate) => candidate.workerId === workerId)
    if (!worker?.isKnown) return isSent ? [] : [unknownWorker(workerId)]
    return isSilent(worker, now) ? [silence(worker)] : []
  })
  const held = ofPhase.flatMap(({ memberId }) => (memberId && holds.members.get(memberId)) || [])
  const more = held.length - HELD_MEMBERS_NAMED
  const others = more > 0 ? [`${countText(more, 'other is', 'others are')} held too`] : []
  return [...new Set(ofWorkers), ...held.slice(0, HELD_MEMBERS_NAMED).map(tellHold), ...others]
}

const unknownWorker = (workerId: string): string =>
  `worker ${workerId} was never seen and is not configured`
