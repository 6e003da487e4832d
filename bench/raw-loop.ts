// The SDK alone: `node bench/raw-loop.ts sender|worker <connection string> [round trips]`. The sender keeps as many jobs under way as the
// engine does, of the same size; the worker answers each and completes it; the sender completes the answer and sends the next job.
import {
  ServiceBusClient,
  type ServiceBusMessage,
  type ServiceBusReceivedMessage,
} from '@azure/service-bus'
import { MACHINE } from '../src/base/run/clock.ts'
import { perSec } from './bench.ts'
import { CHUNK, MAX_OUTSTANDING, WORKER_ID } from './engine-process.ts'

/** As large as the engine's jobs and results. */
const BODY = Buffer.from(JSON.stringify({ text: 'x'.repeat(400) }))
const [role, connectionString, roundTrips] = process.argv.slice(2)
const client = new ServiceBusClient(connectionString!)

type Handle = (messages: readonly ServiceBusReceivedMessage[]) => Promise<void>

/** Hands over what came in the same turn, and settles it afterwards. */
function listen(topic: string, subscription: string, concurrency: number, handle: Handle): void {
  const receiver = client.createReceiver(topic, subscription, {
    receiveMode: 'peekLock',
    maxAutoLockRenewalDurationInMs: 0,
    skipParsingBodyAsJson: true,
  })
  let waiting: { message: ServiceBusReceivedMessage; settled: () => void }[] = []
  const flush = async () => {
    const taken = waiting
    waiting = []
    await handle(taken.map(({ message }) => message))
    await Promise.all(taken.map(({ message }) => receiver.completeMessage(message)))
    for (const { settled } of taken) settled()
  }
  receiver.subscribe(
    {
      processMessage: (message) =>
        new Promise((settled) => {
          if (waiting.length === 0) setImmediate(() => void flush())
          waiting.push({ message, settled })
        }),
      processError: async ({ error }) => fail(error),
    },
    { autoCompleteMessages: false, maxConcurrentCalls: concurrency },
  )
}

const fail = (error: unknown): never => {
  console.error(error)
  process.exit(1)
}

async function send(topic: string, messages: readonly ServiceBusMessage[]): Promise<void> {
  const sender = senders.get(topic) ?? client.createSender(topic)
  senders.set(topic, sender)
  let batch = await sender.createMessageBatch()
  for (const message of messages) {
    if (batch.tryAddMessage(message)) continue
    await sender.sendMessages(batch)
    batch = await sender.createMessageBatch()
    batch.tryAddMessage(message)
  }
  if (batch.count > 0) await sender.sendMessages(batch)
}

const senders = new Map<string, ReturnType<ServiceBusClient['createSender']>>()

const jobs = (from: number, count: number): ServiceBusMessage[] =>
  Array.from({ length: count }, (_, n) => ({
    messageId: `raw-${from + n}`,
    body: BODY,
    contentType: 'application/json',
    applicationProperties: { WorkerId: WORKER_ID, MessageType: 'worker-job' },
  }))

function work(): void {
  listen('worker-jobs', `worker-${WORKER_ID}`, CHUNK, (messages) =>
    send(
      'worker-results',
      messages.map(({ messageId }) => ({
        messageId: `result-${messageId}`,
        body: BODY,
        contentType: 'application/json',
        applicationProperties: { WorkerId: WORKER_ID, MessageType: 'worker-result' },
      })),
    ),
  )
}

async function measure(total: number): Promise<void> {
  let [sent, done] = [0, 0]
  const sendSome = async (count: number) => {
    const now = jobs(sent, Math.min(count, total - sent))
    sent += now.length
    await send('worker-jobs', now)
  }
  const startMs = MACHINE.steadyMs()
  listen('worker-results', 'orchestrator', 1_000, async (messages) => {
    await sendSome(messages.length)
    done += messages.length
    if (done === total) process.send?.({ perSec: perSec(total, MACHINE.steadyMs() - startMs) })
  })
  await sendSome(MAX_OUTSTANDING)
}

process.on('SIGTERM', async () => {
  await client.close()
  process.disconnect()
})
process.send?.({ ready: true })
if (role === 'worker') work()
else await measure(Number(roundTrips))
