// The transport `postgres`: consumers claim the rows of the outbox themselves, so nothing carries messages between.

import { type LastSeen, readNewestEvent } from '../../db/state/epochs.ts'
import {
  addressOf,
  type Bus,
  LEASE_MS,
  NO_CAPABILITIES,
  RECEIVE_MAX,
  type ReceivedMessage,
  type StoredJobs,
  type TransportOptions,
} from '../bus.ts'
import { storedDeadLetters } from '../dead-letters.ts'
import { openHints } from '../hints.ts'
import { enqueue } from '../outbox.ts'
import { isReady, loadDepth } from './depth.ts'
import {
  abandon,
  ack,
  type Claim,
  claim,
  deadLetter,
  keepLeases,
  release,
  renewLeases,
} from './lease.ts'
import { locate } from './locate.ts'
import { type LowWaterMark, makeLowWaterMark } from './low-water-mark.ts'
import { sweepBus } from './sweep.ts'
import { countRunning, discardJobs, withdraw } from './withdraw.ts'

/** Everything lies in the database, so it needs neither relay nor control. Does not own the database: closing the bus only stops listening. */
export interface PostgresBus extends Bus {
  readonly storedJobs: StoredJobs
}

export function openPostgresBus(options: TransportOptions): PostgresBus {
  const { db, clock, newToken, leaseMs = LEASE_MS } = options
  const now = () => clock.now()
  const hints = openHints(db)
  const floors = new Map<string, LowWaterMark>()
  const seen: LastSeen = { event: null }
  let lookedAtMs = Number.NEGATIVE_INFINITY
  /** What another process of this worker did a second ago must not be new to this one. */
  const look = async () => {
    if (+now() - lookedAtMs < LOOK_MS) return
    seen.event = await readNewestEvent(db, seen)
    lookedAtMs = +now()
  }
  const leaseFrom = (at: Date, jumpMs = clock.comingJumpMs?.() ?? 0) =>
    new Date(at.getTime() + jumpMs + leaseMs)
  return {
    leaseMs,
    publish: async (messages) => {
      if (messages.length > 0) await db.transaction((tx) => enqueue(tx, messages, now()))
    },
    receive: async (subscription, limit) => {
      if (subscription.topic === 'worker-jobs') await look()
      const address = addressOf(subscription)
      const floor = floors.get(address) ?? makeLowWaterMark()
      floors.set(address, floor)
      const take = (size: number) => {
        const at = now()
        const lease = { token: newToken(), until: leaseFrom(at) }
        return claim(db, subscription, size, lease, { floor, seen }, at)
      }
      return receive(take, Math.min(limit, RECEIVE_MAX))
    },
    ack: (messages) => ack(db, messages, now()),
    abandon: (messages, delayMs = 0) => {
      const at = now()
      return abandon(db, messages, new Date(at.getTime() + delayMs), at)
    },
    release: (messages, delayMs) => {
      const at = now()
      return release(db, messages, new Date(at.getTime() + delayMs), at)
    },
    renew: (messages) => {
      const at = now()
      return renewLeases(db, messages, leaseFrom(at), at)
    },
    deadLetter: (messages, reason, description) =>
      deadLetter(db, messages, reason, description, now()),
    deadLetters: storedDeadLetters(db, clock),
    locate: (topic, messageIds) => locate(db, topic, messageIds, leaseMs, now()),
    isReady: () => isReady(db),
    depth: () => loadDepth(db, now()),
    sweep: async () => void (await sweepBus(db, now())),
    listen: hints.listen,
    storedJobs: {
      withdrawIn: (tx, jobIds, which) => withdraw(tx, jobIds, which === 'lapsed' ? now() : null),
      countRunningIn: countRunning,
      discardIn: discardJobs,
      keepLeases: (jumpMs) => {
        const at = now()
        return keepLeases(db, leaseFrom(at, jumpMs), at)
      },
    },
    capabilities: { ...NO_CAPABILITIES, takesBackDeliveries: true },
    close: hints.close,
  }
}

const LOOK_MS = 1_000

/** A claim that finds only expired rows is repeated this often; then the caller polls again. */
const RECEIVE_ROUNDS_MAX = 20

async function receive(
  take: (limit: number) => Promise<Claim>,
  limit: number,
): Promise<ReceivedMessage[]> {
  if (limit <= 0) return []
  for (let round = 0; round < RECEIVE_ROUNDS_MAX; round += 1) {
    const { messages, expired, exhausted } = await take(limit)
    if (messages.length > 0 || expired.length + exhausted.length < limit) return messages
  }
  return []
}
