// What the program asks of a database: run a statement, run several in one transaction, hear a notification.
// Two implementations: a PostgreSQL server (postgres.ts) and PostgreSQL in this process (pglite.ts). One dialect, one suite.

/** Runs single statements. bigint comes back as number, timestamptz as Date, json and jsonb parsed; the same from both databases. */
export interface Queryable {
  query<Row = Record<string, unknown>>(sql: string, values?: readonly unknown[]): Promise<Row[]>
}

/** An open transaction, READ COMMITTED. It ends when the function given to `transaction` returns or throws. */
export interface Tx extends Queryable {
  readonly inTransaction: true
  /** Runs a statement that returns no rows, and tells how many it inserted, changed or deleted. */
  change(sql: string, values: readonly unknown[]): Promise<number>
  /** Several statements in one string, for migrations. No parameters. */
  script(sql: string): Promise<void>
}

export interface Db extends Queryable {
  readonly kind: 'postgres' | 'pglite'
  /** Commits when `work` returns, rolls back when it throws, and throws what `work` threw. */
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>
  /** Several statements in one string, for migrations. No parameters. */
  script(sql: string): Promise<void>
  /** Calls `heard` with the payload of every notification. A hint only: notifications are lost while disconnected. Returns how to stop. */
  listen(channel: string, heard: (payload: string) => void): Promise<() => Promise<void>>
  close(): Promise<void>
}
