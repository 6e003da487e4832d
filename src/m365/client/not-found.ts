// "Not found" by its meaning. Graph answers 404. Exchange answers 404 and, from other servers, 400, 500 or even 200, naming an exception
// or only saying so. A 404 without a reason is a wrong address or a proxy: it says nothing about the object.
import { ApiError } from '../../worker/http/api.ts'
import type { ServiceRefusal } from '../../worker/http/client.ts'
import { isMissingByStatus } from '../../worker/http/refusal.ts'

type Told = Pick<ServiceRefusal, 'code' | 'message'>

const EXCEPTIONS = /NotFound(?:Exception)?$/i
const WORDS =
  /(?:(?:could|was)(?:n['’]t| not)|can(?:['’]t|not)) (?:be )?(?:found|find)|\bnot found\b|does(?:n['’]t| not) exist|no results/i
/** A parameter or cmdlet that cannot be found is our mistake, not a missing object. */
const OURS = /ParameterBinding|CommandNotFound/i
const STATUSES: readonly number[] = [200, 400, 404, 500]

export function isMissingInExchange(status: number, told: Told): boolean {
  const { code, message } = told
  if (!STATUSES.includes(status) || OURS.test(code)) return false
  return isMissingByStatus(status, told) || EXCEPTIONS.test(code) || WORDS.test(message)
}

export const isNotFound = (error: unknown): boolean => error instanceof ApiError && error.isMissing
