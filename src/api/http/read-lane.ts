// The lane of requests that change nothing. Changes, holds among them, never wait in it: some connections of the database are always left to
// them, and one caller has few requests in work at a time, whatever they send.
import { MatoolkitError } from '../../base/errors/errors.ts'
import { Lane, LanePerKey } from '../../base/run/lane.ts'
import type { Db } from '../../db/connection/db.ts'
import { dbInLane } from '../../db/connection/lane-db.ts'
import type { Engine } from '../../engine/transactions/engine.ts'

export const READ_LIMITS = {
  /** Of one caller: a page of the dashboard asks for about so many at once. */
  atOnce: 4,
  /** Beyond them CALLER_BUSY: a caller who does not wait for answers. */
  waitingMax: 60,
  /** Connections that reads leave to changes and to the other roles of this process. */
  connectionsLeft: 3,
  /** Of the embedded database, which runs one statement at a time: so many may be ahead of a change. */
  embedded: 1,
} as const

export class ReadLane {
  readonly #db: Db
  readonly #statements: Lane
  readonly #callers = new LanePerKey({
    places: READ_LIMITS.atOnce,
    waitingMax: READ_LIMITS.waitingMax,
    refusal: () => new MatoolkitError('CALLER_BUSY'),
  })

  constructor(db: Db, poolSize: number) {
    const { connectionsLeft, embedded } = READ_LIMITS
    const places = db.kind === 'pglite' ? embedded : Math.max(1, poolSize - connectionsLeft)
    const refusal = () => new MatoolkitError('TRY_AGAIN')
    // Callers are limited, so this queue is.
    this.#statements = new Lane({ places, waitingMax: Number.POSITIVE_INFINITY, refusal })
    this.#db = dbInLane(db, this.#statements)
  }

  /** Its statements take their turn. */
  engineOf(engine: Engine): Engine {
    return { ...engine, db: this.#db }
  }

  /** While a hold is made no read begins another statement: what they read takes the time of this thread and of the database. */
  pausedDuring<T>(hold: () => Promise<T>): Promise<T> {
    return this.#statements.pausedDuring(hold)
  }

  run<T>(caller: string, read: () => Promise<T>): Promise<T> {
    return this.#callers.run(caller, read)
  }
}
