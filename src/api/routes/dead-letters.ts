// Dead letters: messages that could not be handled, kept until a person replays or discards them. The bus may not be the database,
// so the decision runs outside the transaction, with an audit row before and after it.
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
import { insertEvents } from '../../db/state/changes.ts'
import { listWorkerIds } from '../../db/state/workers.ts'
import { eventRecord } from '../../domain/state/event-record.ts'
import type { Engine } from '../../engine/transactions/engine.ts'
import { cursorText, readCursor } from '../http/cursor.ts'
import { change, read } from '../route.ts'
import { dateTime, nullableText, pagingQuery, reason, wholeCount } from '../shapes/shapes.ts'

/** One request per subscription, which is slow on Service Bus. */
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

const shownLetter = ({ subscription, ...rest }: DeadLetterSummary): z.input<typeof letter> => ({
  ...rest,
  topic: subscription.topic,
  subscription: subscription.name,
})

const listQuery = z
  .strictObject({
    ...pagingQuery,
    topic: z.enum(TOPICS).optional().meta({ description: 'All topics by default.' }),
    worker: z.string().min(1).max(63).optional().meta({ description: 'Only jobs of this worker.' }),
  })
  .refine(
    ({ topic = 'worker-jobs', worker }) => worker === undefined || topic === 'worker-jobs',
    'must name a worker only with topic worker-jobs',
  )

/** The queried subscriptions in list order. */
async function subscriptionsOf(
  { db }: Engine,
  letters: DeadLetters,
  { topic, worker }: z.output<typeof listQuery>,
): Promise<Subscription[]> {
  if (worker !== undefined) return [workerJobs(worker)]
  const ofOrchestrator = [ORCHESTRATOR_EVENTS, WORKER_RESULTS]
  if (topic !== undefined && topic !== 'worker-jobs')
    return ofOrchestrator.filter((subscription) => subscription.topic === topic)
  // A worker can have dead letters without a row in the table of workers.
  const workerIds = [...(await listWorkerIds(db)), ...(await letters.listWorkers())]
  const ofWorkers = [...new Set(workerIds)].sort().map(workerJobs)
  return topic === undefined ? [...ofOrchestrator, ...ofWorkers] : ofWorkers
}

/** A cursor holds a subscription and the transport's cursor in it; an empty one is its start. */
const SORT = 'subscription'
const nameOf = ({ topic, name: of }: Subscription) => `${topic}/${of}`
const cursorAt = (subscription: Subscription, place = ''): string =>
  cursorText(SORT, { value: `${nameOf(subscription)} ${place}`, id: 0 })

function startOf(cursor: string | undefined, all: readonly Subscription[]) {
  const value = readCursor(SORT, cursor)?.value
  if (value === undefined || value === null) return { left: all, place: '' }
  const of = value.split(' ', 1)[0]!
  // A subscription that no longer exists has nothing left to list.
  const index = all.findIndex((subscription) => nameOf(subscription) === of)
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
  summary: 'List messages that could not be handled, oldest first',
  about:
    'Orchestrator messages come first, then the jobs of each worker. A page may be short or empty and still have a next page.',
  rule: 'reader',
  errors: ['CURSOR_INVALID'],
  query: listQuery,
  answers: {
    200: z
      .strictObject({ deadLetters: z.array(letter), next: z.string().nullable() })
      .meta({ id: 'DeadLetters' }),
  },
  handle: async ({ engine, services: { bus }, query }) => {
    const { limit, cursor } = query
    const all = await subscriptionsOf(engine, bus.deadLetters, query)
    const { items, next } = await listPage(bus.deadLetters, all, limit, cursor)
    return { status: 200, body: { deadLetters: items.map(shownLetter), next } }
  },
})

const showRoute = read({
  method: 'GET',
  path: '/api/dead-letters/{deadLetterId}',
  operation: 'getDeadLetter',
  tag: 'service',
  summary: 'Show a dead letter with its body',
  rule: 'reader',
  isPersonal: true,
  errors: ['DEAD_LETTER_NOT_FOUND'],
  params,
  answers: {
    200: z
      .strictObject({
        ...letter.shape,
        properties: z.record(z.string(), z.string()),
        body: z.string().meta({ description: 'The raw body.' }),
      })
      .meta({ id: 'DeadLetter' }),
  },
  handle: async ({ services: { bus }, params: { deadLetterId } }) => {
    const { properties, body, ...summary } = await bus.deadLetters.show(deadLetterId)
    return { status: 200, body: { ...shownLetter(summary), properties, body } }
  },
})

const decideRoute = change({
  method: 'POST',
  path: '/api/dead-letters/{deadLetterId}',
  operation: 'decideDeadLetter',
  tag: 'service',
  summary: 'Send a dead letter again to its own subscription, or discard it',
  about: 'A discarded one is kept as a record.',
  rule: 'admin',
  takes: 'json',
  inChunks: true,
  action: 'dead-letter.decide',
  errors: ['DEAD_LETTER_NOT_FOUND', 'DEAD_LETTER_DECIDED'],
  params,
  body: z.strictObject({ decision: z.enum(['replay', 'discard']), reason }),
  answers: {
    200: z.strictObject({ id: z.string(), sentAs: nullableText }).meta({ id: 'DecidedDeadLetter' }),
  },
  handle: async ({ engine, services, params: { deadLetterId }, body, by, now }) => {
    const { deadLetters } = services.bus
    const deadLetter = await deadLetters.show(deadLetterId)
    const isReplay = body.decision === 'replay'
    const sentAs = isReplay ? await deadLetters.replay(deadLetterId, by.name) : null
    if (!isReplay) await deadLetters.discard(deadLetterId, by.name)
    const verb = isReplay ? 'replayed' : 'discarded'
    await recordDecision(engine, deadLetter, verb, by.name, body.reason, now)
    const { messageId, subscription } = deadLetter
    return {
      status: 200,
      body: { id: deadLetterId, sentAs },
      auditNote: {
        action: `dead-letter.${body.decision}`,
        subject: `dead letter ${deadLetterId}`,
        reason: body.reason,
        after: { messageId, topic: subscription.topic, sentAs },
      },
    }
  },
})

/** Writes an event to the message's batch, or to no batch when the message names none. */
async function recordDecision(
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
    // An unreadable body is often why the message is dead.
    return null
  }
}

export const DEAD_LETTER_ROUTES = [listRoute, showRoute, decideRoute]
