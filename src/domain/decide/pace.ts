// How fast a worker is, and so its job limit: the jobs that it may have outstanding. Run times alone say what its slots could do; when
// the machine or a throttle lets it do less, jobs pile up in front of it, and a small batch waits behind all of them. In a trial 1,000
// jobs lay in front of 32 slots that did 137 a second. So the results a second are counted while it has all jobs that it may have.
import type { AttemptRecord } from './draft.ts'

/** Of a worker that never announced itself. */
const SLOTS_UNKNOWN = 16
/** Until its first result. */
const JOB_MS_UNKNOWN = 1_000
/** Until its results were counted: what is sent too early has to be done first. */
const JOB_MS_UNPROVEN_MIN = 75
const ON_WAY_MS_UNKNOWN = 100

/** What is known of a worker's pace. */
export interface PaceFacts {
  readonly slots: number | null
  /** Mean run time of its latest jobs. */
  readonly jobMs: number | null
  readonly pace: Pace | null
}

export interface Pace {
  /** Results a second when it had all jobs that it may have; null while nobody knows. */
  readonly perSec: number | null
  /** The shortest time that a job was out besides its run: on its way, and back. */
  readonly onWayMs: number | null
  /** The count under way, from one moment at which it had them all to the next. */
  readonly count: Count | null
}

interface Count {
  readonly sinceMs: number
  /** When it last had them all. */
  readonly fullMs: number
  readonly jobs: number
  readonly onWayMs: number | null
}

/** What an orchestrator has seen of a worker since it last looked. */
export interface SeenOfWorker {
  readonly jobs: number
  readonly onWayMs: number | null
  /** The worker had all jobs that it may have. */
  readonly isFull: boolean
  /** Calls for several jobs: how many a second depends on how many come together. */
  readonly isJoint: boolean
}

/** Ways vary, and the shortest is known: a job may be out for half as long again. */
const OUT_SHARE = 1.5

/**
 * The jobs that a worker finishes while one is out and at least `aheadMs` more: so no slot waits for its next job, and the queue is so
 * short that a hold takes effect at once and a small batch next to a giant does not wait. Never fewer than it has slots: with ways of 80
 * to 800 ms fewer jobs out made fewer results, which made the limit lower still, and 16 slots that could do 32 jobs a second did 9.
 */
export function jobLimitOf(
  { slots, jobMs, pace }: PaceFacts,
  limit: number,
  aheadMs: number,
): number {
  const running = slots ?? SLOTS_UNKNOWN
  const isKnown = typeof pace?.perSec === 'number'
  const runMs = Math.max(jobMs ?? JOB_MS_UNKNOWN, isKnown ? 1 : JOB_MS_UNPROVEN_MIN)
  const slotsPerSec = (running * 1_000) / runMs
  const perSec = Math.min(pace?.perSec ?? slotsPerSec, slotsPerSec)
  const outMs = runMs + (pace?.onWayMs ?? ON_WAY_MS_UNKNOWN)
  const coveredMs = Math.max(outMs + aheadMs, outMs * OUT_SHARE)
  return Math.min(Math.max(Math.ceil((perSec * coveredMs) / 1_000), running), limit)
}

/** It has all jobs that it may have, and no great number from before the limit fell: those say nothing of the way. */
export const isJustFull = (jobs: number, limit: number): boolean =>
  jobs >= limit && jobs <= limit * 1.25 + 1

/** Fewer say little. */
const COUNTED_MIN = 64
const COUNT_MS_MIN = 250
/** Orchestrators look each second; after a longer gap it may have had fewer meanwhile. */
const FULL_GAP_MS = 2_500
/** One slow count says less than the one before. */
const KEPT = 0.9

/** `limit`: how many jobs it might have until now. */
export function paceAfter(
  { slots, pace }: PaceFacts,
  { jobs, onWayMs, isFull, isJoint }: SeenOfWorker,
  limit: number,
  nowMs: number,
): Pace {
  const known = pace ?? { perSec: null, onWayMs: null, count: null }
  const least = leastOf(known.onWayMs, onWayMs)
  if (isJoint) return { perSec: TOGETHER_MAX, onWayMs: least, count: null }
  const begun = isFull ? { sinceMs: nowMs, fullMs: nowMs, jobs: 0, onWayMs: null } : null
  const { count, perSec } = known
  if (count === null || nowMs - count.fullMs > FULL_GAP_MS)
    return { perSec, onWayMs: least, count: begun }
  const counted = {
    sinceMs: count.sinceMs,
    fullMs: isFull ? nowMs : count.fullMs,
    jobs: count.jobs + jobs,
    onWayMs: leastOf(count.onWayMs, onWayMs),
  }
  const tookMs = nowMs - count.sinceMs
  if (!isFull || counted.jobs < COUNTED_MIN || tookMs < COUNT_MS_MIN)
    return { perSec, onWayMs: least, count: counted }
  // With no more jobs than slots none waited for a slot: the way itself has become longer.
  const isWay = limit <= (slots ?? SLOTS_UNKNOWN)
  return {
    perSec: Math.max((counted.jobs * 1_000) / tookMs, (perSec ?? 0) * KEPT),
    onWayMs: isWay ? (counted.onWayMs ?? least) : least,
    count: begun,
  }
}

export const leastOf = (one: number | null, other: number | null): number | null =>
  one === null ? other : other === null ? one : Math.min(one, other)

/** Weight of one job in the mean: about the last hundred count. */
const JOB_WEIGHT = 1 / 32

/** The mean after `jobs` more results with that mean run time. */
export function meanAfter(jobMs: number | null, jobs: number, meanMs: number): number {
  if (jobMs === null) return meanMs
  return meanMs + (jobMs - meanMs) * (1 - JOB_WEIGHT) ** jobs
}

/** How long a job ran, as its worker says or, of a worker that does not say, until its result came. Null when it had none. */
export function runTimeOf(
  { outcome, durationMs, sentAt }: AttemptRecord,
  now: Date,
): number | null {
  if (!WITH_RESULT.has(outcome)) return null
  return durationMs ?? +now - +sentAt
}

/** More than any job limit. */
const TOGETHER_MAX = 10_000

/**
 * How many results this one stands for. A joint call proves that the worker can finish `togetherMax` jobs in that time, so it counts
 * as that many; otherwise the job limit would rise too slowly.
 */
export const jobsShownBy = ({ togetherMax = 1 }: AttemptRecord): number =>
  Math.min(togetherMax, TOGETHER_MAX)

const WITH_RESULT: ReadonlySet<AttemptRecord['outcome']> = new Set([
  'succeeded',
  'incomplete',
  'failed',
  'refused',
])

/** How long a job was out besides its run. Null when its worker does not say how long it ran. */
export function onWayMsOf(
  { outcome, durationMs, sentAt }: AttemptRecord,
  now: Date,
): number | null {
  if (!WITH_RESULT.has(outcome) || durationMs === null) return null
  return Math.max(+now - +sentAt - durationMs, 0)
}
