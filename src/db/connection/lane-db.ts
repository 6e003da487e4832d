// A database whose users share a lane: together they use no more connections than it has places, and leave the others to who does without.
import type { Lane } from '../../base/run/lane.ts'
import type { Db, Tx } from './db.ts'

export const dbInLane = (db: Db, lane: Lane): Db => ({
  ...db,
  query: (sql, values) => lane.run(() => db.query(sql, values)),
  transaction: (work) => lane.run(() => db.transaction(work)),
  script: (sql) => lane.run(() => db.script(sql)),
})

const CANCELLED = '57014'

/** Runs statements that the server ends after this time; throws `refusal` then. The embedded database has no such limit. */
export async function withTimeLimit<T>(
  db: Db,
  limitMs: number,
  refusal: () => Error,
  work: (tx: Tx) => Promise<T>,
): Promise<T> {
  try {
    return await db.transaction(async (tx) => {
      await tx.query(`select set_config('statement_timeout', $1, true)`, [`${limitMs}ms`])
      return work(tx)
    })
  } catch (error) {
    if ((error as { readonly code?: unknown }).code === CANCELLED) throw refusal()
    throw error
  }
}
