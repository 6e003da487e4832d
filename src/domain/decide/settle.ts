// What a job's end means for its step: a result, silence past the deadline, a dead letter, or a withdrawal.
// A result whose job is not the one that is out is recorded and changes nothing.
import type { Step } from '../facts.ts'
import type { Json } from '../json.ts'
import { onCompensationEnd } from './compensation.ts'
import { runbookStepOf } from './definitions.ts'
import type { AttemptRecord, Draft } from './draft.ts'
import { failStep } from './fail.ts'
import { queueNextAfter } from './next.ts'

const RETRY_JITTER = 0.1
/** Doubling without a limit reaches a year after 19 retries of a minute; a step that still tries then is only forgotten. */
const BACKOFF_MAX_SEC = 86_400
/** An error goes into the step, its attempt and its event: a whole stack trace or page of HTML helps nobody there. */
const ERROR_CHARS_MAX = 4_000
/** Milliseconds are kept as a 32-bit number: 24 days. */
const DURATION_MS_MAX = 2 ** 31 - 1

/** What a decision needs of a result. Any body may come: `result` can be every kind of JSON, or missing. */
export interface WorkerResult {
  readonly jobId: string
  readonly status: 'Success' | 'Failure'
  readonly workerId?: string | null | undefined
  readonly result?: Json | undefined
  readonly error?:
    | { readonly message?: string | null | undefined; readonly type?: string | null | undefined }
    | null
    | undefined
  readonly durationMs?: number | null | undefined
}

/** True while this very job of the step is unsettled: any other word about the step comes too late, twice or from elsewhere. */
const isOut = ({ wait }: Step, jobId: string): boolean =>
  wait?.what === 'job' && wait.jobId === jobId

export function onResult(draft: Draft, step: Step, result: WorkerResult): void {
  if (!isOut(step, result.jobId)) return recordStray(draft, step, result)
  if (isForeign(step, result)) {
    const because = `foreign: worker ${result.workerId} answered a job that was sent to ${step.definition.workerId}`
    return draft.note('stray_result', because, { step, jobId: result.jobId })
  }
  const failure = failureOf(step, result)
  const payload = payloadOf(result.result)
  if (step.status === 'cancelled') return settleCancelled(draft, step, result, failure, payload)
  if (failure !== null) {
    settle(draft, step, 'failed', { error: failure, durationMs: result.durationMs })
    return retryOrFail(draft, step, failure)
  }
  if (isIncomplete(result.result)) {
    settle(draft, step, 'incomplete', { result: result.result, durationMs: result.durationMs })
    return keepPolling(draft, step)
  }
  settle(draft, step, 'succeeded', { result: payload, durationMs: result.durationMs })
  succeed(draft, step, payload)
}

const isForeign = ({ definition }: Step, { workerId }: WorkerResult): boolean =>
  Boolean(workerId) && workerId!.toLowerCase() !== definition.workerId.toLowerCase()

/** Null for a success; else why this result is a failure. */
function failureOf(step: Step, result: WorkerResult): string | null {
  if (result.status === 'Failure') {
    const { message, type } = result.error ?? {}
    const said = [message || 'the worker reported a failure without a message', type && `(${type})`]
    return shortened(said.filter(Boolean).join(' '))
  }
  if (isIncomplete(result.result) && step.definition.pollIntervalSec === null) {
    return 'reported as not complete, and the step has no poll'
  }
  return null
}

const shortened = (text: string): string =>
  text.length > ERROR_CHARS_MAX ? `${text.slice(0, ERROR_CHARS_MAX - 1).toWellFormed()}…` : text

const isObject = (value: Json | undefined): value is { [key: string]: Json } =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const isIncomplete = (result: Json | undefined): boolean =>
  isObject(result) && Object.hasOwn(result, 'complete') && result.complete === false

/** What the step puts out: `data` of a result that carries `complete`, else the result as it is. */
function payloadOf(result: Json | undefined): Json | undefined {
  if (!isObject(result) || !Object.hasOwn(result, 'complete')) return result
  return Object.hasOwn(result, 'data') ? result.data : result
}

/** Records that the job has ended. From here on the member is free for its next job. */
export function settle(
  draft: Draft,
  step: Step,
  outcome: AttemptRecord['outcome'],
  {
    result,
    error,
    durationMs,
  }: { result?: Json | undefined; error?: string; durationMs?: number | null | undefined } = {},
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
    // Foreign workers measure in fractions, and some with a clock that jumped.
    durationMs: durationMs == null ? null : Math.min(Math.round(durationMs), DURATION_MS_MAX),
  })
  draft.setWait(step, null)
  if (outcome !== 'withdrawn') draft.changeStep(step, { wasTaken: true })
}

function succeed(draft: Draft, step: Step, payload: Json | undefined): void {
  draft.transitionStep(step, 'succeed', 'the worker reported success', {
    completedAt: draft.now,
    result: payload,
    error: null,
  })
  takeOutputs(draft, step, payload)
  onCompensationEnd(draft, step)
  queueNextAfter(draft, step)
}

/** Keeps what the step's output_params name. A field that is missing is told and does no harm. */
export function takeOutputs(draft: Draft, step: Step, payload: Json | undefined): void {
  const wanted = Object.entries(runbookStepOf(draft, step)?.outputParams ?? {})
  if (wanted.length === 0) return
  const names = isObject(payload) ? Object.keys(payload) : []
  const found: Record<string, Json> = {}
  const missing: string[] = []
  for (const [variable, field] of wanted) {
    const name = names.find((one) => one === field || one.toLowerCase() === field.toLowerCase())
    if (name !== undefined) found[variable] = (payload as Record<string, Json>)[name]!
    else missing.push(field)
  }
  if (missing.length < wanted.length) draft.addOutputs(step, found)
  if (missing.length > 0) {
    const shape = isObject(payload) ? 'the result lacks' : 'the result is no object, so it lacks'
    draft.note('outputs_missing', `${shape} ${missing.join(', ')}`, { step })
  }
}

function keepPolling(draft: Draft, step: Step): void {
  const startedAt = step.pollStartedAt ?? draft.now
  const timeoutAt = step.pollTimeoutAt ?? draft.later(step.definition.pollTimeoutSec!)
  draft.transitionStep(step, 'incomplete', 'the worker reported that it is not complete yet', {
    pollStartedAt: startedAt,
    pollTimeoutAt: timeoutAt,
    lastPolledAt: draft.now,
  })
  pollOn(draft, step)
}

/** Polled again at the next interval, unless that was enough. */
function pollOn(draft: Draft, step: Step): void {
  const endsAt = pollEndsAt(draft, step)
  if (endsAt <= draft.now) return timeOut(draft, step)
  const nextAt = draft.later(step.definition.pollIntervalSec!)
  draft.setWait(step, {
    what: 'poll',
    since: draft.now,
    wakeAt: nextAt < endsAt ? nextAt : endsAt,
  })
}

/** Held time does not count: resume moves the time on by all of it, so what was held until now is added already. */
function pollEndsAt({ batch, now }: Draft, { pollStartedAt, pollTimeoutAt }: Step): Date {
  if (batch.heldAt === null) return pollTimeoutAt!
  const heldSince = Math.max(+batch.heldAt, +pollStartedAt!)
  return new Date(+pollTimeoutAt! + (+now - heldSince))
}

/** Polled for too long. Never retried: a retry would only make the configured time longer. */
export function timeOut(draft: Draft, step: Step): void {
  draft.setWait(step, null)
  failStep(
    draft,
    step,
    'time_out',
    `not complete after ${step.definition.pollTimeoutSec} s of polling`,
  )
  queueNextAfter(draft, step)
}

/** A failure, a lost job or a dead letter: try again while retries are left. */
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
    draft.setWait(step, { what: 'retry', since: draft.now, wakeAt: at })
    return
  }
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

/** The deadline and its grace are over and nothing came. */
export function onOverdue(draft: Draft, step: Step): void {
  loseJob(draft, step, 'lost', 'no result in time')
}

/** The job will never reach a worker, or no worker could take it. A job that was settled meanwhile is left alone. */
export function onDeadLetter(draft: Draft, step: Step, jobId: string, reason: string): void {
  if (isOut(step, jobId))
    loseJob(draft, step, 'dead_lettered', `the job could not be delivered: ${reason}`)
}

function loseJob(draft: Draft, step: Step, outcome: 'lost' | 'dead_lettered', why: string): void {
  const wasRepoll = step.pollCount > 0
  settle(draft, step, outcome, { error: why })
  if (step.status === 'cancelled') {
    draft.note('settled', `${why}; the step was cancelled before`, { step })
    return queueNextAfter(draft, step)
  }
  if (step.status === 'polling' && wasRepoll) {
    // A poll only asks: asking again costs no attempt.
    draft.transitionStep(step, 'lost', `${why}; polled again at the next interval`)
    return pollOn(draft, step)
  }
  retryOrFail(draft, step, why)
}

/** A job that no worker had taken was called back: it never ran, so no retry is used up; the next sending has a new id. */
export function onWithdrawn(draft: Draft, step: Step, why: string): void {
  settle(draft, step, 'withdrawn', { error: why })
  if (step.status === 'cancelled') {
    draft.note('settled', `the job was called back: ${why}`, { step })
  } else if (step.status === 'polling') {
    draft.transitionStep(step, 'lost', `the poll was called back: ${why}`)
    pollOn(draft, step)
  } else {
    draft.transitionStep(step, 'withdraw', `the job was called back: ${why}`, {
      attempt: step.attempt + 1,
    })
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
    durationMs: result.durationMs,
  })
  if (isSuccess) draft.changeStep(step, { lateResult: payload ?? null })
  const said = isSuccess ? 'succeeded' : (failure ?? 'was not complete')
  draft.note('late_result', `after the step was cancelled the worker reported: ${said}`, { step })
  queueNextAfter(draft, step)
}

const ACCEPTS_LATE: ReadonlySet<Step['status']> = new Set(['failed', 'poll_timeout', 'cancelled'])

/** Late, repeated or foreign: told, and kept for "accept as done" when it is a success of the step's last job. */
function recordStray(draft: Draft, step: Step, result: WorkerResult): void {
  const isLast = result.jobId === step.jobId
  const because = isLast
    ? `repeated or late: job ${result.jobId} is settled already (step is ${step.status})`
    : `late or foreign: job ${result.jobId} is not the step's job (${step.jobId ?? 'none sent'})`
  draft.note('stray_result', because, { step, jobId: result.jobId })
  const isUsable =
    result.status === 'Success' && !isIncomplete(result.result) && !isForeign(step, result)
  if (isLast && isUsable && ACCEPTS_LATE.has(step.status)) {
    draft.changeStep(step, { lateResult: payloadOf(result.result) ?? null })
  }
}
