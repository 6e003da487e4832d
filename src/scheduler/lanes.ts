// Lanes for ticks: as many work at once. A tick that waits for its source leaves its lane until the source answers, so sources that hang cost
// only their own ticks: four of them once held all lanes, and healthy sources were queried every 60 s instead of every 10.
import type { SourceAccess, SourceResult } from './sources/source.ts'

/** A source that takes longer for its next rows costs its tick the lane. */
const SLOW_ROWS_MS = 1_000

export interface Lanes {
  enter(): Promise<void>
  /** For a tick whose source has answered: before those that have not begun, because its time limit runs. */
  enterAgain(): Promise<void>
  leave(): void
}

export function makeLanes(count: number): Lanes {
  let free = count
  const again: (() => void)[] = []
  const first: (() => void)[] = []
  const enter = async (queue: (() => void)[]): Promise<void> => {
    if (free > 0) {
      free -= 1
      return
    }
    await new Promise<void>((resolve) => queue.push(resolve))
  }
  return {
    enter: () => enter(first),
    enterAgain: () => enter(again),
    leave: () => {
      const next = again.shift() ?? first.shift()
      if (next) next()
      else free += 1
    },
  }
}

/** The same sources for a tick that has a lane: it leaves the lane while it waits for an answer. */
export function leavingWhileWaiting(sources: SourceAccess, lanes: Lanes): SourceAccess {
  const { clock } = sources.settings
  const without = async <T>(wait: () => Promise<T>): Promise<T> => {
    lanes.leave()
    try {
      return await wait()
    } finally {
      await lanes.enterAgain()
    }
  }
  const soonOrWithout = async <T>(next: Promise<T>): Promise<T> => {
    const came = new AbortController()
    const isSlow = clock.wait(SLOW_ROWS_MS, came.signal).then(() => !came.signal.aborted)
    const isHere = next.then(
      () => false,
      () => false,
    )
    const waits = await Promise.race([isHere, isSlow])
    came.abort()
    return waits ? without(() => next) : next
  }
  return {
    ...sources,
    open: async (...given): Promise<SourceResult> => {
      const result = await without(() => sources.open(...given))
      return { ...result, rows: eachOf(result.rows, soonOrWithout) }
    },
  }
}

async function* eachOf<T>(
  rows: AsyncIterable<T>,
  wait: (next: Promise<IteratorResult<T>>) => Promise<IteratorResult<T>>,
): AsyncGenerator<T> {
  const iterator = rows[Symbol.asyncIterator]()
  try {
    for (;;) {
      const { done, value } = await wait(iterator.next())
      if (done) return
      yield value
    }
  } finally {
    await iterator.return?.()
  }
}
