// Recorded error bodies of Microsoft 365, sent by a service on loopback to the worker's own client: each hits its one entry of the
// table. test/fixtures/microsoft-errors.json names the source of each.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { ERROR_TABLE, entriesFor, meaningOf } from '../../src/m365/meanings/meaning-of.ts'
import { ApiError } from '../../src/worker/http/api.ts'
import { configFor, connect, leapingClock } from './functions/setting.ts'

interface Recorded {
  readonly meaning: string
  readonly service: 'graph' | 'exchange' | 'sign-in'
  readonly status: number
  readonly headers?: Record<string, string>
  readonly body: unknown
  readonly source: string
}

const RECORDED = JSON.parse(
  readFileSync(new URL('../fixtures/microsoft-errors.json', import.meta.url), 'utf8'),
) as readonly Recorded[]

const TOKEN = { access_token: 'token', expires_in: 3600, token_type: 'Bearer' }

describe('a recorded error', () => {
  let recorded: Recorded
  let url = ''
  const server = createServer((request, response) => {
    request.resume()
    const isSignIn = request.url!.includes('/oauth2/')
    const isRefused = isSignIn === (recorded.service === 'sign-in')
    const { status, headers, body } = isRefused ? recorded : { status: 200, body: TOKEN }
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(typeof body === 'string' ? body : JSON.stringify(body))
  })
  before(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  })
  after(() => {
    server.closeAllConnections()
    server.close()
  })

  async function errorOf(one: Recorded): Promise<ApiError> {
    recorded = one
    const config = configFor(url, '11111111-2222-3333-4444-555555555555')
    const tenant = connect(config, leapingClock())
    const { signal } = new AbortController()
    const call =
      one.service === 'exchange'
        ? tenant.exchange.run('Get-Mailbox', { Identity: 'ada' }, { signal })
        : tenant.graph.call({ method: 'GET', path: '/users/ada', signal })
    const error = await call.then(
      () => null,
      (reason: unknown) => reason,
    )
    assert.ok(error instanceof ApiError, String(error))
    return error
  }

  assert.ok(RECORDED.length >= 30)
  for (const one of RECORDED)
    it(`hits ${one.meaning} alone (${one.source})`, async () => {
      const { message } = await errorOf(one)
      const found = entriesFor(message).map(({ id }) => id)
      assert.deepEqual(found, [one.meaning], message)
      assert.equal(meaningOf(message)!.id, one.meaning)
    })
})

describe('the table', () => {
  const entries = Object.values(ERROR_TABLE).flat()

  it('has at least 60 entries, each with an id of its own', () => {
    assert.ok(entries.length >= 60)
    assert.equal(new Set(entries.map(({ id }) => id)).size, entries.length)
  })

  for (const { id, example, means, todo, source } of entries)
    it(`finds ${id}, and nothing else, by its example`, () => {
      assert.deepEqual(
        entriesFor(example).map((found) => found.id),
        [id],
      )
      for (const sentence of [means, todo]) assert.match(sentence, /^[A-Z"].*\.$/)
      assert.ok(source)
    })

  it('knows nothing of other texts', () => {
    for (const text of ['', 'No answer in time.', 'The vault returned 403 Forbidden: no'])
      assert.equal(meaningOf(text), null)
    assert.equal(meaningOf(null), null)
  })

  it('says to check first when the outcome is unknown', () => {
    const text =
      'Microsoft Graph returned 503 Unexplained: no. It may have been done all the same: check in the tenant before repeating it.'
    assert.partialDeepStrictEqual(meaningOf(text), {
      id: 'graph-unavailable',
      actor: 'operator',
      todo: 'Check in the tenant whether it was done all the same.',
      retry: 'after_fix',
    })
  })

  it('takes time linear in the text', () => {
    const text = `Exchange Online returned 400 X: ${'Migration connection to the server proxy address '.repeat(20_000)}`
    const startedAt = performance.now()
    for (let turn = 0; turn < 20; turn++) entriesFor(text)
    assert.ok(performance.now() - startedAt < 5_000)
  })
})
