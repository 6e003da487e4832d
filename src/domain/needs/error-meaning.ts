// One entry of the table of Microsoft's errors: how it is recognised in the text of a failed step, what it means, who must act, what
// to do, and whether a retry helps.

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

/** All that is given must fit. */
export interface ErrorSigns {
  readonly service?: 'Microsoft Graph' | 'Exchange Online'
  readonly status?: readonly number[]
  readonly code?: RegExp
  /** Anywhere in the text. */
  readonly says?: RegExp
}

export interface ErrorEntry extends ErrorMeaning {
  readonly when: ErrorSigns
  /** The text of a failed step that has it. */
  readonly example: string
  /** The page or public repository that shows the error. */
  readonly source: string
  /** No document shows the text; it is reported or inferred. */
  readonly isUnconfirmed?: true
  /** Counts only when no other entry fits: a status or a code that many errors share. */
  readonly isGeneral?: true
}

/** A refusal of Microsoft Graph with this text. */
export const graphSays = (text: RegExp): ErrorSigns => ({ service: 'Microsoft Graph', says: text })
