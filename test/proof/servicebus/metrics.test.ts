// What a scraper gets within a second: with 500 workers on Service Bus, while the bus is away, and while the database is.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, it } from 'node:test'
import { Figures } from '../../../src/api/services/figures.ts'
import { realClock } from '../../../src/base/run/clock.ts'
import { WORKER_RESULTS } from '../../../src/bus/bus.ts'
import { openServiceBus } from '../../../src/bus/servicebus/servicebus-bus.ts'
import { configureWorkers } from '../../../src/db/state/workers.ts'
import { openTestPglite } from '../../kit/databases.ts'
import { openNamespace } from '../../kit/namespace.ts'

const WORKERS = Array.from({ length: 500 }, (_, i) => `worker-${i}`)

describe('metrics of a namespace with 500 workers', () => {
  it('come within a second, with the bus there, with the bus away, and without the database', async (t) => {
    const clock = realClock()
    const test = await openTestPglite()
    const { broker, connectionString } = await openNamespace(clock, WORKERS)
    const access = { connectionString }
    const bus = await openServiceBus({ db: test.db, clock, newToken: randomUUID, access })
    await configureWorkers(test.db, WORKERS)
    // As the orchestrator does: who receives may look into the subscriptions.
    await bus.receive(WORKER_RESULTS, 1)
    const figures = new Figures({ db: test.db, bus, clock })
    const look = async (what: string) => {
      const begun = performance.now()
      const lines = await figures.lines()
      const ms = Math.round(performance.now() - begun)
      t.diagnostic(`${what}: ${ms} ms`)
      assert.ok(ms < 1_000, `${what} took ${ms} ms`)
      return lines
    }
    try {
      await look('the first look, which opens 500 links')
      await bus.depth()
      const there = await look('the bus is there')
      assert.ok(there.includes('matoolkit_reachable{part="bus"} 1'), there.join('\n'))
      await broker.close()
      const away = await look('the bus is away')
      assert.ok(away.includes('matoolkit_held{scope="batch"} 0'), 'figures of the database stay')
      const asked = performance.now()
      assert.equal(await figures.isBusThere(), false)
      assert.ok(performance.now() - asked < 1_000, 'a probe is answered')
      const deaf = new Figures({
        db: { ...test.db, query: () => new Promise<never>(() => {}) },
        bus,
        clock,
      })
      const begun = performance.now()
      const lines = await deaf.lines()
      assert.ok(performance.now() - begun < 1_000)
      assert.deepEqual(
        lines.filter((line) => line.startsWith('matoolkit_reachable')),
        ['matoolkit_reachable{part="database"} 0', 'matoolkit_reachable{part="bus"} 0'],
      )
    } finally {
      await bus.close()
      await test.close()
    }
  })
})
