// Looks up what the error of a step means: at most one entry of the table for any text. An entry for exactly this error counts before
// one for its status. Unknown texts have no meaning here; the message itself is shown then.

import type { ErrorMeaning } from '../../domain/needs/error-meaning.ts'
import { UNKNOWN_OUTCOME } from '../../worker/http/api.ts'
import type { ErrorEntry, ErrorSigns } from './entry.ts'
import { EXCHANGE_ERRORS } from './exchange.ts'
import { GRAPH_ERRORS } from './graph.ts'
import { MIGRATION_ERRORS } from './migration.ts'
import { MICROSOFT_SIGN_IN_ERRORS } from './sign-in.ts'

export const ERROR_TABLE: Readonly<Record<string, readonly ErrorEntry[]>> = {
  'Microsoft Graph': GRAPH_ERRORS,
  'Exchange Online': EXCHANGE_ERRORS,
  'Mailbox moves': MIGRATION_ERRORS,
  'Sign-in and connection': MICROSOFT_SIGN_IN_ERRORS,
}

const ENTRIES = Object.values(ERROR_TABLE).flat()

/** `Microsoft Graph returned 403 Authorization_RequestDenied: …` */
const RETURNED = /(Microsoft Graph|Exchange Online) returned (\d{3}) ([^\s:]+):/

/** The rest of a longer text is a stack trace. */
const LOOKED_AT_CHARS = 2_000

/** Every entry that fits: tests prove that there is one for each known error. */
export function entriesFor(message: string): readonly ErrorEntry[] {
  const text = message.slice(0, LOOKED_AT_CHARS)
  const [, service, status, code] = RETURNED.exec(text) ?? []
  const told = { text, service, status: Number(status), code: code ?? '' }
  const fitting = ENTRIES.filter(({ when }) => fits(when, told))
  const specific = fitting.filter(({ isGeneral }) => !isGeneral)
  return specific.length > 0 ? specific : fitting
}

interface Told {
  readonly text: string
  readonly service: string | undefined
  readonly status: number
  readonly code: string
}

const fits = (when: ErrorSigns, { text, service, status, code }: Told): boolean =>
  (when.service === undefined || when.service === service) &&
  (when.status === undefined || when.status.includes(status)) &&
  (when.code === undefined || when.code.test(code)) &&
  (when.says === undefined || when.says.test(text))

const CHECK_FIRST = 'Check in the tenant whether it was done all the same.'

export function meaningOf(message: string | null): ErrorMeaning | null {
  const [found] = message === null ? [] : entriesFor(message)
  if (found === undefined) return null
  const { id, means, actor, todo, retry } = found
  return message!.includes(UNKNOWN_OUTCOME)
    ? { id, means, actor: 'operator', todo: CHECK_FIRST, retry: 'after_fix' }
    : { id, means, actor, todo, retry }
}
