// The transport under a story: the outbox itself, or Azure Service Bus by the real SDK through the tests' broker, where orchestrator and
// workers are clients of their own and workers have no database. Stories are the same on both.
import { randomUUID } from 'node:crypto'
import type { VirtualClock } from '../../src/base/run/clock.ts'
import type { Bus } from '../../src/bus/bus.ts'
import { openPostgresBus } from '../../src/bus/postgres/postgres-bus.ts'
import { openServiceBus } from '../../src/bus/servicebus/servicebus-bus.ts'
import type { Db } from '../../src/db/connection/db.ts'
import type { Broker } from '../kit/broker/broker.ts'
import { openNamespace } from '../kit/namespace.ts'

export interface Wire {
  /** Of orchestrator, scheduler and API. */
  readonly bus: Bus
  readonly workers: Bus
  readonly broker: Broker | null
  /** For peers that are not ours. */
  readonly connectionString: string | null
  /** Takes what transactions stored to where consumers are. */
  forward(): Promise<number>
  close(): Promise<void>
}

export type OpenWire = (db: Db, clock: VirtualClock) => Promise<Wire>

export const overPostgres: OpenWire = async (db, clock) => {
  const bus = openPostgresBus({ db, clock, newToken: randomUUID })
  const none = { broker: null, connectionString: null, forward: async () => 0 }
  return { bus, workers: bus, ...none, close: bus.close }
}

const RETRY = { maxRetries: 3, retryDelayInMs: 5, maxRetryDelayInMs: 20, timeoutInMs: 2_000 }

export const overServiceBus =
  (workerIds: readonly string[]): OpenWire =>
  async (db, clock) => {
    const { broker, connectionString } = await openNamespace(clock, workerIds)
    const open = (own: Db | null) =>
      openServiceBus({
        db: own,
        clock,
        newToken: randomUUID,
        retry: RETRY,
        access: { connectionString },
      })
    const [bus, workers] = [await open(db), await open(null)]
    return {
      bus,
      workers,
      broker,
      connectionString,
      forward: () => bus.capabilities.relay!.forward(),
      close: async () => {
        await Promise.all([bus.close(), workers.close()])
        await broker.close()
      },
    }
  }
