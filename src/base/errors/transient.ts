// Transient errors: the connection is lost, the server restarts, its disk is full, two transactions collide, schema or rights are being
// changed. A retry may succeed; any other error would repeat.

const TRANSIENT_CLASSES = ['08', '53', '57']
/** Every statement is tested against the schema of its program, so these are the deployment's fault. */
const UNFIT_SCHEMA = 'the database lacks a table, column or function of this version'
const UNFIT: Readonly<Record<string, string>> = {
  '42501': 'the database role lacks a right',
  '42P01': UNFIT_SCHEMA,
  '42703': UNFIT_SCHEMA,
  '42883': UNFIT_SCHEMA,
}
const TRANSIENT_CODES = new Set([
  '40001',
  '40P01',
  '55P03',
  '25P03',
  '25006',
  '58030',
  'XX000',
  ...Object.keys(UNFIT),
])
/** Our own codes, the second of `newest_event` in the database: nothing is decided or run until a new epoch has begun. */
const RESTORED = new Set(['DATABASE_RESTORED', 'MT001'])
const RESTORED_TEXT =
  'the database was restored or has moved, and not everything is on hold yet; if it stays so, run "matoolkit db restored"'
/** Thrown for a connection that cannot sign in yet. */
const NO_SIGN_IN: Readonly<Record<string, string>> = {
  DATABASE_TOKEN_MISSING: 'the identity of this process gets no token for the database',
  DATABASE_ROLE_MISSING:
    'the database refuses the identity of this process; "matoolkit db grant --migrate" (on Azure the job migrate) makes its role',
}
const COLLISIONS = new Set(['40001', '40P01'])
const NO_ANSWER = 'the database does not answer'
/** By SQLSTATE or its class. A statement that took too long (57014) is not among them: the next try takes as long. */
const OUTAGES: Readonly<Record<string, string>> = {
  '08': NO_ANSWER,
  '25P03': NO_ANSWER,
  '25006': 'the database is read-only',
  '53': 'the database has too little of something it needs',
  '53100': 'the disk of the database is full',
  '53200': 'the database is out of memory',
  '53300': 'the database has no free connection',
  '57P01': 'the database shuts down',
  '57P02': 'the database restarts after a crash',
  '57P03': 'the database is starting',
  '57P05': NO_ANSWER,
  '58030': 'the database cannot read or write its disk',
  ...UNFIT,
}
/** Errors of ours: the embedded database has stopped, and the process is about to end. */
const STOPPED: Readonly<Record<string, string>> = {
  DATABASE_DISK_FULL: 'the disk of the embedded database is full',
  DATABASE_STOPPED: 'the embedded database has stopped',
}
/** Errors of ours about Azure Service Bus, which say nothing against the message either. */
const NO_BUS: Readonly<Record<string, string>> = {
  BUS_UNREACHABLE: 'Service Bus does not answer',
  BUS_REFUSED: 'Service Bus refuses this process',
  BUS_ENTITY_MISSING: 'the Service Bus namespace lacks a topic or subscription',
}
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
    Object.hasOwn(STOPPED, code) ||
    Object.hasOwn(NO_SIGN_IN, code) ||
    Object.hasOwn(NO_BUS, code) ||
    TRANSIENT_CODES.has(code) ||
    RESTORED.has(code) ||
    (/^[0-9A-Z]{5}$/.test(code) && TRANSIENT_CLASSES.includes(code.slice(0, 2)))
  )
}

/**
 * Why the database or Service Bus refuses for the moment, whatever it is asked; null for any other error. Says nothing against the message or request
 * that met it.
 */
export function outageOf(error: unknown): string | null {
  const { code = '' } = error as { code?: string }
  if (isConnectionLost(error)) return NO_ANSWER
  if (RESTORED.has(code)) return RESTORED_TEXT
  if (Object.hasOwn(STOPPED, code)) return STOPPED[code]!
  if (Object.hasOwn(NO_SIGN_IN, code)) return NO_SIGN_IN[code]!
  if (Object.hasOwn(NO_BUS, code)) return NO_BUS[code]!
  if (!/^[0-9A-Z]{5}$/.test(code)) return null
  return OUTAGES[code] ?? OUTAGES[code.slice(0, 2)] ?? null
}

/** Somebody else has kept a lock for longer than the transaction was ready to wait. */
export const isLockTimeout = (error: unknown): boolean =>
  (error as { code?: string }).code === '55P03'

/** Two transactions met; one of them was undone and may try again at once. */
export const isCollision = (error: unknown): boolean =>
  COLLISIONS.has((error as { code?: string }).code ?? '')

/** Something of the schema is not there; a right may still be granted. */
export const isIncomplete = (error: unknown): boolean =>
  UNFIT[(error as { code?: string } | null)?.code ?? ''] === UNFIT_SCHEMA

/** The schema or the rights of the role are not those of this version. */
export const isUnfit = (error: unknown): boolean =>
  Object.hasOwn(UNFIT, (error as { code?: string } | null)?.code ?? '')
