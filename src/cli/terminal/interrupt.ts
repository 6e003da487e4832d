// Work that Ctrl-C ends in good order: it is told, and the process ends when it has ended.

const SIGNALS = ['SIGINT', 'SIGTERM'] as const

/** Not the first signal only: started by npm, a Ctrl-C comes from the terminal and again from the program that started this one. */
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
