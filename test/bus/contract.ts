// The contract of a transport as tests. The suite uses only the `Bus`, never reads tables, and advances time only through the clock
// of the transport under test.
import assert from 'node:assert/strict'
import { after, before, beforeEach, describe, it } from 'node:test'
import {
  DELIVERED_TOO_OFTEN,
  EXPIRED,
  MAX_DELIVERIES,
  MESSAGE_MAX_BYTES,
  ORCHESTRATOR_EVENTS,
  type OutgoingMessage,
  type ReceivedMessage,
  WORKER_RESULTS,
  workerJobs,
} from '../../src/bus/bus.ts'
import { readMessage } from '../../src/domain/messages/messages.ts'
import { courses } from './contract-course.ts'
import { deadJobs, deadLetters, lastLetter } from './contract-dead-letters.ts'
import { capabilities, operation, places, releases } from './contract-operation.ts'
import {
  type BusUnderTest,
  DAY,
  drain,
  event,
  fresh,
  idsOf,
  job,
  MINUTE,
  SECOND,
  type Suite,
  takeOne,
} from './under-test.ts'

export { event } from './under-test.ts'

export function busContract(name: string, make: () => Promise<BusUnderTest>): void {
  describe(`bus contract: ${name}`, () => {
    let under: BusUnderTest
    before(async () => {
      under = await make()
    })
    after(() => under.close())
    // Every test starts with empty subscriptions.
    beforeEach(async () => {
      await under.advance(2 * MINUTE)
      for (const subscription of [ORCHESTRATOR_EVENTS, WORKER_RESULTS, workerJobs('w1')]) {
        await under.bus.ack(await drain(under.bus, subscription))
      }
    })
    const suite: Suite = () => under
    sending(suite)
    duplicates(suite)
    timing(suite)
    leases(suite)
    poison(suite)
    deadLetters(suite)
    deadJobs(suite)
    operation(suite)
    places(suite)
    releases(suite)
    capabilities(suite)
    courses(suite)
  })
}

function sending(suite: Suite): void {
  it('delivers body, type, id, properties and times unchanged', async () => {
    const { bus, now } = suite()
    const sent = event()
    await bus.publish([sent])
    const got = await takeOne(bus, ORCHESTRATOR_EVENTS)
    assert.equal(got.topic, 'orchestrator-events')
    assert.equal(got.messageId, sent.messageId)
    assert.equal(got.type, 'retry-check')
    assert.deepEqual(got.properties, { MessageType: 'retry-check' })
    assert.equal(got.deliveryCount, 1)
    assert.equal(got.enqueuedAt.getTime(), now().getTime())
    const read = readMessage(got.type, got.body)
    assert.deepEqual(read, { ok: true, message: { ...sent.body, messageType: 'retry-check' } })
  })

  it('routes a job to its worker', async () => {
    const { bus } = suite()
    const [forOne, forTwo] = [job('w1'), job('w2')]
    await bus.publish([forOne, forTwo])
    const first = await takeOne(bus, workerJobs('w1'))
    assert.equal(first.messageId, forOne.messageId)
    assert.deepEqual(first.properties, { MessageType: 'worker-job', WorkerId: 'w1' })
    const second = await takeOne(bus, workerJobs('w2'))
    assert.equal(second.messageId, forTwo.messageId)
    assert.deepEqual(await bus.ack([first, second]), [])
  })

  it('separates topics whose subscriptions have the same name', async () => {
    const { bus } = suite()
    await bus.publish([event()])
    assert.deepEqual(await drain(bus, WORKER_RESULTS), [])
    await takeOne(bus, ORCHESTRATOR_EVENTS)
  })

  it('delivers each of a thousand messages once to a consumer that acknowledges', async () => {
    const { bus } = suite()
    const sent = Array.from({ length: 1_000 }, () => event())
    await bus.publish(sent)
    const chunk = await bus.receive(ORCHESTRATOR_EVENTS, 7)
    assert.ok(chunk.length > 0 && chunk.length <= 7)
    const rest = await drain(bus, ORCHESTRATOR_EVENTS)
    assert.deepEqual(idsOf([...chunk, ...rest]), sent.map(({ messageId }) => messageId).sort())
    assert.deepEqual(await bus.ack([...chunk, ...rest]), [])
    assert.deepEqual(await drain(bus, ORCHESTRATOR_EVENTS), [])
  })

  it('carries every character', async () => {
    const { bus } = suite()
    const note = 'Ünïcödé 中文 \u0000 \ud800 "quotes" \\ \u2028 {{x}}'
    await bus.publish([job('w1', fresh('step'), note)])
    const got = await takeOne(bus, workerJobs('w1'))
    assert.equal(JSON.parse(got.body).parameters.note, note)
    await bus.ack([got])
  })

  it('accepts empty lists', async () => {
    const { bus } = suite()
    await bus.publish([])
    assert.deepEqual(await bus.receive(ORCHESTRATOR_EVENTS, 10), [])
    assert.deepEqual(await bus.ack([]), [])
    assert.deepEqual(await bus.renew([]), [])
    await bus.abandon([])
    await bus.deadLetter([], 'Reason', 'Description')
  })

  it('refuses undeliverable messages and sends nothing of that call', async () => {
    const { bus } = suite()
    const tooLarge = job('w1', fresh('step'), 'x'.repeat(MESSAGE_MAX_BYTES))
    const cases: [OutgoingMessage, string][] = [
      [tooLarge, 'MESSAGE_TOO_LARGE'],
      [event('with blank'), 'MESSAGE_ID_INVALID'],
      [event('x'.repeat(129)), 'MESSAGE_ID_INVALID'],
      [event(fresh('event'), { topic: 'worker-jobs' }), 'MESSAGE_UNROUTABLE'],
      [job('no such worker'), 'MESSAGE_UNROUTABLE'],
      [event(fresh('event'), { body: {} } as Partial<OutgoingMessage>), 'MESSAGE_BODY_INVALID'],
    ]
    for (const [message, code] of cases) {
      await assert.rejects(bus.publish([event(), message]), { code })
    }
    assert.deepEqual(await drain(bus, ORCHESTRATOR_EVENTS), [])
    await assert.rejects(bus.publish([tooLarge]), {
      message: new RegExp(`${tooLarge.messageId} has \\d+ bytes`),
    })
  })
}

function duplicates(suite: Suite): void {
  it('drops a message id repeated within ten minutes, also after its ack', async () => {
    const { bus, advance } = suite()
    const sent = event()
    await bus.publish([sent, sent])
    await bus.publish([sent])
    await bus.ack([await takeOne(bus, ORCHESTRATOR_EVENTS)])
    await advance(9 * MINUTE)
    await bus.publish([sent])
    assert.deepEqual(await drain(bus, ORCHESTRATOR_EVENTS), [])
  })

  it('accepts a repeated message id after ten minutes', async () => {
    const { bus, advance } = suite()
    for (const tidy of [async () => {}, bus.sweep]) {
      const sent = event()
      await bus.publish([sent])
      await bus.ack([await takeOne(bus, ORCHESTRATOR_EVENTS)])
      await advance(10 * MINUTE + SECOND)
      await tidy()
      await bus.publish([sent])
      await bus.ack([await takeOne(bus, ORCHESTRATOR_EVENTS)])
    }
  })

  it('detects duplicates per topic', async () => {
    const { bus } = suite()
    const shared = fresh('shared')
    await bus.publish([event(shared), job('w1', shared)])
    await bus.ack([await takeOne(bus, ORCHESTRATOR_EVENTS), await takeOne(bus, workerJobs('w1'))])
  })

  it('keeps one of two duplicates sent at the same moment', async () => {
    const { bus, other } = suite()
    const many = Array.from({ length: 50 }, () => event())
    await Promise.all([bus.publish(many), other.publish([...many].reverse())])
    const got = await drain(bus, ORCHESTRATOR_EVENTS)
    assert.deepEqual(idsOf(got), many.map(({ messageId }) => messageId).sort())
  })
}

function timing(suite: Suite): void {
  it('delivers a scheduled message no earlier than its time', async () => {
    const { bus, advance, now } = suite()
    await bus.publish([event(undefined, { visibleAt: new Date(now().getTime() + 5 * MINUTE) })])
    await advance(5 * MINUTE - SECOND)
    assert.deepEqual(await drain(bus, ORCHESTRATOR_EVENTS), [])
    await advance(SECOND)
    await takeOne(bus, ORCHESTRATOR_EVENTS)
  })

  it('dead-letters an expired message instead of delivering it', async () => {
    const { bus, advance, now } = suite()
    const sent = event(undefined, { expiresAt: new Date(now().getTime() + MINUTE) })
    await bus.publish([sent])
    await advance(MINUTE)
    assert.deepEqual(await drain(bus, ORCHESTRATOR_EVENTS), [])
    const letter = await lastLetter(bus, ORCHESTRATOR_EVENTS)
    assert.equal(letter.messageId, sent.messageId)
    assert.equal(letter.reason, EXPIRED)
    assert.equal(letter.deliveryCount, 0)
  })

  it('dead-letters an expired message when nobody receives', async () => {
    const { bus, advance, now } = suite()
    const sent = event(undefined, { expiresAt: new Date(now().getTime() + MINUTE) })
    const later = event(undefined, { expiresAt: new Date(now().getTime() + 3 * MINUTE) })
    await bus.publish([sent, later])
    await advance(2 * MINUTE)
    await bus.sweep()
    assert.equal((await lastLetter(bus, ORCHESTRATOR_EVENTS)).messageId, sent.messageId)
    assert.equal((await takeOne(bus, ORCHESTRATOR_EVENTS)).messageId, later.messageId)
  })

  it('expires a message seven days after it became visible at the latest', async () => {
    const { bus, advance, now } = suite()
    const visibleAt = new Date(now().getTime() + DAY)
    const year = { expiresAt: new Date(now().getTime() + 365 * DAY) }
    const scheduled = event(undefined, { visibleAt })
    await bus.publish([event(undefined, year), scheduled])
    await advance(7 * DAY)
    assert.equal((await takeOne(bus, ORCHESTRATOR_EVENTS)).messageId, scheduled.messageId)
  })
}

function leases(suite: Suite): void {
  it('delivers a leased message to nobody else', async () => {
    const { bus, other, advance } = suite()
    await bus.publish([event()])
    const message = await takeOne(bus, ORCHESTRATOR_EVENTS)
    await advance(MINUTE - SECOND)
    assert.deepEqual(await drain(other, ORCHESTRATOR_EVENTS), [])
    assert.deepEqual(await bus.ack([message]), [])
  })

  it('delivers a message again when its lease lapses, and ignores the old lease', async () => {
    const { bus, other, advance } = suite()
    await bus.publish([event()])
    const old = await takeOne(bus, ORCHESTRATOR_EVENTS)
    await advance(MINUTE)
    const taken = await takeOne(other, ORCHESTRATOR_EVENTS)
    assert.equal(taken.messageId, old.messageId)
    assert.equal(taken.deliveryCount, 2)
    assert.deepEqual(await bus.ack([old]), [old])
    assert.deepEqual(await bus.renew([old]), [old])
    await bus.abandon([old])
    await bus.deadLetter([old], 'Late', 'Too late')
    assert.deepEqual(await drain(bus, ORCHESTRATOR_EVENTS), [], 'still leased to the new consumer')
    assert.deepEqual(await other.ack([taken]), [])
  })

  it('reports a lapsed lease even when nobody else took the message', async () => {
    const { bus, advance } = suite()
    await bus.publish([event()])
    const message = await takeOne(bus, ORCHESTRATOR_EVENTS)
    await advance(MINUTE)
    assert.deepEqual(await bus.ack([message]), [message])
    assert.equal((await takeOne(bus, ORCHESTRATOR_EVENTS)).deliveryCount, 2)
  })

  it('renews a lease for a full minute each time', async () => {
    const { bus, other, advance } = suite()
    await bus.publish([event()])
    const message = await takeOne(bus, ORCHESTRATOR_EVENTS)
    for (let renewal = 0; renewal < 5; renewal += 1) {
      await advance(50 * SECOND)
      assert.deepEqual(await bus.renew([message]), [])
    }
    await advance(59 * SECOND)
    assert.deepEqual(await drain(other, ORCHESTRATOR_EVENTS), [])
    assert.deepEqual(await bus.ack([message]), [])
  })

  it('acknowledges the leased messages of a chunk and returns the rest', async () => {
    const { bus } = suite()
    await bus.publish([event(), event()])
    const [gone, leased] = (await drain(bus, ORCHESTRATOR_EVENTS)) as [
      ReceivedMessage,
      ReceivedMessage,
    ]
    await bus.ack([gone])
    assert.deepEqual(await bus.ack([gone, leased]), [gone])
    assert.deepEqual(await drain(bus, ORCHESTRATOR_EVENTS), [])
  })

  it('delivers an abandoned message again and counts the delivery', async () => {
    const { bus, other } = suite()
    await bus.publish([event()])
    const message = await takeOne(bus, ORCHESTRATOR_EVENTS)
    await bus.abandon([message])
    const again = await takeOne(other, ORCHESTRATOR_EVENTS)
    assert.equal(again.deliveryCount, 2)
    assert.deepEqual(await bus.ack([message]), [message], 'the old lease ended')
    assert.deepEqual(await other.ack([again]), [])
  })

  it('delivers an abandoned message again after its delay', async () => {
    const { bus, advance } = suite()
    await bus.publish([event()])
    await bus.abandon([await takeOne(bus, ORCHESTRATOR_EVENTS)], 20 * SECOND)
    await advance(20 * SECOND)
    assert.equal((await takeOne(bus, ORCHESTRATOR_EVENTS)).deliveryCount, 2)
  })

  it('never delivers one message to two consumers at once', async () => {
    const { bus, other } = suite()
    const sent = Array.from({ length: 600 }, () => event())
    await bus.publish(sent)
    const taken = await Promise.all(
      [bus, other, bus, other].map((client) => drain(client, ORCHESTRATOR_EVENTS)),
    )
    assert.deepEqual(idsOf(taken.flat()), sent.map(({ messageId }) => messageId).sort())
    assert.deepEqual(await bus.ack(taken.flat()), [])
  })
}

function poison(suite: Suite): void {
  it(`dead-letters a message after ${MAX_DELIVERIES} abandoned deliveries`, async () => {
    const { bus } = suite()
    const sent = event()
    await bus.publish([sent])
    for (let delivery = 1; delivery <= MAX_DELIVERIES; delivery += 1) {
      const message = await takeOne(bus, ORCHESTRATOR_EVENTS)
      assert.equal(message.deliveryCount, delivery)
      await bus.abandon([message])
    }
    assert.deepEqual(await drain(bus, ORCHESTRATOR_EVENTS), [])
    const letter = await lastLetter(bus, ORCHESTRATOR_EVENTS)
    assert.equal(letter.messageId, sent.messageId)
    assert.equal(letter.reason, DELIVERED_TOO_OFTEN)
    assert.equal(letter.deliveryCount, MAX_DELIVERIES)
  })

  it('counts a lapsed lease like an abandoned delivery', async () => {
    const { bus, advance } = suite()
    await bus.publish([event()])
    for (let delivery = 1; delivery <= MAX_DELIVERIES; delivery += 1) {
      await takeOne(bus, ORCHESTRATOR_EVENTS)
      await advance(MINUTE)
    }
    assert.deepEqual(await drain(bus, ORCHESTRATOR_EVENTS), [])
    assert.equal((await lastLetter(bus, ORCHESTRATOR_EVENTS)).reason, DELIVERED_TOO_OFTEN)
  })

  it('delivers messages behind a whole chunk of expired ones', async () => {
    const { bus, advance, now } = suite()
    const expiresAt = new Date(now().getTime() + SECOND)
    await bus.publish(Array.from({ length: 30 }, () => event(undefined, { expiresAt })))
    await advance(MINUTE)
    const good = event()
    await bus.publish([good])
    const [first] = await bus.receive(ORCHESTRATOR_EVENTS, 10)
    assert.equal(first?.messageId, good.messageId)
  })
}
