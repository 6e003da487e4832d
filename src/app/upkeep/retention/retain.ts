// Retention of one batch that has ended: erase its personal data, archive it to a file, purge its rows. Each may be killed at any point and
// is run again: the archive is complete and on the disk before it is recorded, it is recorded before anything is purged, and a batch that
// has changed since is not purged. Every act leaves an event and an audit row.
import { MatoolkitError } from '../../../base/errors/errors.ts'
import type { Json } from '../../../base/text/json.ts'
import type { Db, Tx } from '../../../db/connection/db.ts'
import { insertAudit } from '../../../db/orders/audit.ts'
import {
  beginPurge,
  type EndedBatch,
  eraseMarked,
  findFingerprintOfArchive,
  insertArchive,
  markErased,
  purgeBegun,
  readBatchRows,
  readFingerprint,
  readOneSnapshot,
} from '../../../db/orders/retention.ts'
import { insertEvents } from '../../../db/state/changes.ts'
import { lockBatches } from '../../../db/state/facts.ts'
import { eventRecord } from '../../../domain/state/event-record.ts'
import { type ArchiveSum, archiveText } from './archive-file.ts'
import type { ArchivePlace } from './archive-place.ts'

/** Messages live so long: until then a late result could still be recorded. */
export const DAYS_AFTER_END_MIN = 7

export interface RetentionContext {
  readonly db: Db
  readonly clock: { now(): Date }
  readonly place: ArchivePlace
  /** Who asked for it: the person, or `system` for the settings. */
  readonly actor: string
  readonly reason: string
}

/** Why it cannot be erased, archived or purged yet; null when it can. */
export const whyNotYet = ({ isWaiting }: EndedBatch): string | null =>
  isWaiting ? 'a job of it is still out' : null

/** Returns how many members were erased by this run. */
export async function eraseEnded(context: RetentionContext, batch: EndedBatch): Promise<number> {
  const { db, clock } = context
  const { batchId } = batch
  if (batch.erasedAt === null)
    await db.transaction(async (tx) => {
      await lockBatches(tx, [batchId])
      await requireStill(tx, batch, null)
      await markErased(tx, batchId, clock.now())
      await record(tx, context, batchId, 'erase', 'erased', { members: batch.members })
    })
  return eraseMarked(db, batchId)
}

export interface Archived extends ArchiveSum {
  readonly file: string
}

export async function archiveEnded(
  context: RetentionContext,
  batch: EndedBatch,
): Promise<Archived> {
  const { db, clock, place } = context
  const { batchId, runbookName } = batch
  const fileName = fileNameOf(batch, place.isWriteOnce ? clock.now() : null)
  const header = {
    batchId,
    runbookName,
    endedAt: batch.endedAt.toISOString(),
    archivedAt: clock.now().toISOString(),
  }
  const read = await db.transaction(async (tx) => {
    await readOneSnapshot(tx)
    const state = await readFingerprint(tx, batchId)
    return {
      ...state,
      ...(await place.write(fileName, archiveText(header, readBatchRows(tx, batchId)))),
    }
  })
  const { digest, rowCounts, fingerprint, lastEventId } = read
  await db.transaction(async (tx) => {
    await lockBatches(tx, [batchId])
    await requireStill(tx, batch, fingerprint)
    const entry = { batchId, fileName, digest, rowCounts, fingerprint, lastEventId }
    await insertArchive(tx, entry, clock.now())
    await record(tx, context, batchId, 'archive', 'archived', { fileName, digest, rowCounts })
  })
  return { file: place.whereIs(fileName), digest, rowCounts }
}

/**
 * No names of people. In a folder the same for the same end of the batch: a second run replaces the file of a killed one. Where nothing
 * can be replaced, the time of the run is part of it.
 */
const fileNameOf = ({ batchId, endedAt }: EndedBatch, runAt: Date | null): string =>
  `batch-${batchId}-ended-${stamp(endedAt)}${runAt === null ? '' : `-archived-${stamp(runAt)}`}.jsonl`

const stamp = (at: Date): string => at.toISOString().replace(/[-:]|\.\d+/g, '')

/** Returns how many rows are gone, earlier runs included. */
export async function purgeArchived(context: RetentionContext, batch: EndedBatch): Promise<number> {
  const { db, clock, place } = context
  const { batchId, fileName, digest } = batch
  if (fileName === null)
    throw refused(`batch ${batchId} is not archived: run "matoolkit admin archive" first`)
  if (!batch.isPurgeBegun) {
    const file = place.whereIs(fileName)
    const found = await place.verify(fileName)
    if (!found.ok)
      throw refused(`the archive "${file}" of batch ${batchId} is damaged: ${found.reason}`)
    if (found.digest !== digest || found.header.batchId !== batchId)
      throw refused(`the archive "${file}" is not the one that was written for batch ${batchId}`)
    await db.transaction(async (tx) => {
      await lockBatches(tx, [batchId])
      await requireStill(tx, batch, await findFingerprintOfArchive(tx, batchId))
      await record(tx, context, batchId, 'purge', 'purged', { fileName, digest })
      await beginPurge(tx, batchId, clock.now())
    })
  }
  await eraseMarked(db, batchId)
  return purgeBegun(db, batchId, clock.now())
}

/** Under the batch's lock: it has not been reopened, nothing waits, and it is as it was read, if that is known. */
async function requireStill(
  tx: Tx,
  { batchId, endedAt }: EndedBatch,
  fingerprint: string | null,
): Promise<void> {
  const now = await readFingerprint(tx, batchId)
  const isChanged = fingerprint !== null && now.fingerprint !== fingerprint
  if (isChanged || now.isWaiting || +(now.endedAt ?? 0) !== +endedAt)
    throw refused(`batch ${batchId} has changed since it was read: archive it again`)
}

const refused = (reason: string) => new MatoolkitError('REFUSED', { reason })

async function record(
  tx: Tx,
  { clock, actor, reason }: RetentionContext,
  batchId: number,
  action: string,
  event: string,
  after: Json,
): Promise<void> {
  const at = clock.now()
  await insertEvents(tx, batchId, at, actor, [eventRecord('batch', event, reason)])
  await insertAudit(tx, {
    at,
    actor,
    actorName: actor,
    action: `batch.${action}`,
    subject: `batch ${batchId}`,
    reason,
    source: null,
    clientApp: null,
    requestId: null,
    after,
  })
}
