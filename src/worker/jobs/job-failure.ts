// How a job fails: the error of its result, and whether anything may have been called by then.
import { messageOf } from '../../base/errors/errors.ts'
import { ChangedSince } from '../functions/undo-guard.ts'
import { ApiError } from '../http/api.ts'
import type { Job } from './job.ts'
import { LeftBehind, TimedOut } from './job-abort.ts'
import { StillThrottled } from './repeat-throttled.ts'
import type { JobResult } from './result-cache.ts'

export interface Failed {
  readonly failure: NonNullable<JobResult['error']>
}

const POSSIBLE = { effect: 'possible', isFinal: false } as const

export function fail(type: string, message: string): Failed {
  return { failure: { ...POSSIBLE, message, type, isThrottled: false, attempts: 1 } }
}

/** The function or its parameters are wrong: nothing was called, and a retry would end the same way. */
export function refuse(job: Job, type: string, message: string): Failed {
  const { failure } = withoutEffect(job, fail(type, message))
  return { failure: { ...failure, isFinal: true } }
}

/** Says that nothing was called, unless an earlier delivery of the same job may have called something. */
export const withoutEffect = ({ isRepeated }: Job, { failure }: Failed): Failed => ({
  failure: { ...failure, effect: isRepeated ? 'possible' : 'none' },
})

/** Why the job was aborted counts more than what the function made of it. */
export function failureBy(abortReason: unknown, error: unknown): Failed {
  if (abortReason instanceof LeftBehind) return fail(abortReason.name, abortReason.message)
  const timedOut = error instanceof TimedOut ? error : abortReason
  return timedOut instanceof TimedOut ? fail(timedOut.name, timedOut.message) : failureOf(error)
}

function failureOf(error: unknown): Failed {
  if (error instanceof StillThrottled) {
    const { message, name: type, attempts } = error
    return { failure: { ...POSSIBLE, message, type, isThrottled: true, attempts } }
  }
  if (!(error instanceof ApiError))
    return { failure: { ...fail(nameOf(error), messageOf(error)).failure, ...finality(error) } }
  const { message, code, isThrottled, attempts } = error
  return { failure: { ...POSSIBLE, message, type: code, isThrottled, attempts } }
}

const nameOf = (error: unknown): string => (error instanceof Error ? error.name : 'Error')
const finality = (error: unknown): { isFinal?: true } =>
  error instanceof ChangedSince ? { isFinal: true } : {}
