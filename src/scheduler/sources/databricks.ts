// Databricks over its SQL Statement Execution API. We poll a running statement; rows come in chunks, inline up to 25 MiB and by
// storage links beyond. A failed statement still returns HTTP 200, a truncated result says so in its manifest, and only
// cancelling stops a statement.

import { chunksOf } from '../../base/run/chunks.ts'
import type { TokenRequest } from '../../base/sign-in/token.ts'
import type { Json } from '../../base/text/json.ts'
import { sameName } from '../../base/text/same-name.ts'
import { utcText } from '../../domain/sources/source-time.ts'
import {
  type ColumnType,
  exactNumber,
  floatNumber,
  jsonValue,
  type SourceColumn,
  type SourceRow,
} from '../../domain/sources/source-values.ts'
import { type Identity, readConnection } from './connection.ts'
import {
  DatabricksApi,
  type DatabricksRow,
  type DatabricksStatement,
  type StatementResult,
} from './databricks-api.ts'
import { SourceFault } from './fault.ts'
import { rowBytes } from './row-bytes.ts'
import type { OpenedSource, SourceRequest } from './source.ts'

/** Databricks' application in every tenant and cloud. */
const ENTRA_SCOPE = '2ff814a6-3304-4ab8-85cb-cd0e6f879c1d/.default'
const CHUNK_ROWS = 1_000
const POLL_FIRST_MS = 250
const POLL_MOST_MS = 5_000

export async function openDatabricks(request: SourceRequest): Promise<OpenedSource> {
  const { source, settings, signal } = request
  const variable = source.connection ?? ''
  const target = readConnection('databricks', request.variable(variable), variable, request.hide)
  const host = hostOf(target.server, variable)
  const warehouseId = warehouseIn(request)
  const authorize = async () => `Bearer ${await tokenFor(request, target.identity, host)}`
  const api = new DatabricksApi({ host, authorize, clock: settings.clock, signal })
  const statement = new RunningStatement(api, settings.clock.wait, signal)
  const onAbort = () => void statement.cancel()
  signal.addEventListener('abort', onAbort, { once: true })
  try {
    await statement.run(warehouseId, source.query ?? '')
    return {
      columns: statement.columns(),
      rows: statement.rows(),
      close: () => statement.cancel(),
    }
  } catch (error) {
    await statement.cancel()
    throw error
  }
}

const WAREHOUSE_ID = /^[0-9a-f]{16}$/i

/** Never shown: a runbook could name a variable that holds a secret, and read it in the error. */
function warehouseIn(request: SourceRequest): string {
  const { warehouseId: name } = request.source
  const id = request.variable(name)
  request.hide(id)
  if (WAREHOUSE_ID.test(id)) return id
  const reason = `the variable ${name} does not hold the id of a warehouse: 16 hexadecimal digits, the end of its HTTP path`
  throw new SourceFault('not_configured', reason)
}

/** Only scheme and host: a path in the variable would silently call something else. */
function hostOf(server: string, variable: string): string {
  const url = URL.parse(/^https?:\/\//i.test(server) ? server : `https://${server}`)
  const isLocal = url?.hostname === 'localhost' || url?.hostname === '127.0.0.1'
  if (url && (url.protocol === 'https:' || isLocal) && url.pathname === '/' && !url.search)
    return url.origin
  const form = 'an address such as https://adb-1234567890123456.7.azuredatabricks.net'
  throw new SourceFault('not_configured', `${variable} is not ${form}`)
}

async function tokenFor(request: SourceRequest, identity: Identity, host: string): Promise<string> {
  if (identity.kind === 'databricks_token') return identity.token
  return request.token(tokenRequestOf(identity, host))
}

function tokenRequestOf(identity: Identity, host: string): TokenRequest {
  switch (identity.kind) {
    case 'databricks_oauth':
      return { from: 'databricks', host, clientId: identity.clientId, secret: identity.secret }
    case 'service_principal': {
      const { tenantId, clientId, secret } = identity
      return { from: 'entra', tenantId: tenantId!, clientId, secret, scope: ENTRA_SCOPE }
    }
    default: {
      const clientId = identity.kind === 'managed_identity' ? identity.clientId : null
      return { from: 'machine', clientId, scope: ENTRA_SCOPE }
    }
  }
}

interface ReadColumn {
  readonly name: string
  readonly kind: Kind
}

type Disposition = 'INLINE' | 'EXTERNAL_LINKS'
const INLINE_LIMIT = /inline byte limit exceeded|disposition=EXTERNAL_LINKS/i

class RunningStatement {
  readonly #api: DatabricksApi
  readonly #wait: (ms: number, signal?: AbortSignal) => Promise<void>
  readonly #signal: AbortSignal
  #starting: Promise<DatabricksStatement> | undefined
  #statement: DatabricksStatement | undefined
  #isOver = false
  #cancelled: Promise<void> | undefined

  constructor(
    api: DatabricksApi,
    wait: (ms: number, signal?: AbortSignal) => Promise<void>,
    signal: AbortSignal,
  ) {
    this.#api = api
    this.#wait = wait
    this.#signal = signal
  }

  /** Runs the query to its end. A result too large for an inline response runs again, for links. */
  async run(warehouseId: string, query: string): Promise<void> {
    const failure = await this.#runAs('INLINE', warehouseId, query)
    if (failure === null) return
    if (!INLINE_LIMIT.test(failure)) throw new SourceFault('refused', failure)
    const again = await this.#runAs('EXTERNAL_LINKS', warehouseId, query)
    if (again !== null) throw new SourceFault('refused', again)
  }

  /** Why it failed; null when it succeeded. */
  async #runAs(
    disposition: Disposition,
    warehouseId: string,
    query: string,
  ): Promise<string | null> {
    this.#isOver = false
    // Not waiting here returns the id at once; without it there is nothing to cancel by.
    this.#starting = this.#api.start({
      warehouse_id: warehouseId,
      statement: query,
      wait_timeout: '0s',
      on_wait_timeout: 'CONTINUE',
      disposition,
      format: 'JSON_ARRAY',
    })
    this.#statement = await this.#starting
    let pauseMs = POLL_FIRST_MS
    while (isOpen(this.#statement)) {
      await this.#wait(pauseMs, this.#signal)
      this.#signal.throwIfAborted()
      pauseMs = Math.min(pauseMs * 2, POLL_MOST_MS)
      this.#statement = await this.#api.get<DatabricksStatement>(
        `/${encodeURIComponent(this.#statement.statement_id)}`,
      )
    }
    this.#isOver = true
    const { state, error } = this.#statement.status ?? {}
    if (state === 'SUCCEEDED') return null
    return error?.message ?? `the statement ended with state ${state ?? 'unknown'}`
  }

  columns(): SourceColumn[] {
    if (this.#statement?.manifest?.truncated)
      throw new SourceFault('truncated', 'Databricks truncated it at a limit')
    return this.#readColumns().map(({ name, kind }) => ({ name, type: kind.type }))
  }

  #readColumns(): ReadColumn[] {
    return (this.#statement?.manifest?.schema?.columns ?? [])
      .toSorted((a, b) => a.position - b.position)
      .map(({ name, type_name }) => ({ name, kind: kindOf(type_name) }))
  }

  async *rows(): AsyncGenerator<readonly SourceRow[]> {
    const { statement_id, manifest, result } = this.#statement!
    const columns = this.#readColumns()
    const expected = manifest?.total_row_count ?? 0
    let seen = 0
    let part: StatementResult | undefined = result
    while (part) {
      const next = nextChunkOf(part)
      const values = await this.#valuesOf(part)
      seen += values.length
      for (const chunk of chunksOf(values, CHUNK_ROWS, rowBytes))
        yield chunk.map((row) => rowOf(row, columns))
      if (next === null) break
      part = await this.#api.get<StatementResult>(
        `/${encodeURIComponent(statement_id)}/result/chunks/${next}`,
      )
    }
    if (seen !== expected)
      throw new SourceFault('truncated', `it has ${expected} rows, but ${seen} arrived`)
  }

  async #valuesOf(part: StatementResult): Promise<readonly DatabricksRow[]> {
    if (part.data_array) return part.data_array
    const values: DatabricksRow[] = []
    for (const link of part.external_links ?? []) values.push(...(await this.#api.download(link)))
    return values
  }

  /** Cancels the statement once, if it is running. */
  cancel(): Promise<void> {
    this.#cancelled ??= this.#cancel()
    return this.#cancelled
  }

  async #cancel(): Promise<void> {
    if (this.#isOver) return
    const started = await this.#starting?.catch(() => undefined)
    if (started) await this.#api.cancel(started.statement_id)
  }
}

const isOpen = ({ status }: DatabricksStatement): boolean =>
  status?.state === 'PENDING' || status?.state === 'RUNNING'

function nextChunkOf(part: StatementResult): number | null {
  const next = part.next_chunk_index ?? part.external_links?.at(-1)?.next_chunk_index
  return next ?? null
}

interface Kind {
  readonly type: ColumnType
  /** Every value arrives as text. */
  read(text: string): Json
}

const TEXT: Kind = { type: 'text', read: (text) => text }
const EXACT: Kind = { type: 'number', read: exactNumber }
const FLOAT: Kind = { type: 'number', read: (text) => floatNumber(Number(text)) }
const INSTANT: Kind = { type: 'time', read: utcText }
const JSON_TEXT: Kind = { type: 'json', read: jsonValue }
const KINDS: Readonly<Record<string, Kind>> = {
  BOOLEAN: { type: 'boolean', read: (text) => sameName(text, 'true') },
  BYTE: EXACT,
  SHORT: EXACT,
  INT: EXACT,
  LONG: EXACT,
  DECIMAL: EXACT,
  FLOAT,
  DOUBLE: FLOAT,
  DATE: { type: 'date', read: (text) => text },
  TIMESTAMP: INSTANT,
  TIMESTAMP_NTZ: INSTANT,
  BINARY: { type: 'binary', read: (text) => text },
  ARRAY: JSON_TEXT,
  STRUCT: JSON_TEXT,
  MAP: JSON_TEXT,
}

function kindOf(typeName: string): Kind {
  return KINDS[typeName] ?? TEXT
}

function rowOf(values: DatabricksRow, columns: readonly ReadColumn[]): SourceRow {
  const row: Record<string, Json> = {}
  for (const [index, { name, kind }] of columns.entries()) {
    const text = values[index] ?? null
    row[name] = text === null ? null : kind.read(text)
  }
  return row
}
