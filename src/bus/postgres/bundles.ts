// Messages that leave together travel as one row, a parcel (sql/002_bus.sql). Packing happens here, and opening: what somebody
// wants to do to a part of a parcel is done after it has been opened, to messages that then have a row each.
import type { Queryable } from '../../db/db.ts'
import { MESSAGE_MAX_BYTES, type MessageLease } from '../bus.ts'
import type { OutboxRow } from '../outbox.ts'

/** As many as a consumer takes by default: one that takes fewer has to open parcels first. */
export const BUNDLE_MAX = 500
/** A parcel is no larger than a message may be. */
const PARCEL_MAX_BYTES = MESSAGE_MAX_BYTES
const BREAK = '\n'
/** Parcels' ids are this far apart; those between are for their messages. */
export const BUNDLE_STRIDE = 1_024

/** What the messages of a parcel share is in its envelope, the row of its first message. */
export interface Bundle {
  readonly envelope: OutboxRow
  readonly ids: string[]
  readonly bodies: string[]
  bytes: number
}

/** Every row in a parcel, in their order as far as they share envelopes. There are hardly ever more than a few envelopes. */
export function packBundles(rows: readonly OutboxRow[]): Bundle[] {
  const bundles: Bundle[] = []
  // Of each envelope the parcel that has room, if any.
  const open: Bundle[] = []
  for (const row of rows) {
    const bytes = Buffer.byteLength(row.body)
    const travelsAlone = row.body.includes(BREAK)
    const at = travelsAlone ? -1 : open.findIndex(({ envelope }) => isSame(envelope, row))
    const fitting = at < 0 ? undefined : open[at]!
    if (fitting && fitting.ids.length < BUNDLE_MAX && fitting.bytes + bytes < PARCEL_MAX_BYTES) {
      fitting.ids.push(row.message_id)
      fitting.bodies.push(row.body)
      fitting.bytes += bytes + BREAK.length
      continue
    }
    const bundle = { envelope: row, ids: [row.message_id], bodies: [row.body], bytes }
    bundles.push(bundle)
    if (travelsAlone) continue
    if (at < 0) open.push(bundle)
    else open[at] = bundle
  }
  return bundles
}

const isSame = (a: OutboxRow, b: OutboxRow): boolean =>
  a.topic === b.topic &&
  a.subscription === b.subscription &&
  a.message_type === b.message_type &&
  a.worker_id === b.worker_id &&
  +a.visible_at === +b.visible_at &&
  +a.expires_at === +b.expires_at

/** As the columns message_ids and bodies have them. */
export const joinLines = (texts: readonly string[]): string => texts.join(BREAK)

export const splitLines = (text: string, size: number): string[] =>
  size === 1 ? [text] : text.split(BREAK)

// A message's place in the bus is its row, and in a parcel its number there: "5120" or "5120+17". Once that parcel is opened the
// message has a row of its own, 5137.

export const sequenceOf = (row: number, size: number, index: number): string =>
  size === 1 ? String(row) : `${row}+${index + 1}`

export function rowHolding({ sequence }: MessageLease): string {
  const plus = sequence.indexOf('+')
  return plus < 0 ? sequence : sequence.slice(0, plus)
}

export const isInBundle = ({ sequence }: MessageLease): boolean => sequence.includes('+')

/** The parcel that a row was opened from; one that was sent as it is is its own. */
export const bundleOf = (row: number): number => row - (row % BUNDLE_STRIDE)

export function rowOnceOpened({ sequence }: MessageLease): string {
  const [row, number = 0] = sequence.split('+')
  return String(Number(row) + Number(number))
}

/** Gives every message of these parcels a row of its own, if the parcel is as `which` says; $1 are the parcels' ids. Returns the rows. */
export async function openBundles(
  db: Queryable,
  ids: readonly (string | number)[],
  which: string,
  ...values: readonly unknown[]
): Promise<number[]> {
  const rows = await db.query<{ id: number }>(
    `with opened as (delete from bundles p where id = any ($1::bigint[]) and size > 1 and ${which} returning p.*)
     insert into bundles (id, topic, subscription, message_ids, message_type, worker_id, bodies, size, enqueued_at, visible_at,
                          expires_at, delivery_count, leased_until, lease_token)
     overriding system value
     select o.id + c.place, topic, subscription, c.message_id, message_type, worker_id, c.body, 1, enqueued_at, visible_at,
            expires_at, delivery_count, leased_until, lease_token
       from opened o cross join lateral messages_in_bundle(o.message_ids, o.bodies, o.size) c
     returning id`,
    [`{${ids.join(',')}}`, ...values],
  )
  return rows.map(({ id }) => id)
}
