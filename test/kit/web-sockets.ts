// The port 443 of a Service Bus namespace for the tests: AMQP inside WebSocket frames inside TLS, handed on to the tests' broker; and a proxy
// that a client must ask by CONNECT to come there.
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { createServer as createHttpServer } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { type AddressInfo, connect, type Server } from 'node:net'
import type { Duplex } from 'node:stream'

/** What RFC 6455 adds to a client's key. */
const SUFFIX = '258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
const PATH = '/$servicebus/websocket'
const PROTOCOL = 'AMQPWSB10'
const TEXT = 1
const BINARY = 2
const CLOSE = 8

export interface OpenPort {
  readonly port: number
  close(): Promise<void>
}

async function listening(server: Server): Promise<OpenPort> {
  const sockets = new Set<Duplex>()
  server.on('connection', (socket: Duplex) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket)).on('error', () => {})
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    close: async () => {
      const closed = once(server, 'close')
      server.close()
      for (const socket of sockets) socket.destroy()
      await closed
    },
  }
}

/** Both ends live and die together. */
function join(one: Duplex, other: Duplex): void {
  for (const [from, to] of [
    [one, other],
    [other, one],
  ] as const)
    from.on('error', () => {}).on('close', () => to.destroy())
}

/** Speaks WebSocket as Azure does, and passes what is inside to a broker that speaks AMQP. */
export async function openWebSocketPort(
  tls: { readonly key: string; readonly cert: string },
  brokerPort: number,
): Promise<OpenPort> {
  const server = createHttpsServer(tls).on('upgrade', (request, socket: Duplex) => {
    const { 'sec-websocket-key': key, 'sec-websocket-protocol': protocol } = request.headers
    if (request.url !== PATH || protocol !== PROTOCOL) {
      socket.end('HTTP/1.1 404 Not Found\r\n\r\n')
      return
    }
    const accept = createHash('sha1').update(`${key}${SUFFIX}`).digest('base64')
    socket.write(
      `HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ${accept}\r\nSec-WebSocket-Protocol: ${PROTOCOL}\r\n\r\n`,
    )
    const amqp = connect({ host: '127.0.0.1', port: brokerPort, noDelay: true })
    join(socket, amqp)
    amqp.on('data', (bytes) => socket.write(Buffer.concat([headOf(bytes.length), bytes])))
    let rest: Buffer = Buffer.alloc(0)
    socket.on('data', (bytes: Buffer) => {
      rest = Buffer.concat([rest, bytes])
      for (let frame = frameOf(rest); frame; frame = frameOf(rest)) {
        rest = rest.subarray(frame.length)
        if (frame.kind === CLOSE) socket.destroy()
        else if (frame.kind <= BINARY && frame.kind !== TEXT) amqp.write(frame.payload)
      }
    })
  })
  return listening(server)
}

/** Of a whole binary frame; a server masks nothing. */
function headOf(length: number): Buffer {
  if (length < 126) return Buffer.from([0x80 | BINARY, length])
  if (length < 65_536) return Buffer.from([0x80 | BINARY, 126, length >> 8, length & 0xff])
  const head = Buffer.alloc(10)
  head.writeUInt16BE(((0x80 | BINARY) << 8) | 127)
  head.writeBigUInt64BE(BigInt(length), 2)
  return head
}

interface Frame {
  readonly kind: number
  readonly payload: Buffer
  /** With its head. */
  readonly length: number
}

/** The first frame of a client, if all of it has come. */
function frameOf(bytes: Buffer): Frame | null {
  if (bytes.length < 2) return null
  const short = bytes[1]! & 0x7f
  const wide = short === 126 ? 2 : short === 127 ? 8 : 0
  const start = 2 + wide + 4
  if (bytes.length < start) return null
  const size = wide === 0 ? short : bytes.readUIntBE(wide === 2 ? 2 : 4, wide === 2 ? 2 : 6)
  if (bytes.length < start + size) return null
  const mask = bytes.subarray(start - 4, start)
  const payload = Buffer.from(bytes.subarray(start, start + size))
  for (let at = 0; at < size; at += 1) payload[at]! ^= mask[at % 4]!
  return { kind: bytes[0]! & 0x0f, payload, length: start + size }
}

export interface TestProxy extends OpenPort {
  /** What clients asked for, such as `contoso.servicebus.test:443`. */
  readonly asked: string[]
  /** The answer to a client that may not pass, such as `407 Proxy Authentication Required`. */
  refusal: string | null
}

/** Whatever name a client asks for, it comes to the one port behind the proxy. */
export async function openProxy(behind: number): Promise<TestProxy> {
  const asked: string[] = []
  const server = createHttpServer().on('connect', (request, client) => {
    asked.push(request.url!)
    if (proxy.refusal !== null) {
      client.end(`HTTP/1.1 ${proxy.refusal}\r\n\r\n`)
      return
    }
    const target = connect({ host: '127.0.0.1', port: behind, noDelay: true })
    join(client, target)
    target.once('connect', () => {
      client.write('HTTP/1.1 200 Connection Established\r\n\r\n')
      client.pipe(target).pipe(client)
    })
  })
  const opened = await listening(server)
  const proxy: TestProxy = { ...opened, asked, refusal: null }
  return proxy
}
