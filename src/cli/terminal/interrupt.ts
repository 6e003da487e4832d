// Work that Ctrl-C ends gracefully: its signal aborts, and the process ends when the work has.

const SIGNALS = ['SIGINT', 'SIGTERM'] as const

/** Handles every signal, not just the first: under npm, a Ctrl-C arrives twice. */
export async function interruptible<T>(work: (interrupted: AbortSignal) => Promise<T>): Promise<T> {
  const interrupt = new AbortController()
  const stop = () => interrupt.abort()
  for (const signal of SIGNALS) process.on(signal, stop)
  try {
    return await work(interrupt.signal)
  } finally {
    for (const signal of SIGNALS) process.off(signal, stop)
  }
}
