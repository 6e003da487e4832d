// "Did you mean …?" below a refusal that names an unknown runbook. A failure to find out changes nothing: the refusal stays as it is.
import { didYouMean } from '../../base/text/spelling.ts'
import { ApiRefusal } from '../connection/api-refusal.ts'
import type { CommandClient } from '../connection/client.ts'

const CODES = ['RUNBOOK_NOT_FOUND', 'RUNBOOK_UNKNOWN']
const NAMES_MAX = 500

/** Adds a line to the error if a runbook has a similar name. */
export async function suggestRunbook(error: unknown, client: CommandClient): Promise<void> {
  if (!(error instanceof ApiRefusal) || !CODES.includes(error.code)) return
  const [, given] = /"([^"]+)"/.exec(error.message) ?? []
  if (given === undefined) return
  const query = { limit: NAMES_MAX }
  const found = await client.call('GET /api/runbooks', { query }).catch(() => null)
  const names = found?.runbooks.map(({ name }) => name) ?? []
  const hint = didYouMean(given, names)
  if (hint !== '') error.more.push(hint)
}
