// How our messages look on Service Bus: the body is JSON as bytes, as other programs write it; type and worker are properties; times are
// those of the broker. A body that the broker would refuse for its size travels compressed.
import { gunzipSync, gzipSync } from 'node:zlib'
import type { ServiceBusMessage, ServiceBusReceivedMessage } from '@azure/service-bus'
import { storableText } from '../../base/text/json.ts'
import {
  DELIVERED_TOO_OFTEN,
  EXPIRED,
  MESSAGE_MAX_BYTES,
  type ReceivedMessage,
  TIME_TO_LIVE_MAX_MS,
  type Topic,
} from '../bus.ts'
import { type OutboxRow, propertiesOf } from '../outbox.ts'
import { CONTROL_PROPERTY } from './entities.ts'

const JSON_TYPE = 'application/json'
const COMPRESSED_TYPE = 'application/gzip'
const PROPERTIES = ['MessageType', 'WorkerId']

/** `pascalWorkers` read only bodies in PascalCase. */
export function outgoingOf(
  row: OutboxRow,
  now: Date,
  pascalWorkers?: ReadonlySet<string>,
): ServiceBusMessage {
  const isScheduled = row.visibleAt > now
  const fromMs = isScheduled ? +row.visibleAt : +now
  return {
    messageId: row.messageId,
    contentType: JSON_TYPE,
    body: Buffer.from(bodyFor(row, pascalWorkers)),
    applicationProperties: addressed(row),
    // The broker counts from when it enqueues; one that has run out goes to its dead letters.
    timeToLive: Math.max(1, +row.expiresAt - fromMs),
    ...(isScheduled && { scheduledEnqueueTimeUtc: row.visibleAt }),
  }
}

function bodyFor(
  { messageType, workerId, body }: OutboxRow,
  pascalWorkers?: ReadonlySet<string>,
): string {
  const isCased = messageType === 'worker-job' && pascalWorkers?.has(workerId ?? '')
  if (!isCased) return body
  const { correlationData, ...job } = JSON.parse(body) as Fields & { correlationData: Fields }
  return JSON.stringify(capitalised({ ...job, correlationData: capitalised(correlationData) }))
}

type Fields = Readonly<Record<string, unknown>>

/** The keys of the message itself: parameters keep theirs. */
const capitalised = (fields: Fields): Fields =>
  Object.fromEntries(
    Object.entries(fields).map(([key, value]) => [key[0]!.toUpperCase() + key.slice(1), value]),
  )

/** What a worker must hear at once has a subscription of its own. */
function addressed(row: OutboxRow): Record<string, string> {
  if (row.messageType !== 'worker-stop') return { ...propertiesOf(row), ...traceOf(row) }
  return { MessageType: row.messageType, [CONTROL_PROPERTY]: row.workerId! }
}

/** Trace context as the SDKs of Azure read it; workers of others continue the trace if they know it, and ignore it if not. */
function traceOf({ body }: OutboxRow): Record<string, string> {
  if (!body.startsWith(TRACED)) return {}
  const traceparent = body.slice(TRACED.length, TRACED.length + TRACEPARENT_CHARS)
  return { traceparent, 'Diagnostic-Id': traceparent }
}

/** The first field of a body that has one. */
const TRACED = '{"traceparent":"'
const TRACEPARENT_CHARS = 55

export const compressed = (message: ServiceBusMessage): ServiceBusMessage => ({
  ...message,
  contentType: COMPRESSED_TYPE,
  body: gzipSync(message.body as Buffer),
})

/**
 * A body may be bytes, or a value that a foreign sender gave as it is. What does not unpack stays packed, and is refused as no JSON: an
 * error here kept all messages waiting that came with it, those of other workers too.
 */
export function bodyText({ body, contentType }: ServiceBusReceivedMessage): string {
  if (typeof body === 'string') return body
  if (!Buffer.isBuffer(body)) return JSON.stringify(body ?? null)
  if (contentType !== COMPRESSED_TYPE) return body.toString()
  try {
    // A small message must not become a large memory.
    return gunzipSync(body, { maxOutputLength: 2 * MESSAGE_MAX_BYTES }).toString()
  } catch {
    return body.toString('base64')
  }
}

function propertiesIn(message: ServiceBusReceivedMessage): Record<string, string> {
  const given = message.applicationProperties ?? {}
  const ours = PROPERTIES.flatMap((name) => {
    const value = given[name]
    return typeof value === 'string' ? [[name, storableText(value)]] : []
  })
  return Object.fromEntries(ours)
}

const idOf = ({ messageId, sequenceNumber }: ServiceBusReceivedMessage): string =>
  storableText(String(messageId ?? sequenceNumber ?? ''))

export function receivedFrom(topic: Topic, message: ServiceBusReceivedMessage): ReceivedMessage {
  const properties = propertiesIn(message)
  return {
    topic,
    messageId: idOf(message),
    type: properties.MessageType ?? null,
    properties,
    body: bodyText(message),
    // The SDK counts deliveries that failed.
    deliveryCount: (message.deliveryCount ?? 0) + 1,
    enqueuedAt: message.enqueuedTimeUtc!,
    lease: { sequence: String(message.sequenceNumber), token: message.lockToken ?? '' },
  }
}

/** A dead letter as it is stored. `at` is when it was found. */
export interface FoundLetter {
  readonly messageId: string
  readonly type: string
  readonly workerId: string | null
  readonly body: string
  readonly enqueuedAt: Date
  readonly expiresAt: Date
  readonly deliveryCount: number
  readonly reason: string
  readonly description: string
}

/** At the latest when one of ours would. Without a time to live, the SDK says the year 31197, which PostgreSQL does not take. */
function expiryOf({ expiresAtUtc, enqueuedTimeUtc }: ServiceBusReceivedMessage): Date {
  const latest = new Date(+enqueuedTimeUtc! + TIME_TO_LIVE_MAX_MS)
  return expiresAtUtc && expiresAtUtc < latest ? expiresAtUtc : latest
}

export function letterFrom(message: ServiceBusReceivedMessage): FoundLetter {
  const properties = propertiesIn(message)
  const reason = storableText(message.deadLetterReason ?? '')
  const failed = message.deliveryCount ?? 0
  // A consumer that refuses a message has received it; the broker's own reasons come after the last delivery.
  const isBrokers = reason === EXPIRED || reason === DELIVERED_TOO_OFTEN
  return {
    messageId: idOf(message),
    type: properties.MessageType ?? '',
    workerId: properties.WorkerId ?? null,
    body: storableText(bodyText(message)),
    enqueuedAt: message.enqueuedTimeUtc!,
    expiresAt: expiryOf(message),
    deliveryCount: isBrokers ? failed : failed + 1,
    reason,
    description: storableText(message.deadLetterErrorDescription ?? ''),
  }
}
