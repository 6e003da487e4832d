// Exit codes for scripts, and the shape of a row in the error tables.

export const EXIT = {
  ok: 0,
  failed: 1,
  usage: 2,
  notSignedIn: 3,
  notAllowed: 4,
  notFound: 5,
  conflict: 6,
  unavailable: 7,
  timedOut: 8,
  /** `status`: all is told, and action is needed. */
  needed: 9,
  /** An error that nobody caught: a bug of ours or of a custom function. */
  crashed: 70,
  /** Ctrl-C: 128 plus the signal number, as in shells. */
  interrupted: 130,
} as const

export interface ErrorRow {
  readonly http: number
  readonly exit: number
  /** `{name}` is replaced by the detail of that name. */
  readonly sentence: string
}

/** Rows of the table: their codes stay known to the compiler. */
export const errorRows = <T extends Record<string, ErrorRow>>(rows: T): T => rows
