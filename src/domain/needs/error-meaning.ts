// What the error of a failed step means, who must act, what to do, and whether a retry helps. Packages of functions bring their tables.

export const ERROR_ACTORS = [
  'operator',
  'runbook_author',
  'tenant_administrator',
  'microsoft',
  'nobody',
] as const
export type ErrorActor = (typeof ERROR_ACTORS)[number]

export const RETRY_ADVICE = ['now', 'after_fix', 'never'] as const
export type RetryAdvice = (typeof RETRY_ADVICE)[number]

export interface ErrorMeaning {
  /** Stable: reports and scripts may refer to it. */
  readonly id: string
  readonly means: string
  readonly actor: ErrorActor
  readonly todo: string
  readonly retry: RetryAdvice
}

/** What the text of an error means; null when nobody knows. A package of functions brings its table. */
export type MeaningOf = (message: string | null) => ErrorMeaning | null
