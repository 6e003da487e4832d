// Rules for every endpoint: limits, headers, bad requests, shutdown. Requests that are not valid HTTP go over a raw socket.
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { MatoolkitError } from '../../src/base/errors/errors.ts'
import type { Json } from '../../src/base/text/json.ts'
import { formOf, plain, plainCsv } from './contract/fixtures.ts'
import { type ApiUnderTest, openApiUnderTest } from './under-test.ts'

/** Sends the texts unchanged and returns everything received until the server closes. */
function sendRaw(url: string, ...texts: string[]): Promise<string> {
  const { hostname, port } = new URL(url)
  return new Promise((resolve) => {
    const socket = connect({ host: hostname, port: Number(port) }, () => {
      for (const text of texts) socket.write(text)
    })
    let got = ''
    socket.on('data', (data) => {
      got += data.toString()
    })
    socket.on('close', () => resolve(got))
    socket.on('error', () => resolve(got))
  })
}

describe('every request', () => {
  let api: ApiUnderTest
  before(async () => {
    api = await openApiUnderTest({
      config: { apiCorsOrigins: ['https://console.contoso.example'] },
    })
  })
  after(() => api.close())
  const json = { 'content-type': 'application/json' }
  const path = '/api/runbooks'

  it('gets headers that forbid frames, caching and content sniffing', async () => {
    for (const [method, at] of [
      ['GET', '/api/health'],
      ['GET', '/api/batches'],
      ['GET', '/nowhere'],
    ] as const) {
      const { headers } = await api.call(method, at)
      assert.equal(headers.get('cache-control'), 'no-store', at)
      assert.equal(headers.get('x-content-type-options'), 'nosniff', at)
      assert.match(
        headers.get('content-security-policy')!,
        /default-src 'none'.*frame-ancestors 'none'/,
      )
      assert.match(headers.get('strict-transport-security')!, /max-age=31536000/)
      assert.equal(headers.get('access-control-allow-origin'), null)
    }
  })

  it("has an id: the caller's if it fits a log line, otherwise a new one", async () => {
    const ask = async (id: string) =>
      (await api.call('GET', '/api/health', { headers: { 'x-request-id': id } })).headers.get(
        'x-request-id',
      )
    assert.equal(await ask('ticket-4711'), 'ticket-4711')
    assert.notEqual(await ask('x'), 'x')
    assert.notEqual(await ask('has blanks in it'), 'has blanks in it')
    const { headers, body } = await api.call('GET', '/nowhere')
    assert.equal(body.requestId, headers.get('x-request-id'))
  })

  it('carries the time of the API and how fast it passes, for pages that count down', async () => {
    const { headers } = await api.call('GET', '/api/health')
    assert.equal(headers.get('x-matoolkit-time'), api.world.clock.now().toISOString())
    assert.equal(headers.get('x-matoolkit-time-rate'), '0', 'a virtual clock stands still')
  })

  it('is accepted from a browser page only if its origin is listed', async () => {
    const from = (origin: string) => ({
      headers: { origin, 'access-control-request-method': 'GET' },
    })
    const good = await api.call('OPTIONS', '/api/batches', from('https://console.contoso.example'))
    assert.equal(good.status, 204)
    assert.equal(good.headers.get('access-control-allow-origin'), 'https://console.contoso.example')
    const bad = await api.call('OPTIONS', '/api/batches', from('https://evil.example'))
    assert.deepEqual([bad.status, bad.headers.get('access-control-allow-origin')], [405, null])
  })

  it('to the start is answered with the page whatever it accepts', async () => {
    for (const accept of ['*/*', 'application/json', 'text/html']) {
      const { status, headers } = await api.call('GET', '/', { headers: { accept } })
      assert.deepEqual([status, headers.get('content-type')], [200, 'text/html; charset=utf-8'])
    }
  })

  it('to an unknown path or with a wrong method is refused with the right status', async () => {
    await api.refused(404, 'NO_SUCH_ENDPOINT', 'GET', '/api/nothing')
    await api.refused(400, 'REQUEST_INVALID', 'GET', '/api/batches/')
    await api.refused(404, 'NO_SUCH_ENDPOINT', 'GET', '/api/../etc/passwd')
    await api.refused(400, 'REQUEST_UNREADABLE', 'GET', `/api/runbooks/${'x'.repeat(300)}`)
    await api.refused(400, 'REQUEST_UNREADABLE', 'GET', '/api/runbooks/%zz')
    await api.refused(400, 'REQUEST_INVALID', 'GET', '/api/runbooks/%00')
    await api.refused(400, 'REQUEST_INVALID', 'GET', '/api/runbooks/..%2f..%2fetc%2fpasswd')
    const { headers } = await api.refused(405, 'METHOD_REFUSED', 'PUT', '/api/batches')
    assert.equal(headers.get('allow'), 'GET, POST')
  })

  const BODIES: readonly [
    what: string,
    body: string,
    headers: Record<string, string>,
    status: number,
    code: string,
  ][] = [
    ['no JSON', '{"yamlContent": ', json, 400, 'REQUEST_UNREADABLE'],
    ['no body', '', json, 400, 'REQUEST_UNREADABLE'],
    ['a list', '[]', json, 400, 'REQUEST_INVALID'],
    ['null', 'null', json, 400, 'REQUEST_INVALID'],
    ['a prototype', '{"__proto__": {"a": 1}, "yamlContent": "x"}', json, 400, 'REQUEST_UNREADABLE'],
    ['a constructor', '{"constructor": {"prototype": {}}}', json, 400, 'REQUEST_UNREADABLE'],
    ['a NUL', '{"yamlContent": "a\\u0000b"}', json, 400, 'REQUEST_INVALID'],
    ['half a character', '{"yamlContent": "\\ud800"}', json, 400, 'REQUEST_INVALID'],
    [
      '100,000 levels',
      `{"x": ${'['.repeat(100_000)}${']'.repeat(100_000)}}`,
      json,
      400,
      'REQUEST_INVALID',
    ],
    [
      'another type',
      'a=1',
      { 'content-type': 'application/x-www-form-urlencoded' },
      415,
      'MEDIA_TYPE_UNKNOWN',
    ],
    ['text', 'name: x', { 'content-type': 'text/plain' }, 415, 'MEDIA_TYPE_UNKNOWN'],
    ['a packed body', '{}', { ...json, 'content-encoding': 'gzip' }, 415, 'ENCODING_REFUSED'],
    ['2 MB and more', `{"yamlContent": "${'x'.repeat(2_100_000)}"}`, json, 413, 'BODY_TOO_LARGE'],
    [
      'a text too long',
      `{"yamlContent": "${'x'.repeat(1_200_000)}"}`,
      json,
      400,
      'REQUEST_INVALID',
    ],
  ]
  for (const [what, body, headers, status, code] of BODIES) {
    it(`is refused with ${what}`, async () => {
      await api.refused(status, code, 'POST', path, { body, headers })
    })
  }

  it('with a duplicate JSON key uses the last value', async () => {
    const { body } = await api.refused(422, 'RUNBOOK_INVALID', 'POST', path, {
      body: '{"yamlContent": "a: 1", "yamlContent": "b: 1"}',
    })
    assert.match(JSON.stringify(body.faults), /"b"/)
  })

  it('is refused when If-Match or Idempotency-Key is malformed', async () => {
    const cancel = ['POST', '/api/batches/1/cancel'] as const
    for (const tag of ['*', 'x', '"a", "b"', 'W/"x"'])
      await api.refused(400, 'REQUEST_INVALID', ...cancel, {
        body: { reason: 'x' },
        headers: { 'if-match': tag },
      })
    await api.refused(400, 'REQUEST_INVALID', 'POST', path, {
      body: { yamlContent: plain() },
      headers: { 'idempotency-key': 'x'.repeat(129) },
    })
  })

  it('with a form is refused when it is malformed, repeats a field or has too many parts', async () => {
    const refused = async (status: number, code: string, content: string, boundary = 'b') => {
      const type = `multipart/form-data; boundary=${boundary}`
      await api.refused(status, code, 'POST', '/api/batches', {
        body: content,
        headers: { 'content-type': type },
      })
    }
    const part = (name: string) =>
      `--b\r\ncontent-disposition: form-data; name="${name}"\r\n\r\nx\r\n`
    await refused(400, 'REQUEST_UNREADABLE', 'no form at all')
    await refused(
      400,
      'REQUEST_UNREADABLE',
      `${part('runbookName')}${part('runbookName')}--b--\r\n`,
    )
    await refused(
      413,
      'BODY_TOO_LARGE',
      `${Array.from({ length: 10_000 }, (_, n) => part(`f${n}`)).join('')}--b--\r\n`,
    )
    const nasty = 'form-data; name="file"; filename="a\\r\\nset-cookie: x"'
    await refused(
      400,
      'REQUEST_INVALID',
      `--b\r\ncontent-disposition: ${nasty}\r\n\r\nUpn\r\n--b--\r\n`,
    )
  })

  it('that is not HTTP gets the standard error body, and the connection closes', async () => {
    const answer = await sendRaw(api.url, 'nonsense\r\n\r\n')
    assert.match(answer, /^HTTP\/1\.1 400 /)
    assert.match(answer, /"code":"REQUEST_UNREADABLE"/)
    const large = await sendRaw(
      api.url,
      `GET /api/health HTTP/1.1\r\nhost: localhost\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`,
    )
    assert.match(large, /^HTTP\/1\.1 431 .*"code":"HEADERS_TOO_LARGE"/s)
    const two = 'content-length: 3\r\ncontent-length: 5\r\n'
    assert.match(
      await sendRaw(api.url, `POST ${path} HTTP/1.1\r\nhost: localhost\r\n${two}\r\nabc`),
      /^HTTP\/1\.1 400 /,
    )
    const both = 'content-length: 3\r\ntransfer-encoding: chunked\r\n'
    assert.match(
      await sendRaw(api.url, `POST ${path} HTTP/1.1\r\nhost: localhost\r\n${both}\r\nabc`),
      /^HTTP\/1\.1 400 /,
    )
  })

  it('that announces a gigabyte is refused before its body arrives', async () => {
    const head = `POST ${path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${api.token}\r\nconnection: close\r\n`
    const answer = await sendRaw(
      api.url,
      `${head}content-type: application/json\r\ncontent-length: 1000000000\r\n\r\n{`,
    )
    assert.match(answer, /^HTTP\/1\.1 413 /)
  })

  it('whose body trickles in is cut off after 30 seconds', async () => {
    const head = `POST ${path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${api.token}\r\n`
    const cut = sendRaw(
      api.url,
      `${head}content-type: application/json\r\ncontent-length: 50\r\n\r\n{`,
    )
    // However slowly the request arrives, the limit counts from its start.
    while (!(await isDone(cut))) await api.world.clock.advance(1_000)
    assert.equal(await cut, '')
  })

  it('that is aborted halfway frees its slot', async () => {
    await api.world.publish(plain('given-up'))
    const head = `POST /api/batches HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${api.token}\r\n`
    const form =
      'content-type: multipart/form-data; boundary=b\r\ncontent-length: 1000\r\n\r\n--b\r\n'
    const ended = () => api.lines.filter((line) => line.includes('"status":499')).length
    for (let n = 1; n <= 3; n++) {
      const { hostname, port } = new URL(api.url)
      const socket = connect({ host: hostname, port: Number(port) })
      socket.write(head + form)
      await api.call('GET', '/api/health')
      socket.destroy()
      while (ended() < n) await new Promise((resolve) => setImmediate(resolve))
    }
    const good = { form: formOf(plainCsv('after@x.example'), { runbookName: 'given-up' }) }
    assert.equal((await api.call('POST', '/api/batches', good)).status, 201)
  })

  it('with a forged cursor is refused, whatever it contains', async () => {
    const made = (...content: unknown[]) =>
      Buffer.from(JSON.stringify(content)).toString('base64url')
    const refused = (path: string, cursor: string) =>
      api.refused(400, 'CURSOR_INVALID', 'GET', `${path}cursor=${cursor}`)
    for (const value of ['no time', '2026-13-01T00:00:00Z', '', '99999-01-01T00:00:00Z'])
      await refused('/api/batches?sort=start&', made('start', value, 1))
    await refused('/api/batches?', made('newest', null, -1))
    await refused('/api/batches?', made('newest', null, 1.5))
    await refused('/api/batches?', made('newest', null, '1'))
    await refused('/api/runbooks?', made('name', 'a\u0000', 1))
    const far = made('version', null, Number.MAX_SAFE_INTEGER)
    const { status } = await api.call('GET', `/api/runbooks/given-up/versions?cursor=${far}`)
    assert.equal(status, 200)
  })

  it('is logged without addresses, keys or names', async () => {
    await api.world.publish(plain('logged'))
    const form = formOf(plainCsv('secret.person@contoso.example'), { runbookName: 'logged' })
    const { body } = await api.call<{ batchId: number }>('POST', '/api/batches', { form })
    await api.call('GET', `/api/batches/${body.batchId}/members?key=secret.person@contoso`)
    const log = api.lines.join('')
    assert.doesNotMatch(log, /secret\.person/)
    assert.doesNotMatch(log, new RegExp(api.token))
    assert.match(log, /"route":"\/api\/batches\/\{batchId\}\/members","status":200/)
  })
})

const isDone = (promise: Promise<unknown>): Promise<boolean> =>
  Promise.race([
    promise.then(() => true),
    new Promise<boolean>((resolve) => setImmediate(resolve, false)),
  ])

it('limits each caller per minute, reads and changes separately', async () => {
  const api = await openApiUnderTest({ config: { apiReadsPerMin: 3 } })
  try {
    for (let n = 0; n < 3; n++) assert.equal((await api.call('GET', '/api/me')).status, 200)
    const { headers, body } = await api.refused(429, 'RATE_LIMITED', 'GET', '/api/me')
    assert.equal(headers.get('retry-after'), '20')
    assert.match(body.detail, /more than 3 requests in a minute/)
    const cancel = { body: { reason: 'x' } }
    await api.refused(404, 'BATCH_NOT_FOUND', 'POST', '/api/batches/9/cancel', cancel)
    await api.refused(429, 'RATE_LIMITED', 'POST', '/api/batches/9/cancel', cancel)
    await api.world.clock.advance(20_000)
    assert.equal((await api.call('GET', '/api/me')).status, 200)
    await api.refused(429, 'RATE_LIMITED', 'GET', '/api/me')
  } finally {
    await api.close()
  }
})

it('a stopping server finishes requests under way and accepts no new ones', async () => {
  const asked = Promise.withResolvers<void>()
  const found = Promise.withResolvers<never>()
  const preview = () => {
    asked.resolve()
    return found.promise
  }
  const api = await openApiUnderTest({ options: { preview } })
  await api.world.publish(plain())
  const running = api.call('POST', '/api/runbooks/plain/query/preview')
  await asked.promise
  const stopped = api.api.stop()
  found.reject(Object.assign(new Error('the connection is gone'), { code: 'ECONNRESET' }))
  const { status, body } = await running
  assert.deepEqual([status, body.code], [503, 'TRY_AGAIN'])
  await stopped
  await assert.rejects(fetch(`${api.url}/api/health`))
  await api.world.close()
})

it('a request that takes long to answer is not cut off', async () => {
  const asked = Promise.withResolvers<void>()
  const answered = Promise.withResolvers<never>()
  const preview = () => {
    asked.resolve()
    return answered.promise
  }
  const api = await openApiUnderTest({ options: { preview } })
  try {
    await api.world.publish(plain())
    const running = api.call('POST', '/api/runbooks/plain/query/preview')
    await asked.promise
    await api.world.clock.advance(120_000)
    answered.reject(new MatoolkitError('SOURCE_TIMED_OUT', { source: 'csv source', seconds: 120 }))
    assert.equal((await running).body.code, 'SOURCE_TIMED_OUT')
  } finally {
    await api.close()
  }
})

it('a port in use is reported with what to do', async () => {
  const first = await openApiUnderTest()
  try {
    const apiPort = Number(new URL(first.url).port)
    await assert.rejects(
      openApiUnderTest({ config: { apiPort } }),
      /cannot listen on 127\.0\.0\.1, port \d+: .*EADDRINUSE/,
    )
  } finally {
    await first.close()
  }
})

it('an idle connection does not keep the server from stopping', async () => {
  const api = await openApiUnderTest()
  const { hostname, port } = new URL(api.url)
  const socket = connect({ host: hostname, port: Number(port) })
  await new Promise<void>((resolve) => socket.once('connect', resolve))
  const ended = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  socket.on('error', () => {})
  await api.close()
  await ended
})

describe('a refused request', () => {
  let api: ApiUnderTest
  before(async () => {
    api = await openApiUnderTest()
  })
  after(() => api.close())

  /** The request, and what a person reads. */
  const CASES: readonly (readonly [
    method: string,
    path: string,
    body: Json | null,
    says: string,
  ])[] = [
    [
      'GET',
      '/api/batches?status=activ',
      null,
      'Invalid status "activ". Did you mean "active"? Allowed: detected, init_dispatched, active, completed, failed, cancelled.',
    ],
    [
      'GET',
      '/api/batches?status=failed,foo',
      null,
      'Invalid status "foo". Allowed: detected, init_dispatched, active, completed, failed, cancelled.',
    ],
    [
      'GET',
      '/api/batches?limit=0',
      null,
      'Invalid limit "0". It must be a whole number from 1 to 500.',
    ],
    ['GET', '/api/batches?limit=501', null, 'Invalid limit "501". It must be at most 500.'],
    ['GET', '/api/batches?limt=5', null, 'Unknown parameter "limt". Did you mean "limit"?'],
    ['GET', '/api/batches/x', null, 'Invalid batchId "x". It must be a whole number above 0.'],
    ['POST', '/api/runbooks', {}, 'The key "yamlContent" is missing.'],
    [
      'POST',
      '/api/runbooks',
      { yamlContent: 1, force: 'yes' },
      'Invalid yamlContent 1. It must be: expected string, received number. Correct it and 1 more and try again.',
    ],
  ]
  for (const [method, path, body, says] of CASES) {
    it(`${method} ${path} ${body === null ? '' : JSON.stringify(body)} says what is wrong`, async () => {
      const answer = await api.refused(400, 'REQUEST_INVALID', method, path, {
        ...(body !== null && { body }),
      })
      const end = says.endsWith('try again.') ? '' : ' Correct it and try again.'
      assert.equal(answer.body.detail, says + end)
    })
  }
})
