// A process that is only a worker needs no database on Service Bus: it announces itself, runs a job, answers, and stops in order.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { it } from 'node:test'
import { openServe } from '../../src/app/serve.ts'
import { openTransport } from '../../src/app/transports.ts'
import { type ReceivedMessage, WORKER_RESULTS } from '../../src/bus/bus.ts'
import { realClock } from '../../src/clock.ts'
import { readConfig } from '../../src/config.ts'
import { createLog } from '../../src/log.ts'
import { openNamespace } from '../bus/servicebus/namespace.ts'
import { job } from '../bus/under-test.ts'

it('a worker without a database announces itself and answers jobs through Service Bus', async () => {
  const clock = realClock()
  const { broker, connectionString } = await openNamespace(clock, ['w1'])
  const read = readConfig({
    MATOOLKIT_TRANSPORT: 'servicebus',
    MATOOLKIT_SERVICEBUS_CONNECTION: connectionString,
    MATOOLKIT_WORKER_ID: 'w1',
    MATOOLKIT_HEALTH_PORT: '0',
    // Nothing may be opened there.
    DATABASE_URL: 'postgres://nobody@127.0.0.1:1/nothing',
  })
  assert.ok('config' in read, JSON.stringify(read))
  const { config } = read
  const serve = await openServe({
    ...{ config, roles: ['worker'], workers: [config], onIdle: () => {}, onStopped: () => {} },
    makeLog: (log) =>
      createLog({ level: 'error', format: 'json', clock: log, destination: { write: () => {} } }),
    stopping: new AbortController().signal,
  })
  const orchestrator = await openTransport(config, { db: null, clock, newToken: randomUUID })
  try {
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
  } finally {
    await serve.stop()
    await orchestrator.close()
    await broker.close()
  }
})
