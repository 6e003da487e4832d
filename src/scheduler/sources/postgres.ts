// A PostgreSQL database as a source. The query runs behind a cursor in a read-only transaction: it can change nothing, and the
// server sends rows only on request. Cancelling reaches the server, so an abandoned query does not keep running.
import { Socket } from 'node:net'
import pg from 'pg'
import { messageOf } from '../../base/errors/errors.ts'
import { safeReasonOf } from '../../base/log/redact.ts'
import { CHUNK_BYTES_MAX } from '../../base/run/chunks.ts'
import type { Json } from '../../base/text/json.ts'
import { utcText } from '../../domain/sources/source-time.ts'
import type { ColumnType, SourceColumn, SourceRow } from '../../domain/sources/source-values.ts'
import { exactNumber, floatNumber, jsonValue } from '../../domain/sources/source-values.ts'
import { SourceFault } from './fault.ts'
import { rowBytes } from './row-bytes.ts'
import type { OpenedSource, SourceRequest } from './source.ts'

const CONNECT_TIMEOUT_MS = 15_000
const CANCEL_TIMEOUT_MS = 5_000
const GOODBYE_TIMEOUT_MS = 1_000
const CHUNK_ROWS = 1_000
/** Nobody knows yet how wide they are. */
const FIRST_ROWS = 20

export async function openPostgresSource(request: SourceRequest): Promise<OpenedSource> {
  const url = addressOf(request)
  const socket = new Socket()
  const client = new pg.Client({
    connectionString: url,
    stream: () => socket,
    application_name: 'matoolkit source',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    // Values as the server's text: the driver's own parsers lose digits and zones.
    types: { getTypeParser: () => (text: string) => text } as pg.CustomTypesConfig,
  })
  // A connection that dies between statements reports here; the next statement reports it to its caller.
  client.on('error', () => {})
  const session = new Session(client, socket, url)
  request.signal.addEventListener('abort', () => void session.end(), { once: true })
  try {
    await session.connect()
    const columns = await session.start(request.source.query ?? '')
    return { columns, rows: session.rows(), close: () => session.end() }
  } catch (error) {
    await session.end()
    throw error
  }
}

function addressOf(request: SourceRequest): string {
  const text = request.variable(request.source.connection)
  const url = URL.parse(text)
  if (url?.protocol !== 'postgres:' && url?.protocol !== 'postgresql:') {
    const form = 'an address such as postgres://user:password@host:5432/database'
    throw new SourceFault('not_configured', `${request.source.connection} is not ${form}`)
  }
  request.hide(url.password)
  request.hide(decodeURIComponent(url.password))
  return text
}

type Reader = (text: string) => Json

/** How many to fetch next, if they are as wide as these. */
function rowsAfter(chunk: readonly (string | null)[][]): number {
  const bytes = chunk.reduce((sum, values) => sum + rowBytes(values), 0)
  const fitting = Math.floor((CHUNK_BYTES_MAX * chunk.length) / Math.max(bytes, 1))
  return Math.max(1, Math.min(CHUNK_ROWS, fitting))
}

class Session {
  readonly #client: pg.Client
  readonly #socket: Socket
  readonly #url: string
  #pid: number | null = null
  #first: (string | null)[][] = []
  /** Rows of the last fetch, if there were so many. */
  #asked = FIRST_ROWS
  #columns: readonly SourceColumn[] = []
  #readers: readonly Reader[] = []
  #isConnected = false
  #isRunning = false
  #ended: Promise<void> | undefined

  constructor(client: pg.Client, socket: Socket, url: string) {
    this.#client = client
    this.#socket = socket
    this.#url = url
  }

  async connect(): Promise<void> {
    try {
      await this.#client.connect()
      this.#isConnected = true
    } catch (error) {
      const isSignIn = /^(28|3D)/.test(stateOf(error)) || /SASL|password/i.test(messageOf(error))
      throw new SourceFault(isSignIn ? 'sign_in' : 'unreachable', reasonOf(error), error)
    }
  }

  async start(query: string): Promise<readonly SourceColumn[]> {
    // Behind a connection pooler the driver's pid is wrong; the backend's own answer is right.
    const { rows } = await this.#run({ text: 'select pg_backend_pid()', rowMode: 'array' })
    this.#pid = Number(rows[0]?.[0])
    await this.#run({ text: 'begin read only' })
    await this.#run({ text: "set local timezone = 'UTC'" })
    await this.#run({ text: "set local datestyle = 'ISO'" })
    await this.#run({ text: "set local bytea_output = 'hex'" })
    // The extended protocol takes one statement, so a query cannot end the transaction and write.
    await this.#run({ text: `declare members no scroll cursor for ${query}` })
    const { rows: first, fields } = await this.#fetch()
    this.#first = first
    const kinds = fields.map(({ dataTypeID }) => kindOf(dataTypeID))
    this.#readers = kinds.map(({ read }) => read)
    this.#columns = fields.map(({ name }, index) => ({ name, type: kinds[index]!.type }))
    return this.#columns
  }

  async *rows(): AsyncGenerator<readonly SourceRow[]> {
    let chunk = this.#first
    this.#first = []
    while (chunk.length > 0) {
      const isLast = chunk.length < this.#asked
      this.#asked = rowsAfter(chunk)
      yield chunk.map((values) => this.#rowOf(values))
      chunk = isLast ? [] : (await this.#fetch()).rows
    }
  }

  #rowOf(values: readonly (string | null)[]): SourceRow {
    const row: Record<string, Json> = {}
    for (const [index, { name }] of this.#columns.entries()) {
      const text = values[index] ?? null
      row[name] = text === null ? null : this.#readers[index]!(text)
    }
    return row
  }

  #fetch() {
    return this.#run({ text: `fetch ${this.#asked} from members`, rowMode: 'array' })
  }

  async #run(config: { text: string; rowMode?: 'array' }): Promise<Rows> {
    this.#isRunning = true
    try {
      const extended: pg.QueryConfig & { queryMode: string } = { ...config, queryMode: 'extended' }
      return (await this.#client.query(extended)) as unknown as Rows
    } catch (error) {
      const state = stateOf(error)
      // No state: the connection is lost. Class 08 and 57P0x: the server says so.
      const isDropped = state === '' || /^(08|57P0)/.test(state)
      throw new SourceFault(isDropped ? 'dropped' : 'refused', reasonOf(error), error)
    } finally {
      this.#isRunning = false
    }
  }

  end(): Promise<void> {
    this.#ended ??= this.#end()
    return this.#ended
  }

  async #end(): Promise<void> {
    // The driver would wait for a server that has not answered yet: cut the connection instead.
    if (!this.#isConnected) return void this.#socket.destroy()
    if (this.#isRunning && this.#pid !== null) await cancel(this.#url, this.#pid)
    const cut = setTimeout(() => this.#socket.destroy(), GOODBYE_TIMEOUT_MS)
    await this.#client.end().catch(() => {})
    clearTimeout(cut)
  }
}

interface Rows {
  readonly rows: (string | null)[][]
  readonly fields: readonly { readonly name: string; readonly dataTypeID: number }[]
}

/** Over a second connection, best effort: an unresponsive server cannot be told anything. */
async function cancel(url: string, pid: number): Promise<void> {
  const second = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: CANCEL_TIMEOUT_MS,
    query_timeout: CANCEL_TIMEOUT_MS,
  })
  second.on('error', () => {})
  try {
    await second.connect()
    await second.query('select pg_cancel_backend($1)', [pid])
  } catch {
    // Closing the connection is all that remains, and follows anyway.
  } finally {
    await second.end().catch(() => {})
  }
}

const stateOf = (error: unknown): string =>
  error instanceof pg.DatabaseError ? (error.code ?? '') : ''

/** When both addresses of a host refuse, the error's own message is empty. */
const reasonOf = (error: unknown): string =>
  safeReasonOf(error instanceof AggregateError ? error.errors[0] : error)

interface Kind {
  readonly type: ColumnType
  readonly read: Reader
}

const { builtins } = pg.types
const TEXT: Kind = { type: 'text', read: (text) => text }
const WHOLE: Kind = { type: 'number', read: exactNumber }
const FLOAT: Kind = { type: 'number', read: (text) => floatNumber(Number(text)) }
const INSTANT: Kind = { type: 'time', read: utcText }
const JSON_TEXT: Kind = { type: 'json', read: jsonValue }
const KINDS: ReadonlyMap<number, Kind> = new Map([
  [builtins.BOOL, { type: 'boolean', read: (text) => text === 't' }],
  [builtins.INT2, WHOLE],
  [builtins.INT4, WHOLE],
  [builtins.INT8, WHOLE],
  [builtins.OID, WHOLE],
  [builtins.NUMERIC, WHOLE],
  [builtins.FLOAT4, FLOAT],
  [builtins.FLOAT8, FLOAT],
  [builtins.TIMESTAMP, INSTANT],
  [builtins.TIMESTAMPTZ, INSTANT],
  [builtins.DATE, { type: 'date', read: (text) => text }],
  [builtins.JSON, JSON_TEXT],
  [builtins.JSONB, JSON_TEXT],
  [
    builtins.BYTEA,
    { type: 'binary', read: (text) => Buffer.from(text.slice(2), 'hex').toString('base64') },
  ],
] as [number, Kind][])

/** Arrays of these types become lists, so text columns need no splitting. Array type: element type. */
const ELEMENTS: ReadonlyMap<number, number> = new Map([
  [1000, builtins.BOOL],
  [1005, builtins.INT2],
  [1007, builtins.INT4],
  [1016, builtins.INT8],
  [1231, builtins.NUMERIC],
  [1021, builtins.FLOAT4],
  [1022, builtins.FLOAT8],
  [1009, builtins.TEXT],
  [1014, builtins.BPCHAR],
  [1015, builtins.VARCHAR],
  [2951, builtins.UUID],
])

function kindOf(typeId: number): Kind {
  const element = ELEMENTS.get(typeId)
  if (element === undefined) return KINDS.get(typeId) ?? TEXT
  const { read } = KINDS.get(element) ?? TEXT
  return { type: 'json', read: (text) => arrays.create(text, read).parse() }
}

/** The published types declare a function; it is an object with one. */
const arrays = pg.types.arrayParser as unknown as {
  create(text: string, read: Reader): { parse(): Json[] }
}
