// The gateway for workers that come through the API, over the tables of the bus. A lease names a row, so each call first proves that these rows
// are the worker's own: a row never changes its worker.

import { MatoolkitError } from '../../base/errors/errors.ts'
import type { Db, Queryable } from '../../db/connection/db.ts'
import { readMessage } from '../../domain/messages/messages.ts'
import { type Bus, type MessageLease, type TimeSource, workerJobs } from '../bus.ts'
import { enqueueRows, rowFromWorker } from '../outbox.ts'
import type { ClockWait, JobEnd, SentMessage, WorkerGateway } from '../worker-gateway.ts'
import { rowHolding, rowOnceSplit } from './bundle-rows.ts'
import { abandon, ack, deadLetter, release, renewLeases } from './lease.ts'

export interface GatewayOptions {
  readonly db: Db
  readonly clock: TimeSource
  readonly bus: Pick<Bus, 'leaseMs' | 'receive' | 'listen'>
}

/** A hint can be lost, and none comes when a lease lapses. */
const LOOK_INTERVAL_MS = 5_000

export function openWorkerGateway({ db, clock, bus }: GatewayOptions): WorkerGateway {
  const { leaseMs } = bus
  return {
    leaseMs,
    take: (workerId, limit) => bus.receive(workerJobs(workerId), limit),
    awaitJob: (workerId, signal, wait) => awaitJob({ db, clock, bus }, workerId, signal, wait),
    renew: async (workerId, leases) => {
      await requireOwn(db, workerId, leases)
      const at = clock.now()
      const held = leases.map(heldAt)
      return placesOf(await renewLeases(db, held, new Date(+at + leaseMs), at))
    },
    end: async (workerId, leases, how) => {
      await requireOwn(db, workerId, leases)
      return placesOf(await endJobs(db, leases.map(heldAt), how, clock.now()))
    },
    send: (workerId, messages) => send(db, workerId, messages, clock.now()),
  }
}

interface HeldJob {
  readonly lease: MessageLease
  /** Among the leases of the call. */
  readonly place: number
}

const heldAt = (lease: MessageLease, place: number): HeldJob => ({ lease, place })
const placesOf = (lost: readonly HeldJob[]): number[] => lost.map(({ place }) => place)

async function endJobs(
  db: Queryable,
  held: readonly HeldJob[],
  how: JobEnd,
  now: Date,
): Promise<HeldJob[]> {
  if (how.as === 'done') return ack(db, held, now)
  if (how.as === 'dead') await deadLetter(db, held, how.reason, how.description, now)
  else {
    const visibleAt = new Date(+now + how.delayMs)
    await (how.isCounted ? abandon : release)(db, held, visibleAt, now)
  }
  return []
}

/** Rows that are gone belong to nobody; the lease on them is lost. */
async function requireOwn(
  db: Queryable,
  workerId: string,
  leases: readonly MessageLease[],
): Promise<void> {
  const rows = new Set(leases.flatMap((lease) => [rowHolding(lease), rowOnceSplit(lease)]))
  const [found] = await db.query<{ id: number | null }>(
    `select min(id) as id from bundles
      where id = any ($1::bigint[]) and (topic <> 'worker-jobs' or worker_id is distinct from $2)`,
    [`{${[...rows].join(',')}}`, workerId],
  )
  if (found!.id !== null) throw new MatoolkitError('LEASE_OF_ANOTHER', { workerId })
}

async function awaitJob(
  { db, clock, bus }: GatewayOptions,
  workerId: string,
  signal: AbortSignal,
  wait: ClockWait,
): Promise<boolean> {
  const heard = new AbortController()
  // First, so that no job comes unheard between the look and the wait.
  const stop = await bus.listen(workerJobs(workerId), () => heard.abort())
  const woken = AbortSignal.any([signal, heard.signal])
  try {
    while (!woken.aborted) {
      if (await isJobWaiting(db, workerId, clock.now())) return true
      await wait(LOOK_INTERVAL_MS, woken)
    }
    return heard.signal.aborted
  } finally {
    await stop()
  }
}

async function isJobWaiting(db: Queryable, workerId: string, now: Date): Promise<boolean> {
  const found = await db.query(
    `select from bundles where topic = 'worker-jobs' and subscription = $1 and visible_at <= $2
        and (leased_until is null or leased_until <= $2) limit 1`,
    [workerJobs(workerId).name, now],
  )
  return found.length > 0
}

async function send(
  db: Db,
  workerId: string,
  messages: readonly SentMessage[],
  now: Date,
): Promise<void> {
  const rows = messages.map((message) => {
    requireInOwnName(workerId, message)
    return rowFromWorker(workerId, message, now)
  })
  await db.transaction((tx) => enqueueRows(tx, rows, now))
}

/** Throws MESSAGE_BODY_INVALID or RESULT_OF_ANOTHER. */
function requireInOwnName(workerId: string, { messageId, type, body }: SentMessage): void {
  const read = readMessage(type, body)
  if (!read.ok) throw new MatoolkitError('MESSAGE_BODY_INVALID', { messageId, reason: read.reason })
  const named = read.message.workerId ?? ''
  if (named !== workerId)
    throw new MatoolkitError('RESULT_OF_ANOTHER', { messageId, named, workerId })
}
