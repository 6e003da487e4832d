// Live events from the API's stream: each event once and in order, across broken connections. One request for the whole time, so
// that hours of watching leave one audit entry instead of thousands.

import type { Answer, RequestOf } from '../../api/client/endpoints.ts'
import type { Clock } from '../../base/run/clock.ts'
import type { CommandClient } from './client.ts'

/** As `batch events` and the stream have it. */
export type LiveEvent = Answer<'GET /api/batches/{batchId}/events'>['events'][number]

const RECONNECT_MS = 2_000
const EVENT_STREAM = 'text/event-stream'

export interface EventStreamOptions {
  readonly client: CommandClient
  readonly clock: Clock
  readonly query: NonNullable<RequestOf<'GET /api/events'>['query']>
  /** The last known event. */
  readonly after: number
  readonly signal: AbortSignal
}

/** Calls `onEvent` with every event until `signal` aborts. Reconnects after errors; never throws. */
export async function followEvents(
  { client, clock, query, after, signal }: EventStreamOptions,
  onEvent: (event: LiveEvent) => void,
): Promise<void> {
  let last = after
  while (!signal.aborted) {
    try {
      const position = last > 0 ? { after: last } : {}
      const given = { query: { ...query, ...position } }
      const { body } = await client.raw('GET /api/events', given, { signal, accept: EVENT_STREAM })
      for await (const data of framesOf(body!)) {
        const event = JSON.parse(data) as LiveEvent
        last = event.id
        onEvent(event)
      }
    } catch {
      // The server stopped or the connection broke: reconnect. The caller's own requests report it.
    }
    await clock.wait(RECONNECT_MS, signal)
  }
}

/** The data of each message with an id; heartbeats and the closing message have none. */
async function* framesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  let rest = ''
  for await (const bytes of stream) {
    rest += decoder.decode(bytes, { stream: true })
    const frames = rest.split('\n\n')
    rest = frames.pop()!
    for (const frame of frames) {
      const lines = frame.split('\n')
      const data = lines.find((line) => line.startsWith('data: '))
      if (data && lines.some((line) => line.startsWith('id: '))) yield data.slice('data: '.length)
    }
  }
}
