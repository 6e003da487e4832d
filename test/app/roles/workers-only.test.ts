// A process that is only a worker needs no database on Service Bus: it announces itself, runs a job, answers, and stops in order.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { it } from 'node:test'
import { openServe } from '../../../src/app/roles/serve.ts'
import { openTransport } from '../../../src/app/roles/transports.ts'
import { whenLetIn } from '../../../src/app/roles/workers-only.ts'
import { MatoolkitError } from '../../../src/base/errors/errors.ts'
import { createLog } from '../../../src/base/log/log.ts'
import { type Clock, realClock, virtualClock } from '../../../src/base/run/clock.ts'
import { type Config, readConfig } from '../../../src/base/settings/config.ts'
import { type Bus, type ReceivedMessage, WORKER_RESULTS } from '../../../src/bus/bus.ts'
import { job } from '../../bus/under-test.ts'
import { openNamespace } from '../../kit/namespace.ts'
import { freePort } from '../../kit/postgres-server.ts'
import { startService } from '../../kit/scripted-service.ts'
import { identityOf, startTokenServer } from '../../scheduler/sources/token-server.ts'

const HIDDEN = 'postgres://nobody@127.0.0.1:1/nothing'

function configOf(env: Record<string, string>): Config {
  const own = { MATOOLKIT_WORKER_ID: 'w1', MATOOLKIT_HEALTH_PORT: '0' }
  // Nothing may be opened there.
  const read = readConfig({ ...own, DATABASE_URL: HIDDEN, ...env })
  assert.ok('config' in read, JSON.stringify(read))
  return read.config
}

const serveWorker = (config: Config, stopping = new AbortController().signal) =>
  openServe({
    config,
    roles: ['worker'],
    workers: [config],
    onIdle: () => {},
    onStopped: () => {},
    makeLog: (log) =>
      createLog({ level: 'error', format: 'json', clock: log, destination: { write: () => {} } }),
    stopping,
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

it('a worker whose certificate nobody made yet stays alive, is not ready, and says what it waits for', async () => {
  const clock = realClock()
  const { broker, connectionString } = await openNamespace(clock, ['w1'])
  const tokens = await startTokenServer()
  const vault = await startService(clock, () => ({ status: 404, body: { error: {} } }))
  const { identity } = identityOf(tokens)
  const port = await freePort()
  const config = configOf({
    MATOOLKIT_TRANSPORT: 'servicebus',
    MATOOLKIT_SERVICEBUS_CONNECTION: connectionString,
    MATOOLKIT_HEALTH_PORT: String(port),
    MATOOLKIT_TENANT_ID: randomUUID(),
    MATOOLKIT_APP_ID: randomUUID(),
    MATOOLKIT_ORGANIZATION: 'contoso.onmicrosoft.com',
    MATOOLKIT_KEY_VAULT_URL: vault.url,
    IDENTITY_ENDPOINT: identity!.url,
    IDENTITY_HEADER: identity!.header,
  })
  const stopping = new AbortController()
  const serving = serveWorker(config, stopping.signal)
  serving.catch(() => {})
  const ask = async (path: string): Promise<[number, string]> => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`)
    return [answer.status, await answer.text()]
  }
  try {
    while (vault.seen.length === 0) await clock.wait(10)
    while ((await ask('/ready'))[1].includes('starting')) await clock.wait(10)
    assert.deepEqual((await ask('/health'))[0], 200)
    const [status, why] = await ask('/ready')
    assert.equal(status, 503)
    assert.match(why, /waits: The certificate in the Key Vault under .* is unusable/)
    stopping.abort()
    await assert.rejects(serving, { code: 'WORKER_CERTIFICATE_UNUSABLE' })
  } finally {
    await Promise.all([vault.close(), tokens.close(), broker.close()])
  }
})

it('a worker asks for its certificate every minute where a vault keeps it, and ends at once where a file is wrong', async () => {
  const clock = virtualClock(new Date('2026-03-01T10:00:00Z'))
  const refused = new MatoolkitError('WORKER_SIGN_IN_FAILED', { tenantId: 't', reason: 'unknown' })
  const waits: string[] = []
  const waiting = {
    config: { keyVaultUrl: 'https://vault.example' },
    clock,
    stopping: new AbortController().signal,
    onWaiting: ({ code }: MatoolkitError) => waits.push(code),
  }
  let isKnown = false
  const open = async () => {
    if (!isKnown) throw refused
    return 'open'
  }
  const opened = whenLetIn(waiting, open)
  await clock.advance(119_000)
  assert.deepEqual(waits, Array(2).fill('WORKER_SIGN_IN_FAILED'))
  isKnown = true
  await clock.advance(1_000)
  assert.equal(await opened, 'open')
  isKnown = false
  const elsewhere = { ...waiting, config: { keyVaultUrl: null } }
  await assert.rejects(whenLetIn(elsewhere, open), refused)
  const broken = new MatoolkitError('WORKER_NOT_CONFIGURED', { problems: 'no id' })
  await assert.rejects(
    whenLetIn(waiting, () => Promise.reject(broken)),
    broken,
  )
})
