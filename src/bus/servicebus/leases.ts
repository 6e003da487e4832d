// Settling and renewing received messages. A lease is the broker's lock; it is lost when its time is over or somebody has settled the
// message, and then nothing more is done with it.
import type { ServiceBusReceivedMessage, ServiceBusReceiver } from '@azure/service-bus'
import type { ReceivedMessage, Subscription } from '../bus.ts'
import { isLost, type ServiceBusConnection } from './connection.ts'

/** What the SDK needs to settle a message. */
export interface Leased {
  readonly message: ServiceBusReceivedMessage
  readonly receiver: ServiceBusReceiver
  readonly subscription: Subscription
  /** Of the connection when it came. */
  readonly generation: number
  /** Lets the stream it came from take another one. It stays under way here. */
  makeRoom(): void
  /** It is under way no more, and another one may come. */
  done(): void
}

/** By the message that we gave away. Once nobody has it any more, neither have we. */
const LEASES = new WeakMap<ReceivedMessage, Leased>()

export function lease(received: ReceivedMessage, leased: Leased): ReceivedMessage {
  LEASES.set(received, leased)
  return received
}

export const makeRoom = (messages: readonly ReceivedMessage[]): void => {
  for (const message of messages) LEASES.get(message)?.makeRoom()
}

/** Returns the messages whose lease is lost. Throws after all others have been tried. */
async function forEachLeased(
  connection: ServiceBusConnection,
  what: string,
  messages: readonly ReceivedMessage[],
  run: Settle,
): Promise<ReceivedMessage[]> {
  const results = await Promise.all(
    messages.map(async (message): Promise<'ok' | 'lost' | { error: unknown }> => {
      const leased = LEASES.get(message)
      if (!leased) return 'lost'
      try {
        await runOnLink(connection, what, leased, run)
        return 'ok'
      } catch (error) {
        return isLost(error) ? 'lost' : { error }
      }
    }),
  )
  const failed = results.find((result) => typeof result === 'object')
  if (failed) throw failed.error
  return messages.filter((_, index) => results[index] === 'lost')
}

type Settle = (receiver: ServiceBusReceiver, message: ServiceBusReceivedMessage) => Promise<unknown>

/** A lock outlives its link. When the link is gone, or only the SDK believes in it, the message is settled by the lock's token. */
async function runOnLink(
  connection: ServiceBusConnection,
  what: string,
  leased: Leased,
  run: Settle,
): Promise<void> {
  const { message, receiver, subscription, generation } = leased
  if (generation === connection.generation) {
    try {
      return void (await connection.call(what, () => run(receiver, message)))
    } catch (error) {
      if (isLost(error)) throw error
    }
  }
  const byToken = connection.receiver(subscription, 'calls')
  await connection.call(what, () => run(byToken, withoutLink(message)))
}

/** The SDK settles a message that came over no link by its token. */
const withoutLink = (message: ServiceBusReceivedMessage): ServiceBusReceivedMessage =>
  Object.create(message, { delivery: { value: { remote_settled: false } } })

/** Also of lost ones: nobody here works on them any more. */
const finish = (messages: readonly ReceivedMessage[]): void => {
  for (const message of messages) LEASES.get(message)?.done()
}

export async function complete(
  connection: ServiceBusConnection,
  messages: readonly ReceivedMessage[],
): Promise<ReceivedMessage[]> {
  const lost = await forEachLeased(connection, 'acknowledging', messages, (receiver, message) =>
    receiver.completeMessage(message),
  )
  finish(messages)
  return lost
}

export async function abandonLeased(
  connection: ServiceBusConnection,
  messages: readonly ReceivedMessage[],
): Promise<void> {
  await forEachLeased(connection, 'abandoning', messages, (receiver, message) =>
    receiver.abandonMessage(message),
  )
  finish(messages)
}

/** The broker's limit on each. */
const REASON_MAX = 4_096

export async function deadLetterLeased(
  connection: ServiceBusConnection,
  messages: readonly ReceivedMessage[],
  reason: string,
  description: string,
): Promise<void> {
  const why = {
    deadLetterReason: reason.slice(0, REASON_MAX),
    deadLetterErrorDescription: description.slice(0, REASON_MAX),
  }
  await forEachLeased(connection, 'dead-lettering', messages, (receiver, message) =>
    receiver.deadLetterMessage(message, why),
  )
  finish(messages)
}

export const renew = (
  connection: ServiceBusConnection,
  messages: readonly ReceivedMessage[],
): Promise<ReceivedMessage[]> =>
  forEachLeased(connection, 'renewing', messages, (receiver, message) =>
    receiver.renewMessageLock(message),
  )
