// Exchange Online: cmdlets over the REST endpoint of Microsoft's own PowerShell module. The endpoint is not a public API, so it
// stays behind one small interface. Microsoft publishes no quota, only a cap on concurrent requests per tenant. The real
// reason of an error is inside `details`, as `id|.NET type|text`.

import { randomUUID } from 'node:crypto'
import type { Json, JsonObject } from '../../base/text/json.ts'
import { valueNamed } from '../../base/text/same-name.ts'
import { ApiError, queryText } from '../../worker/http/api.ts'
import {
  ApiClient,
  type ClientOptions,
  type RetryDecision,
  type ServiceRefusal,
} from '../../worker/http/client.ts'
import type { HttpResponse } from '../../worker/http/http.ts'
import { objectOf } from '../../worker/http/refusal.ts'
import { Throttle, type ThrottleOptions, type ThrottleState } from '../../worker/http/throttle.ts'
import { isMissingInExchange } from './not-found.ts'
import type { Exchange, ExchangeOptions } from './tenant.ts'

export type ExchangeOnlineOptions = Pick<
  ClientOptions,
  'clock' | 'token' | 'policy' | 'random' | 'timeout' | 'onAnswer' | 'send'
> &
  Pick<ThrottleOptions, 'start' | 'isAdaptive' | 'onGate'> & {
    /** `https://outlook.office365.com`. */
    readonly url: string
    readonly tenantId: string
    /** Concurrent cmdlets, at most. */
    readonly lanes: number
  }

/** The server's own limit is 15 minutes; Microsoft's module waits one more. */
const TIMEOUT_MS = 960_000
const PAGE_SIZE = 1_000
const PAGES_MAX = 1_000
/** Every tenant has this mailbox. A constant anchor routes calls to one server, which mostly reads its own writes. */
const ANCHOR = 'SystemMailbox{bb558c35-97f1-4cb9-8ff7-d53741dc928c}'

export class ExchangeOnline implements Exchange {
  readonly #url: string
  readonly #headers: Readonly<Record<string, string>>
  readonly #client: ApiClient
  readonly #throttle: Throttle

  constructor({ url, tenantId, lanes, start = lanes, ...rest }: ExchangeOnlineOptions) {
    const { isAdaptive = true, onGate, ...options } = rest
    const base = url.replace(/\/+$/, '')
    this.#url = `${base}/adminapi/beta/${encodeURIComponent(tenantId)}/InvokeCommand`
    this.#headers = {
      'x-anchormailbox': `APP:${ANCHOR}@${tenantId}`,
      'x-responseformat': 'json',
      'connection-id': randomUUID(),
      prefer: `odata.maxpagesize=${PAGE_SIZE}`,
    }
    this.#throttle = new Throttle({
      clock: options.clock,
      name: 'Exchange Online',
      start,
      max: lanes,
      isAdaptive,
      ...(onGate ? { onGate } : {}),
    })
    this.#client = new ApiClient({
      ...options,
      service: 'Exchange Online',
      throttle: this.#throttle,
      timeoutMs: TIMEOUT_MS,
      readRefusal,
      decideRetry,
    })
  }

  throttles(): ThrottleState[] {
    return [this.#throttle.state()]
  }

  async run(
    cmdlet: string,
    parameters: JsonObject,
    options: ExchangeOptions,
  ): Promise<readonly JsonObject[]> {
    const { signal, select } = options
    const found: JsonObject[] = []
    let url = this.#url + (select ? queryText({ $select: select.join(',') }) : '')
    for (let page = 1; ; page++) {
      const { body } = await this.#client.call({
        method: 'POST',
        url,
        body: { CmdletInput: { CmdletName: cmdlet, Parameters: { ...parameters } } },
        headers: { ...this.#headers, 'x-cmdletname': cmdlet },
        signal,
        isIdempotent: options.isIdempotent ?? /^(?:Get|Test|Set)-/i.test(cmdlet),
        pace: async () => undefined,
      })
      const response = objectOf(body)
      requireNoErrors(response)
      for (const item of itemsOf(response)) found.push(withoutAnnotations(objectOf(item)))
      const next = response['@odata.nextLink']
      if (typeof next !== 'string') return found
      if (page >= PAGES_MAX || new URL(next).origin !== new URL(this.#url).origin)
        throw nextPageRefused()
      url = next
    }
  }
}

/** Some cmdlets return their object itself, without `value` (observed: davidhend/tenant-migration-platform, 2026-07-19). */
function itemsOf(response: JsonObject): readonly Json[] {
  if (Array.isArray(response.value)) return response.value
  const isObject = Object.keys(response).some((key) => !key.startsWith('@') && key !== 'value')
  return isObject ? [response] : []
}

const nextPageRefused = (): ApiError =>
  new ApiError({
    status: null,
    code: 'NextPageRefused',
    message:
      'Exchange Online returned a next page that is not followed: it is on another host, or too many pages came before it.',
  })

/** Keys with an "@" only annotate the types of others. */
function withoutAnnotations(item: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(item).filter(([name]) => !name.includes('@')))
}

/** A failed cmdlet may still return 200. */
function requireNoErrors(response: JsonObject): void {
  const errors = response['@adminapi.errors']
  if (!Array.isArray(errors) || errors.length === 0) return
  const first = errors[0]
  const text = typeof first === 'string' ? first : textIn(objectOf(first), 'message')
  const { code, message } = partsOf(text)
  const isMissing = isMissingInExchange(200, { code, message })
  throw new ApiError({
    status: 200,
    code,
    message: `Exchange Online returned 200 ${code}: ${message}`,
    isMissing,
  })
}

/** The casing of keys varies. */
function textIn(object: JsonObject, key: string): string {
  const value = valueNamed(object, key)
  return typeof value === 'string' ? value : ''
}

/** `Ex6F9304|Microsoft.Exchange.….ManagementObjectNotFoundException|The operation couldn't be performed …` */
function partsOf(text: string): { readonly code: string; readonly message: string } {
  const [, type, ...rest] = text.split('|')
  if (!type || rest.length === 0) return { code: 'CmdletFailed', message: text }
  return { code: type.slice(type.lastIndexOf('.') + 1), message: rest.join('|') }
}

function readRefusal(response: HttpResponse, body: Json): ServiceRefusal {
  const told = reasonOf(response, body)
  return { ...told, details: [], isMissing: isMissingInExchange(response.status, told) }
}

function reasonOf(
  { status, headers, text }: HttpResponse,
  body: Json,
): Pick<ServiceRefusal, 'code' | 'message'> {
  const error = objectOf(valueNamed(objectOf(body), 'error'))
  const inner = objectOf(valueNamed(objectOf(valueNamed(error, 'innererror')), 'internalexception'))
  const details = valueNamed(error, 'details')
  const detail = Array.isArray(details) ? textIn(objectOf(details[0]), 'message') : ''
  const reason = detail || textIn(inner, 'message') || textIn(error, 'message')
  if (reason.includes('|')) return partsOf(reason)
  const named = headers.get('x-exceptiontype')?.split('.').at(-1)
  const code = named || textIn(error, 'code') || 'Unexplained'
  // The body of a 403 is often garbled. Others are not cut here: the job hides secrets first.
  const fallback = status === 403 ? FORBIDDEN : text
  return { code, message: reason || fallback || 'no reason given.' }
}

const FORBIDDEN = 'The cmdlet does not exist, or no Exchange role of the app allows it.'

/** Old servers send both the exception name and the plain sentence with status 500. */
const BUSY = /Server ?(?:is )?(?:too )?busy|MicroDelay|Backoff/i
/** Refused before it began: the cmdlet did not run. */
const NOT_LET_IN = /too many concurrent|maximum number of concurrent requests/i
const WRITE_FAILED = 'UnableToWriteToAadException'

function decideRetry(
  status: number,
  { code, message, isMissing }: ServiceRefusal,
): RetryDecision | null {
  if (status !== 404 && NOT_LET_IN.test(message)) return 'throttled'
  if (status !== 404 && (BUSY.test(code) || BUSY.test(message))) return 'busy'
  if (code === WRITE_FAILED) return 'unsure'
  // A cmdlet exception is final whatever the status: a retry would fail the same way.
  if (status === 500 && (code.endsWith('Exception') || isMissing)) return 'final'
  return null
}
