// A job's end settles its step: by a result, a passed deadline, a dead letter or a withdrawal.
// An unexpected result (late, duplicate or foreign) is recorded and changes nothing.

import { durationText } from '../../base/text/duration.ts'
import { isObject, type Json, type JsonObject } from '../../base/text/json.ts'
import { sameName } from '../../base/text/same-name.ts'
import { epochOf, GIVEN_BACK, parseJobId } from '../messages/messages.ts'
import { readEffect } from '../state/effects.ts'
import type { Step } from '../state/facts.ts'
import { beforeRestore, detailsOfLost } from '../state/restores.ts'
import { onCompensationEnd } from './compensation.ts'
import { noteSentMessage } from './corrections.ts'
import { runbookStepOf } from './definitions.ts'
import type { AttemptRecord, Draft } from './draft.ts'
import { failStep } from './fail.ts'
import { heldSince } from './held.ts'
import { queueNextAfter } from './next.ts'
import { isUnchanged, saidIn } from './poll-answer.ts'

const RETRY_JITTER = 0.1
/** Unlimited doubling reaches a year after 19 retries of a minute. */
const BACKOFF_MAX_SEC = 86_400
/** An error is stored in the step, its attempt and its event: a page of HTML helps nobody there. */
const ERROR_CHARS_MAX = 4_000
/** The column is a 32-bit number: 24 days. */
const DURATION_MS_MAX = 2 ** 31 - 1

/** The parts of a result that decisions use. `result` may be any JSON, or missing. */
export interface WorkerResult {
  readonly jobId: string
  readonly status: 'Success' | 'Failure'
  readonly workerId?: string | null | undefined
  readonly result?: Json | undefined
  readonly error?:
    | {
        readonly message?: string | null | undefined
        readonly type?: string | null | undefined
        /** `none`: the worker called nothing. A worker that does not say may have. */
        readonly effect?: 'none' | 'possible' | null | undefined
        readonly isFinal?: boolean | null | undefined
      }
    | null
    | undefined
  readonly durationMs?: number | null | undefined
  /** What it changed and how to take that back; missing when the worker does not know. */
  readonly effect?: JsonObject | null | undefined
  /** It was done together with others, in a call that takes so many jobs. */
  readonly togetherMax?: number | null | undefined
  /** For telemetry only. */
  readonly traceparent?: string | null | undefined
  readonly functionName?: string | null | undefined
  readonly timestamp?: string | null | undefined
}

/** This job is the step's unsettled one. Any other result is late, duplicate or foreign. */
const isCurrentJob = ({ wait }: Step, jobId: string): boolean =>
  wait?.kind === 'job' && wait.jobId === jobId

/**
 * Workers of the earlier system may name a job by an id of their own: their result counts while the step awaits one. From the second job
 * on it must be younger than the job, or a repeated result of an earlier one would be taken for its own.
 */
function isAnswer(step: Step, { jobId, timestamp }: WorkerResult): boolean {
  if (isCurrentJob(step, jobId)) return true
  const { wait, attempt, pollCount } = step
  if (wait?.kind !== 'job' || parseJobId(jobId) !== null) return false
  const isFirst = attempt === 0 && pollCount === 0
  const hasZone = /(?:Z|[+-]\d\d:\d\d)$/i.test(timestamp ?? '')
  return isFirst || (hasZone && new Date(timestamp!) >= wait.since)
}

/** It was sent before the database was restored: its end means nothing now, and costs no retry. */
const isEarlier = ({ batch }: Draft, jobId: string): boolean => epochOf(jobId) !== batch.epoch

export function onResult(draft: Draft, step: Step, result: WorkerResult): void {
  if (isForeign(step, result)) {
    const because = `foreign: worker ${result.workerId} answered a job sent to ${step.definition.workerId}`
    return draft.note('unexpected_result', because, { step, jobId: result.jobId })
  }
  if (isEarlier(draft, result.jobId)) return recordBeforeRestore(draft, step, result)
  if (!isAnswer(step, result)) return recordUnexpected(draft, step, result)
  if (result.error?.type === GIVEN_BACK) return onGivenBack(draft, step, result)
  const failure = failureOf(step, result)
  const payload = payloadOf(result.result)
  if (step.status === 'cancelled') return settleCancelled(draft, step, result, failure, payload)
  if (failure !== null) {
    const outcome = result.error?.effect === 'none' ? 'refused' : 'failed'
    settle(draft, step, outcome, { error: failure, pace: result })
    return (result.error?.isFinal ? giveUp : retryOrFail)(draft, step, failure)
  }
  if (isIncomplete(result.result)) return keepPolling(draft, step, result)
  settle(draft, step, 'succeeded', { result: payload, pace: result })
  succeed(draft, step, payload)
}

const isForeign = ({ definition }: Step, { workerId }: WorkerResult): boolean =>
  Boolean(workerId) && !sameName(workerId!, definition.workerId)

/** Null for a success; else why this result is a failure. */
function failureOf(step: Step, result: WorkerResult): string | null {
  if (result.status === 'Failure') {
    const { message, type } = result.error ?? {}
    const parts = [
      message || 'the worker reported a failure without a message',
      type && `(${type})`,
    ]
    return shortened(parts.filter(Boolean).join(' '))
  }
  if (isIncomplete(result.result) && step.definition.pollIntervalSec === null) {
    return notComplete(result.result, ', but the step has no poll')
  }
  return null
}

/** With the reason of a test that found nothing to look at: "the tenant has no user …". */
function notComplete(result: Json | undefined, but = ''): string {
  const reason = reasonIn(result)
  return shortened(
    `the worker reported "not complete"${but}${reason === null ? '' : `: ${reason}`}`,
  )
}

/** Why a test is not complete, without the full stop. */
function reasonIn(result: Json | undefined): string | null {
  const data = payloadOf(result)
  const reason = isObject(data) && Object.hasOwn(data, 'Reason') ? data.Reason : null
  return typeof reason === 'string' && reason !== '' ? reason.replace(/\.$/, '') : null
}

const shortened = (text: string): string =>
  text.length > ERROR_CHARS_MAX ? `${text.slice(0, ERROR_CHARS_MAX - 1).toWellFormed()}…` : text

const isIncomplete = (result: Json | undefined): boolean =>
  isObject(result) && Object.hasOwn(result, 'complete') && result.complete === false

/** The step's output: `data` of a result that has `complete`, else the whole result. */
function payloadOf(result: Json | undefined): Json | undefined {
  if (!isObject(result) || !Object.hasOwn(result, 'complete')) return result
  return Object.hasOwn(result, 'data') ? result.data : result
}

/** Outcomes that prove that no function ran. Only another outcome makes a later failure roll back. */
const WITHOUT_EFFECT: ReadonlySet<AttemptRecord['outcome']> = new Set([
  'withdrawn',
  'refused',
  'undelivered',
])

/** Records the job's end. The member is free for its next job. */
function settle(
  draft: Draft,
  step: Step,
  outcome: AttemptRecord['outcome'],
  {
    result,
    error,
    isFolded = false,
    pace: { durationMs, togetherMax, traceparent, effect } = {},
  }: {
    result?: Json | undefined
    error?: string
    isFolded?: boolean
    pace?: Pick<WorkerResult, 'durationMs' | 'togetherMax' | 'traceparent' | 'effect'>
  } = {},
): void {
  draft.attempts.push({
    stepId: step.id,
    jobId: step.jobId!,
    attempt: step.attempt,
    poll: step.pollCount,
    workerId: step.definition.workerId,
    sentAt: step.wait!.since,
    outcome,
    result,
    error: error ?? null,
    // Foreign workers send fractions, and huge numbers when their clock jumped.
    durationMs: durationMs == null ? null : Math.min(Math.round(durationMs), DURATION_MS_MAX),
    ...(effect ? { effect: readEffect(effect) } : {}),
    ...(togetherMax ? { togetherMax } : {}),
    ...(isFolded ? { isFolded } : {}),
    ...(traceparent ? { traceparent } : {}),
  })
  draft.setWait(step, null)
  if (!WITHOUT_EFFECT.has(outcome)) draft.changeStep(step, { mayHaveEffect: true })
}

function succeed(draft: Draft, step: Step, payload: Json | undefined): void {
  draft.transitionStep(step, 'succeed', 'the worker reported success', {
    completedAt: draft.now,
    result: payload,
    error: null,
  })
  takeOutputs(draft, step, payload)
  noteSentMessage(draft, step)
  onCompensationEnd(draft, step)
  queueNextAfter(draft, step)
}

/** Stores the fields that the step's output_params name. A missing field is noted and does no harm. */
export function takeOutputs(draft: Draft, step: Step, payload: Json | undefined): void {
  const outputParams = Object.entries(runbookStepOf(draft, step)?.outputParams ?? {})
  if (outputParams.length === 0) return
  const names = isObject(payload) ? Object.keys(payload) : []
  const found: Record<string, Json> = {}
  const missing: string[] = []
  for (const [variable, field] of outputParams) {
    const name = names.find((given) => sameName(given, field))
    if (name !== undefined) found[variable] = (payload as Record<string, Json>)[name]!
    else missing.push(field)
  }
  if (missing.length < outputParams.length) draft.addOutputs(step, found)
  if (missing.length > 0) {
    const shape = isObject(payload) ? 'the result lacks' : 'the result is not an object and lacks'
    draft.note('outputs_missing', `${shape} ${missing.join(', ')}`, { step })
  }
}

/**
 * The reason stays with the step: a person sees what it waits for, and what it waited for in vain. A poll that says what the one before it
 * said is only counted.
 */
function keepPolling(draft: Draft, step: Step, answer: WorkerResult): void {
  const { result } = answer
  const reason = reasonIn(result)
  const pollSaid = saidIn(payloadOf(result), reason)
  // A poll that changed something is on record, whatever it said.
  const isFolded = isUnchanged(step, pollSaid) && answer.effect?.changed !== true
  settle(draft, step, 'incomplete', { result, isFolded, pace: answer })
  const change = {
    pollStartedAt: step.pollStartedAt ?? draft.now,
    pollTimeoutAt: step.pollTimeoutAt ?? draft.later(step.definition.pollTimeoutSec!),
    lastPolledAt: draft.now,
    error: reason === null ? null : shortened(reason),
    pollSaid,
  }
  if (isFolded) draft.countPoll(step, 'incomplete', change)
  else {
    const pollChanges = step.pollChanges + 1
    draft.transitionStep(step, 'incomplete', notComplete(result), { ...change, pollChanges })
  }
  waitForPoll(draft, step)
}

/** Waits for the next poll, or times out. */
function waitForPoll(draft: Draft, step: Step): void {
  const endsAt = pollEndsAt(draft, step)
  if (endsAt <= draft.now) return timeOut(draft, step)
  const nextAt = draft.later(step.definition.pollIntervalSec!)
  draft.setWait(step, {
    kind: 'poll',
    since: draft.now,
    wakeAt: nextAt < endsAt ? nextAt : endsAt,
  })
}

/** Time on hold does not count. Resume adds all of it, so the time until now is added here. */
function pollEndsAt(draft: Draft, step: Step): Date {
  const { pollStartedAt, pollTimeoutAt } = step
  const heldAt = heldSince(draft, step)
  if (heldAt === null) return pollTimeoutAt!
  return new Date(+pollTimeoutAt! + (+draft.now - Math.max(+heldAt, +pollStartedAt!)))
}

/** Polling took too long. Not retried: a retry would only extend the configured time. */
export function timeOut(draft: Draft, step: Step): void {
  draft.setWait(step, null)
  const why = step.error === null ? '' : `: ${step.error}`
  const sec = step.definition.pollTimeoutSec
  failStep(draft, step, 'time_out', shortened(`not complete after ${sec} s of polling${why}`))
  queueNextAfter(draft, step)
}

/** After a failure, a lost job or a dead letter: retries while retries are left. */
function retryOrFail(draft: Draft, step: Step, why: string): void {
  const { maxRetries } = step.definition
  if (step.retryCount < maxRetries) {
    const delaySec = retryDelaySec(draft, step)
    const at = draft.later(delaySec)
    const retry = step.retryCount + 1
    draft.transitionStep(
      step,
      'retry',
      `retry ${retry} of ${maxRetries} in ${Math.round(delaySec)} s: ${why}`,
      {
        attempt: step.attempt + 1,
        retryCount: retry,
        retryAfter: at,
        error: why,
      },
    )
    draft.setWait(step, { kind: 'retry', since: draft.now, wakeAt: at })
    return
  }
  giveUp(draft, step, why)
}

function giveUp(draft: Draft, step: Step, why: string): void {
  failStep(draft, step, 'fail', why)
  queueNextAfter(draft, step)
}

function retryDelaySec(draft: Draft, { definition, retryCount }: Step): number {
  const { retryIntervalSec: intervalSec, retryMaxIntervalSec } = definition
  const grown = definition.retryBackoff === 'exponential' ? 2 ** Math.min(retryCount, 30) : 1
  const capped = Math.min(
    intervalSec * grown,
    retryMaxIntervalSec ?? Math.max(BACKOFF_MAX_SEC, intervalSec),
  )
  return capped * (1 + RETRY_JITTER * (2 * draft.random() - 1))
}

/** Nothing was seen of the job for its timeout and the grace. Ignored if it was settled meanwhile. */
export function onLost(draft: Draft, step: Step, jobId: string): void {
  if (isEarlier(draft, jobId)) return onRestored(draft, step, jobId)
  if (isCurrentJob(step, jobId)) loseJob(draft, step, 'lost', 'no result in time')
}

/** `refused`: the worker did not start it, and will not start one like it. */
export type HasRun = 'possibly' | 'never' | 'refused'

/** No worker could run the job, or none started it in time. Ignored if it was settled meanwhile. */
export function onDeadLetter(
  draft: Draft,
  step: Step,
  jobId: string,
  reason: string,
  hasRun: HasRun,
): void {
  if (!isCurrentJob(step, jobId)) return
  if (isEarlier(draft, jobId)) return onRestored(draft, step, jobId)
  if (hasRun === 'refused')
    return loseJob(draft, step, 'refused', `the worker refused the job: ${reason}`)
  if (hasRun === 'possibly') {
    return loseJob(draft, step, 'dead_lettered', `the job could not be delivered: ${reason}`)
  }
  // A job that expired in the queue once used up its retries, and its rollback was the only job that reached a worker.
  const waited = durationText(+draft.now - +step.wait!.since)
  const why = `worker ${step.definition.workerId} did not start the job within ${waited}; nothing ran and no retry is used`
  giveBack(draft, step, 'undelivered', why, why)
  if (step.status === 'pending') draft.changeStep(step, { error: why })
}

function loseJob(
  draft: Draft,
  step: Step,
  outcome: 'lost' | 'dead_lettered' | 'refused',
  why: string,
): void {
  const wasRepoll = step.pollCount > 0
  settle(draft, step, outcome, { error: why })
  if (step.status === 'cancelled') {
    draft.note('settled', `${why}; the step was already cancelled`, { step })
    return queueNextAfter(draft, step)
  }
  if (step.status === 'polling' && wasRepoll) {
    // A poll changes nothing, so repeating it costs no retry.
    draft.transitionStep(step, 'lost', `${why}; polling again at the next interval`)
    return waitForPoll(draft, step)
  }
  retryOrFail(draft, step, why)
}

/** The job was withdrawn before a worker took it. */
export function onWithdrawn(draft: Draft, step: Step, why: string): void {
  const what = step.status === 'polling' ? 'poll' : 'job'
  giveBack(draft, step, 'withdrawn', why, `the ${what} was withdrawn: ${why}`)
}

/** The worker did not start it. An earlier delivery may have run before its worker died. */
function onGivenBack(draft: Draft, step: Step, { error }: WorkerResult): void {
  const why = shortened(error?.message || 'the worker gave the job back')
  const outcome = error?.effect === 'none' ? 'withdrawn' : 'lost'
  giveBack(draft, step, outcome, why, `the job was given back: ${why}`)
}

/**
 * The database was restored from a backup after this job was sent. Nobody knows how it ended, and an answer to it would tell of a time
 * that is gone: it is sent again under a new id, without using a retry. Ignored if it was settled meanwhile.
 */
export function onRestored(draft: Draft, step: Step, jobId: string): void {
  if (!isCurrentJob(step, jobId)) return
  const why = `the database was restored from a backup after job ${jobId} was sent; it is sent again`
  giveBack(draft, step, 'lost', why, why)
}

/** The step never saw its end: no retry is used, and the next job gets a new id. */
function giveBack(
  draft: Draft,
  step: Step,
  outcome: 'withdrawn' | 'undelivered' | 'lost',
  error: string,
  because: string,
): void {
  settle(draft, step, outcome, { error })
  if (step.status === 'cancelled') {
    draft.note('settled', because, { step })
  } else if (step.status === 'polling') {
    draft.transitionStep(step, 'lost', because)
    waitForPoll(draft, step)
  } else {
    draft.transitionStep(step, 'withdraw', because, { attempt: step.attempt + 1 })
  }
  queueNextAfter(draft, step)
}

function settleCancelled(
  draft: Draft,
  step: Step,
  result: WorkerResult,
  failure: string | null,
  payload: Json | undefined,
): void {
  const isSuccess = failure === null && !isIncomplete(result.result)
  const outcome = isSuccess ? 'succeeded' : failure === null ? 'incomplete' : 'failed'
  settle(draft, step, outcome, {
    result: isSuccess ? payload : result.result,
    ...(failure !== null && { error: failure }),
    pace: result,
  })
  if (isSuccess) draft.changeStep(step, { lateResult: payload ?? null })
  const outcomeText = isSuccess ? 'success' : (failure ?? 'not complete')
  draft.note('late_result', `the worker reported after the cancel: ${outcomeText}`, { step })
  queueNextAfter(draft, step)
}

/** It tells what was true before the restore. Nobody can accept it: what it made may have been undone since. */
function recordBeforeRestore(draft: Draft, step: Step, result: WorkerResult): void {
  const details = detailsOfLost(result)
  draft.note('result_before_restore', beforeRestore(result.jobId), {
    step,
    jobId: result.jobId,
    details,
  })
}

const KEEPS_LATE_RESULT: ReadonlySet<Step['status']> = new Set([
  'failed',
  'poll_timeout',
  'cancelled',
])

/** Records a late, duplicate or foreign result. A late success of the step's last job is kept: an operator may accept it. */
function recordUnexpected(draft: Draft, step: Step, result: WorkerResult): void {
  const isLast = result.jobId === step.jobId
  const because = isLast
    ? `duplicate or late: job ${result.jobId} is already settled, the step is ${step.status}`
    : `late or foreign: job ${result.jobId} is not the step's job (${step.jobId ?? 'none sent'})`
  draft.note('unexpected_result', because, { step, jobId: result.jobId })
  const isUsable = result.status === 'Success' && !isIncomplete(result.result)
  if (isLast && isUsable && KEEPS_LATE_RESULT.has(step.status)) {
    draft.changeStep(step, { lateResult: payloadOf(result.result) ?? null })
  }
}
