// Every error that a person or a program can get: a stable code, a sentence, an HTTP status and an exit code. A sentence quotes the
// bad value and says what to do next. The rows stand in the files next to this one, by noun; docs/reference/errors.md is generated from them.
import { API_ERRORS } from './api.ts'
import { BATCH_ERRORS } from './batch.ts'
import { BUS_ERRORS } from './bus.ts'
import { CLI_ERRORS } from './cli.ts'
import { DATABASE_ERRORS } from './database.ts'
import { EVIDENCE_ERRORS } from './evidence.ts'
import { NOTIFICATION_ERRORS } from './notification.ts'
import { PROCESS_ERRORS } from './process.ts'
import { REHEARSAL_ERRORS } from './rehearsal.ts'
import { RUNBOOK_ERRORS } from './runbook.ts'
import { SIGN_IN_ERRORS } from './sign-in.ts'
import { SOURCE_ERRORS } from './source.ts'
import { WORKER_ERRORS } from './worker.ts'

export { type ErrorRow, EXIT } from './exit-codes.ts'

export const ERRORS = {
  ...PROCESS_ERRORS,
  ...API_ERRORS,
  ...SIGN_IN_ERRORS,
  ...CLI_ERRORS,
  ...RUNBOOK_ERRORS,
  ...SOURCE_ERRORS,
  ...BATCH_ERRORS,
  ...NOTIFICATION_ERRORS,
  ...EVIDENCE_ERRORS,
  ...REHEARSAL_ERRORS,
  ...WORKER_ERRORS,
  ...BUS_ERRORS,
  ...DATABASE_ERRORS,
}

export type ErrorCode = keyof typeof ERRORS
export type ErrorDetails = Readonly<Record<string, string | number>>

/** An error with a code from the table. Any other thrown error is a bug and is shown as INTERNAL. */
export class MatoolkitError extends Error {
  override readonly name = 'MatoolkitError'
  readonly code: ErrorCode
  readonly details: ErrorDetails

  constructor(code: ErrorCode, details: ErrorDetails = {}, options?: ErrorOptions) {
    super(sentenceOf(code, details), options)
    this.code = code
    this.details = details
  }

  get httpStatus(): number {
    return ERRORS[this.code].http
  }

  get exitCode(): number {
    return ERRORS[this.code].exit
  }
}

/** `{name}` becomes the detail, `{count errors}` a number with its noun: 1 error, 2 errors. */
export function sentenceOf(code: ErrorCode, details: ErrorDetails): string {
  const { sentence } = ERRORS[code]
  return sentence.replace(/\{(\w+)(?: (\w+)s)?\}(\.?)/g, (whole, name: string, noun, stop) => {
    if (!Object.hasOwn(details, name)) return whole
    const value = String(details[name])
    if (noun) return `${value} ${noun}${value === '1' ? '' : 's'}${stop}`
    // A reason that is a full sentence has its own full stop.
    return value.endsWith('.') ? value : value + stop
  })
}

export const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error)
