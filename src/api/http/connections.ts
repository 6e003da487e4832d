// The connections to an HTTP server, and which of them end when there are too many: those of callers who never signed in, idle ones
// first, the oldest first. So nobody is kept out by idle connections, half of the places are for the signed-in, and no caller has
// most of them.
import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

export interface ConnectionLimits {
  readonly all: number
  /** Without a sign-in. */
  readonly anonymous: number
  /** Without a sign-in, from one address. */
  readonly anonymousPerAddress: number
  /** Of one signed-in caller. */
  readonly perCaller: number
}

export const CONNECTION_LIMITS: ConnectionLimits = {
  all: 1_000,
  anonymous: 500,
  anonymousPerAddress: 100,
  perCaller: 200,
}

interface Connection {
  /** Of the socket: a header that names another address can be forged. */
  readonly address: string
  requests: number
  /** Who signed in on it last; null before. */
  caller: string | null
}

type IsFit = (connection: Connection) => boolean

const isAnonymous: IsFit = ({ caller }) => caller === null

export class Connections {
  readonly #limits: ConnectionLimits
  /** Oldest first. */
  readonly #open = new Map<Socket, Connection>()
  /** How many there are by address, of anonymous callers, and by caller. */
  readonly #from = new Map<string, number>()
  readonly #of = new Map<string, number>()
  #anonymous = 0

  constructor(limits: ConnectionLimits = CONNECTION_LIMITS) {
    this.#limits = limits
  }

  get count(): number {
    return this.#open.size
  }

  watch(server: Server): void {
    // Node's own limit refuses the newest: the first callers would keep all others out. Twice ours is never reached.
    server.maxConnections = this.#limits.all * 2
    server.on('connection', (socket) => this.#admit(socket))
    server.on('request', ({ socket }, response) => this.#begin(socket, response))
  }

  /** The caller on this connection is known. With too many of theirs another one ends, even with a request: it may never be read. */
  markSignedIn(socket: Socket, caller: string): void {
    const connection = this.#open.get(socket)
    if (!connection || connection.caller === caller) return
    this.#count(connection, -1)
    connection.caller = caller
    this.#count(connection, 1)
    if (this.#of.get(caller)! <= this.#limits.perCaller) return
    this.#endOne((one) => one.caller === caller && one !== connection)
  }

  #admit(socket: Socket): void {
    const address = socket.remoteAddress ?? ''
    if (!this.#makeRoomFor(address)) return void socket.destroy()
    const connection = { address, requests: 0, caller: null }
    this.#open.set(socket, connection)
    this.#count(connection, 1)
    socket.once('close', () => this.#forget(socket))
  }

  /** False when only signed-in callers with a request are left to end. */
  #makeRoomFor(address: string): boolean {
    const { all, anonymous, anonymousPerAddress } = this.#limits
    if ((this.#from.get(address) ?? 0) >= anonymousPerAddress) {
      return this.#endOne((one) => isAnonymous(one) && one.address === address)
    }
    if (this.#anonymous >= anonymous) return this.#endOne(isAnonymous)
    if (this.#open.size < all) return true
    return this.#endOne(isAnonymous) || this.#endIdle(() => true)
  }

  #endOne(isFit: IsFit): boolean {
    return this.#endIdle(isFit) || this.#endFirst(isFit)
  }

  #endIdle(isFit: IsFit): boolean {
    return this.#endFirst((one) => one.requests === 0 && isFit(one))
  }

  #endFirst(isFit: IsFit): boolean {
    for (const [socket, connection] of this.#open) {
      if (!isFit(connection)) continue
      // At once: its close event comes later, and the next caller may be here before.
      this.#forget(socket)
      socket.destroy()
      return true
    }
    return false
  }

  #begin(socket: Socket, response: ServerResponse): void {
    const connection = this.#open.get(socket)
    if (!connection) return
    connection.requests += 1
    response.once('close', () => {
      connection.requests -= 1
    })
  }

  #forget(socket: Socket): void {
    const connection = this.#open.get(socket)
    if (!connection) return
    this.#open.delete(socket)
    this.#count(connection, -1)
  }

  #count({ address, caller }: Connection, change: 1 | -1): void {
    if (caller === null) this.#anonymous += change
    const [counts, key] = caller === null ? [this.#from, address] : [this.#of, caller]
    const count = (counts.get(key) ?? 0) + change
    if (count === 0) counts.delete(key)
    else counts.set(key, count)
  }
}
