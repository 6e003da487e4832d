// A fake server with enough TDS 7.4 for the real driver: prelogin with or without TLS, LOGIN7 with a password or token, SQL
// batches, attention. Tests choose its responses.
import { createServer, type Server, type Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { TLSSocket } from 'node:tls'
import type { Certificate } from './certificate.ts'
import {
  columnsToken,
  DONE,
  doneToken,
  errorToken,
  type Login,
  loginTokens,
  readLogin,
  rowToken,
  type TdsError,
  type TdsTestColumn,
} from './tds-bytes.ts'

export interface TdsAnswer {
  readonly columns: readonly TdsTestColumn[]
  readonly rows: Iterable<readonly unknown[]>
  /** What happens after the rows; default: a proper end. */
  readonly next?: 'drop' | 'hang' | 'stop_short' | TdsError | TdsAnswer
}

export interface TdsOptions {
  readonly certificate?: Certificate
  /** Redirects every sign-in to this port. */
  readonly goToPort?: number
  /** Refuses the sign-in with this error. */
  signIn(login: Login): TdsError | null
  /** `silent`: sends not even columns. */
  answer(sql: string): TdsAnswer | TdsError | 'silent'
}

export interface TdsServer {
  readonly port: number
  readonly logins: Login[]
  /** Number of cancel requests. */
  attentions: number
  rowsSent: number
  /** Number of queries that hang by script. */
  hanging: number
  close(): Promise<void>
}

const [SQL_BATCH, RESULT, ATTENTION, LOGIN7, PRELOGIN] = [0x01, 0x04, 0x06, 0x10, 0x12]
const PACKET_BYTES = 16_384

export async function startTdsServer(options: TdsOptions): Promise<TdsServer> {
  const sockets = new Set<Socket>()
  const state: TdsServer = {
    port: 0,
    logins: [],
    attentions: 0,
    rowsSent: 0,
    hanging: 0,
    close: () => closeAll(server, sockets),
  }
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    new TdsSession(socket, options, state).start()
  })
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve))
  return Object.assign(state, { port: (server.address() as { port: number }).port })
}

async function closeAll(server: Server, sockets: Set<Socket>): Promise<void> {
  for (const socket of sockets) socket.destroy()
  await new Promise((resolve) => server.close(resolve))
}

class TdsSession {
  readonly #socket: Socket
  readonly #options: TdsOptions
  readonly #state: TdsServer
  /** Where messages go: the socket, or TLS inside it. */
  #line: Duplex
  #input = Buffer.alloc(0)
  #message: Buffer[] = []
  #isCancelled = false
  #answering: Promise<void> = Promise.resolve()

  constructor(socket: Socket, options: TdsOptions, state: TdsServer) {
    this.#socket = socket
    this.#line = socket
    this.#options = options
    this.#state = state
  }

  start(): void {
    this.#socket.on('data', this.#onData)
  }

  readonly #onData = (data: Buffer) => {
    this.#input = Buffer.concat([this.#input, data])
    while (this.#input.length >= 8) {
      const length = this.#input.readUInt16BE(2)
      if (this.#input.length < length) return
      const [type, status] = [this.#input[0]!, this.#input[1]!]
      this.#message.push(this.#input.subarray(8, length))
      this.#input = this.#input.subarray(length)
      if ((status & 1) === 0) continue
      const body = Buffer.concat(this.#message)
      this.#message = []
      this.#take(type, body)
    }
  }

  #take(type: number, body: Buffer): void {
    if (type === PRELOGIN) this.#prelogin()
    else if (type === LOGIN7) this.#login(readLogin(body))
    else if (type === ATTENTION) this.#cancel()
    else if (type === SQL_BATCH) {
      // ALL_HEADERS come first, with their length.
      const sql = body.subarray(body.readUInt32LE(0)).toString('ucs2')
      this.#answering = this.#answer(sql).catch(() => {})
    }
  }

  #prelogin(): void {
    const withTls = this.#options.certificate !== undefined
    const [ON, NOT_SUPPORTED] = [1, 2]
    const table = Buffer.from([
      0,
      0,
      11,
      0,
      6,
      1,
      0,
      17,
      0,
      1,
      0xff,
      12,
      0,
      7,
      208,
      0,
      0,
      withTls ? ON : NOT_SUPPORTED,
    ])
    this.#send(table, true)
    if (!withTls) return
    this.#socket.off('data', this.#onData)
    const tls = new TLSSocket(handshakeLine(this.#socket), {
      isServer: true,
      ...this.#options.certificate,
      maxVersion: 'TLSv1.2',
    })
    tls.on('error', () => {})
    tls.on('data', this.#onData)
    this.#line = tls
  }

  #login(login: Login): void {
    this.#state.logins.push(login)
    const refusal = this.#options.signIn(login)
    if (refusal) this.#send(Buffer.concat([errorToken(refusal), doneToken(DONE.error)]), true)
    else this.#send(loginTokens(login.token !== null, this.#options.goToPort), true)
  }

  #cancel(): void {
    this.#state.attentions += 1
    this.#isCancelled = true
    // Ends the running response first, then responds to the attention.
    void this.#answering.then(() => {
      this.#isCancelled = false
      this.#send(doneToken(DONE.attention), true)
    })
    this.#wakeHanging()
  }

  #wakeHanging: () => void = () => {}

  async #answer(sql: string): Promise<void> {
    // Sent by the driver after sign-in.
    if (/^set \w+/.test(sql)) return this.#send(doneToken(0), true)
    let answer = this.#options.answer(sql)
    for (;;) {
      if (answer === 'silent') return this.#hang()
      if ('number' in answer)
        return this.#send(Buffer.concat([errorToken(answer), doneToken(DONE.error)]), true)
      await this.#sendRows(answer)
      if (this.#isCancelled) return this.#send(doneToken(DONE.error), true)
      const { next }: TdsAnswer = answer
      if (next === 'drop') return void this.#socket.destroy()
      if (next === 'stop_short') return this.#send(Buffer.alloc(0), true)
      if (next === 'hang') return this.#hang()
      if (next === undefined) return this.#send(doneToken(DONE.final, 1), true)
      if ('columns' in next) this.#send(doneToken(DONE.final | DONE.more), false)
      answer = next
    }
  }

  async #hang(): Promise<void> {
    this.#state.hanging += 1
    await new Promise<void>((resolve) => {
      this.#wakeHanging = resolve
    })
    this.#state.hanging -= 1
    this.#send(doneToken(DONE.error), true)
  }

  async #sendRows({ columns, rows }: TdsAnswer): Promise<void> {
    let waiting: Buffer[] = [columnsToken(columns)]
    let bytes = 0
    const flush = async () => {
      this.#send(Buffer.concat(waiting), false)
      ;[waiting, bytes] = [[], 0]
      while (this.#line.writableNeedDrain && !this.#isCancelled && !this.#socket.destroyed)
        await new Promise((resolve) => setImmediate(resolve))
    }
    for (const row of rows) {
      if (this.#isCancelled || this.#socket.destroyed) break
      const token = rowToken(row, columns)
      waiting.push(token)
      bytes += token.length
      this.#state.rowsSent += 1
      if (bytes >= PACKET_BYTES) await flush()
    }
    await flush()
  }

  /** One or more packets; the last one ends the message when `isEnd`. */
  #send(body: Buffer, isEnd: boolean): void {
    for (let from = 0; from === 0 || from < body.length; from += PACKET_BYTES) {
      const part = body.subarray(from, from + PACKET_BYTES)
      const isLast = isEnd && from + PACKET_BYTES >= body.length
      if (part.length > 0 || isLast) this.#line.write(packet(RESULT, part, isLast))
    }
  }
}

function packet(type: number, body: Buffer, isLast: boolean): Buffer {
  const header = Buffer.from([type, isLast ? 1 : 0, 0, 0, 0, 0, 1, 0])
  header.writeUInt16BE(8 + body.length, 2)
  return Buffer.concat([header, body])
}

/**
 * The socket as server-side TLS sees it: during the handshake every client message is wrapped in a PRELOGIN packet and gets
 * exactly one in return; afterwards TLS bytes pass unchanged.
 */
function handshakeLine(socket: Socket): Duplex {
  let unanswered = 0
  let input = Buffer.alloc(0)
  const line = new Duplex({
    read: () => {},
    writev: (chunks, done) => {
      const bytes = Buffer.concat(chunks.map(({ chunk }) => chunk as Buffer))
      const isHandshake = unanswered > 0
      if (isHandshake) unanswered -= 1
      socket.write(isHandshake ? packet(PRELOGIN, bytes, true) : bytes, done)
    },
    destroy: (error, done) => {
      socket.destroy()
      done(error)
    },
  })
  socket.on('data', (data) => {
    input = Buffer.concat([input, data])
    while (input.length > 0) {
      const isWrapped = input[0] === PRELOGIN
      if (isWrapped && (input.length < 8 || input.length < input.readUInt16BE(2))) return
      const length = isWrapped ? input.readUInt16BE(2) : input.length
      if (isWrapped && (input[1]! & 1) === 1) unanswered += 1
      line.push(input.subarray(isWrapped ? 8 : 0, length))
      input = input.subarray(length)
    }
  })
  socket.on('close', () => line.destroy())
  return line
}
