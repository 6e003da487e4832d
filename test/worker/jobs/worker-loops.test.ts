// The worker's loops on a virtual clock and a minimal bus: what runs on its own, and when.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { z } from 'zod'
import { MatoolkitError } from '../../../src/base/errors/errors.ts'
import { virtualClock } from '../../../src/base/run/clock.ts'
import {
  type Bus,
  type Control,
  LEASE_MS,
  NO_CAPABILITIES,
  type OutgoingMessage,
  type ReceivedMessage,
} from '../../../src/bus/bus.ts'
import { defineFunction, TOUCHES_NOTHING } from '../../../src/worker/functions/catalogue.ts'
import { Worker } from '../../../src/worker/jobs/worker.ts'
import { UNUSED } from '../../bus/under-test.ts'

const START = new Date('2026-03-01T10:00:00Z')

const work = defineFunction({
  ...TOUCHES_NOTHING,
  name: 'Work',
  description: 'Runs for 90 s.',
  parameters: z.looseObject({}),
  run: async ({ clock, signal }) => {
    await clock.wait(90_000, signal)
    signal.throwIfAborted()
    return true
  },
})

function message(jobId: string): ReceivedMessage {
  const body = { jobId, batchId: 1, workerId: 'w1', functionName: 'Work', parameters: {} }
  return {
    topic: 'worker-jobs',
    messageId: jobId,
    type: 'worker-job',
    properties: {},
    body: JSON.stringify(body),
    deliveryCount: 1,
    enqueuedAt: START,
    lease: { sequence: jobId, token: 't' },
  }
}

interface SetUp {
  readonly drainMs?: number
  readonly idleAfterMs?: number
  readonly maxParallelism?: number
  readonly control?: Control | null
}

function setUp(options: SetUp = {}) {
  const { drainMs = 1_000, idleAfterMs = 1_000_000, maxParallelism = 1, control = null } = options
  const clock = virtualClock(START)
  const waiting: ReceivedMessage[] = []
  const calls: string[] = []
  let hint = () => {}
  const state = { isDown: false, isFull: false, receives: 0 }
  const note = (what: string) => calls.push(`${(+clock.now() - +START) / 1_000} ${what}`)
  const ids = (messages: readonly { messageId: string }[]) =>
    messages.map(({ messageId }) => messageId).join(',')
  const bus: Bus = {
    leaseMs: LEASE_MS,
    publish: async (messages: readonly OutgoingMessage[]) => {
      if (state.isFull) throw Object.assign(new Error('no space'), { code: '53100' })
      for (const { type, messageId } of messages) {
        note(type === 'worker-hello' ? 'hello' : `publish ${messageId}`)
      }
    },
    receive: async (_subscription, limit) => {
      if (state.isDown) throw new Error('the bus is down')
      if (limit > 0) state.receives += 1
      return waiting.splice(0, limit)
    },
    ack: async (messages) => {
      note(`settle ${ids(messages)}`)
      return []
    },
    abandon: async (messages) => {
      if (messages.length > 0) note(`abandon ${ids(messages)}`)
    },
    renew: async (messages) => {
      note(`renew ${ids(messages)}`)
      return []
    },
    deadLetter: async (messages, reason) => void note(`${reason} ${ids(messages)}`),
    ...UNUSED,
    capabilities: { ...NO_CAPABILITIES, control },
    listen: async (_subscription, heard) => {
      hint = heard
      return async () => void note('unlisten')
    },
    close: async () => {},
  }
  const errors: unknown[] = []
  const worker = new Worker({
    workerId: 'w1',
    version: '1',
    bus,
    clock,
    functions: [work],
    maxParallelism,
    drainMs,
    idleExit: { afterMs: idleAfterMs, onIdle: () => note('idle') },
    onError: (error) => errors.push(error),
  })
  return { clock, waiting, calls, worker, errors, state, hint: () => hint() }
}

describe('the loops of a worker', () => {
  it('sends a hello at start and every 20 seconds', async () => {
    const { clock, calls, worker } = setUp()
    worker.start()
    await clock.advance(50_000)
    assert.deepEqual(calls, ['0 hello', '20 hello', '40 hello'])
    await worker.stop()
  })

  it('receives, renews, sends the result, acks, then starts the next job', async () => {
    const { clock, calls, worker, waiting, errors } = setUp()
    waiting.push(message('step-1'), message('step-2'))
    worker.start()
    await clock.advance(185_000)
    const withoutHello = calls.filter((line) => !line.endsWith('hello'))
    assert.deepEqual(withoutHello.slice(0, 6), [
      '20 renew step-1',
      '40 renew step-1',
      '60 renew step-1',
      '80 renew step-1',
      '90 publish result-step-1',
      '90 settle step-1',
    ])
    assert.deepEqual(withoutHello.slice(-2), ['180 publish result-step-2', '180 settle step-2'])
    assert.deepEqual(errors, [])
    await worker.stop()
  })

  it('takes no jobs while nobody could tell it to stop, says once what to do, and continues', async () => {
    const entity = 'worker-jobs/Subscriptions/control-w1'
    let isThere = false
    const read = async () => {
      if (!isThere) throw new MatoolkitError('BUS_ENTITY_MISSING', { entity })
      return { bodies: [], last: null }
    }
    const { clock, calls, worker, waiting, errors, state } = setUp({ control: { read } })
    waiting.push(message('step-1'))
    worker.start()
    await clock.advance(300_000)
    assert.equal(state.receives, 0)
    const said = `Worker "w1" takes no jobs: the namespace has no "${entity}", so no hold or cancel could stop them. Run "matoolkit doctor bus --create" with the right to manage it; the worker then continues on its own.`
    assert.equal(worker.whyNotReady(clock.now()), said)
    assert.deepEqual(
      errors.map((error) => (error as Error).message),
      [said],
    )
    isThere = true
    await clock.advance(2_000)
    assert.equal(worker.whyNotReady(clock.now()), null)
    await clock.advance(90_000)
    assert.ok(calls.some((line) => line.endsWith('publish result-step-1')))
    assert.equal(errors.length, 1)
    await worker.stop()
  })

  it('takes no jobs while it cannot send its results, says why, and continues', async () => {
    const { clock, calls, worker, waiting, errors, state } = setUp({ maxParallelism: 3 })
    waiting.push(message('step-1'))
    worker.start()
    await clock.advance(80_000)
    state.isFull = true
    await clock.advance(20_000)
    const before = state.receives
    waiting.push(message('step-2'))
    await clock.advance(600_000)
    assert.equal(state.receives, before)
    assert.equal(worker.whyNotReady(clock.now()), 'the disk of the database is full')
    assert.equal(errors.length, 1)
    state.isFull = false
    await clock.advance(150_000)
    assert.equal(worker.whyNotReady(clock.now()), null)
    const settled = calls.filter((line) => line.includes('settle'))
    assert.deepEqual(
      settled.map((line) => line.split(' ').slice(1).join(' ')),
      ['settle step-1', 'settle step-2'],
    )
    await worker.stop()
  })

  it('receives at once on a notification', async () => {
    const { clock, calls, worker, waiting, hint } = setUp()
    worker.start()
    await clock.advance(500)
    waiting.push(message('step-1'))
    hint()
    await clock.advance(90_000)
    assert.ok(calls.includes('90.5 publish result-step-1'), calls.join('\n'))
    await worker.stop()
  })

  it('abandons unfinished jobs on stop and leaves nothing running', async () => {
    const { clock, calls, worker, waiting } = setUp()
    waiting.push(message('step-1'))
    worker.start()
    await clock.advance(10_000)
    const stopped = worker.stop()
    await clock.advance(1_000)
    await stopped
    assert.deepEqual(calls.slice(-2), ['11 abandon step-1', '11 unlisten'])
    assert.equal(clock.nextWakeAt(), null)
  })

  it('reports idleness once, counted from the end of the last job', async () => {
    const { clock, calls, worker, waiting } = setUp({ idleAfterMs: 60_000 })
    waiting.push(message('step-1'))
    worker.start()
    await clock.advance(300_000)
    const idle = calls.filter((line) => line.endsWith('idle'))
    assert.equal(idle.length, 1)
    const [atSec] = idle[0]!.split(' ')
    assert.ok(Number(atSec) >= 149 && Number(atSec) <= 151, String(atSec))
    await worker.stop()
  })

  it('is not idle while a job runs or the bus is down', async () => {
    const { clock, calls, worker, waiting, state } = setUp({ idleAfterMs: 30_000 })
    waiting.push(message('step-1'))
    worker.start()
    await clock.advance(80_000)
    state.isDown = true
    await clock.advance(200_000)
    assert.ok(!calls.some((line) => line.endsWith('idle')), calls.join('\n'))
    state.isDown = false
    await clock.advance(60_000)
    assert.ok(calls.some((line) => line.endsWith('idle')))
    await worker.stop()
  })

  it('is ready while the bus answers', async () => {
    const { clock, worker, state } = setUp()
    const why = () => worker.whyNotReady(clock.now())
    assert.equal(why(), 'not started')
    worker.start()
    await clock.advance(10_000)
    assert.equal(why(), null)
    state.isDown = true
    await clock.advance(60_000)
    assert.equal(why(), null)
    await clock.advance(60_000)
    assert.equal(why(), 'the bus does not answer')
    state.isDown = false
    await clock.advance(31_000)
    assert.equal(why(), null)
    await worker.stop()
    assert.equal(why(), 'not started')
  })
})
