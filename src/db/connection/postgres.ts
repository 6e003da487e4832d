// A PostgreSQL server over a pool of connections. However a connection fails (reset, cut, silent, server gone), its caller gets one
// error in bounded time, the pool discards the connection and the next statement gets a new one.
import pg from 'pg'
import { MatoolkitError, messageOf } from '../../base/errors/errors.ts'
import { isConnectionLost } from '../../base/errors/transient.ts'
import { AfterCommit } from './after-commit.ts'
import { parseIntegers } from './arrays.ts'
import type { Db, Tx } from './db.ts'
import { nameProperties } from './property-names.ts'

export interface PostgresOptions {
  readonly url: string
  /** Asked for every new connection; without it the URL has the password. */
  readonly password?: () => Promise<string>
  readonly poolSize?: number
  readonly statementTimeoutMs?: number
  /** How long we wait for the server beyond the statement's timeout. */
  readonly answerGraceMs?: number
  /** The server ends a transaction that idles this long between statements. */
  readonly idleInTransactionMs?: number
  /** How often the listening connection is checked. */
  readonly listenCheckMs?: number
  readonly applicationName?: string
  /** Called when an idle connection dies; the pool replaces it. */
  readonly onConnectionLost?: (error: Error) => void
}

const CONNECT_TIMEOUT_MS = 10_000
const STATEMENT_TIMEOUT_MS = 60_000
/** The server ends slow statements. A half-open connection never answers: without our own limit the caller hung. */
const ANSWER_GRACE_MS = 5_000
/** Decisions between two statements take milliseconds. A process that freezes there locks its batch this long. */
const IDLE_IN_TRANSACTION_MS = 15_000
/** The kernel notices a vanished host some ten seconds later. */
const KEEP_ALIVE_AFTER_MS = 10_000
const RELISTEN_DELAY_MS = 1_000
/** A listening connection is silent, alive or dead, so it is checked. */
const LISTEN_CHECK_MS = 15_000
/**
 * Statements touch some hundred rows by key. With the default random_page_cost of 4 the planner read all of step_executions for every
 * chunk until the table had some 100,000 rows: 50 µs a row instead of 15. JIT only adds to that.
 * Statements are parsed once (`prepared`) and planned each time: a plan cached for an empty table reads all of a full one. Chunks on
 * large tables cache theirs (query-plans.ts).
 */
const SESSION =
  '-c TimeZone=UTC -c DateStyle=ISO -c random_page_cost=1.1 -c jit=off -c plan_cache_mode=force_custom_plan'

const { builtins } = pg.types
const INT8_ARRAY = 1016
const PARSERS = new Map<number, (text: string) => unknown>([
  [builtins.INT8, Number],
  [builtins.NUMERIC, Number],
  [builtins.TIMESTAMPTZ, parseUtc],
  [INT8_ARRAY, parseIntegers],
])
const typeParsers = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    (format !== 'binary' && PARSERS.get(oid)) || pg.types.getTypeParser(oid, format),
} as pg.CustomTypesConfig

const TIMES_MAX = 100
const times = new Map<string, Date>()

/**
 * Parses `2026-03-01 10:00:00.5+00`. `pg`'s general parser took 5 times as long on the hot path. Most rows of a chunk come from one
 * transaction and share their times, so these are cached; caching only the last one cost 0.5 µs more, as messages have two in turns.
 */
function parseUtc(text: string): Date {
  let time = times.get(text)
  if (time === undefined) {
    if (times.size >= TIMES_MAX) times.clear()
    time = new Date(`${text.slice(0, 10)}T${text.slice(11, -3)}Z`)
    times.set(text, time)
  }
  return time
}

/** The program has some hundred statements. The limit keeps generated ones from filling the server's memory. */
const PREPARED_MAX = 500
const names = new Map<string, string>()

/** Each connection parses the statement once. Without values it may be several statements, which cannot be prepared. */
function prepared(text: string, values: readonly unknown[] | undefined): pg.QueryConfig {
  if (values === undefined) return { text }
  let name = names.get(text)
  if (name === undefined && names.size < PREPARED_MAX) {
    name = `s${names.size + 1}`
    names.set(text, name)
  }
  return { text, values: values as unknown[], ...(name !== undefined && { name }) }
}

export async function openPostgres(options: PostgresOptions): Promise<Db> {
  const statementTimeoutMs = options.statementTimeoutMs ?? STATEMENT_TIMEOUT_MS
  const config: pg.PoolConfig = {
    connectionString: options.url,
    max: options.poolSize ?? 10,
    types: typeParsers,
    application_name: options.applicationName ?? 'matoolkit',
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_AFTER_MS,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    statement_timeout: statementTimeoutMs,
    query_timeout: statementTimeoutMs + (options.answerGraceMs ?? ANSWER_GRACE_MS),
    idle_in_transaction_session_timeout: options.idleInTransactionMs ?? IDLE_IN_TRANSACTION_MS,
    options: SESSION,
    pipeline: true,
  }
  const Client = options.password ? clientWith(options.password) : NamingClient
  const pool = new pg.Pool({ ...config, Client })
  const onLost = options.onConnectionLost ?? (() => {})
  pool.on('error', onLost)
  try {
    await requireServer(pool)
  } catch (error) {
    await pool.end()
    if (error instanceof MatoolkitError) throw error
    // PgBouncer refuses a session's settings.
    if (messageOf(error).includes('unsupported startup parameter')) throw pooled(error)
    throw new MatoolkitError('DATABASE_UNREACHABLE', { reason: messageOf(error) }, { cause: error })
  }
  const listening = { config, Client, checkMs: options.listenCheckMs ?? LISTEN_CHECK_MS, onLost }
  return wrap(pool, listening)
}

/**
 * Throws for a server that is too old, and for a pooler in front of it. A pooler that lends a connection for a transaction loses advisory
 * locks, notices and prepared statements of a session; one that lends it for a session starves most processes. It is recognised
 * by the process id that it makes up.
 */
async function requireServer(pool: pg.Pool): Promise<void> {
  const client = await pool.connect()
  try {
    const { rows } = await client.query(
      "select current_setting('server_version_num')::int as version, pg_backend_pid() as pid",
    )
    const [{ version, pid }] = rows
    if ((client as unknown as { processID: number }).processID !== pid) throw pooled()
    if (version < 150_000)
      throw new MatoolkitError('DATABASE_TOO_OLD', { version: Math.floor(version / 10_000) })
  } finally {
    client.release()
  }
}

const pooled = (cause?: unknown) =>
  new MatoolkitError(
    'DATABASE_URL_UNFIT',
    {
      reason:
        'leads to a connection pooler such as PgBouncer, which loses the locks and notices of a session; give the address of the PostgreSQL server itself (on Azure port 5432, not 6432)',
    },
    { cause },
  )

/** Names the properties of rows before `pg` sees the description of a result. */
class NamingClient extends pg.Client {
  constructor(config?: string | pg.ClientConfig) {
    super(config)
    this.connection.prependListener('rowDescription', ({ fields }) => nameProperties(fields))
  }
}

/** The parsed URL overrides the password of the options, with nothing if it has none: so it is set afterwards. */
const clientWith = (password: () => Promise<string>): typeof pg.Client =>
  class extends NamingClient {
    constructor(config?: string | pg.ClientConfig) {
      super(config)
      const answer = async () => {
        try {
          return await password()
        } catch (error) {
          // The server would wait for the password for a minute; nobody can drop a database meanwhile.
          setImmediate(() => this.connection.stream.destroy())
          throw error
        }
      }
      Object.assign(this, { password: answer })
    }
  }

interface Listening {
  readonly config: pg.ClientConfig
  readonly Client: typeof pg.Client
  readonly checkMs: number
  readonly onLost: (error: Error) => void
}

function wrap(pool: pg.Pool, listening: Listening): Db {
  const closers = new Set<() => Promise<void>>()
  return {
    kind: 'postgres',
    query: async (sql, values) => (await pool.query(prepared(sql, values))).rows,
    transaction: (work) => inTransaction(pool, work, listening.onLost),
    script: async (sql) => void (await pool.query(sql)),
    listen: async (channel, heard) => {
      const stop = await keepListening(listening, channel, heard)
      closers.add(stop)
      return async () => {
        closers.delete(stop)
        await stop()
      }
    },
    close: async () => {
      await Promise.all([...closers].map((close) => close()))
      await pool.end()
    },
  }
}

async function inTransaction<T>(
  pool: pg.Pool,
  work: (tx: Tx) => Promise<T>,
  onLost: (error: Error) => void,
): Promise<T> {
  const client = await pool.connect()
  // The pool does not listen on a connection in use, and an unheard error ends the process: before this line a restart of the
  // server killed every process with an open transaction.
  client.on('error', onLost)
  const after = new AfterCommit()
  const { tx, end } = inOrder(client, after)
  let broken: Error | undefined
  try {
    await client.query('begin')
    const result = await work(tx)
    await end()
    await client.query('commit')
    after.run()
    return result
  } catch (error) {
    await end()
    broken = await rollBack(client, error)
    throw error
  } finally {
    client.removeListener('error', onLost)
    client.release(broken)
  }
}

/** Returns why the connection must be discarded: it cannot even roll back. The server rolls back when it closes. */
async function rollBack(client: pg.PoolClient, error: unknown): Promise<Error | undefined> {
  if (isConnectionLost(error)) return error as Error
  try {
    await client.query('rollback')
    return undefined
  } catch (cause) {
    return cause as Error
  }
}

/**
 * Pipelines statements: the server runs them in order, and after a failure the rest fail with its error. `end` refuses further ones
 * and waits for those in progress. Without the pipeline a transaction idled for a round trip between any two statements.
 */
function inOrder(client: pg.PoolClient, after: AfterCommit): { tx: Tx; end: () => Promise<void> } {
  let last: Promise<unknown> = Promise.resolve()
  let isOver = false
  let failure: { readonly error: unknown } | undefined
  const next = async <T>(run: () => Promise<T>): Promise<T> => {
    if (isOver) throw new Error('the transaction is over')
    if (failure) throw failure.error
    const mine = run()
    last = mine
    try {
      return await mine
    } catch (error) {
      // For the following statements the server only reports that the transaction is aborted.
      failure ??= { error }
      throw failure.error
    }
  }
  const tx: Tx = {
    inTransaction: true,
    query: (sql, values) => next(async () => (await client.query(prepared(sql, values))).rows),
    change: (sql, values) =>
      next(async () => (await client.query(prepared(sql, values))).rowCount ?? 0),
    script: (sql) => next(async () => void (await client.query(sql))),
    afterCommit: after.add,
  }
  const end = async () => {
    isOver = true
    await last.catch(() => {})
  }
  return { tx, end }
}

/**
 * A separate connection that reconnects whenever it is lost, also at the start. Notifications in between are lost: callers poll
 * anyway, and an empty payload tells them that the connection is new.
 */
async function keepListening(
  { config, Client, checkMs, onLost }: Listening,
  channel: string,
  heard: (payload: string) => void,
): Promise<() => Promise<void>> {
  let isStopped = false
  let current: pg.Client | undefined
  let timer: NodeJS.Timeout | undefined
  const after = (ms: number, run: () => Promise<void>) => {
    clearTimeout(timer)
    if (!isStopped) timer = setTimeout(run, ms)
  }
  const drop = (client: pg.Client) => {
    if (current !== client) return
    current = undefined
    // Not `end`: on a half-open connection it never returns.
    client.connection.stream.destroy()
    after(RELISTEN_DELAY_MS, connect)
  }
  const check = async (client: pg.Client, sql: string): Promise<void> => {
    try {
      await client.query(sql)
      after(checkMs, () => check(client, 'select 1'))
    } catch (error) {
      onLost(error as Error)
      drop(client)
    }
  }
  const connect = async (): Promise<void> => {
    const client = new Client(config)
    current = client
    client.on('error', onLost)
    client.on('end', () => drop(client))
    client.on('notification', (message) => heard(message.payload ?? ''))
    try {
      await client.connect()
    } catch (error) {
      onLost(error as Error)
      return drop(client)
    }
    await check(client, `listen ${pg.escapeIdentifier(channel)}`)
    if (current === client) heard('')
  }
  await connect()
  return async () => {
    isStopped = true
    clearTimeout(timer)
    if (current) drop(current)
  }
}
