// A process of the simulated world: it lives until it crashes, and then whatever it was doing never comes to an end. Its
// memory goes with it: what replaces it is built from the database alone.

export interface Process {
  readonly name: string
  readonly isDead: boolean
  /** Ends the process where it stands. The returned promise never settles: nothing after it happens. */
  die(): Promise<never>
  /** Does the work, or as much of it as comes before the crash. */
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
