// Opening a worker from its settings: the order of the start, what prevents it, and a clean end.
import assert from 'node:assert/strict'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, describe, it } from 'node:test'
import { MatoolkitError } from '../../src/base/errors/errors.ts'
import { type Clock, realClock, virtualClock } from '../../src/base/run/clock.ts'
import type { Service as RunningService } from '../../src/base/run/service.ts'
import { readConfig } from '../../src/base/settings/config.ts'
import { Measures } from '../../src/base/telemetry/measures.ts'
import type { Bus, OutgoingMessage, ReceivedMessage } from '../../src/bus/bus.ts'
import { M365 } from '../../src/m365/package.ts'
import { openWorker } from '../../src/worker/open-worker.ts'
import { UNUSED } from '../bus/under-test.ts'
import { collectLog } from '../kit/log-lines.ts'
import { rsaCertificate } from '../kit/rsa-certificate.ts'
import { drivenClock, type Service, startService } from '../kit/scripted-service.ts'
import {
  CLIENT_SECRET,
  identityOf,
  startTokenServer,
  type TokenServer,
} from '../scheduler/sources/token-server.ts'

const TENANT = {
  MATOOLKIT_WORKER_ID: 'w1',
  MATOOLKIT_TENANT_ID: '11111111-2222-3333-4444-555555555555',
  MATOOLKIT_APP_ID: '66666666-7777-8888-9999-000000000000',
  MATOOLKIT_ORGANIZATION: 'contoso.onmicrosoft.com',
  MATOOLKIT_SIGN_IN: 'secret',
  MATOOLKIT_APP_SECRET: CLIENT_SECRET,
}

function silentBus(published: OutgoingMessage[], waiting: ReceivedMessage[] = []): Bus {
  return {
    leaseMs: 60_000,
    publish: async (messages) => void published.push(...messages),
    receive: async () => waiting.splice(0),
    ack: async () => [],
    abandon: async () => undefined,
    renew: async () => [],
    deadLetter: async () => undefined,
    ...UNUSED,
    close: async () => undefined,
  }
}

describe('opening a worker', () => {
  let folder: string
  let tokens: TokenServer
  let worker: RunningService | undefined
  let vault: Service | undefined
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'worker-'))
    tokens = await startTokenServer()
  })
  after(async () => {
    await rm(folder, { recursive: true })
    await tokens.close()
  })
  afterEach(async () => {
    await worker?.stop()
    await vault?.close()
    worker = undefined
    vault = undefined
  })

  async function open(
    env: Record<string, string>,
    clock: Clock = realClock(),
    published: OutgoingMessage[] = [],
    waiting: ReceivedMessage[] = [],
  ) {
    const { log, lines } = collectLog()
    const read = readConfig({
      MATOOLKIT_SECRETS_FOLDER: join(folder, 'secrets'),
      MATOOLKIT_LOGIN_URL: tokens.url,
      ...env,
    })
    assert.ok('config' in read, JSON.stringify(read))
    worker = await openWorker({
      functionPackage: M365,
      config: read.config,
      bus: silentBus(published, waiting),
      clock,
      log,
      version: '1.0.0',
      measures: new Measures(),
    })
    const said = lines().map(({ level, msg }) => `${level}: ${msg}`)
    return { worker, lines: said, all: lines, published }
  }

  const failure = async (env: Record<string, string>, published: OutgoingMessage[] = []) => {
    const error = await open(env, realClock(), published).then(
      () => assert.fail('it should not have started'),
      (thrown: unknown) => thrown,
    )
    assert.ok(error instanceof MatoolkitError, String(error))
    return `${error.code} ${error.message}`
  }

  it('opens vault, sign-in and functions before it receives a job', async () => {
    await writeFile(
      join(folder, 'own.mjs'),
      `export default ({ defineFunction, z }) => defineFunction({ name: 'Do-Own', description: 'x', parameters: z.object({}), result: z.null(), permissions: {}, isIdempotent: true, undo: null, run: async () => null })`,
    )
    const { worker, lines, published } = await open({
      ...TENANT,
      MATOOLKIT_FUNCTIONS_FOLDER: folder,
    })
    assert.deepEqual(lines, [
      'info: Opened the vault',
      'warn: Signing in with a client secret, which is for tests: use a certificate',
      'info: Signed in to the tenant',
      'info: Loaded custom functions',
      'info: Worker ready',
    ])
    const scopes = [
      'https://graph.microsoft.com/.default',
      'https://outlook.office365.com/.default',
    ]
    assert.deepEqual(
      tokens.asked.map((asked) => asked.split(' ').at(-1)),
      scopes,
    )
    worker.start()
    while (published.length === 0) await new Promise<void>((done) => setImmediate(done))
    const { functions } = published[0]!.body as { functions: { name: string }[] }
    const names = functions.map(({ name }) => name)
    assert.ok(names.includes('New-EntraUser') && names.includes('Do-Own'), names.join())
  })

  const own = (name: string, more = '') =>
    `export default ({ defineFunction, z }) => defineFunction({ name: '${name}', description: 'x', parameters: z.object({}), result: z.null(), permissions: {}, isIdempotent: true, undo: null, ${more} run: async () => null })`
  const announcedOf = (published: OutgoingMessage[], name: string) => {
    const { functions } = published[0]!.body as {
      functions: { name: string; facts: { isCustom?: true; overrides?: true } }[]
    }
    return functions.filter((one) => one.name === name).map(({ facts }) => facts)
  }

  it('refuses a custom function with the name of a built-in one, and tells that it has it', async () => {
    const at = await mkdtemp(join(folder, 'clash-'))
    await writeFile(join(at, 'own.mjs'), own('Remove-EntraUser'))
    const published: OutgoingMessage[] = []
    const said = await failure(
      { MATOOLKIT_WORKER_ID: 'w1', MATOOLKIT_FUNCTIONS_FOLDER: at },
      published,
    )
    assert.match(
      said,
      /^FUNCTIONS_UNUSABLE .*own\.mjs: there is a built-in function "Remove-EntraUser"/,
    )
    const [facts, ...others] = announcedOf(published, 'Remove-EntraUser')
    assert.deepEqual([facts!.isCustom, facts!.overrides, others.length], [true, undefined, 0])
  })

  it('does not start with a module missing, which may be the one that was to run', async () => {
    const at = await mkdtemp(join(folder, 'broken-'))
    await writeFile(join(at, 'own.mjs'), own('Do-Own'))
    await writeFile(join(at, 'broken.mjs'), 'throw 5')
    const said = await failure({ MATOOLKIT_WORKER_ID: 'w1', MATOOLKIT_FUNCTIONS_FOLDER: at })
    assert.match(said, /^FUNCTIONS_UNUSABLE .*broken\.mjs: it cannot be loaded: 5/)
  })

  it('runs a custom function instead of the built-in one that it overrides, and says so', async () => {
    const at = await mkdtemp(join(folder, 'overriding-'))
    await writeFile(join(at, 'own.mjs'), own('Remove-EntraUser', 'overrides: true,'))
    const { worker, lines, published } = await open({
      MATOOLKIT_WORKER_ID: 'w1',
      MATOOLKIT_FUNCTIONS_FOLDER: at,
    })
    assert.ok(lines.includes('warn: Custom functions run instead of the built-in ones'))
    worker.start()
    while (published.length === 0) await new Promise<void>((done) => setImmediate(done))
    const announced = announcedOf(published, 'Remove-EntraUser')
    assert.deepEqual(
      announced.map(({ overrides }) => overrides),
      [true],
    )
  })

  it('waits for a sign-in service that is away for a moment', async () => {
    tokens.fault = { status: 503, body: '{"error":"temporarily_unavailable"}' }
    const clock = virtualClock(new Date('2026-03-01T10:00:00Z'))
    const opening = open(TENANT, clock)
    while (clock.nextWakeAt() === null) await new Promise<void>((done) => setImmediate(done))
    tokens.fault = null
    await clock.advance(2_000)
    const { lines } = await opening
    assert.deepEqual(
      lines.filter((line) => /sign/i.test(line) && !/secret/.test(line)),
      ['warn: Cannot sign in yet: trying again', 'info: Signed in to the tenant'],
    )
  })

  it('starts without a tenant and warns', async () => {
    const { lines } = await open({ MATOOLKIT_WORKER_ID: 'w1' })
    assert.ok(lines.some((line) => line.startsWith('warn: No tenant configured')))
  })

  it('logs a failed job with its step, its kind of failure, and nothing that names a person', async () => {
    const body = {
      jobId: 'step-42',
      batchId: 7,
      workerId: 'w1',
      functionName: 'Set-EntraUserUPN',
      parameters: {
        UserId: 'ada@contoso.example',
        NewUserPrincipalName: 'lovelace@fabrikam.example',
      },
      correlationData: { stepExecutionId: 42, isInitStep: false },
    }
    const waiting = [
      {
        topic: 'worker-jobs',
        messageId: 'step-42',
        type: 'worker-job',
        properties: { WorkerId: 'w1' },
        body: JSON.stringify(body),
        deliveryCount: 1,
        enqueuedAt: new Date(),
        lease: { sequence: '1', token: 't' },
      },
    ] as const
    const { worker, all } = await open({ MATOOLKIT_WORKER_ID: 'w1' }, realClock(), [], [...waiting])
    worker.start()
    const ended = () => all().find(({ msg }) => /^Job /.test(String(msg)))
    while (!ended()) await new Promise<void>((done) => setImmediate(done))
    const { level, msg, workerId, batchId, stepId, failure: kind, attempts } = ended()!
    assert.deepEqual(
      { said: `${level}: ${msg}`, workerId, batchId, stepId, kind, attempts },
      {
        said: 'warn: Job failed',
        workerId: 'w1',
        batchId: 7,
        stepId: 42,
        kind: 'NoTenant',
        attempts: 1,
      },
    )
    assert.doesNotMatch(JSON.stringify(all()), /ada|lovelace/)
    assert.deepEqual([...new Set(all().map((line) => line.workerId))], ['w1'], 'in every line')
  })

  it('refuses settings that cannot work', async () => {
    const certificate = { ...TENANT, MATOOLKIT_SIGN_IN: 'certificate' }
    const bad = join(folder, 'bad.pem')
    await writeFile(bad, 'hunter2')
    const { MATOOLKIT_ORGANIZATION, ...homeless } = TENANT
    assert.equal(MATOOLKIT_ORGANIZATION, 'contoso.onmicrosoft.com')
    const CASES: [env: Record<string, string>, says: RegExp][] = [
      [{}, /^WORKER_NOT_CONFIGURED .*MATOOLKIT_WORKER_ID is not set/],
      [homeless, /^WORKER_NOT_CONFIGURED .*MATOOLKIT_ORGANIZATION is not set/],
      [
        { MATOOLKIT_WORKER_ID: 'w1', MATOOLKIT_TENANT_ID: TENANT.MATOOLKIT_TENANT_ID },
        /^WORKER_NOT_CONFIGURED .*MATOOLKIT_APP_ID is not\. .*"matoolkit config set tenant-id"/,
      ],
      [certificate, /^WORKER_NOT_CONFIGURED .*neither MATOOLKIT_CERTIFICATE_FILE nor/],
      [
        { ...certificate, MATOOLKIT_CERTIFICATE_FILE: bad },
        /^WORKER_CERTIFICATE_UNUSABLE .*bad\.pem is unusable: it cannot be read/,
      ],
      [{ ...TENANT, MATOOLKIT_APP_SECRET: 'wrong' }, /^WORKER_SIGN_IN_FAILED .*AADSTS7000215/],
    ]
    for (const [env, says] of CASES) {
      const said = await failure(env)
      assert.match(said, says)
      assert.doesNotMatch(said, /hunter2/)
    }
  })

  it('reads its certificate from Key Vault with the managed identity', async () => {
    const own = rsaCertificate()
    vault = await startService(drivenClock(), () => ({
      status: 200,
      body: {
        value: own.pfx('', 'aes256').toString('base64'),
        contentType: 'application/x-pkcs12',
      },
    }))
    const { identity } = identityOf(tokens)
    // This sign-in service knows no certificates; a request with one proves that it was read.
    const said = await failure({
      ...TENANT,
      MATOOLKIT_SIGN_IN: 'certificate',
      MATOOLKIT_KEY_VAULT_URL: vault.url,
      IDENTITY_ENDPOINT: identity!.url,
      IDENTITY_HEADER: identity!.header,
    })
    assert.match(said, /^WORKER_SIGN_IN_FAILED .*AADSTS7000215/)
    assert.equal(vault.seen[0]!.path, '/secrets/worker-app-cert?api-version=7.4')
  })
})
