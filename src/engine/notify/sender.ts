// Sends due messages. Several orchestrators share the work by leases; a message of one that died goes out again under the same id. What
// cannot be delivered is tried again with growing pauses, and after a day it is a visible failure.

import type { Tokens } from '../../base/sign-in/token.ts'
import { commandLine } from '../../base/text/command-line.ts'
import type { Db } from '../../db/connection/db.ts'
import {
  type DeliveryEnd,
  type DueNotification,
  endDelivery,
  hastenRetries,
  leaseDue,
  pruneNotifications,
  releaseLeases,
} from '../../db/orders/notifications.ts'
import { insertEvents } from '../../db/state/changes.ts'
import type { Channel } from '../../domain/notifications/rules.ts'
import { eventRecord } from '../../domain/state/event-record.ts'
import { deliver, type SendContext } from './channels.ts'
import type { Delivery } from './http-post.ts'

const LEASE_MS = 60_000
/** Its time limit, and some seconds to write the outcome. */
const ATTEMPT_MS = 25_000
const PER_RUN = 20
const FIRST_PAUSE_MS = 10_000
const PAUSE_MAX_MS = 15 * 60_000
const GIVE_UP_AFTER_MS = 24 * 3_600_000
const KEPT_MS = 30 * 24 * 3_600_000
const PRUNED_AT_ONCE = 1_000

export interface SenderOptions {
  readonly db: Db
  readonly clock: { now(): Date }
  readonly channels: readonly Channel[]
  readonly tokens: Tokens
  readonly certificates: SendContext['certificates']
  readonly graph: SendContext['graph']
  readonly newToken: () => string
  readonly onFailed: (failure: { channel: string; number: number; error: string }) => void
}

/** Returns how many messages were tried. One channel's messages go one after the other. */
export async function sendDue(options: SenderOptions, signal: AbortSignal): Promise<number> {
  const { db, clock, channels, newToken } = options
  const now = clock.now()
  const token = newToken()
  const names = channels.map(({ name }) => name)
  const due = await leaseDue(db, names, token, new Date(+now + LEASE_MS), now, PER_RUN)
  const queues = Map.groupBy(
    due.toSorted((a, b) => a.id - b.id),
    ({ channel }) => channel,
  )
  await Promise.all(
    [...queues].map(async ([name, queue]) => {
      const channel = channels.find((one) => one.name === name)!
      const left = [...queue]
      const isInTime = () => +clock.now() - +now <= LEASE_MS - ATTEMPT_MS && !signal.aborted
      while (left.length > 0 && isInTime())
        if (!(await sendOne(options, channel, left.shift()!, token, signal))) break
      // A lease that lapses means that its message may have arrived: nobody tried these.
      const ids = left.map(({ id }) => id)
      await releaseLeases(db, ids, token)
    }),
  )
  return due.length
}

/** False when it is tried again: those behind it wait. */
async function sendOne(
  { db, clock, tokens, certificates, graph, onFailed }: SenderOptions,
  channel: Channel,
  message: DueNotification,
  token: string,
  signal: AbortSignal,
): Promise<boolean> {
  const { id, messageId, items, leftOut, mayHaveArrived } = message
  const outgoing = { id: messageId, number: id, items, left: leftOut, mayHaveArrived }
  const context = { tokens, certificates, graph, now: clock.now(), signal }
  const end = endOf(message, await deliver(channel, outgoing, context), clock.now())
  await db.transaction(async (tx) => {
    const now = clock.now()
    const isOurs = await endDelivery(tx, id, token, end, now)
    if (isOurs && end.status === 'sent' && isTest(message))
      await hastenRetries(tx, channel.name, now)
    if (!isOurs || end.status !== 'failed') return
    const because = `Channel ${channel.name} was not told: ${end.error}. Correct it, then run "${commandLine`notification test ${channel.name}`}"`
    const details = { channel: channel.name, notification: id }
    const event = eventRecord('system', 'notification_failed', because, { details })
    await insertEvents(tx, null, now, 'orchestrator', [event])
    tx.afterCommit(() => onFailed({ channel: channel.name, number: id, error: end.error }))
  })
  return end.status !== 'waiting'
}

const isTest = ({ items }: DueNotification): boolean => items.every(({ state }) => state === 'test')

function endOf(message: DueNotification, delivery: Delivery, now: Date): DeliveryEnd {
  const { attempts, createdAt } = message
  if (delivery.isDelivered) return { status: 'sent' }
  const { reason: error, isFinal, retryAfterMs, mayHaveArrived } = delivery
  // Who tests a channel wants the answer now.
  if (isFinal || isTest(message) || +now - +createdAt >= GIVE_UP_AFTER_MS)
    return { status: 'failed', error }
  const pauseMs = Math.min(FIRST_PAUSE_MS * 2 ** Math.min(attempts, 20), PAUSE_MAX_MS)
  const dueAt = new Date(+now + (retryAfterMs ?? pauseMs))
  return { status: 'waiting', error, dueAt, mayHaveArrived }
}

/** Returns how many rows are gone. */
export const pruneOld = ({ db, clock }: Pick<SenderOptions, 'db' | 'clock'>): Promise<number> =>
  pruneNotifications(db, new Date(+clock.now() - KEPT_MS), PRUNED_AT_ONCE)
