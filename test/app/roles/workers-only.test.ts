// A process that is only a worker needs no database on Service Bus, nor through the API: it announces itself, runs a job, answers, and stops
// in order.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { it } from 'node:test'
import { openServe } from '../../../src/app/roles/serve.ts'
import { openTransport } from '../../../src/app/roles/transports.ts'
import { newCredentialId, newWorkerToken } from '../../../src/base/keys/worker-token.ts'
import { createLog } from '../../../src/base/log/log.ts'
import { type Clock, realClock } from '../../../src/base/run/clock.ts'
import { type Config, readConfig } from '../../../src/base/settings/config.ts'
import { type Bus, type ReceivedMessage, WORKER_RESULTS } from '../../../src/bus/bus.ts'
import { openPostgresBus } from '../../../src/bus/postgres/postgres-bus.ts'
import type { Engine } from '../../../src/engine/transactions/engine.ts'
import { openPlainApi } from '../../bus/https/under-test.ts'
import { job } from '../../bus/under-test.ts'
import { openTestPglite } from '../../kit/databases.ts'
import { openNamespace } from '../../kit/namespace.ts'
import { rsaCertificate } from '../../kit/rsa-certificate.ts'

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

it('a worker with nothing but a certificate and the address of the API does the same', async () => {
  const clock = realClock()
  const database = await openTestPglite()
  const { db } = database
  const bus = openPostgresBus({ db, clock, newToken: randomUUID })
  const api = await openPlainApi({ db, clock } as unknown as Engine, bus, clock)
  const folder = mkdtempSync(join(tmpdir(), 'matoolkit-certificate-'))
  const { keyPem, certPem } = rsaCertificate()
  const file = join(folder, 'w1.pem')
  writeFileSync(file, keyPem + certPem)
  const registered = await fetch(`${api.url}/api/workers/w1/credentials`, {
    method: 'POST',
    headers: { authorization: `Bearer ${api.adminToken}`, 'content-type': 'application/json' },
    body: JSON.stringify({ certificate: certPem, address: api.url }),
  })
  assert.equal(registered.status, 201)
  const config = configOf({
    MATOOLKIT_TRANSPORT: 'https',
    MATOOLKIT_API_URL: api.url,
    MATOOLKIT_WORKER_CERTIFICATE_FILE: file,
  })
  const serve = await serveWorker(config)
  try {
    await requireAnswers(bus, clock)
  } finally {
    await serve.stop()
    await api.close()
    await bus.close()
    await database.close()
    rmSync(folder, { recursive: true })
  }
})

it('a worker does not start through the API with settings that cannot work, or over plain http', async () => {
  const token = newWorkerToken(newCredentialId()).token
  const https = { MATOOLKIT_TRANSPORT: 'https', MATOOLKIT_API_URL: 'https://api.example' }
  const cases: [string, Record<string, string>][] = [
    ['no address', { MATOOLKIT_TRANSPORT: 'https', MATOOLKIT_WORKER_TOKEN: token }],
    [
      'plain http',
      { ...https, MATOOLKIT_API_URL: 'http://api.example', MATOOLKIT_WORKER_TOKEN: token },
    ],
    ['no credential', https],
    ['two', { ...https, MATOOLKIT_WORKER_TOKEN: token, MATOOLKIT_WORKER_TOKEN_FILE: 'x' }],
    ['no token', { ...https, MATOOLKIT_WORKER_TOKEN: 'eyJh.e30.x' }],
    ['no file', { ...https, MATOOLKIT_WORKER_TOKEN_FILE: '/nowhere/token' }],
  ]
  for (const [what, env] of cases)
    await assert.rejects(serveWorker(configOf(env)), { code: 'WORKER_API_NOT_CONFIGURED' }, what)
})
