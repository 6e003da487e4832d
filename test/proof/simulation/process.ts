// A process of the simulated world. When it crashes, its unfinished work never ends and its memory is gone: its replacement starts
// from the database alone.

export interface Process {
  readonly name: string
  readonly isDead: boolean
  /** Crashes the process here. The returned promise never settles, so nothing after it happens. */
  die(): Promise<never>
  /** Runs the work up to its end or the crash. */
  run<T>(work: () => Promise<T>): Promise<{ readonly done: T } | 'crashed'>
}

export function makeProcess(name: string): Process {
  const died = Promise.withResolvers<'crashed'>()
  let isDead = false
  return {
    name,
    get isDead() {
      return isDead
    },
    die: () => {
      isDead = true
      died.resolve('crashed')
      return new Promise<never>(() => {})
    },
    run: (work) => Promise.race([work().then((done) => ({ done })), died.promise]),
  }
}
