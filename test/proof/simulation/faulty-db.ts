// A process's view of a faulty database: connections drop, statements time out and conflict, commits are lost, or succeed without
// an answer. A crash leaves the transaction committed or rolled back, and the process gone.
import type { Db, Tx } from '../../../src/db/connection/db.ts'
import type { Chance } from './chance.ts'
import type { Fault, Faults } from './faults.ts'
import type { Process } from './process.ts'

/** Rolls the real transaction back; the program never sees it. */
class Undone extends Error {}

/** A simulated error with the code that a server would send. */
export class Simulated extends Error {
  readonly code: string

  constructor(code: string, message: string) {
    super(`simulated: ${message}`)
    this.code = code
  }
}

const dropped = () => new Simulated('08006', 'the connection was lost')

/** Errors of a single statement by kind of fault. */
const STATEMENT_ERRORS: readonly [Fault, () => Error][] = [
  ['connection dropped', dropped],
  ['statement timeout', () => new Simulated('57014', 'statement timeout')],
  ['deadlock', () => new Simulated('40P01', 'deadlock detected')],
  ['serialization failure', () => new Simulated('40001', 'could not serialize access')],
]

/** A transaction of the engine has about a dozen statements. */
const STATEMENTS_BEFORE_MAX = 10

type Ending = 'commit' | 'commit failed' | 'commit unknown' | CrashAt
type CrashAt = 'crash before commit' | 'crash after commit'
const ENDINGS: readonly Exclude<Ending, 'commit'>[] = [
  'commit failed',
  'commit unknown',
  'crash before commit',
  'crash after commit',
]

export function faultyDb(db: Db, process: Process, faults: Faults, chance: Chance): Db {
  return {
    kind: db.kind,
    script: db.script,
    listen: db.listen,
    close: db.close,
    query: async (sql, values) => {
      if (process.isDead) return process.die()
      if (faults.strikes('connection dropped')) throw dropped()
      const rows = await db.query<never>(sql, values)
      if (faults.strikes('statement done but unanswered')) throw dropped()
      return rows
    },
    transaction: async (work) => {
      if (process.isDead) return process.die()
      if (faults.strikes('connection dropped')) throw dropped()
      const ending = ENDINGS.find((kind) => faults.strikes(kind)) ?? 'commit'
      const result = await inTransaction(db, process, faults, chance, ending, work)
      if (ending.startsWith('crash') || process.isDead) return process.die()
      if (ending !== 'commit') throw dropped()
      return result as Awaited<ReturnType<typeof work>>
    },
  }
}

/** The result of `work`, or undefined if the ending rolled it back. Throws what `work` threw. */
async function inTransaction<T>(
  db: Db,
  process: Process,
  faults: Faults,
  chance: Chance,
  ending: Ending,
  work: (tx: Tx) => Promise<T>,
): Promise<T | undefined> {
  const isUndone = ending === 'commit failed' || ending === 'crash before commit'
  try {
    return await db.transaction(async (tx) => {
      const result = await work(faultyTx(tx, process, faults, chance))
      if (isUndone || process.isDead) throw new Undone()
      return result
    })
  } catch (error) {
    if (error instanceof Undone) return undefined
    throw error
  }
}

/** After an error every further statement of the transaction fails like the first (src/db/connection/postgres.ts). */
function faultyTx(tx: Tx, process: Process, faults: Faults, chance: Chance): Tx {
  const planned = STATEMENT_ERRORS.find(([kind]) => chance.happens(faults.rate(kind)))
  let left = planned ? chance.below(STATEMENTS_BEFORE_MAX) : Infinity
  const before = () => {
    // The process died while another of its transactions was open: the server rolls that one back.
    if (process.isDead) throw new Undone()
    left -= 1
    if (left === -1) faults.note(planned![0])
    if (left < 0) throw planned![1]()
  }
  return {
    inTransaction: true,
    script: tx.script,
    afterCommit: tx.afterCommit,
    query: async (sql, values) => {
      before()
      return tx.query(sql, values)
    },
    change: async (sql, values) => {
      before()
      return tx.change(sql, values)
    },
  }
}
