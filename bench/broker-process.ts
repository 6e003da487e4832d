// The tests' Service Bus in a process of its own, for benchmarks: says how to reach it, and how many messages it holds when asked.
import { realClock } from '../src/base/run/clock.ts'
import { openNamespace } from '../test/kit/namespace.ts'
import { WORKER_ID } from './engine-process.ts'

const TICK_MS = 1_000
const clock = realClock()
const { broker, connectionString } = await openNamespace(clock, [WORKER_ID])
const ticking = new AbortController()

const heldMessages = (): number =>
  broker.namespace.topics
    .flatMap(({ subscriptions }) => [...subscriptions.values()])
    .reduce((sum, { queue }) => sum + queue.size + (queue.deadLetters?.size ?? 0), 0)

process.on('message', () => process.send?.({ atBroker: heldMessages() }))
process.on('SIGTERM', async () => {
  ticking.abort()
  await broker.close()
  process.disconnect()
})
process.send?.({ connectionString })
while (!ticking.signal.aborted) {
  await clock.wait(TICK_MS, ticking.signal)
  broker.tick()
}
