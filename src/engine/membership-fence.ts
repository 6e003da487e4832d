// A door whose every transaction begins with something: the proof that a lease is still held, or that what a person saw is still
// so. It is checked where it counts, in the transaction that does the work, and not a moment before it.
import type { Db, Tx } from '../db/db.ts'
import type { Engine } from './engine.ts'

/** `first` throws when the work must not be done; then nothing is. */
export function fencedEngine(engine: Engine, first: (tx: Tx) => Promise<void>): Engine {
  const { db } = engine
  const guarded: Db = {
    kind: db.kind,
    query: (sql, values) => db.query(sql, values),
    script: (sql) => db.script(sql),
    listen: (channel, heard) => db.listen(channel, heard),
    close: () => db.close(),
    transaction: (work) =>
      db.transaction(async (tx) => {
        await first(tx)
        return work(tx)
      }),
  }
  return { ...engine, db: guarded }
}
