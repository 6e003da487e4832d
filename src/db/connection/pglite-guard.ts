// Ends an embedded database that has given up. When PostgreSQL cannot write its log it aborts; PGlite ignores that and calls it again
// and again, so that a disk that was full for 15 s hung the process for good. Here the first abort is the last call.
import type { PGlite } from '@electric-sql/pglite'

/** How PostgreSQL inside PGlite leaves a statement that failed: all is well. */
const STATEMENT_FAILED = 100

type Calls = Pick<
  PGlite['Module'],
  | '_PostgresMainLoopOnce'
  | '_PostgresSendReadyForQueryIfNecessary'
  | '_pgl_pq_flush'
  | 'stackRestore'
>

/** From the first abort on every call fails with the error that `onStopped` returns. It is called once. */
export function stopAtAbort({ Module: calls }: PGlite, onStopped: () => Error): void {
  const { _PostgresMainLoopOnce: runOnce, stackRestore } = calls
  const { _PostgresSendReadyForQueryIfNecessary: sendReady, _pgl_pq_flush: flush } = calls
  let stopped: Error | null = null
  const guarded: Calls = {
    _PostgresMainLoopOnce: () => {
      if (stopped) throw stopped
      try {
        runOnce()
      } catch (error) {
        if (!isFailedStatement(error)) stopped = onStopped()
        throw error
      }
    },
    // PGlite calls this for every error, and calls it again unless it throws.
    stackRestore: (place) => {
      if (stopped) throw stopped
      return stackRestore(place)
    },
    _PostgresSendReadyForQueryIfNecessary: () => {
      if (!stopped) sendReady()
    },
    _pgl_pq_flush: () => {
      if (!stopped) flush()
    },
  }
  Object.assign(calls, guarded)
}

const isFailedStatement = (error: unknown): boolean =>
  (error as { status?: number } | null)?.status === STATEMENT_FAILED
