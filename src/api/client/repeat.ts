// When a request is sent again: a read, or a change whose key makes that harmless, while the server is busy or the connection breaks; and any
// request once with a fresh token, because a 401 has no effect. Nothing else is ever sent twice.

const ATTEMPTS = 3
const BUSY = new Set([429, 502, 503, 504])
const PAUSE_MS = 500
const PAUSE_MAX_MS = 30_000
export const READ_TIMEOUT_MS = 60_000
export const CHANGE_TIMEOUT_MS = 15 * 60_000

export interface Repetition<A> {
  readonly isRepeatable: boolean
  readonly signal?: AbortSignal | undefined
  /** Sends the request; rejects if there is no answer. */
  once(token: string | null): Promise<A>
  responseOf(answered: A): Pick<Response, 'status' | 'headers'>
  /** `isRefused`: the last one was refused, get another. */
  token(isRefused: boolean): Promise<string | null>
  wait(ms: number, signal?: AbortSignal): Promise<void>
  /** Statuses that are answers, although they look busy. */
  readonly accepts?: readonly number[] | undefined
  /** Failures that another attempt does not change. */
  isFinal?(error: unknown): boolean
}

/** The answer of the last attempt, whatever it is. */
export async function repeated<A>(given: Repetition<A>, firstToken: string | null): Promise<A> {
  const { isRepeatable, signal, accepts = [], isFinal = () => false } = given
  let token = firstToken
  let isRenewed = false
  for (let attempt = 1; ; attempt += 1) {
    const isLast = attempt >= ATTEMPTS || !isRepeatable
    const found = await given.once(token).catch((error: unknown) => {
      if (isLast || signal?.aborted || isFinal(error)) throw error
      return null
    })
    const response = found === null ? null : given.responseOf(found)
    if (response?.status === 401 && !isRenewed) {
      isRenewed = true
      const renewed = await given.token(true)
      const isNew = renewed !== null && renewed !== token
      token = renewed
      if (isNew) continue
    }
    if (found !== null && response !== null) {
      const isBusy = BUSY.has(response.status) && !accepts.includes(response.status)
      if (isLast || !isBusy) return found
    }
    await given.wait(pauseMs(response, attempt), signal)
  }
}

function pauseMs(response: Pick<Response, 'headers'> | null, attempt: number): number {
  const retryAfterSec = Number(response?.headers.get('retry-after'))
  return retryAfterSec > 0
    ? Math.min(retryAfterSec * 1_000, PAUSE_MAX_MS)
    : PAUSE_MS * 2 ** (attempt - 1)
}
