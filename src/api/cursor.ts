// Cursors of lists: the sort, and the values of the last row in it. Typed, not signed: a forged one can only name another place
// in a list that its caller may read anyway, and one that does not fit is refused.
import { z } from 'zod'
import { MatoolkitError } from '../errors.ts'

const content = z.tuple([z.string(), z.union([z.string(), z.null()]), z.int().min(0)])

export interface Cursor {
  /** The sort column's value in the last row of the page before, as text; null when the rows are in the order of their ids. */
  readonly value: string | null
  readonly id: number
}

export const cursorText = (sort: string, { value, id }: Cursor): string =>
  Buffer.from(JSON.stringify([sort, value, id])).toString('base64url')

/** `isValue` says whether a value can be of this sort; a database would fail on a time that is none. */
export function readCursor(
  sort: string,
  text: string | undefined,
  isValue: (value: string) => boolean = () => true,
): Cursor | null {
  if (text === undefined) return null
  try {
    const [its, value, id] = content.parse(JSON.parse(Buffer.from(text, 'base64url').toString()))
    const isFit =
      value === null || (!value.includes('\0') && value.isWellFormed() && isValue(value))
    if (its === sort && isFit) return { value, id }
  } catch {
    // Said below: whatever is wrong with it, the advice is the same.
  }
  throw new MatoolkitError('CURSOR_INVALID', { cursor: text.slice(0, 60) })
}

/** A page from one row more than was asked for: whether there is another page is then known without a count. */
export function pageFrom<Row>(
  rows: readonly Row[],
  limit: number,
  sort: string,
  at: (row: Row) => Cursor,
): { readonly rows: readonly Row[]; readonly next: string | null } {
  const page = rows.slice(0, limit)
  const last = page.at(-1)
  return { rows: page, next: rows.length > limit && last ? cursorText(sort, at(last)) : null }
}
