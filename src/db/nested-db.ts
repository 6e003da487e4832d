// A transaction that looks like a database, so that the engine's functions, which open transactions of their own, can run inside
// a larger one: the API's, which also holds the audit row and the stored answer. An inner transaction is a savepoint, and what
// it throws undoes only what it did. One after the other: savepoints of one connection cannot overlap.
import type { Db, Tx } from './db.ts'

export function nestedDb(tx: Tx, kind: Db['kind']): Db {
  let opened = 0
  return {
    kind,
    query: (sql, values) => tx.query(sql, values),
    script: (sql) => tx.script(sql),
    transaction: async (work) => {
      opened += 1
      const name = `inner_${opened}`
      await tx.script(`savepoint ${name}`)
      try {
        const result = await work(tx)
        await tx.script(`release savepoint ${name}`)
        return result
      } catch (error) {
        // When the connection is gone this fails too; what counts is why.
        await tx.script(`rollback to savepoint ${name}`).catch(() => {})
        throw error
      }
    },
    listen: () => Promise.reject(new Error('a transaction cannot listen')),
    close: () => Promise.reject(new Error('a transaction ends with its work')),
  }
}
