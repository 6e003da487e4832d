// The broker of the tests, spoken to by the real SDK: what the transport relies on is true of the broker too.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { after, before, beforeEach, describe, it } from 'node:test'
import { ServiceBusClient, type ServiceBusReceivedMessage } from '@azure/service-bus'
import rhea from 'rhea'
import { Broker } from '../../kit/broker/broker.ts'
import { type CorrelationFilter, matcherOf } from '../../kit/broker/filters.ts'
import { connectionStringOf } from '../../kit/namespace.ts'

const MINUTE = 60_000
/** The time of the tests is not the SDK's. */
const MANUAL = { maxAutoLockRenewalDurationInMs: 0 }
const RETRY = { maxRetries: 2, retryDelayInMs: 1, maxRetryDelayInMs: 5, timeoutInMs: 1_000 }

describe('broker', () => {
  let nowMs = +new Date('2026-03-01T10:00:00Z')
  const broker = new Broker({ now: () => new Date(nowMs) })
  let client: ServiceBusClient
  let port = 0
  before(async () => {
    port = await broker.open()
    client = new ServiceBusClient(connectionStringOf(port), { retryOptions: RETRY })
  })
  beforeEach(() => {
    broker.faults.clear()
    broker.namespace.removeTopic('t')
    const topic = broker.namespace.addTopic('t', { duplicateWindowMs: 10 * MINUTE })
    broker.namespace.addSubscription(topic, 's', { isDeadLetteredOnExpiry: true })
  })
  after(async () => {
    await client.close()
    await broker.close()
  })
  const advance = (ms: number) => {
    nowMs += ms
    broker.tick()
  }
  const take = async (max = 10): Promise<ServiceBusReceivedMessage[]> => {
    const receiver = client.createReceiver('t', 's', MANUAL)
    const messages = await receiver.receiveMessages(max, { maxWaitTimeInMs: 1 })
    // Closing the link would give them back.
    opened.push(receiver)
    return messages
  }
  const opened: { close(): Promise<void> }[] = []
  const idsOf = (messages: readonly ServiceBusReceivedMessage[]) =>
    messages.map(({ messageId }) => messageId)

  it('delivers what was sent, one by one and as a batch, and drops a repeated id', async () => {
    const sender = client.createSender('t')
    await sender.sendMessages({ messageId: 'a', body: { n: 1 }, applicationProperties: { p: 'x' } })
    await sender.sendMessages([
      { messageId: 'a', body: 'again' },
      { messageId: 'b', body: 'b' },
    ])
    const receiver = client.createReceiver('t', 's', MANUAL)
    const got = await receiver.receiveMessages(10, { maxWaitTimeInMs: 1 })
    assert.deepEqual(idsOf(got), ['a', 'b'])
    assert.deepEqual([got[0]!.body, got[0]!.applicationProperties], [{ n: 1 }, { p: 'x' }])
    assert.deepEqual(got[0]!.enqueuedTimeUtc, new Date(nowMs))
    for (const message of got) await receiver.completeMessage(message)
    assert.deepEqual(await receiver.peekMessages(5), [])
    await Promise.all([sender.close(), receiver.close()])
  })

  // As Microsoft's SDK for Python does (test/proof/others/bus.test.ts).
  it('answers a client that writes whole addresses, names no link for replies, and settles right before it closes', async () => {
    const container = rhea.create_container()
    const username = 'anonymous'
    const connection = container.connect({ host: '127.0.0.1', port, username, reconnect: false })
    const replies = connection.open_receiver('$cbs')
    const asking = connection.open_sender('$cbs')
    await Promise.all([once(asking, 'sendable'), once(replies, 'receiver_open')])
    assert.equal(asking.source.address, '$cbs', 'a link without a source counts as refused')
    const application_properties = { operation: 'put-token', type: 'sastoken', name: 'sb://any' }
    asking.send({ body: 'a token', application_properties })
    await once(replies, 'message')
    const sender = connection.open_sender('amqps://127.0.0.1/t')
    await once(sender, 'sendable')
    sender.send({ message_id: 'whole', body: 'x' })
    await once(sender, 'accepted')
    const source = 'amqps://127.0.0.1/t/Subscriptions/s'
    const receiver = connection.open_receiver({ source, autoaccept: false })
    const [{ delivery }] = (await once(receiver, 'message')) as [{ delivery: rhea.Delivery }]
    delivery.accept()
    receiver.close()
    await once(receiver, 'receiver_close')
    connection.close()
    await once(connection, 'connection_close')
    advance(2 * MINUTE)
    assert.deepEqual(await take(), [])
  })

  it('locks for a minute, renews, and takes nothing from a lost lock', async () => {
    const sender = client.createSender('t')
    await sender.sendMessages({ messageId: 'lock', body: 1 })
    const receiver = client.createReceiver('t', 's', MANUAL)
    const [message] = await receiver.receiveMessages(1, { maxWaitTimeInMs: 1 })
    advance(MINUTE - 1)
    await receiver.renewMessageLock(message!)
    advance(MINUTE - 1)
    assert.deepEqual(await take(), [])
    advance(1)
    await assert.rejects(receiver.completeMessage(message!), { code: 'MessageLockLost' })
    const [again] = await take()
    assert.deepEqual([again?.messageId, again?.deliveryCount], ['lock', 1])
    await assert.rejects(receiver.renewMessageLock(message!), { code: 'MessageLockLost' })
    await Promise.all([sender.close(), receiver.close()])
  })

  it('dead-letters by reason, after ten deliveries and on expiry', async () => {
    const sender = client.createSender('t')
    await sender.sendMessages([{ messageId: 'bad', body: 1 }])
    await sender.sendMessages({ messageId: 'old', body: 1, timeToLive: 5_000 })
    await sender.sendMessages({ messageId: 'poison', body: 1 })
    const receiver = client.createReceiver('t', 's', MANUAL)
    const [bad] = await receiver.receiveMessages(1, { maxWaitTimeInMs: 1 })
    await receiver.deadLetterMessage(bad!, {
      deadLetterReason: 'Odd',
      deadLetterErrorDescription: 'for the test',
    })
    advance(5_000)
    for (let delivery = 0; delivery < 10; delivery += 1) {
      const [poison] = await receiver.receiveMessages(1, { maxWaitTimeInMs: 1 })
      assert.deepEqual([poison?.messageId, poison?.deliveryCount], ['poison', delivery])
      await receiver.abandonMessage(poison!)
    }
    const dead = client.createReceiver('t', 's', { ...MANUAL, subQueueType: 'deadLetter' })
    const letters = await dead.receiveMessages(10, { maxWaitTimeInMs: 1 })
    assert.deepEqual(
      letters.map(({ messageId, deadLetterReason }) => [messageId, deadLetterReason]).sort(),
      [
        ['bad', 'Odd'],
        ['old', 'TTLExpiredException'],
        ['poison', 'MaxDeliveryCountExceeded'],
      ],
    )
    await Promise.all([sender.close(), receiver.close(), dead.close()])
  })

  it('schedules and cancels', async () => {
    const sender = client.createSender('t')
    const at = new Date(nowMs + MINUTE)
    const [kept, cancelled] = await sender.scheduleMessages(
      [
        { messageId: 'kept', body: 1 },
        { messageId: 'cancelled', body: 1 },
      ],
      at,
    )
    assert.ok(kept && cancelled)
    await sender.cancelScheduledMessages(cancelled)
    assert.deepEqual(await take(), [])
    advance(MINUTE)
    assert.deepEqual(idsOf(await take()), ['kept'])
    await sender.close()
  })

  it('gives messages of a cut connection to the next one once their locks end', async () => {
    const sender = client.createSender('t')
    await sender.sendMessages({ messageId: 'cut', body: 1 })
    assert.deepEqual(idsOf(await take()), ['cut'])
    await broker.dropConnections()
    assert.deepEqual(await take(), [])
    advance(MINUTE)
    const [again] = await take()
    assert.deepEqual([again?.messageId, again?.deliveryCount], ['cut', 1])
    await sender.close()
  })

  it('is sent the same message again after a lost answer, and keeps it once', async () => {
    const sender = client.createSender('t')
    broker.faults.next('busy-send')
    await sender.sendMessages({ messageId: 'busy', body: 1 })
    broker.faults.next('cut-after-send')
    await sender.sendMessages({ messageId: 'unsure', body: 1 })
    assert.deepEqual(idsOf(await take()), ['busy', 'unsure'])
    await sender.close()
  })

  it('refuses what is too large, unknown or without a token', async () => {
    const sender = client.createSender('t')
    const body = 'x'.repeat(262_144)
    await assert.rejects(sender.sendMessages({ body }), { code: 'MessageSizeExceeded' })
    const nowhere = client.createSender('nowhere')
    await assert.rejects(nowhere.sendMessages({ body: 1 }), { code: 'MessagingEntityNotFound' })
    broker.faults.next('refuse-token', 10)
    const refused = client.createReceiver('t', 's', MANUAL)
    await assert.rejects(refused.receiveMessages(1, { maxWaitTimeInMs: 1 }))
    await Promise.all([sender.close(), nowhere.close(), refused.close()])
  })
})

describe("the broker's filters", () => {
  const message = { body: 1, subject: 'news', application_properties: { WorkerId: "o'x", n: 3 } }
  const matches = (sql: string) => matcherOf({ sql })(message)

  it('evaluate conditions as Service Bus does', () => {
    for (const sql of ["WorkerId = 'o''x'", '1 = 1', "sys.Label = 'news' AND n > 2", 'n IN (1, 3)'])
      assert.equal(matches(sql), true, sql)
    for (const sql of ["WorkerId = 'o'", "missing <> 'x'", 'NOT n = 3', 'missing IS NOT NULL'])
      assert.equal(matches(sql), false, sql)
    assert.throws(() => matches("WorkerId ~ 'x'"), /unreadable/)
  })

  it('compare correlations exactly', () => {
    const cases: [CorrelationFilter, boolean][] = [
      [{ properties: { WorkerId: "o'x" } }, true],
      [{ properties: { WorkerId: "O'X" } }, false],
      [{ properties: { WorkerId: "o'x" }, subject: 'news' }, true],
      [{ properties: { WorkerId: "o'x" }, subject: 'olds' }, false],
    ]
    for (const [correlation, expected] of cases)
      assert.equal(matcherOf({ correlation })(message), expected, JSON.stringify(correlation))
  })
})
