// A proxy from the environment: calls of functions go through it, and this machine is never asked through it.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { proxyFromEnvironment } from '../../../src/base/run/proxy.ts'
import type { ConnectionLost, sendHttp as Send } from '../../../src/worker/http/http.ts'

describe('a proxy from the environment', () => {
  const asked: string[] = []
  const proxy = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`)
    response.end('through the proxy')
  }).on('connect', (request, socket) => {
    asked.push(`CONNECT ${request.url}`)
    socket.end('HTTP/1.1 403 Forbidden\r\n\r\n')
  })
  let send: typeof Send
  before(async () => {
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`
    Object.assign(process.env, { HTTP_PROXY: url, https_proxy: url, NO_PROXY: 'direct.example' })
    // Its agents are made once, when it is loaded: a copy of its own for this test.
    const fresh = '../../../src/worker/http/http.ts?with-proxy'
    send = ((await import(fresh)) as { sendHttp: typeof Send }).sendHttp
  })
  after(() => {
    for (const name of ['HTTP_PROXY', 'https_proxy', 'NO_PROXY']) delete process.env[name]
    proxy.closeAllConnections()
    proxy.close()
  })
  const get = (url: string, isOnNewConnection = false) =>
    send({
      method: 'GET',
      url,
      headers: {},
      body: null,
      isOnNewConnection,
      signal: new AbortController().signal,
    })

  it('gets plain calls whole and opens tunnels for https', async () => {
    for (const isNew of [false, true])
      assert.equal((await get('http://graph.example/users', isNew)).text, 'through the proxy')
    await assert.rejects(get('https://graph.example/users'), (lost: ConnectionLost) => {
      assert.equal(lost.wasSent, false)
      return true
    })
    assert.deepEqual(asked, [
      'GET http://graph.example/users',
      'GET http://graph.example/users',
      'CONNECT graph.example:443',
    ])
  })

  it('is not used for this machine', async () => {
    const own = createServer((_, response) => void response.end('direct'))
    await new Promise<void>((resolve) => own.listen(0, '127.0.0.1', resolve))
    asked.length = 0
    const url = `http://127.0.0.1:${(own.address() as AddressInfo).port}/`
    assert.equal((await get(url)).text, 'direct')
    assert.deepEqual(asked, [])
    assert.match(proxyFromEnvironment()!.NO_PROXY!, /^direct\.example,localhost,127\.0\.0\.1/)
    own.closeAllConnections()
    own.close()
  })
})
