// The part of the contract for operators and the engine: readiness, depth, housekeeping, and the capabilities, each
// tested where the transport has it. Run by contract.ts.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  type BusDepth,
  MAX_DELIVERIES,
  ORCHESTRATOR_EVENTS,
  type OutgoingMessage,
  type Topic,
  workerJobs,
} from '../../src/bus/bus.ts'
import { hint } from '../../src/bus/hints.ts'
import {
  type BusUnderTest,
  drain,
  event,
  idsOf,
  job,
  SECOND,
  type Suite,
  takeOne,
} from './under-test.ts'

const countOf = (counts: BusDepth['messages'], topic: Topic): number =>
  counts.find((one) => one.topic === topic)?.count ?? 0

export function operation(suite: Suite): void {
  it('is ready while it answers', async () => {
    assert.equal(await suite().bus.isReady(), true)
  })

  it('counts waiting and leased messages per topic', async () => {
    const { bus } = suite()
    await bus.publish([event(), event(), event(), job('w1')])
    const [leased] = await bus.receive(ORCHESTRATOR_EVENTS, 1)
    const { messages } = await bus.depth()
    assert.equal(countOf(messages, 'orchestrator-events'), 3)
    const oldestAt = messages.find(({ topic }) => topic === 'orchestrator-events')?.oldestAt
    assert.ok(oldestAt instanceof Date, 'it tells since when the oldest waits')
    assert.ok(countOf(messages, 'worker-jobs') >= 1)
    await bus.ack([leased!, ...(await drain(bus, ORCHESTRATOR_EVENTS))])
    assert.equal(countOf((await bus.depth()).messages, 'orchestrator-events'), 0)
  })

  it('counts undecided dead letters per topic', async () => {
    const { bus } = suite()
    const count = async () => countOf((await bus.depth()).deadLetters, 'worker-jobs')
    const before = await count()
    await bus.publish([job('w1')])
    await bus.deadLetter([await takeOne(bus, workerJobs('w1'))], 'Odd', 'for the test')
    assert.equal(await count(), before, 'the engine has not looked at it yet')
    const { items } = await bus.deadLetters.list(workerJobs('w1'), 500)
    await bus.deadLetters.markNoticed([items.at(-1)!.id], null)
    assert.equal(await count(), before + 1)
    await bus.deadLetters.discard(items.at(-1)!.id, 'ada')
    assert.equal(await count(), before)
  })

  it('sweeps without touching live messages', async () => {
    const { bus, other, advance } = suite()
    const [waiting, taken] = [event(), event()]
    await bus.publish([taken])
    const leased = await takeOne(bus, ORCHESTRATOR_EVENTS)
    await bus.publish([waiting])
    await advance(SECOND)
    await Promise.all([bus.sweep(), other.sweep()])
    assert.deepEqual(await bus.ack([leased]), [])
    assert.equal((await takeOne(bus, ORCHESTRATOR_EVENTS)).messageId, waiting.messageId)
  })
}

export function releases(suite: Suite): void {
  it('counts a released delivery unless the transport takes deliveries back', async () => {
    const { bus } = suite()
    await bus.publish([event()])
    await bus.release([await takeOne(bus, ORCHESTRATOR_EVENTS)], 0)
    const again = await takeOne(bus, ORCHESTRATOR_EVENTS)
    assert.equal(again.deliveryCount, bus.capabilities.takesBackDeliveries ? 1 : 2)
    await bus.ack([again])
  })

  it('takes deliveries back, so that a message is never exhausted by them', async () => {
    const { bus, advance } = suite()
    if (!bus.capabilities.takesBackDeliveries) return
    await bus.publish([event(), event(), event()])
    for (let round = 0; round < MAX_DELIVERIES + 2; round += 1) {
      const taken = await drain(bus, ORCHESTRATOR_EVENTS)
      assert.deepEqual(
        taken.map(({ deliveryCount }) => deliveryCount),
        [1, 1, 1],
      )
      await bus.release(taken, SECOND)
      assert.deepEqual(await drain(bus, ORCHESTRATOR_EVENTS), [])
      await advance(SECOND)
    }
    await bus.ack(await drain(bus, ORCHESTRATOR_EVENTS))
  })

  it('takes a delivery back after its lease has lapsed, also while another consumer has the message', async () => {
    const { bus, other, advance } = suite()
    if (!bus.capabilities.takesBackDeliveries) return
    await bus.publish([event(), event()])
    const lapsed = await drain(bus, ORCHESTRATOR_EVENTS)
    await advance(bus.leaseMs + SECOND)
    await bus.release(lapsed, 0)
    const taken = await drain(bus, ORCHESTRATOR_EVENTS)
    assert.deepEqual(
      taken.map(({ deliveryCount }) => deliveryCount),
      [1, 1],
    )
    await advance(bus.leaseMs + SECOND)
    const takenOver = await drain(other, ORCHESTRATOR_EVENTS)
    await bus.release(taken, 0)
    assert.deepEqual(await drain(bus, ORCHESTRATOR_EVENTS), [], 'the other one keeps them')
    await other.abandon(takenOver.slice(0, 1))
    const again = await takeOne(bus, ORCHESTRATOR_EVENTS)
    assert.equal(again.deliveryCount, 2)
    await bus.ack([again])
    assert.deepEqual(await other.ack(takenOver.slice(1)), [])
  })
}

/** A transport that cannot tell where a message is answers `unknown`, and for no message anything else. */
export function places(suite: Suite): void {
  it('tells where each message is, in the order asked', async () => {
    const { bus, now, advance } = suite()
    const [waiting, leased, lapsed, back, done, dead] = [1, 2, 3, 4, 5, 6].map(() => job('w1'))
    const take = async (sent: OutgoingMessage) => {
      await bus.publish([sent])
      const taken = await drain(bus, workerJobs('w1'))
      return taken.find(({ messageId }) => messageId === sent.messageId)!
    }
    await take(lapsed!)
    const lapsedSince = now()
    await advance(30 * SECOND)
    const kept = await take(leased!)
    await bus.abandon([await take(back!)], 20 * 60 * SECOND)
    await bus.ack([await take(done!)])
    await bus.deadLetter([await take(dead!)], 'Odd', 'for the test')
    await advance(30 * SECOND)
    await bus.publish([waiting!])
    const asked = [waiting, leased, lapsed, back, done, dead].map((sent) => sent!.messageId)
    const got = await bus.locate('worker-jobs', [...asked, 'never-sent'])
    if (got.some(({ is }) => is === 'unknown')) {
      assert.deepEqual(
        got,
        [...asked, 'never-sent'].map(() => ({ is: 'unknown' })),
      )
    } else {
      assert.deepEqual(got, [
        { is: 'queued' },
        { is: 'leased' },
        { is: 'lapsed', renewedAt: lapsedSince },
        { is: 'queued' },
        { is: 'gone' },
        { is: 'dead' },
        { is: 'gone' },
      ])
      const others = await bus.locate('worker-results', asked)
      assert.deepEqual([...new Set(others.map(({ is }) => is))], ['gone'], 'of another topic')
    }
    await bus.ack([kept])
    assert.deepEqual(await bus.locate('worker-jobs', []), [])
  })

  it('tells where messages are that were sent together, before and after they part', async () => {
    const { bus } = suite()
    const sent = Array.from({ length: 120 }, () => job('w1'))
    await bus.publish(sent)
    const ids = sent.map(({ messageId }) => messageId)
    const count = async () => Object.groupBy(await bus.locate('worker-jobs', ids), ({ is }) => is)
    if ((await count()).unknown) return
    assert.equal((await count()).queued?.length, 120)
    const first = await bus.receive(workerJobs('w1'), 50)
    assert.equal((await count()).leased?.length, first.length)
    await bus.ack(first.slice(0, 20))
    assert.equal((await count()).gone?.length, 20)
    const rest = [...first.slice(20), ...(await drain(bus, workerJobs('w1')))]
    assert.equal((await count()).leased?.length, 100)
    await bus.ack(rest)
    assert.equal((await count()).gone?.length, 120)
  })

  it('counts a dead job that is noticed as gone', async () => {
    const { bus } = suite()
    const sent = job('w1')
    await bus.publish([sent])
    await bus.deadLetter([await takeOne(bus, workerJobs('w1'))], 'Odd', 'for the test')
    const place = async () => (await bus.locate('worker-jobs', [sent.messageId]))[0]!.is
    if ((await place()) === 'unknown') return
    assert.equal(await place(), 'dead')
    const letters = await bus.deadLetters.listUnnoticedJobs(1_000)
    await bus.deadLetters.markNoticed(
      letters.map(({ id }) => id),
      null,
    )
    assert.equal(await place(), 'gone')
  })
}

/** Withdraws in a transaction of its own; null where a broker has the jobs. */
function withdrawerOf({ bus, inTransaction }: BusUnderTest) {
  const { storedJobs } = bus
  if (!inTransaction || !storedJobs) return null
  return (ids: readonly string[], which?: 'lapsed') =>
    inTransaction((tx) => storedJobs.withdrawIn(tx, ids, which))
}

export function capabilities(suite: Suite): void {
  it('withdraws messages that no consumer has leased, and only those', async () => {
    const { bus, advance } = suite()
    const withdraw = withdrawerOf(suite())
    if (!withdraw) return
    const [waiting, leased, lapsed, abandoned] = [job('w1'), job('w1'), job('w1'), job('w1')]
    await bus.publish([lapsed])
    await takeOne(bus, workerJobs('w1'))
    await advance(30 * SECOND)
    await bus.publish([leased, abandoned])
    const taken = await drain(bus, workerJobs('w1'))
    await advance(30 * SECOND)
    await bus.abandon(taken.filter(({ messageId }) => messageId === abandoned.messageId))
    await bus.publish([waiting])
    const all = [waiting, leased, lapsed, abandoned].map(({ messageId }) => messageId)
    const got = await withdraw([...all, 'never-sent'])
    assert.deepEqual(got.sort(), [waiting.messageId, abandoned.messageId].sort())
    const left = await drain(bus, workerJobs('w1'))
    assert.deepEqual(idsOf(left), [lapsed.messageId])
    assert.deepEqual(await withdraw(all), [])
    await bus.ack(left)
    await bus.publish([waiting])
    assert.deepEqual(await drain(bus, workerJobs('w1')), [], 'its id is spent for ten minutes')
  })

  it('withdraws messages whose lease has lapsed, and only those', async () => {
    const { bus, advance } = suite()
    const withdraw = withdrawerOf(suite())
    if (!withdraw) return
    const [waiting, leased, lapsed] = [job('w1'), job('w1'), job('w1')]
    await bus.publish([lapsed])
    await takeOne(bus, workerJobs('w1'))
    await advance(60 * SECOND)
    await bus.publish([leased])
    const taken = await drain(bus, workerJobs('w1'))
    const [again, kept] = [lapsed, leased].map(
      ({ messageId }) => taken.find((message) => message.messageId === messageId)!,
    )
    await advance(59 * SECOND)
    await bus.renew([kept!])
    await advance(SECOND)
    await bus.publish([waiting])
    const all = [waiting, leased, lapsed].map(({ messageId }) => messageId)
    assert.deepEqual(await withdraw(all, 'lapsed'), [lapsed.messageId])
    assert.deepEqual(await withdraw(all, 'lapsed'), [])
    assert.deepEqual(await bus.ack([again!]), [again], 'its slow consumer has lost it')
    assert.equal((await takeOne(bus, workerJobs('w1'))).messageId, waiting.messageId)
    assert.deepEqual(await bus.ack([kept!]), [])
  })

  it('gives a message either to the withdrawal or to a consumer', async () => {
    const { bus, other } = suite()
    const withdraw = withdrawerOf(suite())
    if (!withdraw) return
    const sent = Array.from({ length: 200 }, () => job('w1'))
    await bus.publish(sent)
    const all = sent.map(({ messageId }) => messageId)
    const [taken, withdrawn] = await Promise.all([drain(other, workerJobs('w1')), withdraw(all)])
    const left = await drain(other, workerJobs('w1'))
    assert.deepEqual([...idsOf(taken), ...idsOf(left), ...withdrawn].sort(), all.sort())
  })

  it('withdraws nothing when the transaction rolls back', async () => {
    const { bus, inTransaction } = suite()
    if (!withdrawerOf(suite())) return
    const sent = job('w1')
    await bus.publish([sent])
    const crash = inTransaction!(async (tx) => {
      const ids = await bus.storedJobs!.withdrawIn(tx, [sent.messageId])
      assert.deepEqual(ids, [sent.messageId])
      throw new Error('crash before commit')
    })
    await assert.rejects(crash, /crash before commit/)
    assert.equal((await takeOne(bus, workerJobs('w1'))).messageId, sent.messageId)
  })

  it('hints that messages came', async () => {
    const { bus, other } = suite()
    const heard = Promise.withResolvers<void>()
    const stop = await bus.listen(workerJobs('w1'), heard.resolve)
    await other.publish([job('w1')])
    await heard.promise
    await stop()
    await takeOne(bus, workerJobs('w1'))
  })

  it('hints without a message when a transaction commits', async () => {
    const { bus, inTransaction } = suite()
    if (!inTransaction) return
    const heard = Promise.withResolvers<void>()
    const stop = await bus.listen(ORCHESTRATOR_EVENTS, heard.resolve)
    await inTransaction((tx) => hint(tx, ORCHESTRATOR_EVENTS))
    await heard.promise
    await stop()
    assert.deepEqual(await drain(bus, ORCHESTRATOR_EVENTS), [])
  })
}
