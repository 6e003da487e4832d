// Values of data sources as JSON (R33): numbers, booleans, ISO 8601 UTC texts and null. Nothing is lost: a number that
// JavaScript cannot hold exactly stays text, because 20 digits rounded to 16 are another person.
import type { Json } from '../../base/text/json.ts'

/** Column types shared by all sources. `date` is a day without time, `time` an instant. */
export type ColumnType = 'text' | 'number' | 'boolean' | 'time' | 'date' | 'json' | 'binary'

export interface SourceColumn {
  readonly name: string
  readonly type: ColumnType
}

export type SourceRow = Readonly<Record<string, Json>>

const DECIMAL = /^[+-]?(\d+)(?:\.(\d+))?(?:[eE][+-]?\d+)?$/
/** A decimal of up to this many significant digits survives a double unchanged. */
const EXACT_DIGITS = 15

/** A decimal or whole number: a number if exact, otherwise the text. */
export function exactNumber(text: string): number | string {
  const match = DECIMAL.exec(text)
  const value = Number(text)
  if (!match || !Number.isFinite(value)) return text
  const digits = `${match[1]}${match[2] ?? ''}`.replace(/^0+/, '').replace(/(?<!0)0+$/, '')
  return digits.length <= EXACT_DIGITS || Number.isSafeInteger(value) ? plain(value) : text
}

/** A floating point number. JSON has no NaN and no infinities: they become their names. */
export const floatNumber = (value: number): number | string =>
  Number.isFinite(value) ? plain(value) : String(value)

/** JSON writes -0 as 0 and PostgreSQL as -0; the difference must not look like a changed row. */
const plain = (value: number): number => (value === 0 ? 0 : value)

/** A value stored as JSON text; invalid JSON stays text. */
export function jsonValue(text: string): Json {
  try {
    return JSON.parse(text) as Json
  } catch {
    return text
  }
}
