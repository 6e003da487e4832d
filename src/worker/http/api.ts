// The contract of calls to other services: REST, a vault and webhooks. Sign-in, throttling, retries and paging are the
// implementation's concern. A call fails only with an `ApiError`, or with its signal's reason once that aborted.
import type { Json, JsonObject } from '../../base/text/json.ts'

export interface RestRequest {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'
  /** Without the version, such as `/users/42`. Build it with `pathOf`, which escapes inserted values. */
  readonly path: string
  readonly version?: 'v1.0' | 'beta'
  readonly query?: Readonly<Record<string, string>>
  readonly body?: JsonObject
  readonly headers?: Readonly<Record<string, string>>
  readonly signal: AbortSignal
  /**
   * Safe to send again when the outcome is unknown. Default: everything but POST. If the response to a call that is not
   * idempotent is lost, it fails with `isOutcomeUnknown`: check before repeating it.
   */
  readonly isIdempotent?: boolean
  /** A POST that changes nothing: not counted as a write, and safe to repeat. */
  readonly isRead?: boolean
  /** Cost in Microsoft's resource units; default 1. */
  readonly units?: number
}

export interface RestResponse {
  readonly status: number
  readonly headers: Headers
  /** Null when the response has no body. */
  readonly body: Json
}

export interface RestApi {
  call(request: RestRequest): Promise<RestResponse>
  /** The items of a list, across all pages. */
  list(request: Omit<RestRequest, 'method' | 'body'>): AsyncIterable<JsonObject>
  /** The URL of an object, for the `@odata.id` of a reference. */
  urlOf(path: string): string
}

export interface Secrets {
  /** Stores the value and returns the reference that a result may contain. Replaces an earlier value of that name. */
  put(name: string, value: string, signal?: AbortSignal): Promise<string>
  get(reference: string, signal?: AbortSignal): Promise<string>
  /** The reference stored under the name, or null: a job that is run again finds what it made. */
  find(name: string, signal?: AbortSignal): Promise<string | null>
}

export interface Webhooks {
  /** Posts to hosts listed in the worker's settings; any other host is an ApiError with code `HostNotAllowed`. */
  post(url: string, body: Json, options: { readonly signal: AbortSignal }): Promise<RestResponse>
}

/** A detail the service gave about a refusal. */
export interface ErrorDetail {
  readonly code: string
  readonly target: string | null
  readonly message: string
}

export interface ApiFailure {
  /** Null when no response came. */
  readonly status: number | null
  /**
   * The service's own code, such as `Request_ResourceNotFound`; for a cmdlet its exception, such as
   * `ManagementObjectNotFoundException`.
   */
  readonly code: string
  readonly message: string
  readonly details?: readonly ErrorDetail[]
  readonly requestId?: string | null
  readonly isThrottled?: boolean
  readonly attempts?: number
  readonly retryAfterSec?: number | null
  readonly isOutcomeUnknown?: boolean
  readonly isMissing?: boolean
}

/** Ends the message of an error after which nobody knows the outcome; what the error means depends on it. */
export const UNKNOWN_OUTCOME =
  'It may have been done all the same: check in the tenant before repeating it.'

export class ApiError extends Error {
  override readonly name = 'ApiError'
  readonly status: number | null
  readonly code: string
  readonly details: readonly ErrorDetail[]
  readonly requestId: string | null
  readonly isThrottled: boolean
  /** How often the request was sent. */
  readonly attempts: number
  readonly retryAfterSec: number | null
  /** It may have been done: no response came to a sent request that is not idempotent. */
  readonly isOutcomeUnknown: boolean
  /** The service says that there is no such object. */
  readonly isMissing: boolean

  constructor(failure: ApiFailure, options?: ErrorOptions) {
    super(failure.message, options)
    this.status = failure.status
    this.code = failure.code
    this.details = failure.details ?? []
    this.requestId = failure.requestId ?? null
    this.isThrottled = failure.isThrottled ?? false
    this.attempts = failure.attempts ?? 1
    this.retryAfterSec = failure.retryAfterSec ?? null
    this.isOutcomeUnknown = failure.isOutcomeUnknown ?? false
    this.isMissing = failure.isMissing ?? false
  }
}

/** A path whose inserted values are escaped: pathOf`/users/${userId}/manager/$ref`. */
export function pathOf(texts: TemplateStringsArray, ...values: readonly string[]): string {
  return String.raw({ raw: texts }, ...values.map(segmentOf))
}

function segmentOf(value: string): string {
  // Escaping leaves "." and ".." alone, and URLs resolve them; an empty segment would address the parent.
  if (/^\.{0,2}$/.test(value)) throw new TypeError(`"${value}" cannot be a path segment`)
  return encodeURIComponent(value)
}

export function queryText(query: Readonly<Record<string, string>>): string {
  const parts = Object.entries(query).map(
    ([name, value]) =>
      `${encodeURIComponent(name).replaceAll('%24', '$')}=${encodeURIComponent(value)}`,
  )
  return parts.length > 0 ? `?${parts.join('&')}` : ''
}

const REFUSALS: readonly number[] = [400, 401, 403, 404, 409, 422]

/** Sent once and refused. An earlier sending whose response was lost may have been done. */
export function isPlainRefusal(error: unknown): boolean {
  if (!(error instanceof ApiError) || error.isOutcomeUnknown || error.attempts > 1) return false
  return (error.status !== null && REFUSALS.includes(error.status)) || error.isMissing
}
