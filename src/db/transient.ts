// Failures that are the moment's and not the message's: the connection went, the server restarts, two transactions collided.
// Doing the same thing again later is right; anything else would fail again the same way.

const TRANSIENT_CLASSES = ['08', '53', '57']
const TRANSIENT_CODES = new Set(['40001', '40P01', '55P03', '25P03', 'XX000'])
const LOST_SYSTEM = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
])
/** What `pg` says in words only. */
const LOST_TEXT =
  /Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error|not queryable|Query read timeout/

/** The connection itself is of no more use: nothing can be asked of it, not even to roll back. */
export function isConnectionLost(error: unknown): boolean {
  const { code = '', message = '' } = error as { code?: string; message?: string }
  return LOST_SYSTEM.has(code) || LOST_TEXT.test(message)
}

export function isTransient(error: unknown): boolean {
  const { code = '' } = error as { code?: string }
  return (
    isConnectionLost(error) ||
    TRANSIENT_CODES.has(code) ||
    (/^[0-9A-Z]{5}$/.test(code) && TRANSIENT_CLASSES.includes(code.slice(0, 2)))
  )
}
