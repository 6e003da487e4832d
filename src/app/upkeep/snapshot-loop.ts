// Takes a snapshot of the embedded database at start and every hour, and one before an upgrade. A failure is told and changes nothing.

import type { Log } from '../../base/log/log.ts'
import type { Clock } from '../../base/run/clock.ts'
import { everyLoop, type Service } from '../../base/run/service.ts'
import type { Db } from '../../db/connection/db.ts'
import { megabytes, type ReadFreeBytes } from '../../db/connection/free-space.ts'
import { listSnapshots, type SnapshotCause, takeSnapshot } from '../../db/connection/snapshots.ts'

/** A process that starts again and again must not push older snapshots out. */
const FRESH_MS = 10 * 60_000

export interface SnapshotLoopOptions {
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
  readonly dataDir: string
  readonly intervalMin: number
  /** Free space that it leaves. */
  readonly minFreeMb: number
  /** A database that was created just now has nothing to keep. */
  readonly isNew: boolean
  readonly readFreeBytes?: ReadFreeBytes
}

export function makeSnapshotLoop(options: SnapshotLoopOptions): Service {
  const { clock, log, dataDir, intervalMin, isNew } = options
  let cause: SnapshotCause = 'start'
  return everyLoop({
    name: 'snapshots',
    clock,
    intervalMs: intervalMin * 60_000,
    runOnce: async (now, stopping) => {
      const isFirst = cause === 'start'
      const newest = listSnapshots(dataDir)[0]
      const isFresh = newest !== undefined && +now - +newest.takenAt < FRESH_MS
      if (!(isFirst && (isNew || isFresh))) await snapshotAndTell(options, cause, stopping)
      cause = 'hourly'
    },
    onError: (err) => log.error({ err }, 'Snapshot failed; the next one is tried later'),
  })
}

type SnapshotPlace = Pick<
  SnapshotLoopOptions,
  'db' | 'clock' | 'log' | 'dataDir' | 'minFreeMb' | 'readFreeBytes'
>

export async function snapshotAndTell(
  { db, clock, log, dataDir, minFreeMb, readFreeBytes }: SnapshotPlace,
  cause: SnapshotCause,
  stopping?: AbortSignal,
): Promise<void> {
  const outcome = await takeSnapshot(db, {
    dataDir,
    cause,
    now: clock.now(),
    keepFreeBytes: megabytes(minFreeMb),
    ...(readFreeBytes && { readFreeBytes }),
    ...(stopping && { stopping }),
  })
  if ('skipped' in outcome) return log.warn({ cause }, `No snapshot was taken: ${outcome.skipped}`)
  const { snapshot, heldMs, removed } = outcome
  const { name, bytes } = snapshot
  log.info({ cause, name, bytes, heldMs, removed }, 'Took a snapshot of the embedded database')
}
