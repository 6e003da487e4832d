// Jobs that wait at a closed gate lend their slots: how many, for how long, and what a stop does to them.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, afterEach, before, describe, it } from 'node:test'
import { z } from 'zod'
import { type VirtualClock, virtualClock } from '../../../src/base/run/clock.ts'
import { type Bus, type OutgoingMessage, WORKER_RESULTS, workerJobs } from '../../../src/bus/bus.ts'
import { openPostgresBus } from '../../../src/bus/postgres/postgres-bus.ts'
import { readMessage } from '../../../src/domain/messages/messages.ts'
import { defineFunction, TOUCHES_NOTHING } from '../../../src/worker/functions/catalogue.ts'
import { Throttle } from '../../../src/worker/http/throttle.ts'
import { Worker, type WorkerOptions } from '../../../src/worker/jobs/worker.ts'
import { drain } from '../../bus/under-test.ts'
import { DATABASES, type TestDatabase } from '../../kit/databases.ts'

const START = new Date('2026-03-01T10:00:00.000Z')
const { signal: NEVER } = new AbortController()

const jobOf = (jobId: string): OutgoingMessage => ({
  topic: 'worker-jobs',
  messageId: jobId,
  type: 'worker-job',
  workerId: 'w1',
  body: {
    jobId,
    batchId: 7,
    workerId: 'w1',
    functionName: 'Set-Mailbox',
    parameters: {},
    correlationData: { stepExecutionId: 3, isInitStep: false, runbookName: 'a', runbookVersion: 2 },
    timeoutSec: 3_600,
    notAfter: new Date(+START + 3_600_000).toISOString(),
  },
})

describe('jobs at a closed gate', () => {
  let test: TestDatabase
  let bus: Bus
  let clock: VirtualClock
  let exchange: Throttle
  const errors: unknown[] = []

  before(async () => {
    test = await DATABASES[0]!.open()
    clock = virtualClock(START)
    bus = openPostgresBus({ db: test.db, clock, newToken: randomUUID })
  })
  after(async () => {
    await bus.close()
    await test.close()
  })
  afterEach(() => assert.deepEqual(errors, []))

  async function workerAtClosedGate(closedMs: number, options: Partial<WorkerOptions>) {
    exchange = new Throttle({ clock, name: 'Exchange Online', start: 8, max: 8 })
    ;(await exchange.enter(NEVER, 'write')).refused(closedMs, null)
    const cmdlet = defineFunction({
      ...TOUCHES_NOTHING,
      name: 'Set-Mailbox',
      description: 'Makes two calls to Exchange at once.',
      parameters: z.looseObject({}),
      run: async ({ signal }) => {
        const call = async () => (await exchange.enter(signal, 'write')).answered(new Headers())
        await Promise.all([call(), call()])
        return true
      },
    })
    return new Worker({
      workerId: 'w1',
      version: '1.2.3',
      bus,
      clock,
      functions: [cmdlet],
      maxParallelism: 2,
      throttles: () => [exchange.state()],
      onError: (error) => errors.push(error),
      ...options,
    })
  }

  async function answers() {
    const got = await drain(bus, WORKER_RESULTS)
    await bus.ack(got)
    return got
  }

  async function hello() {
    const message = (await answers()).find(({ type }) => type === 'worker-hello')
    const read = readMessage('worker-hello', message!.body)
    assert.ok(read.ok)
    return read.message
  }

  it('lend their slots after two seconds, four jobs for each slot at most, and the worker says so', async () => {
    const worker = await workerAtClosedGate(20_000, {})
    const waiting = Array.from({ length: 9 }, (_, index) => `step-${index + 1}`)
    await bus.publish(waiting.map(jobOf))
    assert.equal(await worker.takeJobs(), 2)
    await clock.advance(1_000)
    assert.equal(await worker.takeJobs(), 0)
    await clock.advance(1_000)
    await worker.announceLent(clock.now())
    const { slots, throttles } = await hello()
    assert.equal(slots, 4)
    const closedUntil = exchange.state().closedUntil!.toISOString()
    assert.deepEqual(throttles, [
      {
        name: 'Exchange Online',
        closedUntil,
        concurrency: 1,
        calls: 0,
        queued: 4,
        throttled: 1,
        throttledSec: 20,
      },
    ])
    // Each job makes two calls, and lends one slot.
    const taken: number[] = []
    for (let round = 0; round < 4; round++) {
      taken.push(await worker.takeJobs())
      await clock.advance(2_000)
    }
    assert.deepEqual(taken, [2, 2, 2, 0])
    await clock.advance(20_000)
    await worker.idle()
    await worker.sendResults()
    const results = (await answers()).map(({ body }) => JSON.parse(body) as { status: string })
    assert.deepEqual(
      results.map(({ status }) => status),
      waiting.slice(1).map(() => 'Success'),
    )
    assert.equal(await worker.takeJobs(), 1)
    await worker.idle()
    await worker.sendResults()
    await worker.announceLent(clock.now())
    assert.equal((await hello()).slots, 2)
  })

  it('are aborted and abandoned when the worker stops', async () => {
    const worker = await workerAtClosedGate(600_000, { drainMs: 5_000 })
    await bus.publish([jobOf('step-10')])
    await worker.takeJobs()
    const stopped = worker.stop()
    await clock.advance(5_000)
    await stopped
    assert.deepEqual(await answers(), [])
    assert.deepEqual([exchange.state().calls, exchange.state().queued], [0, 0])
    const [again] = await bus.receive(workerJobs('w1'), 10)
    assert.equal(again?.messageId, 'step-10')
  })
})
