// A Db inside an open transaction: engine functions, which open transactions, run inside the API's, together with its audit row and
// stored answer. An inner transaction is a savepoint; an error rolls back only its own work. Inner transactions must not overlap.
import { AfterCommit } from './after-commit.ts'
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
        const after = new AfterCommit()
        const result = await work({ ...tx, afterCommit: after.add })
        await tx.script(`release savepoint ${name}`)
        tx.afterCommit(after.run)
        return result
      } catch (error) {
        // Fails too when the connection is lost; the first error counts.
        await tx.script(`rollback to savepoint ${name}`).catch(() => {})
        throw error
      }
    },
    listen: () => Promise.reject(new Error('a transaction cannot listen')),
    close: () => Promise.reject(new Error('a transaction ends with its work')),
  }
}
