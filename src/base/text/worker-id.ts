// What a worker may be called, in runbooks, settings and announcements alike.

export const WORKER_ID_PATTERN = '^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,62}$'
export const WORKER_ID = new RegExp(WORKER_ID_PATTERN)

/** A declared worker: its id, with `:PascalCase` after it if it reads only bodies in that casing. */
export const DECLARED_WORKER = new RegExp(`${WORKER_ID_PATTERN.slice(0, -1)}(?::PascalCase)?$`)

const CASED = ':PascalCase'
export const declaredIds = (declared: readonly string[]): string[] =>
  declared.map((one) => (one.endsWith(CASED) ? one.slice(0, -CASED.length) : one))
export const inPascalCase = (declared: readonly string[]): string[] =>
  declaredIds(declared.filter((one) => one.endsWith(CASED)))
