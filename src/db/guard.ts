// The guard of every update: it names the state that was loaded under the lock, and must find as many rows as it was given.

/** Thrown when a guarded update moved fewer rows than it should: another writer was there without the lock. */
export class GuardFailed extends Error {
  override readonly name = 'GuardFailed'
}

export function mustMove(what: string, moved: number, wanted: number): void {
  if (moved !== wanted)
    throw new GuardFailed(`${what}: ${moved} of ${wanted} rows were as they had been loaded`)
}
