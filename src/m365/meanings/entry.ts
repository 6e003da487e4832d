// One entry of the table of Microsoft's errors: how it is recognised in the text of a failed step, and what it means.
import type { ErrorMeaning } from '../../domain/needs/error-meaning.ts'

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
