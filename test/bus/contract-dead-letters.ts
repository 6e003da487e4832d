// The part of the contract about dead letters: what a person sees and decides. Run by contract.ts.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  type Bus,
  type OutgoingMessage,
  type Subscription,
  WORKER_RESULTS,
  workerJobs,
} from '../../src/bus/bus.ts'
import { drain, event, job, type Suite, takeOne } from './under-test.ts'

async function lettersOf(bus: Bus, subscription: Subscription) {
  const all = []
  let after: string | undefined
  do {
    const page = await bus.deadLetters.list(subscription, 3, after)
    assert.ok(page.items.length <= 3)
    all.push(...page.items)
    after = page.next ?? undefined
  } while (after)
  return all
}

export async function lastLetter(bus: Bus, subscription: Subscription) {
  const letter = (await lettersOf(bus, subscription)).at(-1)
  assert.ok(letter, 'a dead letter should be there')
  return letter
}

async function makeLetter(
  bus: Bus,
  sent: OutgoingMessage,
  subscription: Subscription,
): Promise<string> {
  await bus.publish([sent])
  await bus.deadLetter([await takeOne(bus, subscription)], 'Unreadable', 'The body is not JSON.')
  return (await lastLetter(bus, subscription)).id
}

export function deadLetters(suite: Suite): void {
  it('keeps what a consumer refused, with its reason, and shows it whole', async () => {
    const { bus, now } = suite()
    const sent = job('w1')
    const id = await makeLetter(bus, sent, workerJobs('w1'))
    const letter = await bus.deadLetters.show(id)
    assert.equal(letter.messageId, sent.messageId)
    assert.deepEqual(letter.subscription, workerJobs('w1'))
    assert.deepEqual(letter.properties, { MessageType: 'worker-job', WorkerId: 'w1' })
    assert.deepEqual([letter.reason, letter.description], ['Unreadable', 'The body is not JSON.'])
    assert.equal(letter.deadLetteredAt.getTime(), now().getTime())
    assert.deepEqual(JSON.parse(letter.body), sent.body)
    assert.deepEqual(await drain(bus, workerJobs('w1')), [])
  })

  it('lists by subscription, page by page, the oldest first', async () => {
    const { bus } = suite()
    const before = await lettersOf(bus, WORKER_RESULTS)
    const sent = Array.from({ length: 8 }, () =>
      event(undefined, { topic: 'worker-results' } as Partial<OutgoingMessage>),
    )
    for (const one of sent) await makeLetter(bus, one, WORKER_RESULTS)
    const listed = await lettersOf(bus, WORKER_RESULTS)
    assert.deepEqual(
      listed.slice(before.length).map(({ messageId }) => messageId),
      sent.map(({ messageId }) => messageId),
    )
  })

  it('replays to the one consumer, under a new id, with the same body, once', async () => {
    const { bus, now } = suite()
    const sent = job('w1')
    const id = await makeLetter(bus, sent, workerJobs('w1'))
    assert.equal(await bus.deadLetters.replay(id, 'ada'), `${sent.messageId}-replay-1`)
    const again = await takeOne(bus, workerJobs('w1'))
    assert.equal(again.messageId, `${sent.messageId}-replay-1`)
    assert.equal(again.deliveryCount, 1)
    assert.equal(again.enqueuedAt.getTime(), now().getTime())
    assert.deepEqual(JSON.parse(again.body), sent.body)
    const open = await lettersOf(bus, workerJobs('w1'))
    assert.ok(!open.some((letter) => letter.id === id))
    await assert.rejects(bus.deadLetters.replay(id, 'bob'), decidedOrGone)
    await assert.rejects(bus.deadLetters.discard(id, 'bob'), decidedOrGone)
    await bus.ack([again])
  })

  it('numbers the replays of one message, also when a replay dies as well', async () => {
    const { bus } = suite()
    const sent = job('w1')
    let id = await makeLetter(bus, sent, workerJobs('w1'))
    for (const number of [1, 2, 3]) {
      assert.equal(await bus.deadLetters.replay(id, 'ada'), `${sent.messageId}-replay-${number}`)
      const again = await takeOne(bus, workerJobs('w1'))
      await bus.deadLetter([again], 'Again', 'It failed again.')
      id = (await lastLetter(bus, workerJobs('w1'))).id
    }
  })

  it('replays once when two people press at the same moment', async () => {
    const { bus, other } = suite()
    const id = await makeLetter(bus, job('w1'), workerJobs('w1'))
    const both = await Promise.allSettled([
      bus.deadLetters.replay(id, 'ada'),
      other.deadLetters.replay(id, 'bob'),
    ])
    assert.deepEqual(both.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
    await takeOne(bus, workerJobs('w1'))
  })

  it('discards', async () => {
    const { bus } = suite()
    const id = await makeLetter(bus, job('w1'), workerJobs('w1'))
    await bus.deadLetters.discard(id, 'ada')
    assert.ok(!(await lettersOf(bus, workerJobs('w1'))).some((letter) => letter.id === id))
    await assert.rejects(bus.deadLetters.replay(id, 'ada'), decidedOrGone)
    assert.deepEqual(await drain(bus, workerJobs('w1')), [])
  })

  it('says so when there is no such dead letter', async () => {
    const { bus } = suite()
    for (const id of ['0', '999999999', '-1', 'x', "1' or '1'='1", '9'.repeat(30)]) {
      await assert.rejects(bus.deadLetters.show(id), { code: 'DEAD_LETTER_NOT_FOUND' })
      await assert.rejects(bus.deadLetters.replay(id, 'ada'), { code: 'DEAD_LETTER_NOT_FOUND' })
    }
  })
}

/** A broker forgets a replayed message; a database remembers who replayed it. */
const decidedOrGone = (error: { code?: string }) =>
  error.code === 'DEAD_LETTER_DECIDED' || error.code === 'DEAD_LETTER_NOT_FOUND'
