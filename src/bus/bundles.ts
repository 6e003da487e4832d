// Messages that are sent together and share their envelope are one row of the outbox, a bundle. Storing and claiming 500
// messages as 500 rows was a third of PostgreSQL's work for a step.
import { MESSAGE_MAX_BYTES } from './bus.ts'
import type { OutboxRow } from './outbox.ts'

/** A consumer's default chunk: one that takes fewer has to split bundles first. */
export const BUNDLE_MAX = 500
/** A bundle is no larger than a message may be. */
const BUNDLE_MAX_BYTES = MESSAGE_MAX_BYTES
const LINE_BREAK = '\n'

export interface Bundle {
  /** The first message's row; every message of the bundle has the same topic, subscription, type, worker and times. */
  readonly envelope: OutboxRow
  readonly ids: string[]
  readonly bodies: string[]
  bytes: number
}

/** Keeps the order of messages that share an envelope. A send rarely has more than a few envelopes. */
export function packBundles(rows: readonly OutboxRow[]): Bundle[] {
  const bundles: Bundle[] = []
  /** The bundle of each envelope that is not yet full. */
  const open: Bundle[] = []
  for (const row of rows) {
    const bytes = Buffer.byteLength(row.body)
    // Bodies are stored as lines.
    const needsOwnRow = row.body.includes(LINE_BREAK)
    const at = needsOwnRow ? -1 : open.findIndex(({ envelope }) => isSameEnvelope(envelope, row))
    const fitting = at < 0 ? undefined : open[at]!
    if (fitting && fitting.ids.length < BUNDLE_MAX && fitting.bytes + bytes < BUNDLE_MAX_BYTES) {
      fitting.ids.push(row.messageId)
      fitting.bodies.push(row.body)
      fitting.bytes += bytes + LINE_BREAK.length
      continue
    }
    const bundle = { envelope: row, ids: [row.messageId], bodies: [row.body], bytes }
    bundles.push(bundle)
    if (needsOwnRow) continue
    if (at < 0) open.push(bundle)
    else open[at] = bundle
  }
  return bundles
}

const isSameEnvelope = (a: OutboxRow, b: OutboxRow): boolean =>
  a.topic === b.topic &&
  a.subscription === b.subscription &&
  a.messageType === b.messageType &&
  a.workerId === b.workerId &&
  +a.visibleAt === +b.visibleAt &&
  +a.expiresAt === +b.expiresAt

/** The columns `message_ids` and `bodies` hold a line per message. */
export const joinLines = (texts: readonly string[]): string => texts.join(LINE_BREAK)

export const splitLines = (text: string, size: number): string[] =>
  size === 1 ? [text] : text.split(LINE_BREAK)
