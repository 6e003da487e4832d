// The transport `postgres`: consumers claim the rows of the outbox. Polling is the truth; NOTIFY only makes a consumer look
// sooner. One listening connection serves all subscriptions of the process.
import type { Db } from '../../db/db.ts'
import {
  type Bus,
  LEASE_MS,
  RECEIVE_MAX,
  type ReceivedMessage,
  type Subscription,
  type TimeSource,
} from '../bus.ts'
import { enqueue, HINT_CHANNEL, withdraw } from '../outbox.ts'
import { postgresDeadLetters } from './dead-letters.ts'
import { type LowWaterMark, makeLowWaterMark } from './low-water-mark.ts'
import { abandon, ack, type Claim, claim, deadLetter, renewLeases } from './queue.ts'

export interface PostgresBusOptions {
  readonly db: Db
  readonly clock: TimeSource
  /** A new UUID for every receive. Injected, so that a simulation replays. */
  readonly newToken: () => string
  /** A minute unless given; tests of takeovers cannot wait that long. */
  readonly leaseMs?: number
}

/** The bus does not own the database: closing it only stops listening. */
export type PostgresBus = Required<Bus>

export function openPostgresBus(options: PostgresBusOptions): PostgresBus {
  const { db, clock, newToken, leaseMs = LEASE_MS } = options
  const now = () => clock.now()
  const hints = hintsFrom(db)
  const floors = new Map<string, LowWaterMark>()
  const leaseFrom = (at: Date) => new Date(at.getTime() + leaseMs)
  return {
    leaseMs,
    publish: async (messages) => {
      if (messages.length > 0) await db.transaction((tx) => enqueue(tx, messages, now()))
    },
    receive: (subscription, limit) => {
      const address = addressOf(subscription)
      const floor = floors.get(address) ?? makeLowWaterMark()
      floors.set(address, floor)
      const take = (size: number) => {
        const at = now()
        const lease = { token: newToken(), until: leaseFrom(at) }
        return claim(db, subscription, size, lease, floor, at)
      }
      return receive(take, Math.min(limit, RECEIVE_MAX))
    },
    ack: (messages) => ack(db, messages, now()),
    abandon: (messages, delayMs = 0) => {
      const at = now()
      return abandon(db, messages, new Date(at.getTime() + delayMs), at)
    },
    renew: (messages) => {
      const at = now()
      return renewLeases(db, messages, leaseFrom(at), at)
    },
    deadLetter: (messages, reason, description) =>
      deadLetter(db, messages, reason, description, now()),
    deadLetters: postgresDeadLetters(db, clock),
    listen: hints.listen,
    withdraw: (topic, messageIds) => db.transaction((tx) => withdraw(tx, topic, messageIds)),
    close: hints.close,
  }
}

/** Rows that expired unseen come out of the first claims; after so many chunks of nothing else the caller may come again. */
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

const addressOf = ({ topic, name }: Subscription): string => `${topic}/${name}`

interface Hints {
  listen(subscription: Subscription, heard: () => void): Promise<() => Promise<void>>
  close(): Promise<void>
}

function hintsFrom(db: Db): Hints {
  const listeners = new Map<object, { address: string; heard: () => void }>()
  let listening: Promise<() => Promise<void>> | undefined
  const tell = (payload: string) => {
    // An empty payload says that the connection is new: what was said before it is lost, so everybody looks.
    for (const { address, heard } of listeners.values()) {
      if (payload === '' || payload === address) heard()
    }
  }
  return {
    listen: async (subscription, heard) => {
      const key = {}
      listeners.set(key, { address: addressOf(subscription), heard })
      listening ??= db.listen(HINT_CHANNEL, tell)
      try {
        await listening
      } catch (error) {
        listening = undefined
        listeners.delete(key)
        throw error
      }
      return async () => {
        listeners.delete(key)
      }
    },
    close: async () => {
      const stop = await listening
      listening = undefined
      listeners.clear()
      await stop?.()
    },
  }
}
