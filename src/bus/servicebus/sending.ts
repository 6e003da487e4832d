// Sending: messages of a topic go in batches as large as the broker takes. Message ids are ours, so what is sent twice arrives once.
import type { ServiceBusMessage, ServiceBusSender } from '@azure/service-bus'
import { MatoolkitError } from '../../base/errors/errors.ts'
import { MESSAGE_MAX_BYTES } from '../bus.ts'
import type { OutboxRow } from '../outbox.ts'
import type { ServiceBusConnection } from './connection.ts'
import { compressed, outgoingOf } from './wire.ts'

/** Resolves when the broker has all of them. */
export async function send(
  connection: ServiceBusConnection,
  rows: readonly OutboxRow[],
  now: Date,
  pascalWorkers?: ReadonlySet<string>,
): Promise<void> {
  for (const [topic, same] of Map.groupBy(rows, (row) => row.topic)) {
    const messages = same.map((row) => outgoingOf(row, now, pascalWorkers))
    await connection.call(`sending to ${topic}`, () =>
      sendBatches(connection.sender(topic), messages),
    )
  }
}

async function sendBatches(
  sender: ServiceBusSender,
  messages: readonly ServiceBusMessage[],
): Promise<void> {
  let batch = await sender.createMessageBatch()
  for (const message of messages) {
    if (batch.tryAddMessage(message)) continue
    if (batch.count > 0) {
      await sender.sendMessages(batch)
      batch = await sender.createMessageBatch()
      if (batch.tryAddMessage(message)) continue
    }
    // Our limit is the broker's, which also counts what AMQP adds.
    if (!batch.tryAddMessage(compressed(message))) throw tooLarge(message)
  }
  if (batch.count > 0) await sender.sendMessages(batch)
}

const tooLarge = ({ messageId, body }: ServiceBusMessage): MatoolkitError =>
  new MatoolkitError('MESSAGE_TOO_LARGE', {
    messageId: String(messageId),
    bytes: (body as Buffer).length,
    limit: MESSAGE_MAX_BYTES,
  })
