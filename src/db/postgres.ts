// A PostgreSQL server, over a pool of connections.
import pg from 'pg'
import { MatoolkitError, messageOf } from '../errors.ts'
import type { Db, Tx } from './db.ts'

export interface PostgresOptions {
  readonly url: string
  readonly poolSize?: number
  readonly statementTimeoutMs?: number
  readonly applicationName?: string
  /** Told when an idle connection dies; the pool replaces it by itself. */
  readonly onConnectionLost?: (error: Error) => void
}

const CONNECT_TIMEOUT_MS = 10_000
const RELISTEN_DELAY_MS = 1_000
/**
 * Statements here touch some hundred rows by their keys. With the default random_page_cost of 4 (spinning disks) the planner read
 * all of step_executions for every chunk until it had some 100,000 rows: 50 µs a row instead of 15. JIT would only add to them.
 */
const SESSION = '-c TimeZone=UTC -c DateStyle=ISO -c random_page_cost=1.1 -c jit=off'

const { builtins } = pg.types
const INT8_ARRAY = 1016
const PARSERS = new Map<number, (text: string) => unknown>([
  [builtins.INT8, Number],
  [builtins.NUMERIC, Number],
  [builtins.TIMESTAMPTZ, parseUtc],
  [INT8_ARRAY, (text) => (text === '{}' ? [] : text.slice(1, -1).split(',').map(Number))],
])
const typeParsers = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    (format !== 'binary' && PARSERS.get(oid)) || pg.types.getTypeParser(oid, format),
} as pg.CustomTypesConfig

/** `2026-03-01 10:00:00.5+00` as the server writes it in UTC. The general parser of `pg` took 5 times as long on the hot path. */
function parseUtc(text: string): Date {
  return new Date(`${text.slice(0, 10)}T${text.slice(11, -3)}Z`)
}

export async function openPostgres(options: PostgresOptions): Promise<Db> {
  const config: pg.PoolConfig = {
    connectionString: options.url,
    max: options.poolSize ?? 10,
    types: typeParsers,
    application_name: options.applicationName ?? 'matoolkit',
    keepAlive: true,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    statement_timeout: options.statementTimeoutMs ?? 60_000,
    idle_in_transaction_session_timeout: 60_000,
    options: SESSION,
  }
  const pool = new pg.Pool(config)
  const onLost = options.onConnectionLost ?? (() => {})
  pool.on('error', onLost)
  try {
    const { rows } = await pool.query(
      "select current_setting('server_version_num')::int as version",
    )
    if (rows[0].version < 150_000) {
      throw new MatoolkitError('DATABASE_TOO_OLD', {
        version: Math.floor(rows[0].version / 10_000),
      })
    }
  } catch (error) {
    await pool.end()
    if (error instanceof MatoolkitError) throw error
    throw new MatoolkitError('DATABASE_UNREACHABLE', { reason: messageOf(error) }, { cause: error })
  }
  return wrap(pool, config, onLost)
}

function wrap(pool: pg.Pool, config: pg.PoolConfig, onLost: (error: Error) => void): Db {
  const closers = new Set<() => Promise<void>>()
  return {
    kind: 'postgres',
    query: async (sql, values) => (await pool.query(sql, values as unknown[])).rows,
    transaction: (work) => inTransaction(pool, work),
    script: async (sql) => void (await pool.query(sql)),
    listen: async (channel, heard) => {
      const stop = await keepListening(config, channel, heard, onLost)
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

async function inTransaction<T>(pool: pg.Pool, work: (tx: Tx) => Promise<T>): Promise<T> {
  const client = await pool.connect()
  const { tx, end } = oneByOne(client)
  let broken: Error | undefined
  try {
    await client.query('begin')
    const result = await work(tx)
    await end()
    await client.query('commit')
    return result
  } catch (error) {
    await end()
    // A connection that cannot even roll back is thrown away; the server rolls back when it goes.
    await client.query('rollback').catch((cause: Error) => {
      broken = cause
    })
    throw error
  } finally {
    client.release(broken)
  }
}

/**
 * Statements given at the same time run one after the other, in the order they were given; after one that failed the rest do not
 * run. `end` refuses further ones and waits for the one that is running.
 */
function oneByOne(client: pg.PoolClient): { tx: Tx; end: () => Promise<void> } {
  let last: Promise<unknown> = Promise.resolve()
  let isOver = false
  const next = <T>(run: () => Promise<T>): Promise<T> => {
    const mine = last.then(() => {
      if (isOver) throw new Error('the transaction is over')
      return run()
    })
    last = mine
    return mine
  }
  const tx: Tx = {
    inTransaction: true,
    query: (sql, values) => next(async () => (await client.query(sql, values as unknown[])).rows),
    script: (sql) => next(async () => void (await client.query(sql))),
  }
  const end = async () => {
    isOver = true
    await last.catch(() => {})
  }
  return { tx, end }
}

/** A connection of its own that comes back after it is lost. What was notified meanwhile is gone: callers poll anyway. */
async function keepListening(
  config: pg.PoolConfig,
  channel: string,
  heard: (payload: string) => void,
  onLost: (error: Error) => void,
): Promise<() => Promise<void>> {
  let stopped = false
  let client: pg.Client | undefined
  let timer: NodeJS.Timeout | undefined
  const connect = async () => {
    const fresh = new pg.Client(config)
    fresh.on('error', onLost)
    fresh.on('end', () => {
      if (!stopped && client === fresh)
        timer = setTimeout(() => connect().catch(again), RELISTEN_DELAY_MS)
    })
    fresh.on('notification', (message) => heard(message.payload ?? ''))
    await fresh.connect()
    client = fresh
    await fresh.query(`listen ${pg.escapeIdentifier(channel)}`)
    heard('')
  }
  const again = (error: Error) => {
    onLost(error)
    if (!stopped) timer = setTimeout(() => connect().catch(again), RELISTEN_DELAY_MS)
  }
  await connect()
  return async () => {
    stopped = true
    clearTimeout(timer)
    await client?.end()
  }
}
