// Where a message lies in the table of bundles, and splitting a bundle: before anything happens to a part of a bundle, each of
// its messages gets a row of its own.
import type { Queryable } from '../../db/connection/db.ts'
import type { MessageLease } from '../bus.ts'

/** Ids of bundles are this far apart; the ids between belong to their messages once split. */
export const BUNDLE_STRIDE = 1_024

// A lease names the row and, inside a bundle, the message's number there: "5120" or "5120+17". Once that bundle is split, the
// message has its own row 5137.

export const sequenceOf = (row: number, size: number, index: number): string =>
  size === 1 ? String(row) : `${row}+${index + 1}`

/** The message's row at the time of its lease. */
export function rowHolding({ sequence }: MessageLease): string {
  const plus = sequence.indexOf('+')
  return plus < 0 ? sequence : sequence.slice(0, plus)
}

export const isInBundle = ({ sequence }: MessageLease): boolean => sequence.includes('+')

/** The id of the bundle that a row was split from. A row that was never split is its own bundle. */
export const bundleOf = (row: number): number => row - (row % BUNDLE_STRIDE)

/** The message's own row once its bundle is split. */
export function rowOnceSplit({ sequence }: MessageLease): string {
  const [row, number = 0] = sequence.split('+')
  return String(Number(row) + Number(number))
}

/** Which bundles to split: those leased under a token, free or lapsed at a time, or never leased. */
export type SplitState =
  | { readonly leased: string }
  | { readonly free: Date }
  | { readonly lapsed: Date }
  | { readonly unleased: true }

/** Gives each message of these bundles its own row, if the bundle is in that state. Returns the new rows. */
export async function splitBundles(
  db: Queryable,
  ids: readonly (string | number)[],
  state: SplitState,
): Promise<number[]> {
  if (ids.length === 0) return []
  const [[name, value]] = Object.entries(state) as [[string, string | Date | true]]
  const token = name === 'leased' ? value : null
  const at = value instanceof Date ? value : null
  const rows = await db.query<{ id: number }>(
    'select id from split_bundles($1::bigint[], $2, $3::uuid, $4::timestamptz) as s (id)',
    [`{${ids.join(',')}}`, name, token, at],
  )
  return rows.map(({ id }) => id)
}
