// A restore of the database from a backup: a new epoch begins, everything is put on hold, and the jobs that were out are given back.
// Who notices it calls `beginEpoch`: a process at its start, a running orchestrator, or a person (`matoolkit db restored`).
import type { OutgoingMessage } from '../../bus/bus.ts'
import { enqueue } from '../../bus/outbox.ts'
import type { Tx } from '../../db/connection/db.ts'
import { insertAudit } from '../../db/orders/audit.ts'
import { insertEvents } from '../../db/state/changes.ts'
import {
  countJobsOut,
  type EpochState,
  insertEpoch,
  insertFirstEpoch,
  moveEpoch,
  readEpochState,
  type SeenEvent,
  skipNumbers,
} from '../../db/state/epochs.ts'
import { findHold, insertHold, lockHolds, writeHoldReason } from '../../db/state/holds.ts'
import { listAnnouncedWorkers } from '../../db/state/workers.ts'
import { messageIdOf, newEpoch } from '../../domain/messages/messages.ts'
import { eventRecord } from '../../domain/state/event-record.ts'
import { type Hold, SYSTEM } from '../../domain/state/holds.ts'
import {
  isOtherTimeline,
  restoreReason,
  tellMoved,
  tellWentBack,
} from '../../domain/state/restores.ts'
import type { Engine } from '../transactions/engine.ts'

export interface RestoreOrder {
  readonly actor: string
  /** How it was noticed, or what the person says. Without a full stop. */
  readonly because: string
  /** The number of the epoch that ends. If another has begun meanwhile, somebody else has noticed. */
  readonly after?: number
  /** The caller writes the audit itself. */
  readonly isAudited?: boolean
}

export interface Restored {
  readonly epoch: string
  /** When the newest record of the backup was written. */
  readonly backupAt: Date
  readonly hold: Hold
  /** Jobs that were out: their steps wait to be sent again. */
  readonly jobsOut: number
}

/**
 * Begins a new epoch and puts the whole system on hold, in one transaction. Call it after the database was replaced by an older copy
 * and before anything works on it. Null when another process was first.
 */
export function beginEpoch(engine: Engine, order: RestoreOrder): Promise<Restored | null> {
  return engine.db.transaction(async (tx) => {
    // Senders share this lock: what they send carries the old epoch and commits before, or sees the hold.
    await lockHolds(tx)
    const state = await readEpochState(tx)
    if (order.after !== undefined && order.after !== state.number) return null
    const now = engine.clock.now()
    const backupAt = state.newest?.at ?? now
    const epoch = newEpoch(engine.random)
    const number = Math.max(state.number, 0) + 1
    const { actor, because } = order
    await insertEpoch(tx, { number, epoch, begunBy: actor, because, backupAt }, now)
    await skipNumbers(tx)
    await engine.bus.storedJobs?.discardIn(tx)
    await enqueue(tx, await recallsFor(tx, epoch, backupAt), now)
    const hold = await holdEverything(tx, order, backupAt, now)
    const jobsOut = await countJobsOut(tx)
    const details = { epoch, backupAt: backupAt.toISOString(), jobsOut }
    await insertEvents(tx, null, now, actor, [
      eventRecord('system', 'restored', hold.reason, { details }),
      eventRecord('system', 'held', hold.reason),
    ])
    if (!order.isAudited) await auditRestore(tx, order, details, now)
    return { epoch, backupAt, hold, jobsOut }
  })
}

/** Workers that announced themselves tell what they remember; others would not understand the message. */
async function recallsFor(tx: Tx, epoch: string, since: Date): Promise<OutgoingMessage[]> {
  return (await listAnnouncedWorkers(tx)).map((workerId) => ({
    topic: 'worker-jobs',
    messageId: messageIdOf.workerRecall(workerId, epoch),
    type: 'worker-recall',
    workerId,
    body: { workerId, since: since.toISOString(), epoch },
  }))
}

/** Held since the newest record: retries and polls get back the time that was lost, and do not run out on the first look. */
async function holdEverything(
  tx: Tx,
  { actor, because }: RestoreOrder,
  backupAt: Date,
  now: Date,
): Promise<Hold> {
  const reason = restoreReason(because, backupAt, now)
  const fresh = { ...SYSTEM, batchId: null, memberId: null, heldBy: actor, reason }
  if (!(await insertHold(tx, fresh, backupAt))) {
    const former = (await findHold(tx, SYSTEM))!
    await writeHoldReason(tx, SYSTEM, `${reason}; held before: ${former.reason}`)
  }
  return (await findHold(tx, SYSTEM))!
}

const auditRestore = (
  tx: Tx,
  { actor, because }: RestoreOrder,
  after: { epoch: string; backupAt: string; jobsOut: number },
  at: Date,
): Promise<void> =>
  insertAudit(tx, {
    at,
    actor,
    actorName: actor,
    action: RESTORE_ACTION,
    subject: 'system',
    reason: because,
    source: null,
    clientApp: null,
    requestId: null,
    after,
  })

const RESTORE_ACTION = 'system.restored'
const ACTOR = 'system'

/** At the start of a process: notices what PostgreSQL shows. Null when nothing happened. */
export async function noticeRestore(engine: Engine): Promise<Restored | null> {
  const state = await readEpochState(engine.db)
  if (state.sign !== null) return actOn(engine, state, { event: null, movedForMs: 0 })
  await insertFirstEpoch(engine.db, engine.clock.now())
  return null
}

/**
 * Looks again and again while the process runs: it also notices that something it has seen is gone. Between two looks the engine itself
 * refuses to work on a database that lacks it.
 */
export function makeRestoreWatch(engine: Engine): () => Promise<Restored | null> {
  const { seen } = engine
  let epoch: string | null = null
  let movedAt: Date | null = null
  return async () => {
    const { event } = seen
    const state = await readEpochState(engine.db, event?.id)
    const now = engine.clock.now()
    movedAt = isMoved(state) ? (movedAt ?? now) : null
    const movedForMs = movedAt === null ? 0 : +now - +movedAt
    // Another process has noticed it since: a second epoch would hold everything again.
    const isNoticed = event !== null && state.epoch !== epoch && +event.at < +(state.beganAt ?? NaN)
    const restored = isNoticed ? null : await actOn(engine, state, { event, movedForMs })
    epoch = restored?.epoch ?? state.epoch
    seen.event = state.newest
    return restored
  }
}

const isMoved = ({ sign, signNow }: EpochState): boolean => sign !== null && sign !== signNow

/**
 * Every running process looks each second, and until one accepts the failover nothing is decided and no job is taken. One that misses
 * something begins an epoch; in a trial another had written before that nothing was gone.
 */
const FAILOVER_WATCHED_MS = 10_000

async function actOn(
  engine: Engine,
  state: EpochState,
  { event: seen, movedForMs }: { event: SeenEvent | null; movedForMs: number },
): Promise<Restored | null> {
  const { number, sign, signNow, seenAt } = state
  if (seen !== null && +seen.at !== +(seenAt ?? NaN)) {
    const because = tellWentBack(seen.id)
    return beginEpoch(engine, { actor: ACTOR, because, after: number })
  }
  if (sign === null || !isMoved(state)) return null
  // A standby took over, and what this process saw last is there.
  if (seen !== null && isOtherTimeline(sign, signNow))
    return movedForMs < FAILOVER_WATCHED_MS ? null : acceptFailover(engine, number)
  return beginEpoch(engine, { actor: ACTOR, because: tellMoved(sign, signNow), after: number })
}

async function acceptFailover(engine: Engine, number: number): Promise<null> {
  await engine.db.transaction(async (tx) => {
    await lockHolds(tx)
    if (!(await moveEpoch(tx, number))) return
    const because = `a standby of the database took over, and no process that looked within ${FAILOVER_WATCHED_MS / 1_000} seconds misses anything that it had seen`
    const event = eventRecord('system', 'failed_over', because)
    await insertEvents(tx, null, engine.clock.now(), ACTOR, [event])
  })
  return null
}
