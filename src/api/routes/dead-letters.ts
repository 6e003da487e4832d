// Dead letters: messages that could not be handled, kept whole until a person replays or discards them. The bus may be another
// service than the database, so a decision is no part of our transaction: the audit notes it before and after.
import { z } from 'zod'
import {
  type DeadLetter,
  type DeadLetterPage,
  type DeadLetterSummary,
  type DeadLetters,
  ORCHESTRATOR_EVENTS,
  type Subscription,
  TOPICS,
  WORKER_RESULTS,
  workerJobs,
} from '../../bus/bus.ts'
import { insertEvents } from '../../db/changes.ts'
import { listWorkerIds } from '../../db/workers.ts'
import { eventRecord } from '../../domain/event-record.ts'
import type { Engine } from '../../engine/engine.ts'
import { cursorText, readCursor } from '../cursor.ts'
import { change, type Route, type RouteRequest, read } from '../route.ts'
import { dateTime, nullableText, paging, reason, wholeCount } from '../shapes.ts'

/** Each of them is asked for by itself, and over Service Bus that takes its time. */
const SUBSCRIPTIONS_PER_PAGE = 50

const params = z.strictObject({ deadLetterId: z.string().min(1).max(128) })

const letter = z.strictObject({
  id: z.string(),
  topic: z.enum(TOPICS),
  subscription: z.string(),
  messageId: z.string(),
  type: nullableText,
  deliveryCount: wholeCount,
  enqueuedAt: dateTime,
  reason: z.string(),
  description: z.string(),
  deadLetteredAt: dateTime,
})

const shown = ({ subscription, ...rest }: DeadLetterSummary): z.input<typeof letter> => ({
  ...rest,
  topic: subscription.topic,
  subscription: subscription.name,
})

const listed = z
  .strictObject({
    ...paging,
    topic: z.enum(TOPICS).optional().meta({ description: 'All topics unless one is named.' }),
    worker: z.string().min(1).max(63).optional().meta({ description: 'Whose jobs.' }),
  })
  .refine(
    ({ topic = 'worker-jobs', worker }) => worker === undefined || topic === 'worker-jobs',
    'must not name a worker beside another topic than worker-jobs',
  )

/** Those that are asked for, in the order in which they are listed. */
async function subscriptionsOf(
  { db }: Engine,
  letters: DeadLetters,
  { topic, worker }: z.output<typeof listed>,
): Promise<Subscription[]> {
  if (worker !== undefined) return [workerJobs(worker)]
  const ofOrchestrator = [ORCHESTRATOR_EVENTS, WORKER_RESULTS]
  if (topic !== undefined && topic !== 'worker-jobs')
    return ofOrchestrator.filter((one) => one.topic === topic)
  // A worker may be gone from the table, or never have been there, and still have dead letters.
  const known = [...(await listWorkerIds(db)), ...(await letters.listWorkers())]
  const ofWorkers = [...new Set(known)].sort().map(workerJobs)
  return topic === undefined ? [...ofOrchestrator, ...ofWorkers] : ofWorkers
}

/** A cursor names a subscription and a place in it, which is the transport's own affair; no place is its beginning. */
const SORT = 'subscription'
const nameOf = ({ topic, name: of }: Subscription) => `${topic}/${of}`
const cursorAt = (subscription: Subscription, place = ''): string =>
  cursorText(SORT, { value: `${nameOf(subscription)} ${place}`, id: 0 })

function startOf(cursor: string | undefined, all: readonly Subscription[]) {
  const value = readCursor(SORT, cursor)?.value
  if (value === undefined || value === null) return { left: all, place: '' }
  const of = value.split(' ', 1)[0]!
  // Whoever is not among them any more has nothing left to list.
  const index = all.findIndex((one) => nameOf(one) === of)
  return { left: index === -1 ? [] : all.slice(index), place: value.slice(of.length + 1) }
}

async function listPage(
  letters: DeadLetters,
  all: readonly Subscription[],
  limit: number,
  cursor: string | undefined,
): Promise<DeadLetterPage> {
  const items: DeadLetterSummary[] = []
  const { left, place } = startOf(cursor, all)
  for (const [at, subscription] of left.entries()) {
    if (items.length === limit || at === SUBSCRIPTIONS_PER_PAGE)
      return { items, next: cursorAt(subscription) }
    const after = at === 0 && place !== '' ? place : undefined
    const page = await letters.list(subscription, limit - items.length, after)
    items.push(...page.items)
    if (page.next !== null) return { items, next: cursorAt(subscription, page.next) }
  }
  return { items, next: null }
}

const listRoute = read({
  method: 'GET',
  path: '/api/dead-letters',
  operation: 'listDeadLetters',
  tag: 'service',
  summary: 'Messages that could not be handled and wait for a person, oldest first',
  about:
    'Of all topics unless one is named: first those for the orchestrator, then the jobs of each worker. A page may be short, or empty, and still have a next one.',
  rule: 'reader',
  errors: ['CURSOR_INVALID'],
  query: listed,
  answers: {
    200: z
      .strictObject({ deadLetters: z.array(letter), next: z.string().nullable() })
      .meta({ id: 'DeadLetters' }),
  },
  handle: async ({ engine, services: { bus }, query }) => {
    const { limit, cursor } = query
    const all = await subscriptionsOf(engine, bus.deadLetters, query)
    const { items, next } = await listPage(bus.deadLetters, all, limit, cursor)
    return { status: 200, body: { deadLetters: items.map(shown), next } }
  },
})

const showRoute = read({
  method: 'GET',
  path: '/api/dead-letters/{deadLetterId}',
  operation: 'getDeadLetter',
  tag: 'service',
  summary: 'One dead letter with its body',
  rule: 'reader',
  isPersonal: true,
  errors: ['DEAD_LETTER_NOT_FOUND'],
  params,
  answers: {
    200: z
      .strictObject({
        ...letter.shape,
        properties: z.record(z.string(), z.string()),
        body: z.string().meta({ description: 'As it came, whatever it is.' }),
      })
      .meta({ id: 'DeadLetter' }),
  },
  handle: async ({ services: { bus }, params: { deadLetterId } }) => {
    const { properties, body, ...summary } = await bus.deadLetters.show(deadLetterId)
    return { status: 200, body: { ...shown(summary), properties, body } }
  },
})

const described = {
  method: 'POST',
  tag: 'service',
  rule: 'admin',
  takes: 'json',
  inChunks: true,
  errors: ['DEAD_LETTER_NOT_FOUND', 'DEAD_LETTER_DECIDED'],
  params,
  body: z.strictObject({ reason }),
  answers: {
    200: z.strictObject({ id: z.string(), sentAs: nullableText }).meta({ id: 'DecidedDeadLetter' }),
  },
} as const

type LetterAsk = RouteRequest<z.output<typeof params>, unknown, { reason: string }>

async function decide(
  { engine, services: { bus }, params: { deadLetterId }, body, by, now }: LetterAsk,
  verb: 'replayed' | 'discarded',
  run: () => Promise<string | null>,
) {
  const whole = await bus.deadLetters.show(deadLetterId)
  const sentAs = await run()
  await tell(engine, whole, verb, by.name, body.reason, now)
  const { messageId, subscription } = whole
  return {
    status: 200 as const,
    body: { id: deadLetterId, sentAs },
    noted: {
      subject: `dead letter ${deadLetterId}`,
      reason: body.reason,
      after: { messageId, topic: subscription.topic, sentAs },
    },
  }
}

/** The batch that the message speaks of gets the event, if it speaks of one. */
async function tell(
  { db }: Engine,
  { messageId, subscription: { topic }, body }: DeadLetter,
  verb: string,
  actor: string,
  why: string,
  now: Date,
): Promise<void> {
  const batchId = batchIn(body)
  const because = `${messageId} on ${topic} was ${verb}: ${why}`
  const subject = topic === 'worker-jobs' ? { jobId: messageId } : {}
  const entity = batchId === null ? 'worker' : 'batch'
  const event = eventRecord(entity, `dead_letter_${verb}`, because, subject)
  await db.transaction((tx) => insertEvents(tx, batchId, now, actor, [event]))
}

function batchIn(body: string): number | null {
  try {
    const { batchId } = JSON.parse(body) as { batchId?: unknown }
    return Number.isSafeInteger(batchId) ? (batchId as number) : null
  } catch {
    // What cannot be read is often why it lies here.
    return null
  }
}

const replayRoute = change({
  ...described,
  path: '/api/dead-letters/{deadLetterId}/replay',
  operation: 'replayDeadLetter',
  summary: 'Send it once more, to its own subscription only',
  action: 'dead-letter.replay',
  handle: (ask) => {
    const { services, params: p, by } = ask
    return decide(ask, 'replayed', () => services.bus.deadLetters.replay(p.deadLetterId, by.name))
  },
})

const discardRoute = change({
  ...described,
  path: '/api/dead-letters/{deadLetterId}/discard',
  operation: 'discardDeadLetter',
  summary: 'Never send it again; it is kept as a record',
  action: 'dead-letter.discard',
  handle: (ask) => {
    const { services, params: p, by } = ask
    return decide(ask, 'discarded', async () => {
      await services.bus.deadLetters.discard(p.deadLetterId, by.name)
      return null
    })
  },
})

export const DEAD_LETTER_ROUTES: readonly Route[] = [
  listRoute,
  showRoute,
  replayRoute,
  discardRoute,
]
