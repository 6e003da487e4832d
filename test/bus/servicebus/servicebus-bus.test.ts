// The servicebus transport keeps the contract of a transport, by the real SDK through a broker, and forwards the outbox.
import { randomUUID } from 'node:crypto'
import { virtualClock } from '../../../src/base/run/clock.ts'
import type { Bus } from '../../../src/bus/bus.ts'
import { openServiceBus } from '../../../src/bus/servicebus/servicebus-bus.ts'
import { openTestPglite } from '../../kit/databases.ts'
import { openNamespace } from '../../kit/namespace.ts'
import { busContract } from '../contract.ts'
import type { BusUnderTest } from '../under-test.ts'

const START = new Date('2026-03-01T10:00:00.000Z')
const RETRY = { maxRetries: 2, retryDelayInMs: 5, maxRetryDelayInMs: 20, timeoutInMs: 2_000 }

async function openBusUnderTest(): Promise<BusUnderTest> {
  const database = await openTestPglite()
  const clock = virtualClock(START)
  const { broker, connectionString } = await openNamespace(clock, ['w1', 'w2', 'zoe', 'abe'])
  const open = () =>
    openServiceBus({
      db: database.db,
      clock,
      newToken: randomUUID,
      retry: RETRY,
      access: { connectionString },
    })
  const [bus, other] = (await Promise.all([open(), open()])) as [Bus, Bus]
  return {
    bus,
    other,
    now: clock.now,
    advance: async (ms) => {
      await clock.advance(ms)
      broker.tick()
    },
    inTransaction: (work) => database.db.transaction(work),
    close: async () => {
      await Promise.all([bus.close(), other.close()])
      await broker.close()
      await database.close()
    },
  }
}

busContract('servicebus transport', openBusUnderTest)
