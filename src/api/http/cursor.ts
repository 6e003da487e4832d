// List cursors: the sort order and the sort values of the page's last row. Checked, not signed: a forged cursor only points to
// another place in a list that its caller may read anyway.
import { z } from 'zod'
import { MatoolkitError } from '../../base/errors/errors.ts'

const content = z.tuple([z.string(), z.union([z.string(), z.null()]), z.int().min(0)])

export interface Cursor {
  /** The last row's value in the sort column, as text; null when the list is sorted by id. */
  readonly value: string | null
  readonly id: number
}

export const cursorText = (sort: string, { value, id }: Cursor): string =>
  Buffer.from(JSON.stringify([sort, value, id])).toString('base64url')

/** `isValue` checks the sort value: PostgreSQL fails on a malformed time. Throws CURSOR_INVALID. */
export function readCursor(
  sort: string,
  text: string | undefined,
  isValue: (value: string) => boolean = () => true,
): Cursor | null {
  if (text === undefined) return null
  try {
    const [sortedBy, value, id] = content.parse(
      JSON.parse(Buffer.from(text, 'base64url').toString()),
    )
    const isFit =
      value === null || (!value.includes('\0') && value.isWellFormed() && isValue(value))
    if (sortedBy === sort && isFit) return { value, id }
  } catch {
    // Any fault gets the same error below.
  }
  throw new MatoolkitError('CURSOR_INVALID', { cursor: text.slice(0, 60) })
}

/** Expects `limit + 1` rows: the extra row shows that another page follows, without a count. */
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
