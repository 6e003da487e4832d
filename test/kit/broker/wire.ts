// What Service Bus's AMQP has of its own: lock tokens in .NET's order of bytes, annotations of delivered messages, batches, answers to
// requests.
import rhea, { type AmqpError, type Message } from 'rhea'
import type { Entry } from './entities.ts'

const { types } = rhea

/** A batch is one transfer whose data sections are encoded messages. */
const BATCH_FORMAT = 0x80013700
export const MESSAGE_MAX_BYTES = 262_144

/** .NET writes the first three parts of a GUID in little-endian order. */
const NET_ORDER = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15]

export function tagOf(token: string): Buffer {
  const bytes = Buffer.from(token.replaceAll('-', ''), 'hex')
  return Buffer.from(NET_ORDER.map((from) => bytes[from]!))
}

/** AMQP uuids arrive as 16 bytes in the written order. */
export function tokenOf(uuid: Buffer | string): string {
  if (typeof uuid === 'string') return uuid
  const hex = uuid.toString('hex')
  return [8, 4, 4, 4, 12]
    .reduce<{ at: number; parts: string[] }>(
      ({ at, parts }, length) => ({
        at: at + length,
        parts: [...parts, hex.slice(at, at + length)],
      }),
      { at: 0, parts: [] },
    )
    .parts.join('-')
}

/** The messages of a transfer: rhea gives one of a foreign format as its bytes. */
export function messagesIn(received: Message | Buffer, format: number): Message[] {
  if (format !== BATCH_FORMAT) return [received as Message]
  const { body } = decode(received as Buffer)
  const parts: Buffer[] = body.multiple ? body.content : [body.content]
  return parts.map(decode)
}

export const decode = (bytes: Buffer): Message => rhea.message.decode(bytes) as unknown as Message

export const arrayOf = (values: readonly unknown[], type: number): unknown =>
  types.wrap_array([...values], type, undefined)

export const bytesOf = (message: Message | Buffer): number =>
  (Buffer.isBuffer(message) ? message : rhea.message.encode(message)).length

const LOCKED_STATE = 0

/** The message as a consumer gets it. */
export function deliverable(entry: Entry): Message {
  const { message, deliveries, sequence, enqueuedAtMs, lock } = entry
  const { 'x-opt-scheduled-enqueue-time': _, ...annotations } = message.message_annotations ?? {}
  return {
    ...message,
    delivery_count: deliveries,
    message_annotations: {
      ...annotations,
      'x-opt-sequence-number': types.wrap_long(sequence),
      'x-opt-enqueued-time': types.wrap_timestamp(enqueuedAtMs),
      'x-opt-message-state': types.wrap_int(LOCKED_STATE),
      ...(lock && { 'x-opt-locked-until': types.wrap_timestamp(lock.untilMs) }),
    },
  }
}

interface Answer {
  readonly status: number
  readonly description?: string
  readonly condition?: string
  readonly body?: unknown
}

export const LOCK_LOST: Answer = {
  status: 410,
  description:
    'The lock supplied is invalid. Either the lock expired, or the message has already been removed.',
  condition: 'com.microsoft:message-lock-lost',
}

/** The answer to a request on `$management`. */
export function answerTo(request: Message, answer: Answer): Message {
  const { status, description = 'OK', condition, body } = answer
  return {
    correlation_id: request.message_id!,
    application_properties: {
      statusCode: types.wrap_int(status),
      statusDescription: description,
      ...(condition !== undefined && { errorCondition: types.wrap_symbol(condition) }),
    },
    body: body ?? null,
  }
}

/** Left out of rhea's types. */
interface Outcomes {
  accepted(): { described(): unknown }
  rejected(fields: { readonly error: AmqpError }): { described(): unknown }
}

const outcomes = rhea.message as unknown as Outcomes

export const accepted = (): unknown => outcomes.accepted().described()

export const lockLost = (): unknown =>
  outcomes
    .rejected({ error: { condition: LOCK_LOST.condition!, description: LOCK_LOST.description! } })
    .described()

export type { Answer }
