// A scripted HTTP service on loopback, and a clock that advances only when everyone waits for it.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { type Clock, virtualClock } from '../../src/base/run/clock.ts'
import type { Json } from '../../src/base/text/json.ts'
import type { ThrottleState } from '../../src/worker/http/throttle.ts'

export const START = new Date('2026-03-01T10:00:00.000Z')

export interface Seen {
  /** Seconds of the test clock since START. */
  readonly atSec: number
  readonly method: string
  readonly path: string
  readonly headers: IncomingMessage['headers']
  readonly body: Json
}

export type Reply =
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: Json }
  /** Reads the request, then cuts the connection. */
  | 'cut'
  /** Never responds. */
  | 'silence'

export interface Service {
  readonly url: string
  readonly seen: Seen[]
  close(): Promise<void>
}

/** `reply` receives the request and the number of earlier ones. */
export async function startService(
  clock: Clock,
  reply: (seen: Seen, index: number) => Reply | Promise<Reply>,
): Promise<Service> {
  const seen: Seen[] = []
  const server = createServer(async (request, response) => {
    const body = await text(request)
    const one: Seen = {
      atSec: (+clock.now() - +START) / 1_000,
      method: request.method ?? '',
      path: request.url ?? '',
      headers: request.headers,
      body: body === '' ? null : (JSON.parse(body) as Json),
    }
    seen.push(one)
    send(response, await reply(one, seen.length - 1))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as { port: number }).port}`,
    seen,
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function send(response: ServerResponse, reply: Reply): void {
  if (reply === 'silence') return
  if (reply === 'cut') return void response.destroy()
  response.writeHead(reply.status, { 'content-type': 'application/json', ...reply.headers })
  response.end(reply.body === undefined ? '' : JSON.stringify(reply.body))
}

export interface DrivenClock extends Clock {
  /** Runs to the end: the clock advances whenever everyone is waiting for it. */
  drive<T>(
    running: readonly Promise<T>[],
    /** Quotas where some of them may wait. */
    throttles?: () => readonly ThrottleState[],
  ): Promise<PromiseSettledResult<T>[]>
}

const oneTurn = () => new Promise<void>((resolve) => setImmediate(resolve))

/** Those that wait at a closed gate share one timer, which counts as one that waits for the clock. */
const queuedIn = (states: readonly ThrottleState[]): number =>
  states.reduce(
    (sum, { queued, closedUntil }) => sum + queued - (queued > 0 && closedUntil !== null ? 1 : 0),
    0,
  )

export function drivenClock(): DrivenClock {
  const clock = virtualClock(START)
  let waiting = 0
  return {
    kind: 'virtual',
    now: clock.now,
    wait: async (ms, signal) => {
      waiting += 1
      await clock.wait(ms, signal)
      waiting -= 1
    },
    drive: async (running, throttles = () => []) => {
      let ended = 0
      const all = Promise.allSettled(running.map((one) => one.finally(() => ended++)))
      while (ended < running.length) {
        const next =
          waiting + ended + queuedIn(throttles()) >= running.length ? clock.nextWakeAt() : null
        if (next) await clock.advance(+next - +clock.now())
        await oneTurn()
      }
      return all
    },
  }
}

export const GRAPH_BUSY: Json = {
  error: { code: 'TooManyRequests', message: 'Please retry again later.' },
}
