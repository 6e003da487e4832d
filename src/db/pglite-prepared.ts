// Statements of PGlite, parsed once. By itself PGlite parses a statement each time it comes and hands it over in six messages; here
// a known one is one message, bound and run. Planned it is each time, for the reason that SESSION in postgres.ts gives.
import { type PGlite, parse, protocol } from '@electric-sql/pglite'

type Messages = Awaited<ReturnType<PGlite['execProtocol']>>['messages']

export interface PreparedStatement {
  readonly name: string
  readonly parameterTypes: readonly number[]
  /** The columns of what it returns. */
  readonly description: Messages
}

export interface QueryResult<Row> {
  readonly rows: Row[]
  /** How many rows it inserted, changed or deleted. */
  readonly changed: number
}

export type RunStatement = <Row>(
  sql: string,
  values?: readonly unknown[],
) => Promise<QueryResult<Row>>

const { serialize } = protocol
const RUN = [serialize.execute({}), serialize.sync()]
/** As in postgres.ts: what is made up anew each time is not kept. */
const PREPARED_MAX = 500

/** Runs statements in the order they are given, in whatever transaction is open. `statements` are those prepared so far. */
export function preparing(
  lite: PGlite,
  statements: Map<string, PreparedStatement> = new Map(),
): RunStatement {
  const send = async (...messages: Uint8Array[]): Promise<Messages> =>
    (await lite.execProtocol(Buffer.concat(messages))).messages

  const prepare = async (sql: string): Promise<PreparedStatement> => {
    const isKept = statements.size < PREPARED_MAX
    const name = isKept ? `s${statements.size + 1}` : ''
    const described = await send(
      serialize.parse({ name, text: sql }),
      serialize.describe({ type: 'S', name }),
      serialize.sync(),
    )
    const description = described.filter((message) => message.name === 'rowDescription')
    const parameterTypes = parse.parseDescribeStatementResults(described)
    const statement = { name, parameterTypes, description }
    if (isKept) statements.set(sql, statement)
    return statement
  }

  return <Row>(sql: string, values: readonly unknown[] = []): Promise<QueryResult<Row>> =>
    lite._runExclusiveQuery(async () => {
      const { name, parameterTypes, description } = statements.get(sql) ?? (await prepare(sql))
      const given = values.map((value, index) => {
        if (value === null || value === undefined) return null
        const write = lite.serializers[parameterTypes[index]!]
        return write ? write(value) : String(value)
      })
      const answer = await send(serialize.bind({ statement: name, values: given }), ...RUN)
      const [result] = parse.parseResults([...description, ...answer], lite.parsers)
      return { rows: (result?.rows ?? []) as Row[], changed: result?.affectedRows ?? 0 }
    })
}
