// Shared by the tests of transports: the transport under test, messages to send, and ways to receive them.
import assert from 'node:assert/strict'
import {
  type Bus,
  NO_CAPABILITIES,
  type OutgoingMessage,
  type ReceivedMessage,
  type Subscription,
} from '../../src/bus/bus.ts'
import type { Tx } from '../../src/db/connection/db.ts'

/** One transport under test. `other` is a second client of the same transport, for races. */
export interface BusUnderTest {
  readonly bus: Bus
  readonly other: Bus
  /** Advances the clock of both clients and the transport. */
  advance(ms: number): Promise<void>
  /** Runs `work` in a transaction of the state's database; only for transports that share it. */
  inTransaction?<T>(work: (tx: Tx) => Promise<T>): Promise<T>
  now(): Date
  close(): Promise<void>
}

/** What a test's stand-in for a bus does not need. */
export const UNUSED: Omit<
  Bus,
  'leaseMs' | 'publish' | 'receive' | 'ack' | 'abandon' | 'renew' | 'deadLetter' | 'close'
> = {
  release: async () => assert.fail('takes no delivery back'),
  listen: async () => async () => {},
  storedJobs: null,
  capabilities: NO_CAPABILITIES,
  deadLetters: {} as Bus['deadLetters'],
  locate: async (_topic, ids) => ids.map(() => ({ is: 'unknown' })),
  isReady: async () => true,
  depth: async () => ({ messages: [], deadLetters: [] }),
  sweep: async () => {},
}

export const SECOND = 1_000
export const MINUTE = 60 * SECOND
export const DAY = 24 * 60 * MINUTE

let made = 0
/** An id that no other test of this run uses: all tests share one transport. */
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
      timeoutSec: 3_600,
      notAfter: '2026-03-01T11:00:00.000Z',
    },
  }
}

export const idsOf = (messages: readonly ReceivedMessage[]) =>
  messages.map(({ messageId }) => messageId).sort()

/** Receives until nothing comes, because a transport may deliver in small chunks. */
export async function drain(bus: Bus, subscription: Subscription): Promise<ReceivedMessage[]> {
  const all: ReceivedMessage[] = []
  for (;;) {
    const chunk = await bus.receive(subscription, 100)
    if (chunk.length === 0) return all
    all.push(...chunk)
  }
}

export async function takeOne(bus: Bus, subscription: Subscription): Promise<ReceivedMessage> {
  const [message, ...more] = await drain(bus, subscription)
  assert.ok(message, 'a message should be there')
  assert.equal(more.length, 0, 'only one message should be there')
  return message
}

export type Suite = () => BusUnderTest
