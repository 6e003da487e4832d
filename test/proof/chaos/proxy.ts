// A TCP proxy on loopback that fails on command, as networks do: it resets, goes silent, cuts in the middle of a frame, or lets
// bytes trickle. The programs under test do not know of it.
import { createServer, type Server, Socket } from 'node:net'
import { type Clock, realClock } from '../../../src/base/run/clock.ts'

/**
 * pass: everything. reset: open and new connections are reset. stall: open connections go silent in both directions without
 * closing (half-open), new ones are accepted and stay silent. cut: half of the next piece passes, then the connection closes.
 * trickle: a few bytes at a time.
 */
export const MODES = ['pass', 'reset', 'stall', 'cut', 'trickle'] as const
export type Mode = (typeof MODES)[number]

export interface TcpProxy {
  readonly port: number
  /** Open connections that are not silenced. */
  open(): number
  become(mode: Mode): void
  /** New connections go there: an address that a standby has taken over. */
  leadTo(port: number): void
  /** Resets the open connections; new ones are as the mode says. */
  dropOpen(): void
  close(): Promise<void>
}

interface Pair {
  readonly client: Socket
  readonly server: Socket
  isSilent: boolean
}

const TRICKLE_BYTES = 48
const TRICKLE_EVERY_MS = 1

export async function startProxy(toPort: number, clock: Clock = realClock()): Promise<TcpProxy> {
  let mode: Mode = 'pass'
  let port = toPort
  const pairs = new Set<Pair>()
  const listener = createServer((client) => {
    if (mode === 'reset') return void client.resetAndDestroy()
    const server = new Socket()
    const pair: Pair = { client, server, isSilent: mode === 'stall' }
    pairs.add(pair)
    if (mode !== 'stall') server.connect(port, '127.0.0.1')
    forward(pair, client, server, () => mode, clock)
    forward(pair, server, client, () => mode, clock)
    client.on('close', () => pairs.delete(pair))
  })
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  return {
    port: (listener.address() as { port: number }).port,
    open: () => [...pairs].filter(({ isSilent }) => !isSilent).length,
    become: (next) => {
      mode = next
      for (const pair of pairs) enter(pair, next)
    },
    leadTo: (next) => {
      port = next
    },
    dropOpen: () => {
      for (const pair of pairs) enter(pair, 'reset')
    },
    close: () => closeAll(listener, pairs),
  }
}

/** The effect of a change of mode on an open connection. */
function enter(pair: Pair, mode: Mode): void {
  if (mode === 'stall') pair.isSilent = true
  if (mode === 'reset') {
    pair.client.resetAndDestroy()
    pair.server.resetAndDestroy()
  }
}

function forward(pair: Pair, from: Socket, to: Socket, mode: () => Mode, clock: Clock): void {
  from.setNoDelay(true)
  from.on('error', () => {})
  from.on('data', (piece: Buffer) => {
    if (pair.isSilent) return
    if (mode() === 'cut') {
      // A piece of one byte is dropped entirely.
      to.write(piece.subarray(0, Math.floor(piece.length / 2)), () => close(pair))
    } else if (mode() === 'trickle') {
      from.pause()
      void drip(piece, to, mode, clock).then(() => from.resume())
    } else if (!to.write(piece)) {
      from.pause()
      to.once('drain', () => from.resume())
    }
  })
  // A silent connection does not even report that the other side has gone.
  from.on('close', () => {
    if (!pair.isSilent) to.destroy()
  })
}

async function drip(piece: Buffer, to: Socket, mode: () => Mode, clock: Clock): Promise<void> {
  let at = 0
  for (; at < piece.length && mode() === 'trickle'; at += TRICKLE_BYTES) {
    to.write(piece.subarray(at, at + TRICKLE_BYTES))
    await clock.wait(TRICKLE_EVERY_MS)
  }
  if (at < piece.length) to.write(piece.subarray(at))
}

function close({ client, server }: Pair): void {
  client.destroy()
  server.destroy()
}

async function closeAll(listener: Server, pairs: ReadonlySet<Pair>): Promise<void> {
  for (const pair of pairs) close(pair)
  await new Promise<void>((resolve) => listener.close(() => resolve()))
}
