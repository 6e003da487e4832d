// Transient errors: the connection is lost, the server restarts, two transactions collide. A retry may succeed; any other error
// would repeat.

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
/** Errors of `pg` that have no code. */
const LOST_TEXT =
  /Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error|not queryable|Query read timeout/

/** The connection is unusable, even for a rollback. */
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
