// Too many connections: callers who never signed in lose theirs, the oldest idle one first, and signed-in callers are answered.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { after, afterEach, before, describe, it } from 'node:test'
import {
  CONNECTION_LIMITS,
  type ConnectionLimits,
  Connections,
} from '../../../src/api/http/connections.ts'
import { type ApiUnderTest, openApiUnderTest } from '../under-test.ts'

const LIMIT_MS = 20_000

function dial(port: number): Socket {
  const socket = connect({ host: '127.0.0.1', port })
  // A connection that is ended on purpose may say so with an error.
  socket.on('error', () => {})
  // Read what arrives, or the end would never be seen.
  socket.resume()
  return socket
}

describe('a server with more connections than it allows', { timeout: LIMIT_MS }, () => {
  const sockets: Socket[] = []
  let server: Server
  let connections: Connections

  async function open(limits: ConnectionLimits): Promise<void> {
    connections = new Connections(limits)
    // A path that ends in "hangs" is never answered; one that begins with "/known" or "/ada" is of somebody who signed in.
    server = createServer((request, response) => {
      const [, who] = /^\/(known|ada)/.exec(request.url!) ?? []
      if (who) connections.markSignedIn(request.socket, who)
      if (!request.url!.endsWith('hangs')) response.end('ok')
    })
    connections.watch(server)
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
  }
  afterEach(async () => {
    for (const socket of sockets.splice(0)) socket.destroy()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
    // The sockets tell of their end some turns after the server does.
    for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate)
    assert.equal(connections.count, 0, 'every connection that ended is forgotten')
  })

  /** A connection that the server has seen, and, with a path, has received or answered. */
  async function caller(path?: string): Promise<Socket> {
    const seen = once(server, 'connection')
    const socket = dial((server.address() as AddressInfo).port)
    sockets.push(socket)
    await seen
    if (path === undefined) return socket
    const [reached, answered] = [once(server, 'request'), once(socket, 'data')]
    socket.write(`GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`)
    await (path.endsWith('hangs') ? reached : answered)
    return socket
  }
  const isOpen = (socket: Socket) => !socket.closed && !socket.readableEnded
  const ended = async (socket: Socket) => {
    if (isOpen(socket)) await once(socket, 'close')
  }

  it('ends the oldest idle one of an address, and none with a request', async () => {
    await open({ all: 10, anonymous: 10, anonymousPerAddress: 3, perCaller: 9 })
    const known = await caller('/known')
    const busy = await caller('/hangs')
    const oldest = await caller('/')
    const silent = await caller()
    const newest = await caller('/')
    await ended(oldest)
    assert.deepEqual([known, busy, silent, newest].map(isOpen), [true, true, true, true])
    assert.equal(connections.count, 4)
  })

  it('keeps room for the signed-in: anonymous callers take turns in theirs', async () => {
    await open({ all: 4, anonymous: 2, anonymousPerAddress: 9, perCaller: 9 })
    const known = [await caller('/known'), await caller('/known/hangs')]
    const anonymous = [await caller(), await caller()]
    const third = await caller()
    await ended(anonymous[0]!)
    assert.deepEqual([...known, anonymous[1]!, third].map(isOpen), [true, true, true, true])
  })

  it('ends a busy anonymous one when all anonymous ones are busy', async () => {
    await open({ all: 3, anonymous: 2, anonymousPerAddress: 9, perCaller: 9 })
    const known = await caller('/known/hangs')
    const [first, second] = [await caller('/hangs'), await caller('/hangs')]
    const third = await caller('/known')
    await ended(first)
    assert.deepEqual([known, second, third].map(isOpen), [true, true, true])
  })

  it('leaves no caller most of the places: their own oldest ends, idle ones first, then those never read', async () => {
    await open({ all: 9, anonymous: 9, anonymousPerAddress: 9, perCaller: 2 })
    const other = await caller('/known/hangs')
    const [stuck, idle] = [await caller('/ada/hangs'), await caller('/ada')]
    const third = await caller('/ada/hangs')
    await ended(idle)
    assert.deepEqual([other, stuck, third].map(isOpen), [true, true, true])
    const fourth = await caller('/ada/hangs')
    await ended(stuck)
    assert.deepEqual([other, third, fourth].map(isOpen), [true, true, true])
  })

  it('ends an idle one of the signed-in when all are signed in, and refuses when all are busy', async () => {
    await open({ all: 3, anonymous: 3, anonymousPerAddress: 3, perCaller: 9 })
    const busy = [await caller('/known/hangs'), await caller('/known/hangs')]
    const idle = await caller('/known')
    const third = await caller('/known/hangs')
    await ended(idle)
    const refused = await caller()
    await ended(refused)
    assert.deepEqual([...busy, third].map(isOpen), [true, true, true])
  })
})

describe('1,000 idle connections to the API', { timeout: 60_000 }, () => {
  const sockets: Socket[] = []
  let api: ApiUnderTest
  before(async () => {
    api = await openApiUnderTest()
  })
  after(async () => {
    for (const socket of sockets) socket.destroy()
    await api.close()
  })

  it('keep nobody out', async () => {
    const port = Number(new URL(api.url).port)
    for (let at = 0; at < 1_000; at++) {
      const socket = dial(port)
      sockets.push(socket)
      await once(socket, 'connect')
    }
    const alone = { headers: { connection: 'close' } }
    for (let times = 0; times < 3; times++) {
      const { status } = await api.call('GET', '/api/batches', alone)
      assert.equal(status, 200)
    }
    const open = sockets.filter((socket) => !socket.closed && !socket.readableEnded)
    assert.ok(open.length <= CONNECTION_LIMITS.anonymousPerAddress, `${open.length} are open`)
  })

  it('do not end a stream of somebody who signed in', async () => {
    const headers = { authorization: `Bearer ${api.token}`, accept: 'text/event-stream' }
    const stream = await fetch(`${api.url}/api/events`, { headers })
    assert.equal(stream.status, 200)
    const reader = stream.body!.getReader()
    const port = Number(new URL(api.url).port)
    for (let at = 0; at < CONNECTION_LIMITS.anonymousPerAddress + 20; at++) {
      const socket = dial(port)
      sockets.push(socket)
      await once(socket, 'connect')
    }
    await api.call('GET', '/api/health')
    const ended = reader.closed.then(
      () => 'ended',
      () => 'cut',
    )
    const open = new Promise<string>((resolve) => setImmediate(() => resolve('open')))
    assert.equal(await Promise.race([ended, open]), 'open')
    await reader.cancel()
  })
})
