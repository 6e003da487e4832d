// Checks as people and scripts read them: a line each, what to do about a problem below the table, exit code 1 when one failed.

import { EXIT } from '../../base/errors/errors.ts'
import type { JsonObject } from '../../base/text/json.ts'
import { printable } from '../../base/text/printable.ts'
import type { Io } from './io.ts'
import type { Column, Show } from './show.ts'

export interface Check {
  readonly name: string
  /** `created`: it was missing, and is there now. */
  readonly state: 'ok' | 'warning' | 'created' | 'failed'
  readonly about: string
  /** What to do; empty when the check passed. */
  readonly advice: string
}

const CHECKS: readonly Column<Check>[] = [
  ['CHECK', 'name', 'whole'],
  ['STATE', 'state'],
  ['ABOUT', 'about'],
  ['WHAT TO DO', 'advice'],
]

/** `more` goes into the answer of scripts, next to the checks. */
export async function showChecks(
  show: Show,
  io: Io,
  checks: readonly Check[],
  more: JsonObject = {},
): Promise<void> {
  const isOk = checks.every(({ state }) => state !== 'failed')
  const whole = { isOk, checks, ...more }
  // Advice is printed below the table: a column would cut it.
  const columns = show.format === 'table' ? CHECKS.slice(0, -1) : CHECKS
  await show.list({ whole, rows: checks, columns, empty: '' })
  for (const { name, about, advice } of checks.filter((check) => check.advice !== ''))
    show.say(printable(`\n${name}: ${about}\n  ${advice}`))
  if (!isOk) io.exitCode = EXIT.failed
}
