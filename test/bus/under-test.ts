// What the tests of a transport share: the transport under test, messages to send, and ways to take them.
import assert from 'node:assert/strict'
import type { Bus, OutgoingMessage, ReceivedMessage, Subscription } from '../../src/bus/bus.ts'

/** One transport under test. `other` is a second client of the same transport, for rivals. */
export interface BusUnderTest {
  readonly bus: Bus
  readonly other: Bus
  /** Lets this much time pass for both clients and the transport. */
  advance(ms: number): Promise<void>
  /** What a transport does by itself in the course of time; nothing for a broker that needs no help. */
  sweep(): Promise<void>
  now(): Date
  close(): Promise<void>
}

export const SECOND = 1_000
export const MINUTE = 60 * SECOND
export const DAY = 24 * 60 * MINUTE

let made = 0
/** An id that no other test of this run uses: one transport serves them all. */
export const fresh = (name: string) => `${name}-${++made}`

export function event(
  messageId = fresh('event'),
  options: Partial<OutgoingMessage> = {},
): OutgoingMessage {
  const body = { stepExecutionId: 7, batchId: 1, isInitStep: false }
  return {
    topic: 'orchestrator-events',
    messageId,
    type: 'retry-check',
    body: { ...body, runbookName: 'contoso', runbookVersion: 1 },
    ...options,
  } as OutgoingMessage
}

export function job(workerId: string, messageId = fresh('step'), note = ''): OutgoingMessage {
  return {
    topic: 'worker-jobs',
    messageId,
    type: 'worker-job',
    workerId,
    body: {
      jobId: messageId,
      batchId: 1,
      workerId,
      functionName: 'Get-Mailbox',
      parameters: { note },
      correlationData: {
        stepExecutionId: 7,
        isInitStep: false,
        runbookName: 'contoso',
        runbookVersion: 1,
      },
      notAfter: '2026-03-01T11:00:00.000Z',
    },
  }
}

export const idsOf = (messages: readonly ReceivedMessage[]) =>
  messages.map(({ messageId }) => messageId).sort()

/** Takes chunk after chunk until there is nothing, so that a transport may deliver in smaller ones. */
export async function drain(bus: Bus, subscription: Subscription): Promise<ReceivedMessage[]> {
  const all: ReceivedMessage[] = []
  for (;;) {
    const some = await bus.receive(subscription, 100)
    if (some.length === 0) return all
    all.push(...some)
  }
}

export async function takeOne(bus: Bus, subscription: Subscription): Promise<ReceivedMessage> {
  const [message, ...more] = await drain(bus, subscription)
  assert.ok(message, 'a message should be there')
  assert.equal(more.length, 0, 'only one message should be there')
  return message
}

export type Suite = () => BusUnderTest
