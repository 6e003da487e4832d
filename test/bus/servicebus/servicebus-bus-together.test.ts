// Functions that act on many, over the real SDK and a broker: it sends as many jobs as a worker has slots, and those that wait for
// others like them make room for more. Nobody else waits for them, and every job comes once.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { it } from 'node:test'
import { z } from 'zod'
import { virtualClock } from '../../../src/base/run/clock.ts'
import type { JsonObject } from '../../../src/base/text/json.ts'
import { type OutgoingMessage, WORKER_RESULTS } from '../../../src/bus/bus.ts'
import { openServiceBus } from '../../../src/bus/servicebus/servicebus-bus.ts'
import { defineFunction, TOUCHES_NOTHING } from '../../../src/worker/functions/catalogue.ts'
import { Worker } from '../../../src/worker/jobs/worker.ts'
import { openNamespace } from '../../kit/namespace.ts'
import { job } from '../under-test.ts'

const START = new Date('2026-03-01T10:00:00.000Z')
const PEOPLE = 200
const LIMIT = 100
const OTHERS = 20
const SLOTS = 4

const jobOf = (jobId: string, functionName: string, parameters: JsonObject): OutgoingMessage => {
  const { body, ...message } = job('w1', jobId) as OutgoingMessage & { body: object }
  return { ...message, body: { ...body, functionName, parameters } } as OutgoingMessage
}

/** The others come in between. */
const JOBS = Array.from({ length: PEOPLE }, (_, at) => [
  jobOf(`p${at}`, 'Add', { Wave: '1' }),
  ...(at % (PEOPLE / OTHERS) === 0 ? [jobOf(`o${at}`, 'Other', {})] : []),
]).flat()

it('200 people on 4 slots are served by two calls, and others meanwhile', async () => {
  const clock = virtualClock(START)
  const { broker, connectionString } = await openNamespace(clock, ['w1'])
  const bus = await openServiceBus({
    db: null,
    clock,
    newToken: () => 'token',
    access: { connectionString },
  })
  const calls: number[] = []
  const results = new Map<string, string>()
  const done = new EventTarget()
  const othersDone = Promise.withResolvers<void>()
  let running = 0
  let most = 0
  let others = 0
  const watched = async <T>(work: () => Promise<T>): Promise<T> => {
    most = Math.max(most, ++running)
    return work().finally(() => running--)
  }
  const add = defineFunction({
    ...TOUCHES_NOTHING,
    name: 'Add',
    description: 'Adds.',
    parameters: z.object({ Wave: z.string() }),
    run: () => assert.fail('nobody is added alone'),
    together: {
      // Only the limit closes a collection here: no time passes.
      key: ({ Wave }: { Wave: string }) => Wave,
      limit: LIMIT,
      waitMs: 3_600_000,
      run: (jobs) =>
        watched(async () => {
          calls.push(jobs.length)
          // A call that takes long holds up nobody.
          await othersDone.promise
          return jobs.map(() => true)
        }),
    },
  })
  const other = defineFunction({
    ...TOUCHES_NOTHING,
    name: 'Other',
    description: 'Is alone.',
    parameters: z.object({}),
    isIdempotent: false,
    run: () =>
      watched(async () => {
        if (++others === OTHERS) othersDone.resolve()
        return true
      }),
  })
  const worker = new Worker({
    workerId: 'w1',
    version: '1',
    bus,
    clock,
    functions: [add, other],
    maxParallelism: SLOTS,
    onError: (error) => assert.fail(String(error)),
    onResult: ({ jobId, status, error }) => {
      results.set(jobId, error?.message ?? status)
      if (results.size === PEOPLE + OTHERS) done.dispatchEvent(new Event('done'))
    },
  })
  try {
    const ended = once(done, 'done')
    await bus.publish(JOBS)
    worker.start()
    await ended
    await worker.stop()
    assert.deepEqual(calls, [LIMIT, LIMIT])
    assert.deepEqual([...new Set(results.values())], ['Success'])
    assert.ok(most <= SLOTS, `${most} at once on ${SLOTS} slots`)
    const left = await bus.receive(WORKER_RESULTS, 500)
    const answered = left.filter(({ type }) => type === 'worker-result')
    assert.equal(answered.length, PEOPLE + OTHERS, 'each answer was sent, once')
  } finally {
    await bus.close()
    await broker.close()
  }
})
