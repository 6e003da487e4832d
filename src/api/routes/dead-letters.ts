// Dead letters: messages that could not be handled, kept whole until a person replays or discards them. The bus may be another
// service than the database, so a decision is no part of our transaction: the audit notes it before and after.
import { z } from 'zod'
import {
  type DeadLetter,
  type DeadLetterSummary,
  ORCHESTRATOR_EVENTS,
  type Subscription,
  TOPICS,
  WORKER_RESULTS,
  workerJobs,
} from '../../bus/bus.ts'
import { insertEvents } from '../../db/changes.ts'
import type { Door } from '../../engine/door.ts'
import { type Ask, change, type Route, read } from '../route.ts'
import { count, maybeText, paging, reason, time } from '../shapes.ts'

const params = z.strictObject({ deadLetterId: z.string().min(1).max(128) })

const letter = z.strictObject({
  id: z.string(),
  topic: z.enum(TOPICS),
  subscription: z.string(),
  messageId: z.string(),
  type: maybeText,
  deliveryCount: count,
  enqueuedAt: time,
  reason: z.string(),
  description: z.string(),
  deadLetteredAt: time,
})

const shown = ({ subscription, ...rest }: DeadLetterSummary): z.input<typeof letter> => ({
  ...rest,
  topic: subscription.topic,
  subscription: subscription.name,
})

const listed = z
  .strictObject({
    ...paging,
    topic: z.enum(TOPICS),
    worker: z.string().min(1).max(63).optional().meta({ description: 'Whose jobs.' }),
  })
  .refine(
    ({ topic, worker }) => (topic === 'worker-jobs') === (worker !== undefined),
    'must name a worker for worker-jobs, and none for the other topics',
  )

function subscriptionOf({ topic, worker }: z.output<typeof listed>): Subscription {
  if (topic === 'worker-jobs') return workerJobs(worker!)
  return topic === 'worker-results' ? WORKER_RESULTS : ORCHESTRATOR_EVENTS
}

const listRoute = read({
  method: 'GET',
  path: '/api/dead-letters',
  operation: 'listDeadLetters',
  tag: 'service',
  summary: 'Messages that could not be handled and wait for a person, oldest first',
  rule: 'reader',
  query: listed,
  answers: {
    200: z
      .strictObject({ deadLetters: z.array(letter), next: z.string().nullable() })
      .meta({ id: 'DeadLetters' }),
  },
  handle: async ({ services: { bus }, query }) => {
    const { limit, cursor } = query
    const { items, next } = await bus.deadLetters.list(subscriptionOf(query), limit, cursor)
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
    200: z.strictObject({ id: z.string(), sentAs: maybeText }).meta({ id: 'DecidedDeadLetter' }),
  },
} as const

type LetterAsk = Ask<z.output<typeof params>, unknown, { reason: string }>

async function decide(
  { door, services: { bus }, params: { deadLetterId }, body, by, now }: LetterAsk,
  verb: 'replayed' | 'discarded',
  run: () => Promise<string | null>,
) {
  const whole = await bus.deadLetters.show(deadLetterId)
  const sentAs = await run()
  await tell(door, whole, verb, by.name, body.reason, now)
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
  { db }: Door,
  { messageId, subscription: { topic }, body }: DeadLetter,
  verb: string,
  actor: string,
  why: string,
  now: Date,
): Promise<void> {
  const batchId = batchIn(body)
  const event = {
    thing: batchId === null ? ('worker' as const) : ('batch' as const),
    event: `dead_letter_${verb}`,
    from: null,
    to: null,
    memberId: null,
    phaseId: null,
    stepId: null,
    attempt: null,
    jobId: topic === 'worker-jobs' ? messageId : null,
    because: `${messageId} on ${topic} was ${verb}: ${why}`,
    details: null,
  }
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
