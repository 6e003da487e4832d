// The client that the package exports, against a real API: types, pages, keys, refusals, and what is never sent twice.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { AdminApiError, type MatoolkitClient, matoolkit } from '../../../src/api/client/client.ts'
import { nowhere } from '../../cli/against-api.ts'
import { formOf, plain, plainCsv } from '../contract/fixtures.ts'
import { type ApiUnderTest, openApiUnderTest, ROUTES } from '../under-test.ts'

const PEOPLE = 12

describe('the client of the package', () => {
  let api: ApiUnderTest
  let client: MatoolkitClient
  let batchId: number
  const waits: number[] = []
  const sent: string[] = []
  /** How often the answer to a request gets lost after the server has done its work. */
  let lost = 0

  const open = (more: Partial<Parameters<typeof matoolkit>[0]> = {}) =>
    matoolkit({
      url: `${api.url}/`,
      token: api.token,
      via: 'test',
      wait: async (ms) => void waits.push(ms),
      fetch: async (url, init) => {
        sent.push(`${init!.method} ${new URL(String(url)).pathname}`)
        const answer = await fetch(url, init)
        if (lost === 0) return answer
        lost -= 1
        await answer.arrayBuffer()
        throw new TypeError('fetch failed')
      },
      ...more,
    })

  before(async () => {
    api = await openApiUnderTest()
    await api.world.publish(plain())
    batchId = await api.world.batch('plain', PEOPLE, { startsInMin: 60 })
    client = open()
  })
  after(() => api.close())

  it('gives typed answers, every row of a list once, and files as they are', async () => {
    const { batch } = await client.call('GET /api/batches/{batchId}', { params: { batchId } })
    const status: 'detected' | 'init_dispatched' | 'active' | 'completed' | 'failed' | 'cancelled' =
      batch.status
    assert.equal(status, 'active')
    const keys: string[] = []
    const few = { params: { batchId }, query: { limit: 5 } }
    for await (const { memberKey } of client.each('GET /api/batches/{batchId}/members', few))
      keys.push(memberKey)
    assert.deepEqual([keys.length, new Set(keys).size], [PEOPLE, PEOPLE])
    const csv = await client.raw('GET /api/batches', {}, { accept: 'text/csv' })
    assert.match(await csv.text(), /^\ufeff?id,/)
    const [row] = await api.world.db.query<{ via: string }>(
      `select after_json->>'via' as via from audit where action = 'read listMembers'`,
    )
    assert.equal(row!.via, 'test')
  })

  it('reads lists whose pages have no limit', async () => {
    const named: string[] = []
    for await (const { functions } of client.each('GET /api/catalogues'))
      named.push(...(functions ?? []).map(({ name }) => name))
    assert.ok(named.length > 0)
  })

  it('sends nothing that names people without a token, and says what the API answers', async () => {
    sent.length = 0
    const given = { query: { text: 'user1' } }
    await assert.rejects(open({ token: () => null }).call('GET /api/members', given), {
      status: 401,
      code: 'NOT_SIGNED_IN',
    })
    assert.deepEqual(sent, ['GET /api/me'])
  })

  it('does not wait for an address where nothing listens', async () => {
    waits.length = 0
    const url = await nowhere()
    await assert.rejects(open({ url }).call('GET /api/me'), { code: 'UNREACHABLE' })
    assert.deepEqual(waits, [])
  })

  it('repeats what creates with the same key, and the server does it once', async () => {
    lost = 1
    sent.length = 0
    const body = formOf(plainCsv('a@x.example'), { runbookName: 'plain' })
    await client.call('POST /api/batches', { body })
    assert.deepEqual(sent, ['POST /api/batches', 'POST /api/batches'])
    const { total } = await client.call('GET /api/batches', { query: { manual: true } })
    assert.equal(total, 1)
  })

  it('sends any other change once, and repeats reads with a pause', async () => {
    lost = 1
    sent.length = 0
    const held = { scope: 'batch', target: `${batchId}` } as const
    const hold = { body: { ...held, reason: 'a look' } }
    await assert.rejects(client.call('POST /api/holds', hold), {
      name: 'AdminApiError',
      code: 'UNREACHABLE',
      status: 0,
    })
    assert.deepEqual(sent, ['POST /api/holds'])
    lost = 2
    waits.length = 0
    const { batches } = await client.call('GET /api/batches', { query: { held: true } })
    assert.deepEqual([batches.map(({ id }) => id), waits], [[batchId], [500, 1_000]])
  })

  it('throws the codes of the API, and refuses a change of what is another by now', async () => {
    const missing = client.call('GET /api/batches/{batchId}', { params: { batchId: 999 } })
    const error = await missing.catch((thrown: unknown) => thrown)
    assert.ok(error instanceof AdminApiError)
    assert.deepEqual([error.code, error.status], ['BATCH_NOT_FOUND', 404])
    const { etag } = await client.tagged('GET /api/batches/{batchId}', { params: { batchId } })
    const held = { scope: 'batch', target: `${batchId}` } as const
    const resume = { body: { ...held, reason: 'go on' } }
    const cancel = { params: { batchId }, body: { reason: 'go on' } }
    const options = { ifMatch: etag! }
    await client.call('POST /api/holds/resume', resume, options)
    await assert.rejects(client.call('POST /api/batches/{batchId}/cancel', cancel, options), {
      code: 'STATE_CHANGED',
    })
    const { batch } = await client.call('GET /api/batches/{batchId}', { params: { batchId } })
    assert.equal(batch.status, 'active')
  })

  it('asks for another token when one is refused, once, and says who does not answer', async () => {
    const asked: boolean[] = []
    const renewing = open({
      token: (isRefused) => {
        asked.push(isRefused)
        return isRefused ? api.token : 'old'
      },
    })
    assert.equal((await renewing.call('GET /api/me')).roles[0], 'Admin')
    assert.deepEqual(asked, [false, true])
    await assert.rejects(open({ token: 'wrong' }).call('GET /api/me'), { status: 401 })
    const url = await nowhere()
    await assert.rejects(open({ url }).call('GET /api/me'), { code: 'UNREACHABLE' })
  })

  it('finds the rows of every list: a page has one array', async () => {
    const lists = ROUTES.filter(
      ({ query }) => 'cursor' in ((query as { shape?: object }).shape ?? {}),
    )
    assert.ok(lists.length > 15)
    for (const { operation, answers } of lists) {
      const shape = (answers[200] as { shape?: Record<string, { type?: string }> }).shape!
      const arrays = Object.values(shape).filter(({ type }) => type === 'array')
      assert.equal(arrays.length, 1, operation)
    }
  })
})
