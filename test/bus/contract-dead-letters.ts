// The part of the contract for dead letters: listing, deciding, and noticing dead jobs. Run by contract.ts.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import {
  type Bus,
  ORCHESTRATOR_EVENTS,
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
  it('keeps a dead-lettered message whole, with its reason', async () => {
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

  it('lists a subscription page by page, oldest first', async () => {
    const { bus } = suite()
    const before = await lettersOf(bus, WORKER_RESULTS)
    const sent = Array.from({ length: 8 }, () =>
      event(undefined, { topic: 'worker-results' } as Partial<OutgoingMessage>),
    )
    for (const message of sent) await makeLetter(bus, message, WORKER_RESULTS)
    const listed = await lettersOf(bus, WORKER_RESULTS)
    assert.deepEqual(
      listed.slice(before.length).map(({ messageId }) => messageId),
      sent.map(({ messageId }) => messageId),
    )
  })

  it('replays a dead letter once, under a new id, to its own subscription', async () => {
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

  it('numbers the replays of one message, also when a replay fails', async () => {
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

  it('replays once when two people decide at the same moment', async () => {
    const { bus, other } = suite()
    const id = await makeLetter(bus, job('w1'), workerJobs('w1'))
    const both = await Promise.allSettled([
      bus.deadLetters.replay(id, 'ada'),
      other.deadLetters.replay(id, 'bob'),
    ])
    assert.deepEqual(both.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
    await takeOne(bus, workerJobs('w1'))
  })

  it('discards a dead letter', async () => {
    const { bus } = suite()
    const id = await makeLetter(bus, job('w1'), workerJobs('w1'))
    await bus.deadLetters.discard(id, 'ada')
    assert.ok(!(await lettersOf(bus, workerJobs('w1'))).some((letter) => letter.id === id))
    await assert.rejects(bus.deadLetters.replay(id, 'ada'), decidedOrGone)
    assert.deepEqual(await drain(bus, workerJobs('w1')), [])
  })

  it('refuses an unknown dead letter', async () => {
    const { bus } = suite()
    for (const id of ['0', '999999999', '-1', 'x', "1' or '1'='1", '9'.repeat(30)]) {
      await assert.rejects(bus.deadLetters.show(id), { code: 'DEAD_LETTER_NOT_FOUND' })
      await assert.rejects(bus.deadLetters.replay(id, 'ada'), { code: 'DEAD_LETTER_NOT_FOUND' })
    }
  })
}

/** Jobs that die on the bus: the engine settles their steps and marks each as noticed. */
export function deadJobs(suite: Suite): void {
  const unnoticed = async (bus: Bus) => (await bus.deadLetters.listUnnoticedJobs(1_000)).slice(-2)

  it('lists dead jobs until they are marked as noticed, decided or not', async () => {
    const { bus } = suite()
    const [first, second] = [job('w1'), job('w1')]
    const id = await makeLetter(bus, first, workerJobs('w1'))
    await makeLetter(bus, second, workerJobs('w1'))
    await bus.deadLetters.discard(id, 'ada')
    const listed = await unnoticed(bus)
    assert.deepEqual(
      listed.map(({ jobId, reason }) => [jobId, reason]),
      [
        [first.messageId, 'Unreadable'],
        [second.messageId, 'Unreadable'],
      ],
    )
    await bus.deadLetters.markNoticed([listed[0]!.id], null)
    const left = await bus.deadLetters.listUnnoticedJobs(1_000)
    assert.deepEqual(left.at(-1), listed[1])
    assert.ok(!left.some(({ jobId }) => jobId === first.messageId))
    await bus.deadLetters.markNoticed([], null)
    await bus.deadLetters.markNoticed([listed[1]!.id], 'orchestrator')
  })

  it('lists only jobs, each under its job id also after a replay', async () => {
    const { bus } = suite()
    const sent = job('w1')
    const id = await makeLetter(bus, sent, workerJobs('w1'))
    await makeLetter(bus, event(), ORCHESTRATOR_EVENTS)
    await bus.deadLetters.replay(id, 'ada')
    await bus.deadLetter([await takeOne(bus, workerJobs('w1'))], 'Again', 'It failed again.')
    const listed = await unnoticed(bus)
    assert.deepEqual(
      listed.map(({ jobId }) => jobId),
      [sent.messageId, sent.messageId],
    )
    await bus.deadLetters.markNoticed(
      listed.map((letter) => letter.id),
      null,
    )
  })

  it('marks as noticed with the transaction, where the transport can', async () => {
    const { bus, inTransaction } = suite()
    if (!inTransaction) return
    const sent = job('w1')
    await makeLetter(bus, sent, workerJobs('w1'))
    const [letter] = (await unnoticed(bus)).slice(-1)
    const crash = inTransaction(async (tx) => {
      await bus.deadLetters.markNoticed([letter!.id], null, tx)
      throw new Error('crash before commit')
    })
    await assert.rejects(crash, /crash before commit/)
    assert.deepEqual((await unnoticed(bus)).at(-1), letter)
    await inTransaction((tx) => bus.deadLetters.markNoticed([letter!.id], null, tx))
    assert.notDeepEqual((await unnoticed(bus)).at(-1), letter)
  })

  it('lists the workers with undecided dead jobs, sorted', async () => {
    const { bus } = suite()
    const ids: string[] = []
    for (const worker of ['zoe', 'abe', 'zoe'])
      ids.push(await makeLetter(bus, job(worker), workerJobs(worker)))
    const names = (await bus.deadLetters.listWorkers()).filter((name) => /zoe|abe/.test(name))
    assert.deepEqual(names, ['abe', 'zoe'])
    for (const id of ids) await bus.deadLetters.discard(id, 'ada')
    const left = await bus.deadLetters.listWorkers()
    assert.ok(!left.some((name) => /zoe|abe/.test(name)))
  })
}

/** A broker forgets a replayed message; a database records who replayed it. */
const decidedOrGone = (error: { code?: string }) =>
  error.code === 'DEAD_LETTER_DECIDED' || error.code === 'DEAD_LETTER_NOT_FOUND'
