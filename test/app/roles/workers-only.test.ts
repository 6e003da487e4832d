// A process that is only a worker needs no database on Service Bus: it announces itself, runs a job, answers, and stops in order.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { it } from 'node:test'
import { openServe } from '../../../src/app/roles/serve.ts'
import { openTransport } from '../../../src/app/roles/transports.ts'
import { createLog } from '../../../src/base/log/log.ts'
import { type Clock, realClock } from '../../../src/base/run/clock.ts'
import { type Config, readConfig } from '../../../src/base/settings/config.ts'
import { type Bus, type ReceivedMessage, WORKER_RESULTS } from '../../../src/bus/bus.ts'
import { job } from '../../bus/under-test.ts'
import { openNamespace } from '../../kit/namespace.ts'

const HIDDEN = 'postgres://nobody@127.0.0.1:1/nothing'

function configOf(env: Record<string, string>): Config {
  const own = { MATOOLKIT_WORKER_ID: 'w1', MATOOLKIT_HEALTH_PORT: '0' }
  // Nothing may be opened there.
  const read = readConfig({ ...own, DATABASE_URL: HIDDEN, ...env })
  assert.ok('config' in read, JSON.stringify(read))
  return read.config
}

const serveWorker = (config: Config) =>
  openServe({
    config,
    roles: ['worker'],
    workers: [config],
    onIdle: () => {},
    onStopped: () => {},
    makeLog: (log) =>
      createLog({ level: 'error', format: 'json', clock: log, destination: { write: () => {} } }),
    stopping: new AbortController().signal,
  })

/** Sends a job, and waits for the hello and the result. */
async function requireAnswers(orchestrator: Bus, clock: Clock): Promise<void> {
  const sent = job('w1')
  const notAfter = new Date(+clock.now() + 60_000).toISOString()
  await orchestrator.publish([{ ...sent, body: { ...sent.body, notAfter } } as typeof sent])
  const got: ReceivedMessage[] = []
  while (got.length < 2) {
    got.push(...(await orchestrator.receive(WORKER_RESULTS, 10)))
    await clock.wait(20)
  }
  assert.deepEqual(got.map(({ type }) => type).sort(), ['worker-hello', 'worker-result'])
  const result = got.find(({ type }) => type === 'worker-result')!
  assert.equal(JSON.parse(result.body).jobId, sent.messageId)
  assert.equal(result.properties.WorkerId, 'w1')
}

it('a worker without a database announces itself and answers jobs through Service Bus', async () => {
  const clock = realClock()
  const { broker, connectionString } = await openNamespace(clock, ['w1'])
  const config = configOf({
    MATOOLKIT_TRANSPORT: 'servicebus',
    MATOOLKIT_SERVICEBUS_CONNECTION: connectionString,
  })
  const serve = await serveWorker(config)
  const orchestrator = await openTransport(config, { db: null, clock, newToken: randomUUID })
  try {
    await requireAnswers(orchestrator, clock)
  } finally {
    await serve.stop()
    await orchestrator.close()
    await broker.close()
  }
})
