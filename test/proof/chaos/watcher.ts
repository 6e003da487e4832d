// Observes a run over its own connection, past the faulty network: the batch's progress, the invariants, and how long a lapsed
// lease waits to be taken over. Retries later while the server is down.

import { isTransient } from '../../../src/base/errors/transient.ts'
import type { Clock } from '../../../src/base/run/clock.ts'
import type { Db } from '../../../src/db/connection/db.ts'
import { CLOCKS_DIFFER_MAX_MS } from '../../../src/db/connection/time.ts'
import { brokenInvariants } from '../../kit/invariants.ts'
import type { Fleet } from './fleet.ts'

export interface Watcher {
  /** Findings so far. */
  readonly findings: string[]
  /** The longest time a lease lay lapsed although a process could have taken it. */
  takeoverMaxMs(): number
  readonly samples: { invariants: number }
  watch(over: AbortSignal): Promise<void>
  /** Resolves with the batch's final status; null when `giveUp` aborts first. */
  untilEnded(batchId: number, giveUp: AbortSignal): Promise<string | null>
}

const LOOK_EVERY_MS = 250
const INVARIANTS_EVERY_MS = 8_000

export function makeWatcher(db: Db, fleet: Fleet, clock: Clock): Watcher {
  const findings: string[] = []
  const samples = { invariants: 0 }
  let takeoverMaxMs = 0
  let unfitAt = Date.now()
  let lookAtInvariantsAt = Date.now() + INVARIANTS_EVERY_MS
  const observe = async () => {
    if (!isFit(fleet)) unfitAt = Date.now()
    takeoverMaxMs = Math.max(takeoverMaxMs, await lapsedForMs(db, clock.now(), unfitAt))
    if (Date.now() < lookAtInvariantsAt) return
    const broken = await brokenInvariantsOf(db, clock.now)
    samples.invariants += 1
    findings.push(...broken)
    lookAtInvariantsAt = Date.now() + INVARIANTS_EVERY_MS
  }
  return {
    findings,
    samples,
    takeoverMaxMs: () => takeoverMaxMs,
    watch: async (over) => {
      while (!over.aborted) {
        // A watcher's own error is a finding too: thrown, it would end the run and leave all processes running.
        await orLater(observe).catch((error: Error) => findings.push(`the watcher: ${error.stack}`))
        await clock.wait(LOOK_EVERY_MS, over)
      }
    },
    untilEnded: async (batchId, giveUp) => {
      while (!giveUp.aborted) {
        const status = await orLater(() => endedStatus(db, batchId))
        if (status) return status
        await clock.wait(LOOK_EVERY_MS, giveUp)
      }
      return null
    },
  }
}

/**
 * A crashed server forgets the sizes of its tables, and with a crash every 10 s autovacuum never measures them: an invariant over
 * 200,000 events was planned for one row and ran past 30 s. So the watcher analyses them.
 */
export async function brokenInvariantsOf(db: Db, now: () => Date): Promise<string[]> {
  await db.query('analyze')
  return brokenNow(db, now)
}

/** One snapshot, with the time read after it: otherwise newer rows seem to come from the future. */
async function brokenNow(db: Db, now: () => Date): Promise<string[]> {
  return db.transaction(async (tx) => {
    await tx.query('set transaction isolation level repeatable read, read only')
    await tx.query('select 1')
    return brokenInvariants(tx, now(), undefined, CLOCKS_DIFFER_MAX_MS)
  })
}

/** A takeover is possible: an orchestrator works, and network and database were healthy a moment ago. */
function isFit(fleet: Fleet): boolean {
  const now = Date.now()
  const troubled = fleet.happened.some(
    ({ who, at, until }) =>
      // 0: it lasts.
      (who === 'network' || who === 'database') && (until === 0 || (until ?? at) > now - 1_000),
  )
  return !troubled && fleet.atWork('orchestrator').length > 0
}

async function lapsedForMs(db: Db, now: Date, unfitAt: number): Promise<number> {
  const [row] = await db.query<{ since: Date | null }>(
    `select min(leased_until) as since from messages
      where topic <> 'worker-jobs' and leased_until < $1 and visible_at <= $1`,
    [now],
  )
  return row?.since ? Date.now() - Math.max(+row.since, unfitAt) : 0
}

async function endedStatus(db: Db, batchId: number): Promise<string | null> {
  const [batch] = await db.query<{ status: string }>(
    'select status from batches where id = $1 and ended_at is not null',
    [batchId],
  )
  return batch?.status ?? null
}

async function orLater<T>(ask: () => Promise<T>): Promise<T | null> {
  try {
    return await ask()
  } catch (error) {
    if (!isTransient(error)) throw error
    return null
  }
}
