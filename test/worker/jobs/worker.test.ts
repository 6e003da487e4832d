// The worker on the real bus of both databases. Functions wait at gates that the tests open, time is a virtual clock, and the
// loops run only in tests about starting and stopping.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, beforeEach, describe, it } from 'node:test'
import { z } from 'zod'
import { MatoolkitError } from '../../../src/base/errors/errors.ts'
import { type VirtualClock, virtualClock } from '../../../src/base/run/clock.ts'
import type { Json } from '../../../src/base/text/json.ts'
import {
  type Bus,
  LEASE_MS,
  type OutgoingMessage,
  type ReceivedMessage,
  WORKER_RESULTS,
  workerJobs,
} from '../../../src/bus/bus.ts'
import { openPostgresBus } from '../../../src/bus/postgres/postgres-bus.ts'
import { readMessage } from '../../../src/domain/messages/messages.ts'
import { defineFunction, TOUCHES_NOTHING } from '../../../src/worker/functions/catalogue.ts'
import type { JobResult } from '../../../src/worker/jobs/result-cache.ts'
import { Worker, type WorkerOptions } from '../../../src/worker/jobs/worker.ts'
import { drain } from '../../bus/under-test.ts'
import { DATABASES, type TestDatabase } from '../../kit/databases.ts'
import { variants } from '../../kit/variants.ts'

const START = new Date('2026-03-01T10:00:00.000Z')
const HOUR = 3_600_000

/** A function that runs until its gate opens and reports who is inside. */
function gated() {
  const gates = new Map<string, PromiseWithResolvers<Json>>()
  const ran: string[] = []
  const one = defineFunction({
    ...TOUCHES_NOTHING,
    name: 'Wait-Gate',
    description: 'Waits until the test opens its gate.',
    parameters: z.strictObject({ Name: z.string() }),
    run: async ({ params, signal, jobId }) => {
      ran.push(jobId)
      const gate = Promise.withResolvers<Json>()
      gates.set(params.Name, gate)
      signal.addEventListener('abort', () => gate.reject(signal.reason))
      return gate.promise.finally(() => gates.delete(params.Name))
    },
  })
  return { one, gates, ran }
}

const echo = defineFunction({
  ...TOUCHES_NOTHING,
  name: 'Get-Echo',
  description: 'Returns its parameters.',
  parameters: z.looseObject({}),
  run: async ({ params }) => params as { [key: string]: Json },
})

let made = 0
const fresh = () => `step-${++made}`

interface JobOptions {
  readonly function?: string
  readonly parameters?: { [key: string]: Json }
  readonly timeoutSec?: number
  readonly notAfter?: Date
  readonly correlation?: { [key: string]: Json }
}

function jobOf(jobId: string, options: JobOptions = {}): OutgoingMessage {
  return {
    topic: 'worker-jobs',
    messageId: jobId,
    type: 'worker-job',
    workerId: 'w1',
    body: {
      jobId,
      batchId: 7,
      workerId: 'w1',
      functionName: options.function ?? 'Wait-Gate',
      parameters: options.parameters ?? { Name: jobId },
      correlationData: {
        stepExecutionId: 3,
        isInitStep: false,
        runbookName: 'contoso',
        runbookVersion: 2,
      },
      timeoutSec: options.timeoutSec ?? 3_600,
      notAfter: (options.notAfter ?? new Date(+START + 1_000 * HOUR)).toISOString(),
    },
  }
}

for (const database of variants(DATABASES)) {
  describe(`worker on ${database.kind}`, () => {
    let test: TestDatabase
    let bus: Bus
    let clock: VirtualClock
    let errors: unknown[]

    before(async () => {
      test = await database.open()
      clock = virtualClock(START)
      bus = openPostgresBus({ db: test.db, clock, newToken: randomUUID })
    })
    after(async () => {
      await bus.close()
      await test.close()
    })
    beforeEach(async () => {
      errors = []
      // Expires the leases of the previous test and acks its messages.
      await clock.advance(2 * LEASE_MS)
      for (const left of [workerJobs('w1'), WORKER_RESULTS]) await bus.ack(await drain(bus, left))
    })

    const workerWith = (options: Partial<WorkerOptions>) =>
      new Worker({
        workerId: 'w1',
        version: '1.2.3',
        bus,
        clock,
        functions: [echo],
        maxParallelism: 2,
        onError: (error) => errors.push(error),
        ...options,
      })

    const isWaiting = async () => (await bus.receive(workerJobs('w1'), 10)).length

    async function answers(): Promise<ReceivedMessage[]> {
      const got = await drain(bus, WORKER_RESULTS)
      await bus.ack(got)
      return got
    }

    const resultsOf = (messages: readonly ReceivedMessage[]) =>
      messages.map(({ body }) => {
        const read = readMessage('worker-result', body)
        assert.ok(read.ok)
        return read.message
      })

    it('sends a result with the job data and correlation intact, then acks', async () => {
      const worker = workerWith({})
      const jobId = fresh()
      await bus.publish([jobOf(jobId, { function: 'get-ECHO', parameters: { A: [1, null] } })])
      assert.equal(await worker.takeJobs(), 1)
      await worker.idle()
      await worker.sendResults()
      const [message, ...more] = await answers()
      assert.deepEqual([message?.messageId, more.length], [`result-${jobId}`, 0])
      assert.deepEqual(JSON.parse(message!.body), {
        jobId,
        batchId: 7,
        workerId: 'w1',
        functionName: 'get-ECHO',
        status: 'Success',
        resultType: 'Object',
        result: { A: [1, null] },
        error: null,
        effect: { changed: false },
        durationMs: 0,
        timestamp: clock.now().toISOString(),
        correlationData: {
          stepExecutionId: 3,
          isInitStep: false,
          runbookName: 'contoso',
          runbookVersion: 2,
        },
      })
      await clock.advance(2 * LEASE_MS)
      assert.equal(await isWaiting(), 0)
    })

    it('runs one job per slot and receives no more than are free', async () => {
      const { one, gates } = gated()
      const worker = workerWith({ functions: [one], maxParallelism: 3 })
      const ids = [fresh(), fresh(), fresh(), fresh(), fresh()]
      await bus.publish(ids.map((id) => jobOf(id)))
      assert.equal(await worker.takeJobs(), 3)
      assert.equal(await worker.takeJobs(), 0)
      assert.equal(gates.size, 3)
      const [first] = gates.keys()
      gates.get(first!)!.resolve(true)
      await clock.advance(0)
      // The job waits for a turn of Node, in which unhandled rejections show.
      await new Promise<void>((done) => setImmediate(done))
      await clock.advance(0)
      // The slot is free once the result is sent, not before.
      assert.equal(await worker.takeJobs(), 0)
      await worker.sendResults()
      assert.equal(await worker.takeJobs(), 1)
      assert.equal(gates.size, 3)
      for (const gate of gates.values()) gate.resolve(true)
      await worker.idle()
      await worker.sendResults()
      assert.equal(await worker.takeJobs(), 1)
      for (const gate of gates.values()) gate.resolve(true)
      await worker.idle()
      await worker.sendResults()
      const done = (await answers()).map(({ messageId }) => messageId).sort()
      assert.deepEqual(done, ids.map((id) => `result-${id}`).sort())
    })

    it('answers a redelivered job from the cache without running it again', async () => {
      const { one, gates, ran } = gated()
      const worker = workerWith({ functions: [one] })
      const jobId = fresh()
      await bus.publish([jobOf(jobId)])
      await worker.takeJobs()
      gates.get(jobId)!.resolve({ done: 1 })
      await worker.idle()
      await worker.sendResults()
      const [first] = resultsOf(await answers())
      // As if the ten minutes of duplicate detection on the bus were over.
      await clock.advance(11 * 60_000)
      await bus.publish([jobOf(jobId)])
      assert.equal(await worker.takeJobs(), 1)
      await worker.idle()
      await worker.sendResults()
      assert.deepEqual(resultsOf(await answers()), [first])
      assert.deepEqual(ran, [jobId])
    })

    it('caches a bounded number of results', async () => {
      const { one, gates, ran } = gated()
      const worker = workerWith({ functions: [one], cachedResultsMax: 1 })
      const [a, b] = [fresh(), fresh()]
      for (const jobId of [a, b, a]) {
        await clock.advance(11 * 60_000)
        await bus.publish([jobOf(jobId)])
        await worker.takeJobs()
        gates.get(jobId)?.resolve(true)
        await worker.idle()
        await worker.sendResults()
      }
      assert.deepEqual(ran, [a, b, a])
    })

    it('renews leases while a job runs, and runs a job once although its lease was lost', async () => {
      const { one, gates, ran } = gated()
      const worker = workerWith({ functions: [one] })
      const jobId = fresh()
      await bus.publish([jobOf(jobId)])
      await worker.takeJobs()
      for (let third = 0; third < 6; third++) {
        await clock.advance(LEASE_MS / 3)
        await worker.renewLeases()
      }
      assert.equal(await isWaiting(), 0)
      await clock.advance(2 * LEASE_MS)
      assert.equal(await worker.takeJobs(), 1)
      gates.get(jobId)!.resolve(true)
      await worker.idle()
      await worker.sendResults()
      assert.deepEqual(ran, [jobId])
      assert.equal((await answers()).length, 1)
      await clock.advance(2 * LEASE_MS)
      assert.equal(await isWaiting(), 0, 'settled under the newest lease')
    })

    it('gives back a job that waited past its limit, without a dead letter, and never starts it', async () => {
      const { one, ran } = gated()
      const worker = workerWith({ functions: [one] })
      const jobId = fresh()
      await bus.publish([jobOf(jobId, { notAfter: clock.now() })])
      assert.equal(await worker.takeJobs(), 1)
      assert.deepEqual(ran, [])
      await worker.idle()
      await worker.sendResults()
      const [answer] = await answers()
      const { error, ...result } = JSON.parse(answer!.body)
      assert.deepEqual([result.jobId, error.type, error.effect], [jobId, 'GivenBack', 'none'])
      assert.match(error.message, /waited until .*, its limit, and was not started/)
      const { items } = await bus.deadLetters.list(workerJobs('w1'), 100)
      assert.deepEqual(
        items.filter(({ messageId }) => messageId === jobId),
        [],
      )
    })

    it('aborts a job when its timeout is over, counted from its start, and reports it', async () => {
      const { one } = gated()
      const worker = workerWith({ functions: [one] })
      await bus.publish([jobOf(fresh(), { timeoutSec: 30 })])
      await clock.advance(50_000)
      await worker.takeJobs()
      await clock.advance(30_000)
      await worker.idle()
      await worker.sendResults()
      const [result] = resultsOf(await answers())
      assert.equal(result?.status, 'Failure')
      assert.deepEqual(result?.error, {
        message: 'stopped after its timeout of 30s',
        type: 'TimedOut',
        isThrottled: false,
        attempts: 1,
        effect: 'possible',
        isFinal: false,
      })
      assert.equal(result?.durationMs, 30_000)
    })

    it('reports the success of a function that ignores its abort', async () => {
      const { promise, resolve } = Promise.withResolvers<Json>()
      const deaf = defineFunction({
        ...TOUCHES_NOTHING,
        name: 'Wait-Gate',
        description: 'Does not listen.',
        parameters: z.looseObject({}),
        run: () => promise,
      })
      const worker = workerWith({ functions: [deaf] })
      await bus.publish([jobOf(fresh(), { timeoutSec: 30 })])
      await worker.takeJobs()
      await clock.advance(60_000)
      resolve('done')
      await worker.idle()
      await worker.sendResults()
      const [result] = resultsOf(await answers())
      assert.deepEqual([result?.status, result?.result], ['Success', 'done'])
    })

    const NOTHING_CALLED = new Set(['UnknownFunction', 'UnfitParameters'])
    const FAILURES: [name: string, job: JobOptions, type: string, message: RegExp][] = [
      [
        'an unknown function',
        { function: 'Get-Ecko' },
        'UnknownFunction',
        /Did you mean "Get-Echo"/,
      ],
      [
        'a parameter of the wrong type',
        { parameters: { Name: ['a'] } },
        'UnfitParameters',
        /do not fit Wait-Gate: Name: .*expected string/,
      ],
      [
        'an unknown parameter',
        { parameters: { Name: 'a', Secret: 'hunter2' } },
        'UnfitParameters',
        /do not fit Wait-Gate: Secret: unknown/,
      ],
      ['a function that throws', { function: 'Throw' }, 'Odd', /^it broke$/],
      ['a function that throws a text', { function: 'Throw-Text' }, 'Error', /^just words$/],
    ]
    it('sends every failure with its reason and correlation', async () => {
      const failing = (name: string, run: () => Promise<Json>) =>
        defineFunction({
          ...TOUCHES_NOTHING,
          name,
          description: '',
          parameters: z.looseObject({}),
          run,
        })
      const { one } = gated()
      const functions = [
        echo,
        one,
        failing('Throw', async () => {
          throw Object.assign(new Error('it broke'), { name: 'Odd' })
        }),
        failing('Throw-Text', () => Promise.reject('just words')),
      ]
      const worker = workerWith({ functions, maxParallelism: FAILURES.length })
      const ids = FAILURES.map(fresh)
      await bus.publish(FAILURES.map(([, job], index) => jobOf(ids[index]!, job)))
      await worker.takeJobs()
      await worker.idle()
      await worker.sendResults()
      const results = new Map(resultsOf(await answers()).map((one) => [one.jobId, one]))
      for (const [index, [name, , type, message]] of FAILURES.entries()) {
        const result = results.get(ids[index]!)
        const error = result!.error as NonNullable<JobResult['error']>
        const isRefused = NOTHING_CALLED.has(type)
        assert.equal(result?.status, 'Failure', name)
        assert.equal(error.type, type, name)
        assert.equal(error.effect, isRefused ? 'none' : 'possible', name)
        assert.equal(error.isFinal, isRefused, name)
        assert.match(error.message, message, name)
        assert.doesNotMatch(error.message, /hunter2/)
        assert.equal(result?.correlationData?.stepExecutionId, 3, name)
      }
    })

    it('sends a hello with its functions in every announcement', async () => {
      const worker = workerWith({ functions: [gated().one], maxParallelism: 4 })
      await worker.sendHello(clock.now())
      const [message] = await answers()
      const read = readMessage('worker-hello', message!.body)
      assert.ok(read.ok)
      const { workerId, version, slots, functions } = read.message
      assert.deepEqual([workerId, version, slots], ['w1', '1.2.3', 4])
      assert.equal(functions[0]?.name, 'Wait-Gate')
      assert.deepEqual(functions[0]?.parameters.required, ['Name'])
      assert.deepEqual(functions[0]?.parameters.properties, { Name: { type: 'string' } })
    })

    it('finishes running jobs on stop and abandons nothing', async () => {
      const { one, gates } = gated()
      const worker = workerWith({ functions: [one] })
      const jobId = fresh()
      await bus.publish([jobOf(jobId)])
      await worker.takeJobs()
      const stopped = worker.stop()
      gates.get(jobId)!.resolve('in time')
      await stopped
      assert.deepEqual(
        resultsOf(await answers()).map(({ result }) => result),
        ['in time'],
      )
      assert.equal(await isWaiting(), 0)
      assert.deepEqual(errors, [])
    })

    it('aborts slow jobs on stop and abandons them without a result', async () => {
      const { one } = gated()
      const worker = workerWith({ functions: [one], drainMs: 5_000 })
      const jobId = fresh()
      await bus.publish([jobOf(jobId)])
      await worker.takeJobs()
      const stopped = worker.stop()
      await clock.advance(5_000)
      await stopped
      assert.deepEqual(await answers(), [])
      const [again] = await bus.receive(workerJobs('w1'), 10)
      assert.deepEqual([again?.messageId, again?.deliveryCount], [jobId, 2])
    })

    it('gives back the job of a function that does not stop, once the process has ended, and reports that it still runs', async () => {
      const deaf = defineFunction({
        ...TOUCHES_NOTHING,
        name: 'Wait-Gate',
        description: 'Does not listen.',
        parameters: z.looseObject({}),
        run: () => new Promise<Json>(() => {}),
      })
      const worker = workerWith({ functions: [deaf] })
      const jobId = fresh()
      await bus.publish([jobOf(jobId)])
      await worker.takeJobs()
      const giveUp = new AbortController()
      const stopped = worker.stop(giveUp.signal)
      giveUp.abort()
      await assert.rejects(stopped, { code: 'SERVICE_STILL_RUNNING' })
      assert.equal(await isWaiting(), 0, 'the function may still run')
      await clock.advance(3_000)
      const [again] = await bus.receive(workerJobs('w1'), 10)
      assert.deepEqual([again?.messageId, again?.deliveryCount], [jobId, 2])
      await worker.renewLeases()
      assert.deepEqual(errors, [])
    })

    it('ends although the bus does not answer while it gives back what still runs', async () => {
      const { one } = gated()
      const deaf = { ...one, run: () => new Promise<Json>(() => {}) }
      const worker = workerWith({
        functions: [deaf],
        bus: { ...bus, abandon: () => new Promise<void>(() => {}) },
      })
      await bus.publish([jobOf(fresh())])
      await worker.takeJobs()
      const stopped = worker.stop(AbortSignal.abort())
      const refused = assert.rejects(stopped, { code: 'SERVICE_STILL_RUNNING' })
      await clock.advance(1_000)
      await refused
    })

    it('dead-letters messages that are not its jobs, with the reason', async () => {
      const worker = workerWith({})
      const foreign = fresh()
      const job = jobOf(foreign) as Extract<OutgoingMessage, { type: 'worker-job' }>
      await bus.publish([{ ...job, body: { ...job.body, workerId: 'w2' } }])
      await worker.takeJobs()
      const { items } = await bus.deadLetters.list(workerJobs('w1'), 100)
      assert.equal(items.find(({ messageId }) => messageId === foreign)?.reason, 'WrongWorker')
      assert.deepEqual(await answers(), [])
    })

    it('keeps results while the bus is down and sends them afterwards', async () => {
      let isDown = true
      const worker = workerWith({
        bus: {
          ...bus,
          publish: async (messages) => {
            if (isDown) throw new Error('bus down')
            await bus.publish(messages)
          },
        },
      })
      await bus.publish([jobOf(fresh(), { function: 'Get-Echo' })])
      await worker.takeJobs()
      await worker.idle()
      await assert.rejects(worker.sendResults(), /bus down/)
      isDown = false
      await worker.sendResults()
      assert.equal((await answers()).length, 1)
    })

    it('dead-letters only the job whose result cannot be sent', async () => {
      const poison = fresh()
      const worker = workerWith({
        maxParallelism: 3,
        bus: {
          ...bus,
          publish: async (messages) => {
            const bad = messages.find(({ messageId }) => messageId === `result-${poison}`)
            if (bad) {
              const { messageId } = bad
              throw new MatoolkitError('MESSAGE_TOO_LARGE', { messageId, bytes: 9, limit: 1 })
            }
            await bus.publish(messages)
          },
        },
      })
      const ids = [fresh(), poison, fresh()]
      await bus.publish(ids.map((id) => jobOf(id, { function: 'Get-Echo' })))
      await worker.takeJobs()
      await worker.idle()
      await worker.sendResults()
      assert.equal((await answers()).length, 2)
      const { items } = await bus.deadLetters.list(workerJobs('w1'), 100)
      assert.equal(items.find(({ messageId }) => messageId === poison)?.reason, 'Unanswerable')
    })
  })
}
