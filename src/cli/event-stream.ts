// Events as they happen, from the API's stream: each one once and in order, also over connections that break. One request for as
// long as it lasts, so that whoever watches for hours leaves one line in the audit and not thousands.
import type { Clock } from '../clock.ts'
import type { AdminApiClient, Query } from './client.ts'

const COME_BACK_MS = 2_000

export interface EventStreamOptions {
  readonly client: AdminApiClient
  readonly clock: Clock
  readonly query: Query
  /** The last event that is known. */
  readonly after: number
  readonly signal: AbortSignal
}

/** Calls `heard` with every event until `signal` aborts. What breaks is taken up again; nothing is ever thrown. */
export async function followEvents<Event extends { readonly id: number }>(
  { client, clock, query, after, signal }: EventStreamOptions,
  heard: (event: Event) => void,
): Promise<void> {
  let last = after
  while (!signal.aborted) {
    try {
      const position = last > 0 ? { after: last } : {}
      for await (const data of framesOf(
        await client.stream('/api/events', { ...query, ...position }, signal),
      )) {
        const event = JSON.parse(data) as Event
        last = event.id
        heard(event)
      }
    } catch {
      // The server was stopped, or the connection cut: whoever draws shows that, and we come back.
    }
    await clock.wait(COME_BACK_MS, signal)
  }
}

/** The data of each message that has an id: heartbeats and farewells have none. */
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
