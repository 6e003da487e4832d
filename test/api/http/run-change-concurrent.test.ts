// Idempotency keys, etags and the audit under concurrent callers, on a server with several connections.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { verifyAudit } from '../../../src/db/orders/audit-chain.ts'
import { sealAudit } from '../../../src/db/orders/audit-sealing.ts'
import { openTestPostgres } from '../../kit/databases.ts'
import { formOf, plain, plainCsv } from '../contract/fixtures.ts'
import { type ApiUnderTest, openApiUnderTest } from '../under-test.ts'

describe('two concurrent callers', () => {
  let api: ApiUnderTest
  before(async () => {
    api = await openApiUnderTest({ database: await openTestPostgres() })
    await api.world.publish(plain())
  })
  after(() => api.close())

  const statuses = (answers: readonly { status: number }[]) =>
    answers.map(({ status }) => status).sort()

  it('with the same key create one batch and get the same answer', async () => {
    const send = () =>
      api.call('POST', '/api/batches', {
        form: formOf(plainCsv('a@x.example'), { runbookName: 'plain' }),
        headers: { 'idempotency-key': 'same' },
      })
    const answers = await Promise.all([send(), send()])
    assert.deepEqual(statuses(answers), [201, 201])
    assert.equal(
      new Set(answers.map(({ text }) => JSON.stringify(sorted(JSON.parse(text))))).size,
      1,
    )
    const [row] = await api.world.db.query('select count(*)::int as batches from batches')
    assert.deepEqual(row, { batches: 1 })
    const [noted] = await api.world.db.query(
      `select count(*)::int as rows from audit where action = 'batch.create'`,
    )
    assert.deepEqual(noted, { rows: 1 })
  })

  it('get the stored answer even after its batch is gone', async () => {
    const send = () =>
      api.call('POST', '/api/batches', {
        form: formOf(plainCsv('gone@x.example'), { runbookName: 'short-lived' }),
        headers: { 'idempotency-key': 'short' },
      })
    await api.world.publish(plain('short-lived'))
    const first = await send()
    await api.call('DELETE', '/api/runbooks/short-lived/versions/1')
    const second = await send()
    assert.deepEqual([first.status, second.status], [201, 201])
    assert.deepEqual(second.body, first.body)
  })

  it('may use a key again after a refused call', async () => {
    const headers = { 'idempotency-key': 'again' }
    const bad = formOf(plainCsv('a@x.example'), { runbookName: 'plain' })
    await api.refused(409, 'MEMBER_ELSEWHERE', 'POST', '/api/batches', { form: bad, headers })
    const good = formOf(plainCsv('b@x.example'), { runbookName: 'plain' })
    assert.equal((await api.call('POST', '/api/batches', { form: good, headers })).status, 201)
  })

  it('publish one after the other', async () => {
    const answers = await Promise.all(
      ['a', 'b', 'c', 'd'].map((step) =>
        api.call('POST', '/api/runbooks', { body: { yamlContent: plain('plain', step) } }),
      ),
    )
    assert.deepEqual(statuses(answers), [201, 201, 201, 201])
    assert.deepEqual(answers.map(({ body }) => body.version).sort(), [2, 3, 4, 5])
  })

  it('publish one new version when both send the etag of the same one', async () => {
    const seen = (await api.call('GET', '/api/runbooks/plain')).headers.get('etag')!
    const answers = await Promise.all(
      ['e', 'f', 'g'].map((step) =>
        api.call('POST', '/api/runbooks', {
          body: { yamlContent: plain('plain', step) },
          headers: { 'if-match': seen },
        }),
      ),
    )
    assert.deepEqual(statuses(answers), [201, 412, 412])
  })

  it('cancel a batch once', async () => {
    const body = { reason: 'both of us' }
    const cancel = () => api.call('POST', '/api/batches/1/cancel', { body })
    assert.deepEqual(statuses(await Promise.all([cancel(), cancel()])), [200, 409])
  })

  it('keep the audit chain valid while several processes seal it', async () => {
    const { db } = api.world
    await Promise.all([sealAudit(db), sealAudit(db), sealAudit(db)])
    while ((await sealAudit(db)).count > 0);
    const { broken, head, unsealed } = await verifyAudit(db, { keptDays: null, now: new Date(0) })
    assert.deepEqual([broken, unsealed], [null, 0])
    const [row] = await db.query<{ rows: number }>('select count(*)::int as rows from audit')
    assert.equal(head.sealed, row!.rows)
  })
})

/** Stored answers come from jsonb, which orders keys differently. */
function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(sorted)
  return Object.fromEntries(
    Object.entries(value)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, inner]) => [key, sorted(inner)]),
  )
}
