// Prepared statements for PGlite, which itself parses a statement at each call, in six messages. Here a known statement is one
// message: bind and run. It is planned each time, for the reason given at SESSION in postgres.ts.
import { type PGlite, parse, protocol } from '@electric-sql/pglite'
import { nameProperties } from './property-names.ts'

type Messages = Awaited<ReturnType<PGlite['execProtocol']>>['messages']

export interface PreparedStatement {
  readonly name: string
  readonly parameterTypes: readonly number[]
  /** Describes the result's columns. */
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
/** As in postgres.ts. */
const PREPARED_MAX = 500

/** Runs statements in order, in the open transaction. `statements` caches the prepared ones. */
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
    for (const message of description)
      nameProperties((message as unknown as { fields: { name: string }[] }).fields)
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
