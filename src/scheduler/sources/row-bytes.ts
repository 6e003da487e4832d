// The size of a row, roughly: enough to keep a few wide rows from filling a small heap.
import type { Json } from '../../base/text/json.ts'

const OTHER_BYTES = 8

/** The characters of its texts; anything else counts as a number. */
export function rowBytes(values: readonly (Json | undefined)[]): number {
  let bytes = 0
  for (const value of values) bytes += typeof value === 'string' ? value.length : OTHER_BYTES
  return bytes
}
