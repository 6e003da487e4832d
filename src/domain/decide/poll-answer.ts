// What a poll said, as a text for people, and whether it said something new. Polls that say the same are counted and leave no rows, so a
// step leaves a bounded number of them however long it is polled.

import { isObject, type Json } from '../../base/text/json.ts'
import type { Step } from '../state/facts.ts'

/** A longer answer is cut: what people read is at its beginning. */
const SAID_CHARS_MAX = 500
/** Recorded changes of an attempt. A function that says something else each time must not fill the database. */
export const POLL_CHANGES_MAX = 100

/** The reason of the answer, else its fields: `Status: Syncing, BatchId: wave-1`. Null when it said nothing. */
export function saidIn(payload: Json | undefined, reason: string | null): string | null {
  const text = reason ?? (isObject(payload) ? fieldsOf(payload) : valueText(payload))
  if (text === '') return null
  return text.length > SAID_CHARS_MAX
    ? `${text.slice(0, SAID_CHARS_MAX - 1).toWellFormed()}…`
    : text
}

const fieldsOf = (payload: { readonly [name: string]: Json }): string =>
  Object.entries(payload)
    .filter(([name, value]) => name !== 'complete' && value !== null)
    .map(([name, value]) => `${name}: ${valueText(value)}`)
    .join(', ')

function valueText(value: Json | undefined): string {
  if (value === undefined || value === null) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/**
 * The answer of a re-poll that differs from the former one in numbers at most: a percentage or a time changes at every poll and is no news.
 * The first answer of an attempt is always news.
 */
export function isUnchanged(step: Step, said: string | null): boolean {
  if (step.pollChanges === 0) return false
  return (
    step.pollChanges >= POLL_CHANGES_MAX || withoutNumbers(said) === withoutNumbers(step.pollSaid)
  )
}

const withoutNumbers = (said: string | null): string | undefined => said?.replace(/\d+/g, '#')
