// What a sender of another kind may put into a topic that all workers share: a message that cannot be read keeps none of the others waiting.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, before, describe, it } from 'node:test'
import { gzipSync } from 'node:zlib'
import { ServiceBusClient, type ServiceBusMessage } from '@azure/service-bus'
import { virtualClock } from '../../../src/base/run/clock.ts'
import { type Bus, WORKER_RESULTS } from '../../../src/bus/bus.ts'
import { openServiceBus } from '../../../src/bus/servicebus/servicebus-bus.ts'
import { readMessage } from '../../../src/domain/messages/messages.ts'
import { openTestPglite, type TestDatabase } from '../../kit/databases.ts'
import { openNamespace, type TestNamespace } from '../../kit/namespace.ts'

const START = new Date('2026-03-01T10:00:00.000Z')
const RETRY = { maxRetries: 2, retryDelayInMs: 5, maxRetryDelayInMs: 20, timeoutInMs: 2_000 }
const GZIP = 'application/gzip'

const WORST: readonly [string, ServiceBusMessage][] = [
  ['bytes that were never compressed', { contentType: GZIP, body: Buffer.from('{}') }],
  [
    'the beginning of what was compressed',
    { contentType: GZIP, body: gzipSync('x'.repeat(9_000)).subarray(0, 20) },
  ],
  ['1 KB that unpacks to 1 MB', { contentType: GZIP, body: gzipSync('x'.repeat(2 ** 20)) }],
  ['100,000 levels', { body: Buffer.from('['.repeat(100_000) + ']'.repeat(100_000)) }],
  ['a value instead of bytes', { body: { a: 1n.toString() } }],
]

describe('a message with', () => {
  const clock = virtualClock(START)
  let database: TestDatabase
  let namespace: TestNamespace
  let bus: Bus
  let foreign: ServiceBusClient
  before(async () => {
    database = await openTestPglite()
    namespace = await openNamespace(clock, ['w1'])
    bus = await openServiceBus({
      db: database.db,
      clock,
      newToken: randomUUID,
      retry: RETRY,
      access: namespace,
    })
    foreign = new ServiceBusClient(namespace.connectionString)
  })
  after(async () => {
    await foreign.close()
    await bus.close()
    await namespace.broker.close()
    await database.close()
  })

  for (const [what, message] of WORST)
    it(`${what} is received and given up, and the one behind it is received too`, async () => {
      const sender = foreign.createSender('worker-results')
      await sender.sendMessages([
        { messageId: `bad ${what}`, ...message },
        { messageId: `good ${what}`, body: Buffer.from('{}') },
      ])
      const taken = [
        ...(await bus.receive(WORKER_RESULTS, 10)),
        ...(await bus.receive(WORKER_RESULTS, 10)),
      ]
      assert.deepEqual(taken.map(({ messageId }) => messageId).sort(), [
        `bad ${what}`,
        `good ${what}`,
      ])
      const bad = taken.find(({ messageId }) => messageId.startsWith('bad'))!
      assert.equal(readMessage('worker-result', bad.body).ok, false)
      await bus.deadLetter([bad], 'Unreadable', 'no')
      await bus.ack(taken.filter((one) => one !== bad))
      await bus.sweep()
      const { items } = await bus.deadLetters.list(WORKER_RESULTS, 10)
      assert.equal(items.at(-1)?.messageId, `bad ${what}`)
    })
})
