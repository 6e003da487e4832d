// A peer that speaks the earlier system's contract and none of our code: AMQP by rhea alone, bodies in PascalCase, statuses in lower case, no
// message id, no MessageType. It takes a token by `$cbs` first, as Azure demands, and reads keys in any casing, as PowerShell does.
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import rhea, { type Connection, type Message, type Receiver, type Sender } from 'rhea'
import type { Json, JsonObject } from '../../../src/base/text/json.ts'

export interface ForeignPeer {
  send(topic: string, body: JsonObject, properties: Record<string, string>): Promise<void>
  /** Everything that waits, removed from the subscription. */
  take(topic: string, subscription: string): Promise<Taken[]>
  close(): Promise<void>
}

export interface Taken {
  /** By the key in lower case. */
  readonly body: Readonly<Record<string, Json>>
  readonly properties: Readonly<Record<string, string>>
  readonly messageId: string | null
}

const TAKEN_MAX = 100

export async function openForeignPeer(connectionString: string): Promise<ForeignPeer> {
  const port = Number(/127\.0\.0\.1:(\d+)/.exec(connectionString)![1])
  const container = rhea.create_container({ id: `foreign-${randomUUID()}` })
  const connection = container.connect({
    host: '127.0.0.1',
    port,
    username: 'anonymous',
    reconnect: false,
  })
  await once(connection, 'connection_open')
  await putToken(connection)
  const senders = new Map<string, Sender>()
  const receivers = new Map<string, Receiver>()
  return {
    send: async (topic, body, properties) => {
      const sender = senders.get(topic) ?? (await openSender(connection, topic))
      senders.set(topic, sender)
      const content = rhea.message.data_section(Buffer.from(JSON.stringify(body)))
      const message = { application_properties: properties, body: content }
      sender.send(message as unknown as Message)
      await once(sender, 'accepted')
    },
    take: async (topic, subscription) => {
      const address = `${topic}/Subscriptions/${subscription}`
      const receiver = receivers.get(address) ?? (await openReceiver(connection, address))
      receivers.set(address, receiver)
      return drain(receiver)
    },
    close: async () => {
      connection.close()
      await once(connection, 'connection_close')
    },
  }
}

async function putToken(connection: Connection): Promise<void> {
  const replyTo = `cbs-${randomUUID()}`
  const receiver = connection.open_receiver({
    source: { address: '$cbs' },
    target: { address: replyTo },
    name: replyTo,
  })
  const sender = connection.open_sender('$cbs')
  await Promise.all([once(sender, 'sendable'), once(receiver, 'receiver_open')])
  sender.send({
    to: '$cbs',
    reply_to: replyTo,
    message_id: randomUUID(),
    body: 'a token',
    application_properties: {
      operation: 'put-token',
      type: 'servicebus.windows.net:sastoken',
      name: 'sb://127.0.0.1/worker-results',
    },
  })
  await once(receiver, 'message')
}

async function openSender(connection: Connection, address: string): Promise<Sender> {
  const sender = connection.open_sender(address)
  await once(sender, 'sendable')
  return sender
}

async function openReceiver(connection: Connection, address: string): Promise<Receiver> {
  const receiver = connection.open_receiver({
    source: { address },
    credit_window: 0,
    autoaccept: false,
  })
  await once(receiver, 'receiver_open')
  return receiver
}

async function drain(receiver: Receiver): Promise<Taken[]> {
  const taken: Taken[] = []
  const onMessage = ({ message, delivery }: rhea.EventContext) => {
    taken.push(takenFrom(message!))
    delivery!.accept()
  }
  receiver.on('message', onMessage)
  const isDrained = once(receiver, 'receiver_drained')
  receiver.add_credit(TAKEN_MAX)
  receiver.drain_credit()
  await isDrained
  receiver.off('message', onMessage)
  return taken
}

function takenFrom({ body, application_properties, message_id }: Message): Taken {
  const text = Buffer.from((body as { content: Buffer }).content).toString()
  return {
    body: Object.fromEntries(
      Object.entries(JSON.parse(text) as JsonObject).map(([key, value]) => [
        key.toLowerCase(),
        value,
      ]),
    ),
    properties: (application_properties ?? {}) as Record<string, string>,
    messageId: (message_id as string | undefined) ?? null,
  }
}
