// One POST of a message: no redirects, a time limit, and an answer that says whether trying again helps. Nothing of an address but its host
// is in a reason: the address of a workflow is a secret.
import { fetchFault } from '../../base/run/fetch-fault.ts'
import { dropBody, readBeginning } from '../../base/run/read-answer.ts'
import { retryAfterMs } from '../../base/run/retry-after.ts'

const TIMEOUT_MS = 20_000
const ANSWER_BYTES_MAX = 200
/** Too slow, too early, too many: trying later helps. */
const PASSING = [408, 425, 429]

export type Delivery =
  | { readonly isDelivered: true }
  | {
      readonly isDelivered: false
      readonly reason: string
      /** Null without an answer. */
      readonly status: number | null
      /** Trying again cannot help. */
      readonly isFinal: boolean
      /** What the receiver asked for. */
      readonly retryAfterMs: number | null
      /** It was sent, and nobody said what became of it. */
      readonly mayHaveArrived: boolean
    }

const DELIVERED: Delivery = { isDelivered: true }

export const undelivered = (
  reason: string,
  isFinal: boolean,
  mayHaveArrived = false,
): Delivery => ({
  isDelivered: false,
  reason,
  status: null,
  isFinal,
  retryAfterMs: null,
  mayHaveArrived,
})

export interface Post {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly now: Date
  readonly signal: AbortSignal
}

export async function post({ url, headers, body, now, signal }: Post): Promise<Delivery> {
  const { host } = new URL(url)
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body,
      redirect: 'manual',
      signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
    })
    const { ok, status } = response
    if (ok) {
      await dropBody(response)
      return DELIVERED
    }
    const said = await readBeginning(response, ANSWER_BYTES_MAX)
    const answer = said.trim() === '' ? '' : `: ${said.trim().replaceAll(/\s+/g, ' ')}`
    return {
      isDelivered: false,
      reason: `${host} answered ${status}${answer}`,
      status,
      isFinal: status < 500 && !PASSING.includes(status),
      retryAfterMs: retryAfterMs(response.headers, now),
      mayHaveArrived: false,
    }
  } catch (error) {
    const reason = `${host} could not be reached: ${fetchFault(error)}`
    return undelivered(reason, false, !NOT_SENT.includes(codeOf(error)))
  }
}

/** There was no connection. After any other fault the request may have arrived. */
const NOT_SENT = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT']

const codeOf = (error: unknown): string => {
  const cause = error instanceof Error ? (error.cause as { code?: unknown } | undefined) : undefined
  return String(cause?.code)
}
