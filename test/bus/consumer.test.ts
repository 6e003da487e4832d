// The consumer around an in-memory bus that records its calls. Time is a virtual clock.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type VirtualClock, virtualClock } from '../../src/base/run/clock.ts'
import { type Bus, LEASE_MS, ORCHESTRATOR_EVENTS, type ReceivedMessage } from '../../src/bus/bus.ts'
import {
  backoffMs,
  type ConsumerOptions,
  type Handler,
  type HandlerSignals,
  type MessageOutcome,
  makeConsumer,
} from '../../src/bus/consumer.ts'
import { UNUSED } from './under-test.ts'

interface Scripted {
  readonly bus: Bus
  readonly clock: VirtualClock
  readonly waiting: ReceivedMessage[]
  /** Every call, as a word and the ids. */
  readonly calls: string[]
  readonly errors: unknown[]
  readonly lost: string[]
  hint: () => void
}

function message(id: string, deliveryCount = 1): ReceivedMessage {
  return {
    topic: 'orchestrator-events',
    messageId: id,
    type: 'retry-check',
    properties: {},
    body: '{}',
    deliveryCount,
    enqueuedAt: new Date(0),
    lease: { sequence: id, token: 't' },
  }
}

const ids = (messages: readonly ReceivedMessage[]) =>
  messages.map(({ messageId }) => messageId).join(',')

function script(overrides: Partial<Bus> = {}): Scripted {
  const waiting: ReceivedMessage[] = []
  const calls: string[] = []
  const scripted: Scripted = {
    clock: virtualClock(new Date('2026-03-01T10:00:00Z')),
    waiting,
    calls,
    errors: [],
    lost: [],
    hint: () => {},
    bus: {
      leaseMs: LEASE_MS,
      publish: async () => {},
      receive: async (_subscription, limit) => waiting.splice(0, limit),
      ack: async (messages) => {
        calls.push(`ack ${ids(messages)}`)
        return []
      },
      abandon: async (messages, delayMs = 0) => {
        calls.push(`abandon ${ids(messages)} for ${delayMs}`)
      },
      renew: async (messages) => {
        calls.push(`renew ${ids(messages)}`)
        return []
      },
      deadLetter: async (messages, reason, description) => {
        calls.push(`deadLetter ${ids(messages)} ${reason}: ${description}`)
      },
      ...UNUSED,
      listen: async (_subscription, heard) => {
        scripted.hint = heard
        return async () => void calls.push('unlisten')
      },
      close: async () => {},
      ...overrides,
    },
  }
  return scripted
}

const consumerOf = (on: Scripted, handle: Handler, options: Partial<ConsumerOptions> = {}) =>
  makeConsumer({
    name: 'test',
    bus: on.bus,
    subscription: ORCHESTRATOR_EVENTS,
    handle,
    clock: on.clock,
    chunk: 3,
    onError: (error) => on.errors.push(error),
    onLost: (messages) => on.lost.push(ids(messages)),
    ...options,
  })

const ackAll: Handler = async (messages) => messages.map(() => 'ack')

describe('consumer: one chunk', () => {
  it('receives at most one chunk and returns its size', async () => {
    const on = script()
    on.waiting.push(message('a'), message('b'), message('c'), message('d'))
    const consumer = consumerOf(on, ackAll)
    assert.equal(await consumer.runOnce(), 3)
    assert.equal(await consumer.runOnce(), 1)
    assert.equal(await consumer.runOnce(), 0)
    assert.deepEqual(on.calls, ['ack a,b,c', 'ack d'])
  })

  it('carries out the outcome of each message, grouped by outcome', async () => {
    const on = script()
    const refuse: MessageOutcome = { deadLetter: 'Unreadable', description: 'not JSON' }
    const say: Record<string, MessageOutcome> = {
      a: 'ack',
      b: refuse,
      c: 'abandon',
      d: 'ack',
      e: refuse,
    }
    on.waiting.push(...Object.keys(say).map((id) => message(id, 2)))
    const handle: Handler = async (messages) => messages.map((one) => say[one.messageId]!)
    await consumerOf(on, handle, { chunk: 5 }).runOnce()
    assert.deepEqual(on.calls, [
      'ack a,d',
      'deadLetter b,e Unreadable: not JSON',
      'abandon c for 200',
    ])
  })

  it('abandons the whole chunk when the handler throws, each message by its own backoff', async () => {
    const on = script()
    on.waiting.push(message('a', 1), message('b', 5), message('c', 1))
    const handle: Handler = async () => {
      throw new Error('database is away')
    }
    assert.equal(await consumerOf(on, handle).runOnce(), 3)
    assert.deepEqual(on.calls, ['abandon a,c for 100', 'abandon b for 1600'])
    assert.match(String(on.errors), /database is away/)
  })

  it('abandons the chunk when the handler returns too few outcomes', async () => {
    const on = script()
    on.waiting.push(message('a'), message('b'))
    await consumerOf(on, async () => ['ack']).runOnce()
    assert.deepEqual(on.calls, ['abandon a,b for 100'])
    assert.match(String(on.errors), /1 outcomes for 2 messages/)
  })

  it('reports messages acknowledged too late', async () => {
    const on = script({ ack: async (messages) => messages.slice(1) })
    on.waiting.push(message('a'), message('b'))
    await consumerOf(on, ackAll).runOnce()
    assert.deepEqual(on.lost, ['b'])
  })

  it('waits longer after each failure, but never longer than a lease', () => {
    const waits = Array.from({ length: 10 }, (_, index) => backoffMs(index + 1))
    assert.deepEqual(waits, [100, 200, 400, 800, 1_600, 3_200, 6_400, 12_800, 20_000, 20_000])
  })
})

const refusal = (code: string) => Object.assign(new Error('refused'), { code })

describe('consumer: the database refuses for the moment', () => {
  it('releases the chunk instead of abandoning it, also when two transactions collide', async () => {
    for (const code of ['53100', '57P01', '25006', 'ECONNREFUSED', '40001', '40P01']) {
      const on = script({
        release: async (messages) => void on.calls.push(`release ${ids(messages)}`),
      })
      on.waiting.push(message('a', 9), message('b', 9))
      const handle: Handler = async () => {
        throw refusal(code)
      }
      await consumerOf(on, handle).runOnce()
      assert.deepEqual(on.calls, ['release a,b'], code)
    }
  })

  it('counts the delivery of a message whose statement takes too long or fails by itself', async () => {
    for (const code of ['57014', '22P02', 'XX000']) {
      const on = script({
        release: async (messages) => void on.calls.push(`release ${ids(messages)}`),
      })
      on.waiting.push(message('a'))
      const handle: Handler = async () => {
        throw refusal(code)
      }
      await consumerOf(on, handle).runOnce()
      assert.deepEqual(on.calls, ['abandon a for 100'], code)
    }
  })

  it('waits with all lanes together, reports once, and writes the release when it can', async () => {
    let isFull = true
    let receives = 0
    const on = script({
      receive: async (_subscription, limit) => {
        receives += 1
        return on.waiting.splice(0, limit)
      },
      release: async (messages) => {
        if (isFull) throw refusal('53100')
        on.calls.push(`release ${ids(messages)}`)
        on.waiting.push(...messages)
      },
    })
    on.waiting.push(...['a', 'b', 'c', 'd', 'e', 'f'].map((id) => message(id)))
    const handle: Handler = async (messages) => {
      if (isFull) throw refusal('53100')
      return messages.map(() => 'ack')
    }
    const consumer = consumerOf(on, handle, { lanes: 2 })
    consumer.start()
    await on.clock.advance(3_600_000)
    assert.equal(receives, 2)
    assert.equal(on.errors.length, 1)
    assert.deepEqual(on.calls, [])
    isFull = false
    await on.clock.advance(30_000)
    assert.deepEqual(on.calls.toSorted(), [
      'ack a,b,c',
      'ack d,e,f',
      'release a,b,c',
      'release d,e,f',
    ])
    await consumer.stop()
  })
})

describe('consumer: leases', () => {
  it('renews while the handler runs, and stops when it returns', async () => {
    const on = script()
    on.waiting.push(message('a'))
    const work = Promise.withResolvers<MessageOutcome[]>()
    const running = consumerOf(on, () => work.promise).runOnce()
    await on.clock.advance(50_000)
    assert.deepEqual(on.calls, ['renew a', 'renew a'])
    work.resolve(['ack'])
    await running
    await on.clock.advance(120_000)
    assert.deepEqual(on.calls, ['renew a', 'renew a', 'ack a'])
    assert.equal(on.clock.nextWakeAt(), null)
  })

  it('retries a failing bus while the lease lasts', async () => {
    let tries = 0
    const on = script({
      ack: async () => {
        tries += 1
        if (tries <= 3) throw new Error('restarting')
        return []
      },
    })
    on.waiting.push(message('a'))
    const round = consumerOf(on, async () => ['ack']).runOnce()
    await on.clock.advance(2_000)
    assert.equal(await round, 1)
    assert.equal(tries, 4)
    assert.equal(on.errors.length, 3)
  })

  it('leaves a message to its lease when the bus stays away', async () => {
    const on = script({
      abandon: async () => {
        throw new Error('away')
      },
    })
    on.waiting.push(message('a'))
    const round = consumerOf(on, async () => ['abandon']).runOnce()
    const failed = assert.rejects(round, /away/)
    await on.clock.advance(LEASE_MS)
    await failed
  })

  it('signals a lost lease to the handler and renews only the rest', async () => {
    const on = script()
    const renewed: string[] = []
    const bus: Bus = {
      ...on.bus,
      renew: async (messages) => {
        renewed.push(ids(messages))
        return messages.filter(({ messageId }) => messageId === 'a')
      },
    }
    on.waiting.push(message('a'), message('b'))
    const work = Promise.withResolvers<MessageOutcome[]>()
    let seen: HandlerSignals | undefined
    const handle: Handler = (_messages, signals) => {
      seen = signals
      return work.promise
    }
    const running = consumerOf({ ...on, bus }, handle).runOnce()
    await on.clock.advance(20_000)
    assert.equal(seen?.leaseLost.aborted, true)
    await on.clock.advance(20_000)
    assert.deepEqual(renewed, ['a,b', 'b'])
    work.resolve(['ack', 'ack'])
    await running
  })

  it('continues to renew after a failed renewal', async () => {
    let failures = 0
    const on = script({
      renew: async () => {
        failures += 1
        throw new Error('no answer')
      },
    })
    on.waiting.push(message('a'))
    const work = Promise.withResolvers<MessageOutcome[]>()
    const running = consumerOf(on, () => work.promise).runOnce()
    await on.clock.advance(41_000)
    assert.equal(failures, 2)
    assert.equal(on.errors.length, 2)
    work.resolve(['ack'])
    await running
  })
})

describe('consumer: the loop', () => {
  it('empties the queue, then polls every second', async () => {
    const on = script()
    on.waiting.push(...['a', 'b', 'c', 'd'].map((id) => message(id)))
    const consumer = consumerOf(on, ackAll)
    consumer.start()
    await on.clock.advance(0)
    assert.deepEqual(on.calls, ['ack a,b,c', 'ack d'])
    on.waiting.push(message('e'))
    await on.clock.advance(999)
    assert.equal(on.calls.length, 2)
    await on.clock.advance(1)
    assert.deepEqual(on.calls.at(-1), 'ack e')
    await consumer.stop()
    assert.equal(on.calls.at(-1), 'unlisten')
  })

  it('polls at once on a hint', async () => {
    const on = script()
    const consumer = consumerOf(on, ackAll)
    consumer.start()
    await on.clock.advance(10)
    on.waiting.push(message('a'))
    on.hint()
    await on.clock.advance(0)
    assert.deepEqual(on.calls, ['ack a'])
    await consumer.stop()
  })

  it('works without hints, and reports that it has none', async () => {
    const on = script({
      listen: async () => {
        throw new Error('no connection')
      },
    })
    const consumer = consumerOf(on, ackAll)
    consumer.start()
    await on.clock.advance(10)
    on.waiting.push(message('a'))
    await on.clock.advance(1_000)
    assert.deepEqual(on.calls, ['ack a'])
    assert.match(String(on.errors), /no connection/)
    await consumer.stop()
  })

  it('has at most lanes × chunk messages in flight', async () => {
    const on = script()
    on.waiting.push(...Array.from({ length: 100 }, (_, n) => message(`m${n}`)))
    const chunks: PromiseWithResolvers<void>[] = []
    let inFlight = 0
    let most = 0
    const handle: Handler = async (messages) => {
      inFlight += messages.length
      most = Math.max(most, inFlight)
      const turn = Promise.withResolvers<void>()
      chunks.push(turn)
      await turn.promise
      inFlight -= messages.length
      return messages.map(() => 'ack')
    }
    const consumer = consumerOf(on, handle, { lanes: 4, chunk: 5 })
    consumer.start()
    for (let round = 0; round < 20; round += 1) {
      await on.clock.advance(0)
      chunks.shift()?.resolve()
    }
    await on.clock.advance(0)
    assert.equal(most, 20)
    assert.equal(on.waiting.length, 0)
    await consumer.stop()
  })

  it('pauses when the bus fails, then continues', async () => {
    let tries = 0
    const on = script({
      receive: async () => {
        tries += 1
        if (tries <= 3) throw new Error('bus is away')
        return []
      },
    })
    const consumer = consumerOf(on, ackAll)
    consumer.start()
    await on.clock.advance(60_000)
    assert.equal(on.errors.length, 3)
    assert.ok(tries > 3)
    await consumer.stop()
  })
})

describe('consumer: stopping', () => {
  it('waits for the handler, receives nothing more, and abandons unstarted messages at once', async () => {
    const on = script()
    on.waiting.push(...['a', 'b', 'c', 'd'].map((id) => message(id, 9)))
    const handle: Handler = async (messages, { stopping }) => {
      await new Promise((resolve) => stopping.addEventListener('abort', resolve))
      return messages.map((_, index) => (index === 0 ? 'ack' : 'abandon'))
    }
    const consumer = consumerOf(on, handle)
    consumer.start()
    await on.clock.advance(0)
    await consumer.stop()
    assert.deepEqual(on.calls, ['ack a', 'abandon b,c for 0', 'unlisten'])
    assert.equal(ids(on.waiting), 'd')
  })

  it('gives up waiting on request and leaves the messages leased', async () => {
    const on = script()
    on.waiting.push(message('a'))
    const work = Promise.withResolvers<MessageOutcome[]>()
    const consumer = consumerOf(on, () => work.promise)
    consumer.start()
    await on.clock.advance(0)
    await assert.rejects(consumer.stop(AbortSignal.abort()), { code: 'SERVICE_STILL_RUNNING' })
    assert.deepEqual(on.calls, [])
    work.resolve(['ack'])
    await consumer.stop()
    assert.deepEqual(on.calls, ['ack a', 'unlisten'])
  })
})
