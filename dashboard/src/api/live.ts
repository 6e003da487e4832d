// What happens, as it happens: one stream for the page (two would quarrel over connections), read with fetch because EventSource sends
// no token. Screens name what they show; the stream is opened for that and nothing more.
import { EventSourceParserStream } from 'eventsource-parser/stream'
import { useEffect, useSyncExternalStore } from 'react'
import { client } from './call.ts'
import { queries } from './hooks.ts'
import type { Answer } from './routes.ts'

export type LiveEvent = Answer<'GET /api/batches/{batchId}/events'>['events'][number]
export interface Watched {
  readonly batchId?: number | undefined
  readonly memberId?: number | undefined
  readonly entity?: string | undefined
}
/** `paused`: the page is hidden or nobody watches. */
export type LiveState = 'paused' | 'connecting' | 'live' | 'broken'

const RECONNECT_MS = 2_000
/** Reads again at most this often: a busy batch has thousands of events a second. */
const REFRESH_MS = 1_000

let state: LiveState = 'paused'
const listeners = new Set<() => void>()
function setState(next: LiveState): void {
  if (next === state) return
  state = next
  for (const listener of listeners) listener()
}

export const useLiveState = (): LiveState =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    () => state,
  )

/**
 * Keeps what is shown up to date while the component is there. Only the topmost screen calls it. Null for people who may not listen
 * (the role HelpDesk): they read again at an interval.
 */
export function useLive(watched: Watched | null): void {
  const isOn = watched !== null
  const { batchId, memberId, entity } = watched ?? {}
  useEffect(() => {
    if (!isOn) return
    const stop = new AbortController()
    void follow({ batchId, memberId, entity }, stop.signal)
    return () => {
      stop.abort()
      setState('paused')
    }
  }, [isOn, batchId, memberId, entity])
}

async function follow(watched: Watched, signal: AbortSignal): Promise<void> {
  const seen: Seen = { last: null }
  while (!signal.aborted) {
    if (document.hidden) {
      setState('paused')
      await untilVisible(signal)
      refresh()
      continue
    }
    setState(state === 'broken' ? 'broken' : 'connecting')
    try {
      await readStream(watched, seen, signal)
    } catch {
      if (!signal.aborted) setState('broken')
    }
    await pause(RECONNECT_MS, signal)
  }
}

/** Outlives a stream: a cut one ends with an error. */
interface Seen {
  last: string | null
}

async function readStream(watched: Watched, seen: Seen, signal: AbortSignal): Promise<void> {
  const query = { ...watched, ...(seen.last !== null && { after: seen.last }) }
  const answer = await client.raw(
    'GET /api/events',
    { query },
    { signal, accept: 'text/event-stream' },
  )
  setState('live')
  // Whatever happened while nobody listened.
  refresh()
  const events = answer
    .body!.pipeThrough(new TextDecoderStream())
    .pipeThrough(new EventSourceParserStream())
  for await (const { id } of events) {
    if (id === undefined) continue
    seen.last = id
    refresh()
  }
}

let isDue = false
function refresh(): void {
  if (isDue) return
  isDue = true
  setTimeout(() => {
    isDue = false
    void queries.invalidateQueries()
  }, REFRESH_MS)
}

const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })

const untilVisible = (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const done = () => {
      if (document.hidden && !signal.aborted) return
      document.removeEventListener('visibilitychange', done)
      resolve()
    }
    document.addEventListener('visibilitychange', done)
    signal.addEventListener('abort', done)
  })
