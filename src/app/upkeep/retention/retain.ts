// Retention of one batch that has ended: erase its personal data, or write its evidence pack and purge its rows. Each may be killed at any
// point and is run again: the pack is complete, on the disk and read again before anything is purged, and a batch that has changed since
// is not purged. Every act leaves an event and an audit row.
import { createHash, type Hash } from 'node:crypto'
import { packSource } from '../../../api/evidence/pack-source.ts'
import type { SigningKey } from '../../../api/evidence/signing-key.ts'
import { verifyPack } from '../../../api/evidence/verify-pack.ts'
import { writePack } from '../../../api/evidence/write-pack.ts'
import { MatoolkitError } from '../../../base/errors/errors.ts'
import type { Json } from '../../../base/text/json.ts'
import type { Db, Tx } from '../../../db/connection/db.ts'
import { insertAudit } from '../../../db/orders/audit.ts'
import {
  beginPurge,
  type EndedBatch,
  eraseMarked,
  markErased,
  purgeBegun,
  readFingerprint,
} from '../../../db/orders/retention.ts'
import { insertEvents } from '../../../db/state/changes.ts'
import { lockBatches } from '../../../db/state/facts.ts'
import { findBatchLine } from '../../../db/views/batches.ts'
import { eventRecord } from '../../../domain/state/event-record.ts'
import type { ArchivePlace } from './archive-place.ts'

/** Messages live so long: until then a late result could still be recorded. */
export const DAYS_AFTER_END_MIN = 7

export interface RetentionContext {
  readonly db: Db
  readonly clock: { now(): Date }
  readonly place: ArchivePlace
  /** Throws EVIDENCE_KEY_MISSING. */
  signingKey(): SigningKey
  /** Who asked for it: the person, or `system` for the settings. */
  readonly actor: string
  readonly reason: string
}

/** Why it cannot be erased or purged yet; null when it can. */
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

export interface Purged {
  readonly file: string
  readonly rows: number
}

/** Writes the evidence pack, reads it again, then deletes the rows. A run that was killed continues. */
export async function purgeEnded(context: RetentionContext, batch: EndedBatch): Promise<Purged> {
  const { db, clock, place } = context
  const packFile = batch.isPurgeBegun ? batch.packFile! : await packAndBegin(context, batch)
  await eraseMarked(db, batch.batchId)
  const rows = await purgeBegun(db, batch.batchId, clock.now())
  return { file: place.whereIs(packFile), rows }
}

async function packAndBegin(context: RetentionContext, batch: EndedBatch): Promise<string> {
  const { db, clock, place, actor } = context
  const { batchId } = batch
  const key = context.signingKey()
  const packFile = fileNameOf(batch, place.isWriteOnce ? clock.now() : null)
  const { fingerprint, lastEventId } = await readFingerprint(db, batchId)
  const line = (await findBatchLine(db, batchId))!
  const source = await packSource(db, line, { id: actor, name: actor }, clock.now())
  const hash = createHash('sha256')
  await place.write(packFile, hashed(hash, writePack(source, key, new AbortController().signal)))
  const { findings, manifest } = await verifyPack(await place.read(packFile), key.fingerprint)
  if (findings.length > 0)
    throw refused(`the pack "${place.whereIs(packFile)}" is damaged: ${findings[0]}`)
  const digest = hash.digest('hex')
  await db.transaction(async (tx) => {
    await lockBatches(tx, [batchId])
    await requireStill(tx, batch, fingerprint)
    const after = { packFile, digest, rowCounts: { ...manifest!.tables } }
    await record(tx, context, batchId, 'purge', 'purged', after)
    await beginPurge(tx, batchId, { packFile, lastEventId }, clock.now())
  })
  return packFile
}

async function* hashed(hash: Hash, parts: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  for await (const bytes of parts) {
    hash.update(bytes)
    yield bytes
  }
}

/**
 * No names of people. In a folder the same for the same end of the batch: a second run replaces the file of a killed one. Where nothing
 * can be replaced, the time of the run is part of it.
 */
const fileNameOf = ({ batchId, endedAt }: EndedBatch, runAt: Date | null): string =>
  `batch-${batchId}-ended-${stamp(endedAt)}${runAt === null ? '' : `-purged-${stamp(runAt)}`}.tar.gz`

const stamp = (at: Date): string => at.toISOString().replace(/[-:]|\.\d+/g, '')

/** Under the batch's lock: it has not been reopened, nothing waits, and it is as it was read, if that is known. */
async function requireStill(
  tx: Tx,
  { batchId, endedAt }: EndedBatch,
  fingerprint: string | null,
): Promise<void> {
  const now = await readFingerprint(tx, batchId)
  const isChanged = fingerprint !== null && now.fingerprint !== fingerprint
  if (isChanged || now.isWaiting || +(now.endedAt ?? 0) !== +endedAt)
    throw refused(`batch ${batchId} has changed since it was read: try again`)
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
