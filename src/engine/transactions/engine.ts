// The engine's context and one transaction on one batch. Scheduler, orchestrator and API change a batch only through these:
// locking.ts locks it, loading.ts fills the draft, a pure decision changes the draft, finish.ts writes state and messages together.

import type { JobKeys } from '../../base/keys/job-keys.ts'
import type { Bus } from '../../bus/bus.ts'
import type { Db, Tx } from '../../db/connection/db.ts'
import type { PhaseCounters } from '../../db/state/counters.ts'
import type { LastSeen } from '../../db/state/epochs.ts'
import type { Draft } from '../../domain/decide/draft.ts'
import type { ChangeWindows } from '../../domain/windows/change-windows.ts'
import type { CommitWatch } from './commit-watch.ts'
import type { FunctionBook } from './function-book.ts'
import type { RunbookCache } from './runbook-cache.ts'
import type { WorkerPace } from './worker-pace.ts'

/** The part of the transport that joins the engine's transactions. */
export type EngineBus = Pick<Bus, 'storedJobs' | 'locate' | 'deadLetters' | 'depth'>

export interface Engine {
  readonly db: Db
  readonly clock: { now(): Date }
  readonly runbooks: RunbookCache
  /** What functions declare about themselves. */
  readonly functions: FunctionBook
  /** 0 ≤ random() < 1, for the jitter of retries; from the seed in simulations. */
  readonly random: () => number
  /** How many jobs each worker may have outstanding. */
  readonly pace: WorkerPace
  /** How long a job may wait for a worker, besides its step's timeout. */
  readonly queueLimitSec: number
  /** If it is gone from the database, an older copy took its place: nothing is decided until a new epoch begins. */
  readonly seen: LastSeen
  readonly bus: EngineBus
  /** The change windows of the system, besides each runbook's; without them only the runbooks' count. */
  readonly windows?: ChangeWindows | null
  /** Sign jobs; without them workers that have keys refuse every job. */
  readonly jobKeys?: JobKeys | null
  /** Learns what was committed; without it nothing is measured or traced. */
  readonly watch?: CommitWatch | null
  /** Everything is rolled back: new batches take no number. */
  readonly isDryRun?: boolean
}

/**
 * What a transaction may do with its batch. `shared`: change members of its own while others change theirs (locking.ts). `read`: nothing; it
 * shares the lock only so that nobody changes the batch meanwhile.
 */
export type BatchAccess = 'exclusive' | 'shared' | 'read'

export interface BatchTransaction {
  readonly tx: Tx
  readonly draft: Draft
  readonly engine: Engine
  /** Slots this transaction may use besides those it frees, by worker. */
  readonly freeSlots: Map<string, number>
  readonly access: BatchAccess
  /** The phases' counters as they were read, by the phase's id. */
  readonly countsLoaded: ReadonlyMap<number, PhaseCounters>
}

/** Rolls a shared transaction back: the change needs the batch's exclusive lock. */
export class NeedsExclusiveLock extends Error {
  override readonly name = 'NeedsExclusiveLock'
}

/** For work that finds out halfway that it changes more than its members. */
export function requireExclusive({ access }: BatchTransaction): void {
  if (access !== 'exclusive') throw new NeedsExclusiveLock()
}

/**
 * An engine whose transactions all start with `check`: a lease is still ours, or what a person saw is still true. Checking in the
 * transaction that does the work leaves no gap. When `check` throws, nothing is done.
 */
export function fencedEngine(engine: Engine, check: (tx: Tx) => Promise<void>): Engine {
  const { db } = engine
  const fenced: Db = {
    kind: db.kind,
    query: (sql, values) => db.query(sql, values),
    script: (sql) => db.script(sql),
    listen: (channel, heard) => db.listen(channel, heard),
    close: () => db.close(),
    transaction: (work) =>
      db.transaction(async (tx) => {
        await check(tx)
        return work(tx)
      }),
  }
  return { ...engine, db: fenced }
}
