// The servicebus transport, besides the contract: forwarding the outbox, streams of listeners, and faults of network and broker.
import assert from 'node:assert/strict'
import { randomBytes, randomUUID } from 'node:crypto'
import { after, afterEach, before, describe, it } from 'node:test'
import { realClock, virtualClock } from '../../../src/base/run/clock.ts'
import {
  type Bus,
  MESSAGE_MAX_BYTES,
  ORCHESTRATOR_EVENTS,
  type OutgoingMessage,
  type ReceivedMessage,
  workerJobs,
} from '../../../src/bus/bus.ts'
import { makeConsumer } from '../../../src/bus/consumer.ts'
import { enqueue, enqueueNew } from '../../../src/bus/outbox.ts'
import { forward } from '../../../src/bus/servicebus/relay.ts'
import { openServiceBus } from '../../../src/bus/servicebus/servicebus-bus.ts'
import { openTestPglite, type TestDatabase } from '../../kit/databases.ts'
import { openNamespace, type TestNamespace } from '../../kit/namespace.ts'
import { drain, event, idsOf, job, takeOne } from '../under-test.ts'

const START = new Date('2026-03-01T10:00:00.000Z')
const RETRY = { maxRetries: 2, retryDelayInMs: 5, maxRetryDelayInMs: 20, timeoutInMs: 500 }

describe('servicebus transport', () => {
  const clock = virtualClock(START)
  let database: TestDatabase
  let namespace: TestNamespace
  let bus: Bus
  before(async () => {
    database = await openTestPglite()
    namespace = await openNamespace(clock, ['w1', 'w2'])
    bus = await openServiceBus({
      db: database.db,
      clock,
      newToken: randomUUID,
      retry: RETRY,
      access: namespace,
    })
  })
  after(async () => {
    await bus.close()
    await namespace.broker.close()
    await database.close()
  })
  afterEach(async () => {
    namespace.broker.faults.clear()
    for (const one of [ORCHESTRATOR_EVENTS, workerJobs('w1')]) await bus.ack(await drain(bus, one))
    await database.db.query('delete from bundles')
  })
  const store = (messages: readonly OutgoingMessage[]) =>
    database.db.transaction((tx) => enqueueNew(tx, messages, clock.now()))
  const left = async () => {
    const rows = await database.db.query<{ n: number }>('select count(*)::int as n from bundles')
    return rows[0]!.n
  }
  const withRelay = (send: (count: number) => Promise<void>) =>
    forward({
      db: database.db,
      clock,
      newToken: randomUUID,
      send: async (rows) => send(rows.length),
    })

  it('forwards what transactions stored, each message once, with several relays at work', async () => {
    const sent = Array.from({ length: 1_200 }, (_, n) => job(`w${1 + (n % 2)}`))
    await store([...sent, event()])
    assert.deepEqual(await drain(bus, workerJobs('w1')), [], 'nothing goes before the relay')
    const counts = await Promise.all([
      bus.capabilities.relay!.forward(),
      bus.capabilities.relay!.forward(),
    ])
    assert.equal(counts[0]! + counts[1]!, 1_201)
    assert.equal(await left(), 0)
    const taken = [...(await drain(bus, workerJobs('w1'))), ...(await drain(bus, workerJobs('w2')))]
    assert.deepEqual(idsOf(taken), sent.map(({ messageId }) => messageId).sort())
    assert.ok(taken.every(({ properties }) => properties.MessageType === 'worker-job'))
    await bus.ack(taken)
  })

  it('forwards nothing of a transaction that rolled back, and scheduled messages at their time', async () => {
    const crash = database.db.transaction(async (tx) => {
      await enqueue(tx, [event()], clock.now())
      throw new Error('crash before commit')
    })
    await assert.rejects(crash, /crash/)
    const visibleAt = new Date(+clock.now() + 60_000)
    await database.db.transaction((tx) =>
      enqueue(tx, [event(undefined, { visibleAt })], clock.now()),
    )
    assert.equal(await bus.capabilities.relay!.forward(), 0)
    await clock.advance(60_000)
    assert.equal(await bus.capabilities.relay!.forward(), 1)
    await takeOne(bus, ORCHESTRATOR_EVENTS)
  })

  it('sends again after a crash between sending and marking, and the broker drops the second', async () => {
    const sent = job('w1')
    await store([sent])
    const { db } = database
    const dying = { ...db, query: failingAt(db.query, /^delete from bundles/) }
    const crash = forward({
      db: dying,
      clock,
      newToken: randomUUID,
      send: async () => bus.publish([sent]),
    })
    await assert.rejects(crash, /the process died/)
    assert.equal(await bus.capabilities.relay!.forward(), 0, 'its lease lasts')
    await clock.advance(60_000)
    assert.equal(await bus.capabilities.relay!.forward(), 1)
    assert.equal(await left(), 0)
    assert.equal((await takeOne(bus, workerJobs('w1'))).messageId, sent.messageId)
  })

  it('keeps everything while the broker refuses, and forwards it afterwards', async () => {
    await store([job('w1'), job('w1')])
    const refused = withRelay(() => Promise.reject(new Error('no broker')))
    await assert.rejects(refused, /no broker/)
    assert.equal(await left(), 1, 'the bundle is still there')
    assert.equal(await bus.capabilities.relay!.forward(), 2)
    assert.equal((await drain(bus, workerJobs('w1'))).length, 2)
  })

  it('measures what it has not forwarded: how much, and since when', async () => {
    const before = await bus.depth()
    assert.deepEqual(before.outbox, [])
    const storedAt = clock.now()
    await store([job('w1'), job('w1'), event()])
    await clock.advance(90_000)
    const later = new Date(+clock.now() + 60_000)
    await database.db.transaction((tx) =>
      enqueue(tx, [event(undefined, { visibleAt: later })], clock.now()),
    )
    assert.deepEqual((await bus.depth()).outbox, [
      { topic: 'orchestrator-events', count: 2, oldestAt: storedAt },
      { topic: 'worker-jobs', count: 2, oldestAt: storedAt },
    ])
    await bus.capabilities.relay!.forward()
    const { outbox } = await bus.depth()
    assert.deepEqual(outbox, [{ topic: 'orchestrator-events', count: 1, oldestAt: null }])
    await clock.advance(60_000)
    await bus.capabilities.relay!.forward()
    await bus.ack([
      ...(await drain(bus, workerJobs('w1'))),
      ...(await drain(bus, ORCHESTRATOR_EVENTS)),
    ])
  })

  it('carries a message that only fits compressed', async () => {
    const note = randomBytes(MESSAGE_MAX_BYTES).toString('base64').slice(0, 261_600)
    await bus.publish([job('w1', 'large', note)])
    const got = await takeOne(bus, workerJobs('w1'))
    assert.equal(JSON.parse(got.body).parameters.note, note)
  })

  it('delivers through a busy broker, lost answers and cut connections, and each message once', async () => {
    const { broker } = namespace
    const ids: string[] = []
    for (const fault of ['busy-send', 'lose-answer', 'cut-after-send', 'refuse-token'] as const) {
      broker.faults.next(fault)
      const sent = event()
      ids.push(sent.messageId)
      await bus.publish([sent])
    }
    await broker.dropConnections()
    const taken = await drain(bus, ORCHESTRATOR_EVENTS)
    assert.deepEqual(idsOf(taken), ids.sort())
    broker.faults.next('lose-lock')
    const lost = await bus.ack(taken)
    assert.equal(lost.length, 1, 'a lost lock is told')
  })

  it('names a missing subscription and what creates it', async () => {
    await assert.rejects(bus.receive(workerJobs('nobody'), 1), {
      code: 'BUS_ENTITY_MISSING',
      message: /worker-nobody.*doctor bus --create/,
    })
  })
})

describe('servicebus transport of a process that listens', () => {
  const clock = realClock()
  const open = async (namespace: TestNamespace) =>
    openServiceBus({
      db: null,
      clock,
      newToken: randomUUID,
      retry: RETRY,
      access: namespace,
    })

  it('streams messages to a consumer, through detached links and cut connections', async () => {
    const namespace = await openNamespace({ ...clock, freesLocksOfLinks: true }, ['w1'])
    const [bus, sender] = [await open(namespace), await open(namespace)]
    const got = new Set<string>()
    let wanted = 0
    let reached = Promise.withResolvers<void>()
    const consumer = makeConsumer({
      name: 'jobs',
      bus,
      subscription: workerJobs('w1'),
      clock,
      chunk: 50,
      handle: async (messages: readonly ReceivedMessage[]) => {
        for (const { messageId } of messages) got.add(messageId)
        if (got.size >= wanted) reached.resolve()
        return messages.map(() => 'ack' as const)
      },
      onError: () => {},
    })
    const pass = async (count: number) => {
      wanted = got.size + count
      reached = Promise.withResolvers()
      await sender.publish(Array.from({ length: count }, () => job('w1')))
      await reached.promise
    }
    consumer.start()
    try {
      await pass(300)
      namespace.broker.detachConsumers()
      await pass(60)
      await namespace.broker.dropConnections()
      await pass(60)
      assert.equal(got.size, 420)
    } finally {
      await consumer.stop()
      await Promise.all([bus.close(), sender.close()])
      await namespace.broker.close()
    }
  })

  it('takes no more jobs than it has asked for, until one is settled', async () => {
    const namespace = await openNamespace(clock, ['w1'])
    const [bus, other] = [await open(namespace), await open(namespace)]
    const heard = Promise.withResolvers<void>()
    try {
      assert.deepEqual(await bus.receive(workerJobs('w1'), 2), [])
      const stop = await bus.listen(workerJobs('w1'), heard.resolve)
      await other.publish([job('w1'), job('w1'), job('w1')])
      await heard.promise
      const taken: ReceivedMessage[] = []
      while (taken.length < 2) {
        taken.push(...(await bus.receive(workerJobs('w1'), 2)))
        await new Promise((resolve) => setImmediate(resolve))
      }
      assert.equal((await drain(other, workerJobs('w1'))).length, 1, 'the third is free for others')
      assert.deepEqual(await bus.ack(taken), [])
      await stop()
    } finally {
      await Promise.all([bus.close(), other.close()])
      await namespace.broker.close()
    }
  })
})

/** A database whose process dies at a statement. */
function failingAt(query: TestDatabase['db']['query'], at: RegExp): TestDatabase['db']['query'] {
  return (sql, values) =>
    at.test(sql) ? Promise.reject(new Error('the process died')) : query(sql, values)
}
