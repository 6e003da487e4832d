// How the program ends, as a number that scripts can ask for, and what every row of the tables of errors says.

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
  /** By Ctrl-C: 128 and the number of the signal, as shells count. */
  interrupted: 130,
} as const

export interface ErrorRow {
  readonly http: number
  readonly exit: number
  /** `{name}` stands for a detail given when the error is raised. */
  readonly sentence: string
}
