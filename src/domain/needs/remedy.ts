// What to do about a known error, in words. Apart from the table, so that the dashboard does not carry it.
import type { ErrorMeaning } from './error-meaning.ts'

const ACTORS: Readonly<Record<ErrorMeaning['actor'], string>> = {
  operator: 'you',
  runbook_author: 'the author of the runbook',
  tenant_administrator: 'an administrator of the tenant',
  microsoft: 'Microsoft; wait',
  nobody: 'nobody',
}

const RETRIES: Readonly<Record<ErrorMeaning['retry'], string>> = {
  now: 'A retry helps.',
  after_fix: 'A retry helps after that.',
  never: 'A retry does not help.',
}

/** For people, `operator` being the reader unless another is named: who acts, what to do, whether a retry helps. */
export const remedyText = (
  { actor, todo, retry }: ErrorMeaning,
  operator = ACTORS.operator,
): string =>
  `Who acts: ${actor === 'operator' ? operator : ACTORS[actor]}. ${todo} ${RETRIES[retry]}`
