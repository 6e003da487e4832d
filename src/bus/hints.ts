// Hints by NOTIFY. Polling delivers every message; a hint only makes a consumer poll sooner, so losing one costs an interval.
// One listening connection serves all subscriptions of the process.
import type { Db, Queryable } from '../db/connection/db.ts'
import { addressOf, type Bus, type Subscription } from './bus.ts'
import { HINT_CHANNEL } from './outbox.ts'

/** Makes listeners of the subscription poll once the transaction commits. */
export async function hint(db: Queryable, subscription: Subscription): Promise<void> {
  await db.query('select pg_notify($1, $2)', [HINT_CHANNEL, addressOf(subscription)])
}

interface Hints {
  readonly listen: Bus['listen']
  /** Hears of the messages of every subscription. */
  readonly listenToAll: (heard: () => void) => Promise<() => Promise<void>>
  close(): Promise<void>
}

export function openHints(db: Db): Hints {
  const listeners = new Map<object, { address: string | null; heard: () => void }>()
  let listening: Promise<() => Promise<void>> | undefined
  const tell = (payload: string) => {
    // An empty payload means a new connection: earlier hints are lost, so everybody polls.
    for (const { address, heard } of listeners.values()) {
      if (payload === '' || address === null || payload === address) heard()
    }
  }
  const listen = async (address: string | null, heard: () => void) => {
    const key = {}
    listeners.set(key, { address, heard })
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
  }
  return {
    listen: (subscription, heard) => listen(addressOf(subscription), heard),
    listenToAll: (heard) => listen(null, heard),
    close: async () => {
      const stop = await listening
      listening = undefined
      listeners.clear()
      await stop?.()
    },
  }
}
