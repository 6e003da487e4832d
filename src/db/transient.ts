// Failures that are the moment's and not the message's: the connection went, the server restarts, two transactions collided.
// Doing the same thing again later is right; anything else would fail again the same way.

const TRANSIENT_CLASSES = ['08', '53', '57']
const TRANSIENT_CODES = new Set(['40001', '40P01', '55P03', '25P03', 'XX000'])
const TRANSIENT_SYSTEM = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
])
const TRANSIENT_TEXT =
  /Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error|not queryable/

export function isTransient(error: unknown): boolean {
  const { code = '', message = '' } = error as { code?: string; message?: string }
  return (
    TRANSIENT_CODES.has(code) ||
    TRANSIENT_SYSTEM.has(code) ||
    (/^[0-9A-Z]{5}$/.test(code) && TRANSIENT_CLASSES.includes(code.slice(0, 2))) ||
    TRANSIENT_TEXT.test(message)
  )
}
