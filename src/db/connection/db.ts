// The database contract: run a statement, run several in one transaction, listen for notifications.
// Two implementations share one dialect and one test suite: a PostgreSQL server (postgres.ts) and PostgreSQL in this process (pglite.ts).

/** Runs single statements. Both databases return bigint as number, timestamptz as Date, json and jsonb parsed, `due_at` as `dueAt`. */
export interface Queryable {
  query<Row = Record<string, unknown>>(sql: string, values?: readonly unknown[]): Promise<Row[]>
}

/** An open transaction, READ COMMITTED. It ends when the function given to `transaction` returns or throws. */
export interface Tx extends Queryable {
  readonly inTransaction: true
  /** Returns how many rows the statement inserted, updated or deleted. */
  change(sql: string, values: readonly unknown[]): Promise<number>
  /** Several statements in one string, for migrations. No parameters. */
  script(sql: string): Promise<void>
  /** Calls `act` once everything is committed, and never after a rollback. It must neither throw nor use the database. */
  afterCommit(act: () => void): void
}

export interface Db extends Queryable {
  readonly kind: 'postgres' | 'pglite'
  /** Commits when `work` returns, rolls back when it throws, and throws what `work` threw. */
  transaction<T>(work: (tx: Tx) => Promise<T>): Promise<T>
  /** Several statements in one string, for migrations. No parameters. */
  script(sql: string): Promise<void>
  /** Calls `heard` with each notification's payload; returns how to stop. Only a hint: notifications are lost while disconnected. */
  listen(channel: string, heard: (payload: string) => void): Promise<() => Promise<void>>
  /** Copies all of it into a new folder, as of one moment; returns for how many milliseconds others waited. Only in a folder. */
  copyTo?(folder: string): Promise<number>
  close(): Promise<void>
}
