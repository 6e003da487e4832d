// When a request is sent again: a read, or a change whose key makes that harmless, while the server is busy or the connection breaks; and any
// request once with a fresh token, because a 401 has no effect. Nothing else is ever sent twice, and nobody waits for an address where
// nothing listens.

const ATTEMPTS = 3
const BUSY = new Set([429, 502, 503, 504])
const PAUSE_MS = 500
const PAUSE_MAX_MS = 30_000

/** An answer, read or not. */
export interface Reply {
  readonly response: Response
  /** Null when the body is left to the caller. */
  readonly text: string | null
}

export interface Repetition {
  readonly isRepeatable: boolean
  readonly signal?: AbortSignal | undefined
  /** Sends the request; rejects if there is no answer. */
  once(token: string | null): Promise<Reply>
  /** `isRefused`: the last one was refused, get another. */
  token(isRefused: boolean): Promise<string | null>
  wait(ms: number, signal?: AbortSignal): Promise<void>
  /** Statuses that are answers, although they look busy. */
  readonly accepts?: readonly number[] | undefined
}

/** The answer of the last attempt, whatever it is. */
export async function repeated(given: Repetition, firstToken: string | null): Promise<Reply> {
  const { isRepeatable, signal, accepts = [] } = given
  let token = firstToken
  let isRenewed = false
  for (let attempt = 1; ; attempt += 1) {
    const isLast = attempt >= ATTEMPTS || !isRepeatable
    const found = await given.once(token).catch((error: unknown) => {
      if (isLast || signal?.aborted || isNobodyThere(error)) throw error
      return null
    })
    if (found?.response.status === 401 && !isRenewed) {
      isRenewed = true
      const renewed = await given.token(true)
      const isNew = renewed !== null && renewed !== token
      token = renewed
      if (isNew) continue
    }
    if (found !== null) {
      const { status } = found.response
      if (isLast || !BUSY.has(status) || accepts.includes(status)) return found
    }
    await given.wait(pauseMs(found, attempt), signal)
  }
}

/** Only Node says so; browsers keep the reason to themselves. */
function isNobodyThere(error: unknown): boolean {
  const { cause } = error as { readonly cause?: { readonly cause?: { readonly code?: unknown } } }
  return cause?.cause?.code === 'ECONNREFUSED'
}

function pauseMs(found: Reply | null, attempt: number): number {
  const retryAfterSec = Number(found?.response.headers.get('retry-after'))
  return retryAfterSec > 0
    ? Math.min(retryAfterSec * 1_000, PAUSE_MAX_MS)
    : PAUSE_MS * 2 ** (attempt - 1)
}
