// Microsoft's SDK for Python, whose AMQP is another implementation than ours, sends and receives every message through the broker of our
// tests: so the broker answers as Service Bus does, and what we publish is what others read.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { describe, it } from 'node:test'
import { createServer } from 'node:tls'
import { makeAuthority } from '../../../sandbox/authority.ts'
import { virtualClock } from '../../../src/base/run/clock.ts'
import type { Json, JsonObject } from '../../../src/base/text/json.ts'
import {
  type Bus,
  MAX_DELIVERIES,
  ORCHESTRATOR_EVENTS,
  type OutgoingMessage,
  type Topic,
  WORKER_RESULTS,
  workerJobs,
} from '../../../src/bus/bus.ts'
import { openServiceBus } from '../../../src/bus/servicebus/servicebus-bus.ts'
import { type MessageType, readMessage } from '../../../src/domain/messages/messages.ts'
import { drain } from '../../bus/under-test.ts'
import { BODIES } from '../../domain/messages/message-bodies.ts'
import { openTestPglite } from '../../kit/databases.ts'
import { openNamespace, type TestNamespace } from '../../kit/namespace.ts'
import { ROOT } from '../../kit/processes.ts'
import { ask, pythonWith } from './program.ts'

// The SDK compares locks with the machine's clock.
const START = new Date()
const RETRY = { maxRetries: 2, retryDelayInMs: 5, maxRetryDelayInMs: 20, timeoutInMs: 2_000 }
const TOPIC: Partial<Record<MessageType, Topic>> = {
  'worker-job': 'worker-jobs',
  'worker-result': 'worker-results',
}
/** Between the roles; what a worker says of itself is heard by our own programs only. */
const TYPES = Object.keys(BODIES).filter(
  (type) => !/^worker-(?:hello|recall|stop)$/.test(type),
) as MessageType[]

interface Taken {
  readonly messageId: string
  readonly properties: Readonly<Record<string, string>>
  readonly body: Json
  readonly deliveries: number
  readonly reason: string | null
  readonly description: string | null
}
type Do = Readonly<Record<string, Json>>

interface Peers {
  readonly bus: Bus
  readonly clock: ReturnType<typeof virtualClock>
  readonly broker: TestNamespace['broker']
  run(steps: readonly Do[]): Promise<(Taken[] | null)[]>
}

async function withPeers(python: string, tell: (peers: Peers) => Promise<void>): Promise<void> {
  const clock = virtualClock(START)
  const database = await openTestPglite()
  const { broker, connectionString } = await openNamespace(clock, ['w1', 'w2'])
  const access = { connectionString }
  const options = { db: database.db, clock, newToken: randomUUID, retry: RETRY, access }
  const bus = await openServiceBus(options)
  // The SDK speaks TLS only.
  const { certificate, server } = await makeAuthority(['127.0.0.1'], new Date())
  const plainPort = Number(/127\.0\.0\.1:(\d+)/.exec(connectionString)![1])
  const front = createServer(server, (socket) => {
    const inner = connect(plainPort, '127.0.0.1')
    socket.on('error', () => inner.destroy())
    inner.on('error', () => socket.destroy())
    socket.pipe(inner).pipe(socket)
  }).listen(0, '127.0.0.1')
  await once(front, 'listening')
  const folder = mkdtempSync(join(tmpdir(), 'matoolkit-bus-'))
  const authority = join(folder, 'authority.pem')
  writeFileSync(authority, certificate)
  try {
    const run = async (steps: readonly Do[]) => {
      const asked = {
        connectionString:
          'Endpoint=sb://127.0.0.1;SharedAccessKeyName=test;SharedAccessKey=dGVzdA==',
        port: (front.address() as AddressInfo).port,
        authority,
        steps,
      }
      const out = await ask(python, [join(import.meta.dirname, 'bus.py')], JSON.stringify(asked))
      return out
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line))
    }
    await tell({ bus, clock, broker, run })
  } finally {
    front.close()
    await bus.close()
    await broker.close()
    await database.close()
    rmSync(folder, { recursive: true })
  }
}

describe('the bus, for Microsoft’s SDK for Python', { timeout: 110_000 }, () => {
  it('carries every message both ways, in both letter cases, with scheduled messages and dead letters', async (test) => {
    const python = await pythonWith('azure.servicebus', 'uamqp')
    if (python === null) return test.skip('left out: no Python has azure.servicebus')
    await withPeers(python, async ({ bus, clock, broker, run }) => {
      // What we publish.
      const sent = TYPES.map((type) => ({
        topic: TOPIC[type] ?? 'orchestrator-events',
        messageId: `${type}-1`,
        type,
        body: BODIES[type],
        ...(type === 'worker-job' && { workerId: 'w1' }),
      })) as OutgoingMessage[]
      await bus.publish(sent)
      const take = (topic: string, subscription: string, count: number, more: Do = {}): Do => ({
        do: 'take',
        topic,
        subscription,
        count,
        ...more,
      })
      const [events, jobs, results, others] = (await run([
        take('orchestrator-events', 'orchestrator', 20),
        take('worker-jobs', 'worker-w1', 20, { bury: true }),
        take('worker-results', 'orchestrator', 20),
        take('worker-jobs', 'worker-w2', 20),
      ])) as Taken[][]
      assert.deepEqual(others, [], 'the worker next door gets nothing')
      assert.deepEqual(
        [...events!, ...jobs!, ...results!]
          .map(({ messageId, body, properties }) => [
            messageId,
            withoutType(body),
            properties.MessageType,
          ])
          .sort(),
        sent.map(({ messageId, body, type }) => [messageId, body, type]).sort(),
      )
      assert.equal(jobs![0]!.properties.WorkerId, 'w1')
      // What it put among the dead letters, we read, and the other way round.
      // Only who takes results reads dead letters.
      assert.deepEqual(await drain(bus, WORKER_RESULTS), [])
      const { items } = await bus.deadLetters.list(workerJobs('w1'), 10)
      const letter = await bus.deadLetters.show(items[0]!.id)
      assert.deepEqual(
        [letter.messageId, letter.reason, letter.description],
        ['worker-job-1', 'Unreadable', 'Größe 李'],
      )
      await bus.publish([{ ...sent[0]!, messageId: 'buried' }])
      await bus.deadLetter(
        await drain(bus, ORCHESTRATOR_EVENTS),
        'Unreadable',
        'The body is not JSON.',
      )
      const [dead] = (await run([
        take('orchestrator-events', 'orchestrator', 5, { dead: true }),
      ])) as [Taken[]]
      assert.deepEqual(
        dead.map(({ messageId, reason, description }) => [messageId, reason, description]),
        [['buried', 'Unreadable', 'The body is not JSON.']],
      )
      await everyFixture(bus, run)
      // Scheduled, and given back too often.
      const at = new Date(clock.now().getTime() + 60_000).toISOString().replace('Z', '+00:00')
      const event = {
        do: 'send',
        topic: 'orchestrator-events',
        body: BODIES['retry-check'] as Json,
      }
      await run([{ ...event, messageId: 'later', at }])
      assert.deepEqual(await drain(bus, ORCHESTRATOR_EVENTS), [])
      await clock.advance(61_000)
      broker.tick()
      const [late, ...none] = await drain(bus, ORCHESTRATOR_EVENTS)
      assert.deepEqual([late?.messageId, none], ['later', []])
      await bus.ack([late!])
      await bus.publish([{ ...sent[0]!, messageId: 'unwanted' }])
      const back = take('orchestrator-events', 'orchestrator', 1, { giveBack: true })
      const deliveries = (await run(
        Array.from({ length: MAX_DELIVERIES }, () => back),
      )) as Taken[][]
      assert.deepEqual(
        deliveries.map(([one]) => one?.deliveries),
        Array.from({ length: MAX_DELIVERIES }, (_, n) => n),
      )
      const { items: letters } = await bus.deadLetters.list(ORCHESTRATOR_EVENTS, 10)
      const unwanted = await bus.deadLetters.show(letters.at(-1)!.id)
      assert.deepEqual(
        [unwanted.messageId, unwanted.reason],
        ['unwanted', 'MaxDeliveryCountExceeded'],
      )
    })
  })
})

/** Bodies name their type besides, for peers that read no properties. */
function withoutType(body: Json): Json {
  const { messageType: _, ...rest } = body as JsonObject
  return rest
}

/** What peers write, in every casing, with a type in the properties and without. */
async function everyFixture(bus: Bus, run: Peers['run']): Promise<void> {
  const files = globSync('test/fixtures/messages/*.json', { cwd: ROOT }).filter(
    (path) => !/worker-(?:hello|recall|stop)\./.test(path),
  )
  const fixtures = files.map((path) => {
    const name = basename(path, '.json')
    const type = name.replace(/\.\w+$/, '').replace('-failed', '') as MessageType
    const topic = TOPIC[type] ?? 'orchestrator-events'
    const body = JSON.parse(readFileSync(join(ROOT, path), 'utf8')) as Json
    return { name, type, topic, body }
  })
  await run(
    fixtures.map(({ name, type, topic, body }) => ({
      do: 'send',
      topic,
      messageId: name,
      body,
      properties: { MessageType: type, ...(topic === 'worker-jobs' && { WorkerId: 'w1' }) },
    })),
  )
  const received = []
  for (const subscription of [ORCHESTRATOR_EVENTS, WORKER_RESULTS, workerJobs('w1')]) {
    const messages = await drain(bus, subscription)
    await bus.ack(messages)
    received.push(...messages)
  }
  assert.deepEqual(
    received.map(({ messageId }) => messageId).sort(),
    fixtures.map(({ name }) => name).sort(),
  )
  for (const message of received) {
    const read = readMessage(message.type as MessageType, message.body)
    assert.ok(read.ok, `${message.messageId}: ${JSON.stringify(read)}`)
  }
}
