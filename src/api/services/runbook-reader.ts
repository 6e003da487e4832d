// Reads the runbooks of callers in a thread, one at a time and for seconds at most: a text made for it keeps a parser busy for as long as
// it likes (200 KB of "}}" took 1.5 s), and on the main thread nothing else is answered meanwhile, not even a hold.
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { MatoolkitError } from '../../base/errors/errors.ts'
import type { Clock } from '../../base/run/clock.ts'
import { Lane } from '../../base/run/lane.ts'
import type { Asked, Tasks, ThreadAnswer } from './runbook-thread.ts'

export interface ReadingLimits {
  readonly timeMs: number
  readonly memoryMb: number
  readonly waitingMax: number
}

/** A valid runbook of the greatest size takes less than a second. */
export const READING_LIMITS: ReadingLimits = { timeMs: 5_000, memoryMb: 512, waitingMax: 16 }

export class RunbookReader {
  readonly #clock: Pick<Clock, 'wait'>
  readonly #limits: ReadingLimits
  readonly #lane: Lane
  #thread: Worker | null = null

  /** The clock of the machine: what is limited is processor time. */
  constructor(clock: Pick<Clock, 'wait'>, limits = READING_LIMITS) {
    this.#clock = clock
    this.#limits = limits
    const { waitingMax } = limits
    const refusal = () => new MatoolkitError('RUNBOOKS_BUSY')
    this.#lane = new Lane({ places: 1, waitingMax, refusal })
  }

  /** Throws RUNBOOKS_BUSY and RUNBOOK_TOO_COSTLY. */
  async run<K extends keyof Tasks>(
    task: K,
    ...given: Parameters<Tasks[K]>
  ): Promise<ReturnType<Tasks[K]>> {
    const answer = await this.#lane.run(() => this.#ask({ task, given }))
    return answer as ReturnType<Tasks[K]>
  }

  async close(): Promise<void> {
    const thread = this.#thread
    this.#thread = null
    await thread?.terminate()
  }

  async #ask(asked: Asked): Promise<unknown> {
    const thread = this.#thread ?? this.#startThread()
    const over = new AbortController()
    const seconds = this.#limits.timeMs / 1_000
    const late = this.#clock.wait(this.#limits.timeMs, over.signal).then(() => {
      throw new MatoolkitError('RUNBOOK_TOO_COSTLY', { seconds })
    })
    try {
      const answered = await Promise.race([answerOf(thread, asked), late])
      if ('fault' in answered) throw answered.fault
      return answered.answer
    } catch (error) {
      // Still at it, out of memory or faulty: the next text gets another.
      await this.close()
      throw isOutOfMemory(error) ? new MatoolkitError('RUNBOOK_TOO_COSTLY', { seconds }) : error
    } finally {
      over.abort()
    }
  }

  #startThread(): Worker {
    const thread = new Worker(new URL('./runbook-thread.ts', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: this.#limits.memoryMb },
    })
    // Only a request under way keeps the process.
    thread.unref()
    this.#thread = thread
    return thread
  }
}

const isOutOfMemory = (error: unknown): boolean =>
  (error as { readonly code?: unknown }).code === 'ERR_WORKER_OUT_OF_MEMORY'

/** The thread has one request at a time, so its next message is the answer. */
async function answerOf(thread: Worker, asked: Asked): Promise<ThreadAnswer> {
  const over = new AbortController()
  const ended = once(thread, 'exit', { signal: over.signal }).then(() => {
    throw new Error('the thread that reads runbooks ended')
  })
  ended.catch(() => {})
  thread.postMessage(asked)
  try {
    // Rejects with the thread's error.
    const answered = once(thread, 'message', { signal: over.signal })
    const [answer] = (await Promise.race([answered, ended])) as [ThreadAnswer]
    return answer
  } finally {
    over.abort()
  }
}
