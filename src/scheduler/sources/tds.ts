// Dataverse's TDS endpoint and SQL Server, over the same driver. Dataverse takes an access token of Microsoft Entra ID; SQL Server
// that or a password. Rows come one by one and are held back when nobody takes them; cancelling sends the server an attention.
// The driver is loaded when it is needed: it brings Azure's libraries along and takes 400 ms.
import { once } from 'node:events'
import type { Connection, ConnectionConfiguration, Request } from 'tedious'
import type { SourceColumn, SourceRow } from '../../domain/detection/source-values.ts'
import { messageOf } from '../../errors.ts'
import { type Identity, type Connection as Place, readConnection } from './connection.ts'
import { SourceFault } from './fault.ts'
import type { OpenedSource, SourceRequest } from './source.ts'
import { type TdsColumn, tdsColumns, tdsRow } from './tds-values.ts'
import type { TokenRequest } from './token.ts'

const CONNECT_TIMEOUT_MS = 15_000
const CANCEL_TIMEOUT_MS = 5_000
const CHUNK_ROWS = 1_000
const DEFAULT_PORT = 1433
const SQL_SCOPE = 'https://database.windows.net/.default'

export async function openTds(ask: SourceRequest): Promise<OpenedSource> {
  const { source, signal } = ask
  const type = source.type === 'dataverse' ? 'dataverse' : 'sqlserver'
  const variable = source.connection ?? ''
  const place = readConnection(type, ask.variable(source.connection), variable, ask.hide)
  const address = addressOf(place, variable)
  const scope = type === 'dataverse' ? `https://${address.server}/.default` : SQL_SCOPE
  const authentication = await authenticationFor(ask, place.identity, scope)
  const { Connection, Request } = await import('tedious')
  signal.throwIfAborted()
  const connection = new Connection({
    server: address.server,
    authentication,
    options: {
      port: address.port,
      ...(place.database === null ? {} : { database: place.database }),
      encrypt: place.encrypt,
      trustServerCertificate: place.trustServerCertificate,
      ...(place.hostNameInCertificate === null ? {} : { serverName: place.hostNameInCertificate }),
      appName: 'matoolkit',
      connectTimeout: CONNECT_TIMEOUT_MS,
      cancelTimeout: CANCEL_TIMEOUT_MS,
      // The driver's own timer stops at the first row; ours runs to the last.
      requestTimeout: 0,
      useUTC: true,
      // Microsoft Graph writes object ids in lower case, and so do the runbooks that compare them.
      lowerCaseGuids: true,
    },
  })
  const result = new TdsResult(connection, Request, source.query ?? '')
  signal.addEventListener('abort', () => void result.end(), { once: true })
  try {
    await connect(connection)
    const columns = await result.start()
    return { columns, rows: result.rows(), close: () => result.end() }
  } catch (error) {
    await result.end()
    throw error
  }
}

/** `tcp:host,port`, `host,port` or `host`. */
function addressOf(place: Place, variable: string): { server: string; port: number } {
  const match = /^(?:tcp:)?([a-z0-9.-]+)(?:\s*[,:]\s*(\d{1,5}))?$/i.exec(place.server)
  if (match) return { server: match[1]!, port: Number(match[2] ?? DEFAULT_PORT) }
  const form = 'a Server that is not of the form host or host,port'
  throw new SourceFault('not_configured', `${variable} has ${form}`)
}

type Authentication = NonNullable<ConnectionConfiguration['authentication']>

async function authenticationFor(
  ask: SourceRequest,
  identity: Identity,
  scope: string,
): Promise<Authentication> {
  if (identity.kind === 'sql')
    return {
      type: 'default',
      options: { userName: identity.user, password: identity.password },
    }
  const token = await ask.token(tokenRequestOf(identity, scope))
  return { type: 'azure-active-directory-access-token', options: { token } }
}

function tokenRequestOf(identity: Identity, scope: string): TokenRequest {
  if (identity.kind === 'service_principal') {
    const { tenantId, clientId, secret } = identity
    return { from: 'entra', tenantId, clientId, secret, scope }
  }
  const clientId = identity.kind === 'managed_identity' ? identity.clientId : null
  return { from: 'machine', clientId, scope }
}

async function connect(connection: Connection): Promise<void> {
  const error = await new Promise<Error | undefined>((resolve) => {
    connection.connect((failed) => resolve(failed ?? undefined))
  })
  if (!error) return
  if (codeOf(error) === 'EENCRYPT') {
    const reason = /requires/.test(error.message)
      ? 'the server requires encryption; leave Encrypt on'
      : 'the server offers no encryption; set Encrypt=False only in a network that you trust'
    throw new SourceFault('unreachable', reason, error)
  }
  const isSignIn = ['ELOGIN', 'EFEDAUTH'].includes(codeOf(error))
  throw new SourceFault(isSignIn ? 'sign_in' : 'unreachable', reasonOf(error), error)
}

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : ''

/** A statement may fail for several reasons at once; the driver puts them into one error without a message. */
const reasonOf = (error: Error): string =>
  error instanceof AggregateError ? error.errors.map(messageOf).join('; ') : error.message

/** One query and its rows, between a driver that pushes and a reader that pulls. */
class TdsResult {
  readonly #connection: Connection
  readonly #request: Request
  /** Set when the server said that this was all, or why it was not. */
  #outcome: { readonly fault: SourceFault | null } | undefined
  #isDone = false
  #columns: readonly TdsColumn[] | undefined
  #waiting: SourceRow[] = []
  #wake: () => void = () => {}
  #ended: Promise<void> | undefined
  #isRunning = false

  constructor(connection: Connection, RequestClass: typeof Request, query: string) {
    this.#connection = connection
    this.#request = new RequestClass(query, (error) => this.#finish(error ?? undefined))
    // Said again by the request's callback, which knows whether a query was running.
    connection.on('error', () => {})
    this.#request.on('columnMetadata', (columns) => this.#takeColumns(columns))
    this.#request.on('row', (values) => this.#takeRow(values))
    this.#request.on('done', (_count, more) => {
      this.#isDone = !more
    })
  }

  async start(): Promise<readonly SourceColumn[]> {
    this.#isRunning = true
    this.#connection.execSqlBatch(this.#request)
    while (!this.#columns && !this.#outcome) await this.#more()
    if (this.#columns) return this.#columns.map(({ name, type }) => ({ name, type }))
    throw this.#outcome?.fault ?? new SourceFault('refused', 'the query returns no rows at all')
  }

  async *rows(): AsyncGenerator<readonly SourceRow[]> {
    for (;;) {
      if (this.#waiting.length >= CHUNK_ROWS || (this.#outcome && this.#waiting.length > 0)) {
        const chunk = this.#waiting
        this.#waiting = []
        this.#request.resume()
        yield chunk
      } else if (!this.#outcome) await this.#more()
      else if (this.#outcome.fault) throw this.#outcome.fault
      else return
    }
  }

  #more(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve
    })
  }

  #takeColumns(metadata: Parameters<typeof tdsColumns>[0]): void {
    try {
      if (this.#columns) throw new SourceFault('refused', 'the query returns more than one result')
      this.#columns = tdsColumns(metadata)
    } catch (error) {
      this.#fail(error)
    }
    this.#wake()
  }

  #takeRow(values: Parameters<typeof tdsRow>[0]): void {
    if (this.#outcome) return
    try {
      this.#waiting.push(tdsRow(values, this.#columns ?? []))
    } catch (error) {
      this.#fail(error)
    }
    if (this.#waiting.length < CHUNK_ROWS && !this.#outcome) return
    if (!this.#outcome) this.#request.pause()
    this.#wake()
  }

  #fail(error: unknown): void {
    const fault = error instanceof SourceFault ? error : new SourceFault('value', messageOf(error))
    this.#outcome ??= { fault }
  }

  #finish(error: Error | undefined): void {
    this.#isRunning = false
    this.#outcome ??= { fault: error ? faultOf(error) : this.#missingEnd() }
    this.#wake()
  }

  /** A message that stops without its DONE was cut off, whatever it held until then. */
  #missingEnd(): SourceFault | null {
    return this.#isDone ? null : new SourceFault('dropped', 'the answer stops before its end')
  }

  end(): Promise<void> {
    this.#ended ??= this.#end()
    return this.#ended
  }

  async #end(): Promise<void> {
    this.#outcome ??= { fault: new SourceFault('dropped', 'the query was cancelled') }
    this.#wake()
    if (this.#isRunning && this.#connection.cancel()) {
      // The driver calls back when the server has confirmed, or after CANCEL_TIMEOUT_MS when it does not.
      await once(this.#request, 'requestCompleted').catch(() => {})
    }
    this.#connection.close()
  }
}

function faultOf(error: Error): SourceFault {
  const errors: unknown[] = error instanceof AggregateError ? error.errors : [error]
  const isRefused = errors.some((one) => codeOf(one) === 'EREQUEST')
  return new SourceFault(isRefused ? 'refused' : 'dropped', reasonOf(error), error)
}
