// The requests on `<entity>/$management`: renewing locks, scheduling and cancelling, peeking, settling by lock token, rules.
import rhea, { type Message } from 'rhea'
import type { Namespace, Queue } from './entities.ts'
import type { RuleFilter } from './filters.ts'
import { type Answer, arrayOf, decode, deliverable, LOCK_LOST, tokenOf } from './wire.ts'

const { types } = rhea
const NOT_FOUND: Answer = {
  status: 404,
  description: 'The messaging entity could not be found.',
  condition: 'amqp:not-found',
}
const TIMESTAMP = 0x83
const LONG = 0x81

type Body = Record<string, unknown>

export function manage(
  namespace: Namespace,
  address: string,
  request: Message,
  nowMs: number,
): Answer {
  const entity = address.replace(/\/\$management$/i, '')
  const operation = String(request.application_properties?.operation).replace('com.microsoft:', '')
  const body = (request.body ?? {}) as Body
  const handle = ON_TOPIC[operation]
  if (handle) return handle(namespace, entity, body, nowMs)
  const queue = namespace.queue(entity)
  if (!queue) return NOT_FOUND
  queue.tick(nowMs)
  const onQueue = ON_QUEUE[operation]
  if (onQueue) return onQueue(queue, body, nowMs)
  const onRules = ON_RULES[operation]
  if (onRules) return onRules(namespace, entity, body)
  return { status: 501, description: `unknown operation ${operation}` }
}

const ON_TOPIC: Record<
  string,
  (namespace: Namespace, entity: string, body: Body, nowMs: number) => Answer
> = {
  'schedule-message': (namespace, entity, { messages }, nowMs) => {
    const topic = namespace.topic(entity)
    if (!topic) return NOT_FOUND
    const numbers = (messages as { message: Buffer }[]).map(({ message }) =>
      topic.publish(decode(message), nowMs),
    )
    return ok({ 'sequence-numbers': arrayOf(numbers, LONG) })
  },
  'cancel-scheduled-message': (namespace, entity, { 'sequence-numbers': numbers }) => {
    const topic = namespace.topic(entity)
    if (!topic) return NOT_FOUND
    const cancelled = (numbers as unknown[]).map((number) => topic.cancel(numberOf(number)))
    if (cancelled.every(Boolean)) return { status: 200 }
    return { ...NOT_FOUND, condition: 'com.microsoft:message-not-found' }
  },
}

const ON_QUEUE: Record<string, (queue: Queue, body: Body, nowMs: number) => Answer> = {
  'renew-lock': (queue, { 'lock-tokens': tokens }, nowMs) => {
    const untils = (tokens as Buffer[]).map((token) => queue.renew(tokenOf(token), nowMs))
    if (untils.includes(null)) return LOCK_LOST
    return ok({ expirations: arrayOf(untils, TIMESTAMP) })
  },
  'peek-message': (queue, body) => {
    const from = numberOf(body['from-sequence-number'])
    const found = queue.peek(from, Number(body['message-count']))
    if (found.length === 0) return { status: 204, description: 'NoContent' }
    return ok({
      messages: types.wrap_list(
        found.map((entry) => ({ message: rhea.message.encode(deliverable(entry)) })),
      ),
    })
  },
  'update-disposition': (queue, body, nowMs) => {
    const entries = (body['lock-tokens'] as Buffer[]).map((token) =>
      queue.locked(tokenOf(token), nowMs),
    )
    for (const entry of entries) {
      if (!entry) return LOCK_LOST
      const status = body['disposition-status']
      if (status === 'completed') queue.complete(entry)
      else if (status === 'suspended')
        queue.deadLetter(
          entry,
          String(body['deadletter-reason'] ?? ''),
          String(body['deadletter-description'] ?? ''),
        )
      else queue.abandon(entry)
    }
    return { status: 200 }
  },
}

interface RuleBody {
  readonly 'sql-filter'?: { readonly expression: string }
  readonly 'correlation-filter'?: {
    readonly properties?: Record<string, unknown>
    readonly label?: string
  }
}

const ON_RULES: Record<string, (namespace: Namespace, entity: string, body: Body) => Answer> = {
  'add-rule': (namespace, entity, body) => {
    const rules = rulesOf(namespace, entity)
    if (!rules) return NOT_FOUND
    rules.setRule(String(body['rule-name']), filterOf(body['rule-description'] as RuleBody))
    return { status: 200 }
  },
  'remove-rule': (namespace, entity, body) => {
    const isFound = rulesOf(namespace, entity)?.rules.delete(String(body['rule-name']))
    return isFound ? { status: 200 } : NOT_FOUND
  },
}

function rulesOf(namespace: Namespace, entity: string) {
  const [topic, , name] = entity.split('/')
  return namespace.subscription(topic ?? '', name ?? '')
}

function filterOf(rule: RuleBody): RuleFilter {
  const { 'sql-filter': sql, 'correlation-filter': correlation } = rule
  if (sql) return { sql: sql.expression }
  const { properties, label } = correlation ?? {}
  return {
    correlation: { ...(properties && { properties }), ...(label && { subject: label }) },
  }
}

const ok = (body: unknown): Answer => ({ status: 200, body })

/** Numbers above 32 bits arrive as bytes. */
const numberOf = (value: unknown): number =>
  Buffer.isBuffer(value) ? Number(value.readBigInt64BE()) : Number(value)
