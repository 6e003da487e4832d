// PGlite with every statement prepared and planned once. PGlite itself parses and plans a statement each time, and sends it in
// six messages; on tables as small as the simulated world's that was two thirds of all time. Here a known statement is one
// message. The statements and their results are the same. Plans are made once and kept (`force_generic_plan`): right for tables
// that never grow.
import { type PGlite, parse, protocol } from '@electric-sql/pglite'
import type { Db, Tx } from '../../src/db/db.ts'

type Answer = Awaited<ReturnType<PGlite['execProtocol']>>['messages']

interface Statement {
  readonly name: string
  readonly parameterTypes: readonly number[]
  /** What it returns, as the server has described it. */
  readonly description: Answer
}

const { serialize } = protocol
const EXECUTE = [serialize.execute({}), serialize.sync()]

export interface PreparedLite extends Db {
  /** How many statements are prepared. */
  readonly count: number
  /** Prepares and plans a statement without running it. */
  prepare(sql: string): Promise<void>
  /** The statements after the first `count`. */
  textsAfter(count: number): string[]
  /** The server has forgotten the statements after the first `count`. */
  forgetAfter(count: number): void
}

export function preparedLite(lite: PGlite): PreparedLite {
  const statements = new Map<string, Statement>()
  const send = async (...messages: Uint8Array[]): Promise<Answer> =>
    (await lite.execProtocol(Buffer.concat(messages), { syncToFs: false })).messages

  const prepare = async (sql: string): Promise<Statement> => {
    const name = `s${statements.size + 1}`
    const described = await send(
      serialize.parse({ name, text: sql }),
      serialize.describe({ type: 'S', name }),
      serialize.sync(),
    )
    const statement = {
      name,
      parameterTypes: parse.parseDescribeStatementResults(described),
      description: described.filter((message) => message.name === 'rowDescription'),
    }
    statements.set(sql, statement)
    return statement
  }

  const runNow = async <Row>(sql: string, values: readonly unknown[] = []): Promise<Row[]> => {
    const { name, parameterTypes, description } = statements.get(sql) ?? (await prepare(sql))
    const given = values.map((value, index) => {
      if (value === null || value === undefined) return null
      const write = lite.serializers[parameterTypes[index]!]
      return write ? write(value) : String(value)
    })
    const answer = await send(serialize.bind({ statement: name, values: given }), ...EXECUTE)
    const [result] = parse.parseResults([...description, ...answer], lite.parsers)
    return result!.rows as Row[]
  }

  // Whoever gives several statements at once relies on their order.
  const inOrder = makeQueue()
  const run: Db['query'] = (sql, values) => inOrder(() => runNow(sql, values))
  const script = async (sql: string): Promise<void> => void (await lite.exec(sql))
  const exclusive = makeQueue()
  const tx: Tx = { inTransaction: true, query: run, script }
  return {
    kind: 'pglite',
    query: (sql, values) => exclusive(() => run(sql, values)),
    script: (sql) => exclusive(() => script(sql)),
    transaction: (work) => exclusive(() => inTransaction(run, () => work(tx))),
    listen: async () => async () => {},
    close: () => lite.close(),
    get count() {
      return statements.size
    },
    prepare: async (sql) => {
      const { name, parameterTypes } = await prepare(sql)
      const nulls = parameterTypes.map(() => 'null').join(', ')
      if (isPlanned(sql)) await script(`explain execute ${name}${nulls && `(${nulls})`}`)
    },
    textsAfter: (count) => [...statements.keys()].slice(count),
    forgetAfter: (count) => {
      for (const sql of [...statements.keys()].slice(count)) statements.delete(sql)
    },
  }
}

const isPlanned = (sql: string): boolean => /^\s*(?:select|insert|update|delete|with)\b/i.test(sql)

/** One connection: whoever comes during a transaction waits for its end. */
function makeQueue(): <T>(work: () => Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  return (work) => {
    const done = last.then(work)
    last = done.catch(() => {})
    return done
  }
}

async function inTransaction<T>(run: Db['query'], work: () => Promise<T>): Promise<T> {
  await run('begin')
  try {
    const result = await work()
    await run('commit')
    return result
  } catch (error) {
    await run('rollback')
    throw error
  }
}
