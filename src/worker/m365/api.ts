// What a function may use: the tenant's two APIs, a vault for what it makes, and webhooks. Functions see these interfaces and
// nothing behind them: sign-in, throttling, waiting, repeating and paging are done by whoever implements them, once, for all.
// An `ApiError` is the only way a call fails, unless its signal aborted: then it throws the signal's reason.
import type { Json } from '../../domain/json.ts'

export type JsonObject = Readonly<Record<string, Json>>

export interface Tenant {
  /** The tenant's id, a GUID. */
  readonly id: string
  /** Its initial domain, such as `contoso.onmicrosoft.com`. */
  readonly organization: string
  readonly graph: RestApi
  readonly exchange: Exchange
  readonly secrets: Secrets
  readonly webhooks: Webhooks
}

export interface RestRequest {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'
  /** Below the version, such as `/users/42`. Make it with `pathOf`, which escapes what is put in. */
  readonly path: string
  readonly version?: 'v1.0' | 'beta'
  readonly query?: Readonly<Record<string, string>>
  readonly body?: JsonObject
  readonly headers?: Readonly<Record<string, string>>
  readonly signal: AbortSignal
  /**
   * Safe to send again when nobody knows whether the first one arrived. Unless said otherwise everything but POST is. A call
   * that is not, and whose answer was lost, fails with `isOutcomeUnknown`: look before you repeat it.
   */
  readonly isIdempotent?: boolean
  /** Changes nothing, though it is a POST: not counted as a write, and safe to repeat. */
  readonly isRead?: boolean
  /** What it costs of the quota, in Microsoft's resource units; 1 unless said otherwise. */
  readonly units?: number
}

export interface RestAnswer {
  readonly status: number
  readonly headers: Headers
  /** Null when the answer has no body. */
  readonly body: Json
}

export interface RestApi {
  call(request: RestRequest): Promise<RestAnswer>
  /** The items of a list, page after page by `@odata.nextLink`. */
  list(request: Omit<RestRequest, 'method' | 'body'>): AsyncIterable<JsonObject>
  /** The address of an object, for the `@odata.id` of a reference. */
  urlOf(path: string): string
}

export interface ExchangeOptions {
  readonly signal: AbortSignal
  /** Only these properties of what comes back. */
  readonly select?: readonly string[]
  /** As in RestRequest. Unless said otherwise Get-, Test- and Set- cmdlets are, others are not. */
  readonly isIdempotent?: boolean
}

export interface Exchange {
  /** Runs a cmdlet; all pages of what it gives, without the keys that hold an "@". */
  run(
    cmdlet: string,
    parameters: JsonObject,
    options: ExchangeOptions,
  ): Promise<readonly JsonObject[]>
}

export interface Secrets {
  /** Keeps the value and gives the reference under which a result may name it. The same name again replaces the value. */
  put(name: string, value: string, signal?: AbortSignal): Promise<string>
  get(reference: string, signal?: AbortSignal): Promise<string>
  /** The reference of what is kept under the name, or null: so that a job that is run again finds what it made. */
  find(name: string, signal?: AbortSignal): Promise<string | null>
}

export interface Webhooks {
  /** Only to the hosts that the worker's settings list; anything else is an ApiError with code `HostNotAllowed`. */
  post(url: string, body: Json, options: { readonly signal: AbortSignal }): Promise<RestAnswer>
}

/** Why a request was refused, as the service details it. */
export interface ErrorDetail {
  readonly code: string
  readonly target: string | null
  readonly message: string
}

export interface ApiFailure {
  /** Null when no answer came. */
  readonly status: number | null
  /** The service's own word, such as `Request_ResourceNotFound`; for a cmdlet its exception, such as `ManagementObjectNotFoundException`. */
  readonly code: string
  readonly message: string
  readonly details?: readonly ErrorDetail[]
  readonly requestId?: string | null
  readonly isThrottled?: boolean
  readonly attempts?: number
  readonly retryAfterSec?: number | null
  readonly isOutcomeUnknown?: boolean
}

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
  /** It may have been done: the connection was lost, or no answer came in time, after a request that is not idempotent was sent. */
  readonly isOutcomeUnknown: boolean

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
  }
}

/** A path whose inserted values cannot leave their place: pathOf`/users/${userId}/manager/$ref`. */
export function pathOf(texts: TemplateStringsArray, ...values: readonly string[]): string {
  return String.raw({ raw: texts }, ...values.map(segmentOf))
}

function segmentOf(value: string): string {
  // "." and ".." are the two segments that escaping leaves alone and URLs take for directions; nothing would become the parent.
  if (/^\.{0,2}$/.test(value)) throw new TypeError(`"${value}" cannot be a part of a path`)
  return encodeURIComponent(value)
}

/** A text inside an OData expression, quoted: `userPrincipalName eq ${odataText(upn)}`. */
export const odataText = (text: string): string => `'${text.replaceAll("'", "''")}'`

/** PowerShell's `@{Add=…; Remove=…}` for a property of many values. */
export const changeOfList = (change: {
  readonly add?: readonly string[]
  readonly remove?: readonly string[]
}): JsonObject => ({
  '@odata.type': '#Exchange.GenericHashTable',
  ...(change.add ? { Add: [...change.add] } : {}),
  ...(change.remove ? { Remove: [...change.remove] } : {}),
})
