// A refusal by the API as an error: its stable code, its sentence, and every fault that it lists. An API that does not answer is one with
// status 0 and the code UNREACHABLE.
import type { ApiCode } from './table.ts'

/** What is wrong with which part of a request, a runbook or a member file. */
export interface Fault {
  readonly path?: string | undefined
  readonly line?: number | undefined
  readonly row?: number | undefined
  readonly column?: string | number | undefined
  readonly code?: string | undefined
  readonly severity?: 'error' | 'warning' | undefined
  readonly message: string
}

/** The body of a refusal (`application/problem+json`). */
export interface Problem {
  readonly title: string
  readonly detail: string
  readonly code: string
  readonly requestId: string
  readonly faults?: readonly Fault[] | undefined
  readonly faultCount?: number | undefined
  /** The values in the sentence. */
  readonly details?: Readonly<Record<string, unknown>> | undefined
}

/** Codes of docs/reference/errors.md, two of the client's own, and those that a newer server may have. */
export type ApiErrorCode = ApiCode | 'UNREACHABLE' | 'UNKNOWN' | (string & {})

export class AdminApiError extends Error {
  override readonly name = 'AdminApiError'
  /** Of HTTP; 0 if there was no answer. */
  readonly status: number
  readonly code: ApiErrorCode
  /** To be found in the server's log. */
  readonly requestId: string | null
  readonly faults: readonly Fault[]
  /** All of them; `faults` has the first. */
  readonly faultCount: number
  /** The values in the sentence. */
  readonly details: Readonly<Record<string, unknown>>

  constructor(status: number, problem: Partial<Problem>, options?: { readonly cause?: unknown }) {
    super(problem.detail ?? problem.title ?? `The API answers with status ${status}.`, options)
    this.status = status
    this.code = problem.code ?? 'UNKNOWN'
    this.requestId = problem.requestId ?? null
    this.faults = problem.faults ?? []
    this.faultCount = problem.faultCount ?? this.faults.length
    this.details = problem.details ?? {}
  }
}

/** Of a refusal; empty if the answer is none of matoolkit's. */
export function problemIn(text: string | null): Partial<Problem> {
  try {
    const found: unknown = JSON.parse(text ?? '')
    return typeof found === 'object' && found !== null ? found : {}
  } catch {
    return {}
  }
}
