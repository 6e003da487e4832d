// The service's own endpoints: health, readiness, sign-in settings, current user, OpenAPI, documentation page, metrics.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { localProof } from '../../../src/base/keys/local-token.ts'
import { migrationsOnDisk } from '../../../src/db/schema/migration-files.ts'
import { type ApiUnderTest, openApiUnderTest } from '../under-test.ts'
import { covers } from './covers.ts'

describe('the service', () => {
  let api: ApiUnderTest
  before(async () => {
    api = await openApiUnderTest()
  })
  after(() => api.close())

  it('is healthy without a token', async () => {
    const { status, body } = await api.call('GET', '/api/health', { token: null })
    assert.deepEqual([status, body], [200, { status: 'healthy' }])
  })

  it('is ready when server, database, schema, bus, orchestrator and clock are', async () => {
    const { status, body, text } = await api.call('GET', '/api/ready', { token: null })
    assert.equal(status, 200, text)
    assert.deepEqual(
      (body.checks as { name: string }[]).map(({ name }) => name),
      ['server', 'database', 'schema', 'bus', 'orchestrator', 'clock'],
    )
  })

  it('shows how to sign in, and the signed-in user', async () => {
    const { body } = await api.call('GET', '/api/sign-in', { token: null })
    assert.deepEqual(body, { mode: 'local', issuer: null, clientId: null, scope: null })
    const nonce = 'n'.repeat(43)
    const proof = await api.call('GET', `/api/sign-in/proof?nonce=${nonce}`, { token: null })
    assert.equal(proof.body.proof, localProof(api.token, api.url, nonce))
    const me = await api.call('GET', '/api/me')
    assert.deepEqual(me.body.roles, ['Admin'])
  })

  it('describes itself for programs and for people', async () => {
    const { body } = await api.call('GET', '/api/openapi.json', { token: null })
    assert.equal(body.openapi, '3.1.0')
    const page = await api.call('GET', '/api/docs', { token: null })
    assert.equal(page.headers.get('content-type'), 'text/html; charset=utf-8')
    assert.match(page.headers.get('content-security-policy')!, /style-src 'sha256-/)
    assert.doesNotMatch(page.text, /<script|https?:\/\//)
    assert.match(page.text, /POST<\/b> <code>\/api\/runbooks<\/code>/)
  })

  it('shows the database roles', async () => {
    const { status, body } = await api.call('GET', '/api/database-roles')
    assert.deepEqual([status, body], [200, { runsAs: 'postgres', isOwner: true, roles: [] }])
  })

  it('exposes metrics', async () => {
    const { text } = await api.call('GET', '/metrics')
    assert.match(
      text,
      /^matoolkit_http_request_seconds_count\{method="GET",route="\/api\/health",status="200"\} 1$/m,
    )
    assert.match(text, /^matoolkit_http_in_flight 1$/m)
    assert.match(text, /^process_resident_memory_bytes \d+$/m)
  })
})

it('is degraded but ready while the machine’s clock is wrong, and people can hold', async () => {
  const report = {
    measuredAt: new Date(0),
    machineSkewMs: 45_000,
    aheadMs: 0,
    uncertaintyMs: 1,
    withinLimit: false,
  }
  const api = await openApiUnderTest({ options: { clockReport: () => report } })
  try {
    const { status, text } = await api.call('GET', '/api/ready')
    assert.equal(status, 200)
    assert.match(text, /"isReady":true,"isDegraded":true/)
    assert.match(text, /"clock","isOk":false/)
    const held = await api.call('POST', '/api/holds', {
      body: { scope: 'system', reason: 'a wrong clock' },
    })
    assert.equal(held.status, 200)
    assert.match(text, /machine clock is 45 s off the database clock/)
  } finally {
    await api.close()
  }
})

it('is degraded but ready while the bus is away and the orchestrator waits for it, and people can hold', async () => {
  const figures = { lines: async () => [], isBusThere: async () => false }
  const whyWaiting = () => 'Service Bus does not answer'
  const api = await openApiUnderTest({ options: { figures, whyWaiting } })
  try {
    const { status, text } = await api.call('GET', '/api/ready')
    assert.equal(status, 200)
    assert.match(text, /"isReady":true,"isDegraded":true/)
    assert.match(text, /"bus","isOk":false/)
    const held = await api.call('POST', '/api/holds', {
      body: { scope: 'system', reason: 'the bus is away' },
    })
    assert.equal(held.status, 200)
  } finally {
    await api.close()
  }
})

it('is not ready while the orchestrator waits for the database, and says why', async () => {
  const api = await openApiUnderTest({ options: { whyWaiting: () => 'the disk is full' } })
  try {
    const { status, text } = await api.call('GET', '/api/ready')
    assert.equal(status, 503)
    assert.match(text, /"orchestrator","isOk":false,"about":"waits: the disk is full"/)
  } finally {
    await api.close()
  }
})

it('is ready on a newer schema that names it as compatible, and says both versions', async () => {
  const api = await openApiUnderTest()
  const { db } = api.world
  const known = migrationsOnDisk().at(-1)!.version
  const next = (lowest: number) =>
    db.query(
      `insert into schema_migrations values ($1, 'next.sql', '', $2, '2026-03-01')
         on conflict (version) do update set lowest_program = excluded.lowest_program`,
      [known + 1, lowest],
    )
  try {
    await next(known)
    const ready = await api.call('GET', '/api/ready')
    assert.equal(ready.status, 200)
    const versions = `the database has version ${known + 1}, this program knows version ${known}`
    assert.ok(ready.text.includes(`"schema","isOk":true,"about":"${versions}; compatible"`))
    await next(known + 1)
    const closed = await api.call('GET', '/api/ready')
    assert.equal(closed.status, 503)
    assert.ok(closed.text.includes(`"schema","isOk":false,"about":"${versions}"`))
  } finally {
    await db.query('delete from schema_migrations where version = $1', [known + 1])
    await api.close()
  }
})

covers(
  'getDocs',
  'getHealth',
  'getMe',
  'getMetrics',
  'getOpenApi',
  'getProof',
  'getReadiness',
  'getSignIn',
  'listDatabaseRoles',
)
