// The connections to the API, and which of them end when there are too many: those of callers who never signed in, idle ones first,
// the oldest first. So nobody is kept out by idle connections, and half of the places are for the signed-in.
import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

export interface ConnectionLimits {
  readonly all: number
  /** Without a sign-in. */
  readonly anonymous: number
  /** Without a sign-in, from one address. */
  readonly anonymousPerAddress: number
}

export const CONNECTION_LIMITS: ConnectionLimits = {
  all: 1_000,
  anonymous: 500,
  anonymousPerAddress: 100,
}

interface Connection {
  /** Of the socket: a header that names another address can be forged. */
  readonly address: string
  requests: number
  isSignedIn: boolean
}

type IsFit = (connection: Connection) => boolean

export class Connections {
  readonly #limits: ConnectionLimits
  /** Oldest first. */
  readonly #open = new Map<Socket, Connection>()
  readonly #anonymousFrom = new Map<string, number>()
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

  /** The caller on this connection is known. */
  markSignedIn(socket: Socket): void {
    const connection = this.#open.get(socket)
    if (!connection || connection.isSignedIn) return
    connection.isSignedIn = true
    this.#countAnonymous(connection, -1)
  }

  #admit(socket: Socket): void {
    const address = socket.remoteAddress ?? ''
    if (!this.#makeRoomFor(address)) return void socket.destroy()
    const connection = { address, requests: 0, isSignedIn: false }
    this.#open.set(socket, connection)
    this.#countAnonymous(connection, 1)
    socket.once('close', () => this.#forget(socket))
  }

  /** False when only signed-in callers with a request are left to end. */
  #makeRoomFor(address: string): boolean {
    const { all, anonymous, anonymousPerAddress } = this.#limits
    if ((this.#anonymousFrom.get(address) ?? 0) >= anonymousPerAddress) {
      return this.#endOne((one) => !one.isSignedIn && one.address === address)
    }
    if (this.#anonymous >= anonymous) return this.#endOne((one) => !one.isSignedIn)
    if (this.#open.size < all) return true
    return this.#endOne((one) => !one.isSignedIn) || this.#endIdle(() => true)
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
    if (!connection.isSignedIn) this.#countAnonymous(connection, -1)
  }

  #countAnonymous({ address }: Connection, change: 1 | -1): void {
    this.#anonymous += change
    const from = (this.#anonymousFrom.get(address) ?? 0) + change
    if (from === 0) this.#anonymousFrom.delete(address)
    else this.#anonymousFrom.set(address, from)
  }
}
