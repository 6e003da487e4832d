// Automatic retention: every hour, the batches that the settings no longer keep are erased or purged. One process at a time
// does it, by a lease. A batch that cannot be handled is told and does not stop the others.
import { randomUUID } from 'node:crypto'
import type { SigningKey } from '../../../api/evidence/signing-key.ts'
import type { Log } from '../../../base/log/log.ts'
import type { Clock } from '../../../base/run/clock.ts'
import { everyLoop, type Service } from '../../../base/run/service.ts'
import type { Db } from '../../../db/connection/db.ts'
import { type EndedBatch, listEndedBatches, takeNamedLease } from '../../../db/orders/retention.ts'
import type { ArchivePlace } from './archive-place.ts'
import { eraseEnded, purgeEnded, type RetentionContext, whyNotYet } from './retain.ts'

const INTERVAL_MS = 3_600_000
/** Renewed before each batch; a process that dies is replaced after this. */
const LEASE_MS = 15 * 60_000
const LEASE = 'retention_lease'
const PER_PAGE = 100
const DAY_MS = 86_400_000

export interface RetentionSettings {
  readonly batchesKeptDays: number | null
  readonly personsKeptDays: number | null
}

export interface RetentionLoopOptions extends RetentionSettings {
  readonly db: Db
  readonly clock: Clock
  readonly log: Log
  readonly place: ArchivePlace
  signingKey(): SigningKey
}

export const hasRetention = ({ batchesKeptDays, personsKeptDays }: RetentionSettings): boolean =>
  batchesKeptDays !== null || personsKeptDays !== null

export function makeRetentionLoop(options: RetentionLoopOptions): Service {
  const token = randomUUID()
  return everyLoop({
    name: 'retention',
    clock: options.clock,
    intervalMs: INTERVAL_MS,
    runOnce: async (_now, stopping) => {
      await retainOnce(options, token, stopping)
    },
    onError: (err) => options.log.error({ err }, 'Retention failed; it is tried again in an hour'),
  })
}

/** Returns how many batches were erased, and how many purged; nothing when another process has the lease. */
export async function retainOnce(
  options: RetentionLoopOptions,
  token: string,
  stopping: AbortSignal,
): Promise<{ readonly erased: number; readonly purged: number }> {
  const { batchesKeptDays, personsKeptDays } = options
  const erased = await each(options, token, personsKeptDays, stopping, async (context, batch) => {
    if (batch.erasedAt !== null) return false
    await eraseEnded(context, batch)
    return true
  })
  const purged = await each(options, token, batchesKeptDays, stopping, async (context, batch) => {
    await purgeEnded(context, batch)
    return true
  })
  return { erased, purged }
}

async function each(
  options: RetentionLoopOptions,
  token: string,
  keptDays: number | null,
  stopping: AbortSignal,
  handle: (context: RetentionContext, batch: EndedBatch) => Promise<boolean>,
): Promise<number> {
  if (keptDays === null) return 0
  const { db, clock, log, place, signingKey } = options
  const endedBefore = new Date(+clock.now() - keptDays * DAY_MS)
  const reason = `ended more than ${keptDays} days ago`
  let done = 0
  for (let afterId = 0; ; ) {
    const page = await listEndedBatches(db, {
      endedBefore,
      batchIds: null,
      afterId,
      limit: PER_PAGE,
    })
    for (const batch of page) {
      const until = new Date(+clock.now() + LEASE_MS)
      const isMine = await takeNamedLease(db, LEASE, token, until, clock.now())
      if (!isMine || stopping.aborted) return done
      if (whyNotYet(batch) !== null) continue
      try {
        const context = { db, clock, place, signingKey, actor: 'system', reason }
        if (await handle(context, batch)) done += 1
      } catch (err) {
        log.error({ err, batchId: batch.batchId }, 'A batch is kept for now')
      }
    }
    if (page.length < PER_PAGE) return done
    afterId = page.at(-1)!.batchId
  }
}
