// The API client against servers that are slow, busy, unreachable, foreign or refusing.
import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, it } from 'node:test'
import { EXIT, MatoolkitError } from '../../../src/base/errors/errors.ts'
import { virtualClock } from '../../../src/base/run/clock.ts'
import { ApiRefusal } from '../../../src/cli/connection/api-refusal.ts'
import { type CommandClientOptions, openClient } from '../../../src/cli/connection/client.ts'

type Answer = (request: IncomingMessage, response: ServerResponse) => void

/** A server that returns these answers, one per request, then the last one. */
async function serving(answers: readonly Answer[], options: Partial<CommandClientOptions> = {}) {
  const requests: { method: string; key: unknown; auth: unknown }[] = []
  const server = createServer((request, response) => {
    const { method = '', headers } = request
    requests.push({ method, key: headers['idempotency-key'], auth: headers.authorization })
    request.resume()
    request.on('end', () =>
      answers[Math.min(requests.length, answers.length) - 1]!(request, response),
    )
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const waits: number[] = []
  const clock = { ...virtualClock(new Date(0)), wait: async (ms: number) => void waits.push(ms) }
  const apiUrl = `http://127.0.0.1:${port}`
  const client = openClient({ apiUrl, token: async () => 't', clock, ...options })
  const close = () => {
    server.closeAllConnections()
    return new Promise<void>((resolve) => server.close(() => resolve()))
  }
  return { client, requests, waits, apiUrl, [Symbol.asyncDispose]: close }
}

const json =
  (status: number, body: unknown, headers: Record<string, string> = {}): Answer =>
  (_, response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers })
    response.end(JSON.stringify(body))
  }
const problem = (status: number, code: string, more = {}) =>
  json(status, { status, code, detail: `It is ${code}.`, ...more })
const cut: Answer = (request) => request.socket.destroy()
const fine = json(200, { ok: true }, { etag: '"1"' })

const rejection = async (promise: Promise<unknown>): Promise<Error> => {
  try {
    await promise
  } catch (error) {
    return error as Error
  }
  throw new Error('It should have been refused.')
}

describe('the client of the API', () => {
  it('retries reads when the server is busy or the connection breaks', async () => {
    await using api = await serving([problem(503, 'TRY_AGAIN', {}), cut, fine])
    const { answer, etag } = await api.client.tagged('GET /api/batches', { query: { held: true } })
    assert.deepEqual([answer, etag, api.requests.length], [{ ok: true }, '"1"', 3])
  })

  it('waits as long as Retry-After says', async () => {
    await using api = await serving([json(429, {}, { 'retry-after': '7' }), fine])
    await api.client.call('GET /api/me')
    assert.deepEqual(
      api.waits.filter((ms) => ms > 1_000),
      [7_000],
    )
  })

  it('gives up after three attempts, in the words of the server', async () => {
    await using api = await serving([problem(503, 'TRY_AGAIN')])
    const error = await rejection(api.client.call('GET /api/me'))
    assert.ok(error instanceof ApiRefusal)
    assert.deepEqual(
      [error.code, error.exitCode, api.requests.length],
      ['TRY_AGAIN', EXIT.unavailable, 3],
    )
  })

  it('sends a change once, unless an idempotency key makes a retry safe', async () => {
    await using once = await serving([cut, fine])
    const error = await rejection(
      once.client.call('POST /api/holds', { body: { scope: 'system' } }),
    )
    assert.ok(error instanceof MatoolkitError && error.code === 'API_UNREACHABLE')
    assert.equal(once.requests.length, 1)
    await using keyed = await serving([cut, fine])
    await keyed.client.call('POST /api/batches', { query: {}, body: new FormData() })
    const [first, second] = keyed.requests.map(({ key }) => key)
    assert.ok(first && first === second)
  })

  it('asks for another token once when one is refused', async () => {
    const asked: boolean[] = []
    const token = async (isRefused: boolean) => {
      asked.push(isRefused)
      return isRefused ? 'new' : 'old'
    }
    await using api = await serving([problem(401, 'TOKEN_REFUSED'), fine], { token })
    await api.client.call('POST /api/holds', { body: { scope: 'system' } })
    assert.deepEqual(asked, [false, true])
    assert.deepEqual(
      api.requests.map(({ auth }) => auth),
      ['Bearer old', 'Bearer new'],
    )
    await using never = await serving([problem(401, 'TOKEN_REFUSED')], { token })
    const error = await rejection(never.client.call('GET /api/me'))
    assert.deepEqual([(error as ApiRefusal).exitCode, never.requests.length], [EXIT.notSignedIn, 2])
    assert.match((error as ApiRefusal).more.join(), /auth login/)
  })

  it('lists every fault that the server found', async () => {
    const faults = [
      { row: 3, column: 'Upn', message: 'appears twice' },
      { line: 7, column: 2, severity: 'error', code: 'KEY_UNKNOWN', message: 'no such key' },
      { path: 'body.reason', message: 'The key "reason" is missing.' },
    ]
    await using api = await serving([
      problem(422, 'MEMBER_ROWS_INVALID', { faults, faultCount: 9 }),
    ])
    const error = (await rejection(
      api.client.call('POST /api/holds', { body: { scope: 'system' } }),
    )) as ApiRefusal
    assert.deepEqual(error.more, [
      'row 3, column Upn: appears twice',
      'line 7, column 2: error KEY_UNKNOWN: no such key',
      'The key "reason" is missing.',
      '… and 6 more',
    ])
  })

  it('ends with an exit code for every refusal, known or not', async () => {
    for (const [status, exit] of [
      [400, EXIT.usage],
      [403, EXIT.notAllowed],
      [404, EXIT.notFound],
      [409, EXIT.conflict],
      [412, EXIT.conflict],
      [500, EXIT.failed],
    ] as const) {
      await using api = await serving([problem(status, 'OF_ANOTHER_VERSION')])
      assert.equal(((await rejection(api.client.call('GET /api/me'))) as ApiRefusal).exitCode, exit)
    }
  })

  it('says when another server answers', async () => {
    const page: Answer = (_, response) => response.writeHead(404).end('<h1>nginx</h1>')
    await using api = await serving([page])
    const error = await rejection(api.client.call('GET /api/me'))
    assert.ok(error instanceof MatoolkitError && error.code === 'API_NOT_UNDERSTOOD')
    const away: Answer = (_, response) => response.writeHead(302, { location: 'http://x' }).end()
    await using elsewhere = await serving([away])
    assert.match((await rejection(elsewhere.client.call('GET /api/me'))).message, /does not answer/)
  })

  it('says that a server does not use TLS', async () => {
    await using api = await serving([fine])
    const clock = { ...virtualClock(new Date(0)), wait: async () => {} }
    const apiUrl = api.apiUrl.replace('http:', 'https:')
    const client = openClient({ apiUrl, token: async () => 't', clock })
    const { message } = await rejection(client.call('GET /api/me'))
    assert.match(message, /does not answer: the server does not use TLS; try http\./)
  })

  it('shows the traffic without secrets', async () => {
    const lines: string[] = []
    await using api = await serving([fine], { debug: (line) => lines.push(line) })
    await api.client.call('POST /api/holds', {
      body: { scope: 'system', reason: 'why', password: 'hunter2' } as { scope: 'system' },
    })
    assert.match(lines[0]!, /^> POST http:.*\/api\/holds \{"scope":"system","reason":"why"/)
    assert.ok(!lines.join().includes('hunter2'))
    assert.match(lines[1]!, /^< 200 in \d+ ms/)
  })

  it('shows a progress bar for uploads', async () => {
    const said: string[] = []
    await using api = await serving([fine], { progress: (text) => said.push(text) })
    const form = new FormData()
    form.set('file', new Blob(['x'.repeat(100_000)]), 'members.csv')
    await api.client.call('POST /api/batches', { query: {}, body: form })
    assert.ok(
      said.some((text) => /^Sending █+ 100 %$/.test(text)),
      said.join('\n'),
    )
    assert.equal(said.at(-1), '')
  })
})
