// Where a message lies in the table of bundles, and splitting a bundle: before anything happens to a part of a bundle, each of
// its messages gets a row of its own.
import type { Queryable } from '../../db/db.ts'
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

/** Gives each message of these bundles its own row, if the bundle matches `condition`; $1 are the ids. Returns the new rows. */
export async function splitBundles(
  db: Queryable,
  ids: readonly (string | number)[],
  condition: string,
  ...values: readonly unknown[]
): Promise<number[]> {
  const rows = await db.query<{ id: number }>(
    `with split as (delete from bundles p where id = any ($1::bigint[]) and size > 1 and ${condition} returning p.*)
     insert into bundles (id, topic, subscription, message_ids, message_type, worker_id, bodies, size, enqueued_at, visible_at,
                          expires_at, delivery_count, leased_until, lease_token)
     overriding system value
     select s.id + c.place, topic, subscription, c.message_id, message_type, worker_id, c.body, 1, enqueued_at, visible_at,
            expires_at, delivery_count, leased_until, lease_token
       from split s cross join lateral messages_in_bundle(s.message_ids, s.bodies, s.size) c
     returning id`,
    [`{${ids.join(',')}}`, ...values],
  )
  return rows.map(({ id }) => id)
}
