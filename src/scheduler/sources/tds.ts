// Dataverse's TDS endpoint and SQL Server, over one driver. Dataverse takes an Entra ID access token; SQL Server a token or a
// password. Rows are pushed and paused when the reader lags; cancelling sends an attention. The driver is loaded on demand: it
// pulls in Azure's libraries and takes 400 ms.
import { once } from 'node:events'
import type { Connection, ConnectionConfiguration, Request } from 'tedious'
import { messageOf } from '../../base/errors/errors.ts'
import { CHUNK_BYTES_MAX } from '../../base/run/chunks.ts'
import { loadOptional } from '../../base/run/optional-packages.ts'
import type { TokenRequest } from '../../base/sign-in/token.ts'
import type { SourceColumn, SourceRow } from '../../domain/sources/source-values.ts'
import { type Connection as ConnectionTarget, type Identity, readConnection } from './connection.ts'
import { tenantOfDataverse } from './dataverse-tenant.ts'
import { SourceFault } from './fault.ts'
import { rowBytes } from './row-bytes.ts'
import type { OpenedSource, SourceRequest } from './source.ts'
import { type TdsColumn, tdsColumns, tdsRow } from './tds-values.ts'

const CONNECT_TIMEOUT_MS = 15_000
const CANCEL_TIMEOUT_MS = 5_000
const CHUNK_ROWS = 1_000
const DEFAULT_PORT = 1433
const SQL_SCOPE = 'https://database.windows.net/.default'

export async function openTds(request: SourceRequest): Promise<OpenedSource> {
  const { source, signal } = request
  const type = source.type === 'dataverse' ? 'dataverse' : 'sqlserver'
  const variable = source.connection ?? ''
  const target = readConnection(type, request.variable(source.connection), variable, request.hide)
  const address = addressOf(target, variable)
  const scope = type === 'dataverse' ? `https://${address.server}/.default` : SQL_SCOPE
  const authentication = await authenticationFor(request, target.identity, scope)
  const { Connection, Request } = await loadOptional(
    'SOURCE_PACKAGE_MISSING',
    ['tedious'],
    () => import('tedious'),
  )
  signal.throwIfAborted()
  const connection = new Connection({
    server: address.server,
    authentication,
    options: {
      port: address.port,
      ...(target.database === null ? {} : { database: target.database }),
      encrypt: target.encrypt,
      trustServerCertificate: target.trustServerCertificate,
      ...(target.hostNameInCertificate === null
        ? {}
        : { serverName: target.hostNameInCertificate }),
      appName: 'matoolkit',
      connectTimeout: CONNECT_TIMEOUT_MS,
      cancelTimeout: CANCEL_TIMEOUT_MS,
      // The driver's timer stops at the first row; ours covers the last.
      requestTimeout: 0,
      useUTC: true,
      // Microsoft Graph and the runbooks that compare with it use lower-case object ids.
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
function addressOf(target: ConnectionTarget, variable: string): { server: string; port: number } {
  const match = /^(?:tcp:)?([a-z0-9.-]+)(?:\s*[,:]\s*(\d{1,5}))?$/i.exec(target.server)
  if (match) return { server: match[1]!, port: Number(match[2] ?? DEFAULT_PORT) }
  const form = 'a Server that does not have the form host or host,port'
  throw new SourceFault('not_configured', `${variable} has ${form}`)
}

type Authentication = NonNullable<ConnectionConfiguration['authentication']>

async function authenticationFor(
  request: SourceRequest,
  identity: Identity,
  scope: string,
): Promise<Authentication> {
  if (identity.kind === 'sql')
    return {
      type: 'default',
      options: { userName: identity.user, password: identity.password },
    }
  const token = await request.token(await tokenRequestOf(identity, scope, request.signal))
  return { type: 'azure-active-directory-access-token', options: { token } }
}

async function tokenRequestOf(
  identity: Identity,
  scope: string,
  signal: AbortSignal,
): Promise<TokenRequest> {
  if (identity.kind === 'service_principal') {
    const { clientId, secret } = identity
    const tenantId = identity.tenantId ?? (await tenantOfDataverse(new URL(scope).host, signal))
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
      : 'the server offers no encryption; set Encrypt=False only in a trusted network'
    throw new SourceFault('unreachable', reason, error)
  }
  const isSignIn = ['ELOGIN', 'EFEDAUTH'].includes(codeOf(error))
  throw new SourceFault(isSignIn ? 'sign_in' : 'unreachable', reasonOf(error), error)
}

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : ''

/** A statement may fail for several reasons; the driver puts them into one error without a message. */
const reasonOf = (error: Error): string =>
  error instanceof AggregateError ? error.errors.map(reasonOfOne).join('; ') : reasonOfOne(error)

/** Errors of SQL Server that quote a value: conversion, overflow, duplicate, truncation. In any language of the server. */
const QUOTES_DATA = new Set([220, 232, 235, 244, 245, 246, 248, 2601, 2627, 2628])

const reasonOfOne = (error: unknown): string => {
  const { number } = error as { number?: number }
  const reason = messageOf(error)
  return QUOTES_DATA.has(number ?? 0) ? reason.replace(VALUE, '$1[redacted]') : reason
}

/** From the first quote, bracket or equals sign to the last. Tried at the beginning only: 60,000 brackets of a server take no seconds. */
const VALUE = /^([^'"(=]*)['"(=].*['")\d]/s

/** One query and its rows: the driver pushes, the reader pulls. */
class TdsResult {
  readonly #connection: Connection
  readonly #request: Request
  /** Set once the server reports the end or a failure. */
  #outcome: { readonly fault: SourceFault | null } | undefined
  #isDone = false
  #columns: readonly TdsColumn[] | undefined
  #waiting: SourceRow[] = []
  #waitingBytes = 0
  #wake: () => void = () => {}
  #ended: Promise<void> | undefined
  #isRunning = false

  constructor(connection: Connection, RequestClass: typeof Request, query: string) {
    this.#connection = connection
    this.#request = new RequestClass(query, (error) => this.#finish(error ?? undefined))
    // The request's callback reports it too, and knows whether a query was running.
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
    throw this.#outcome?.fault ?? new SourceFault('refused', 'the query returns no result set')
  }

  async *rows(): AsyncGenerator<readonly SourceRow[]> {
    for (;;) {
      if (this.#isFull() || (this.#outcome && this.#waiting.length > 0)) {
        const chunk = this.#waiting
        this.#waiting = []
        this.#waitingBytes = 0
        this.#request.resume()
        yield chunk
      } else if (!this.#outcome) await this.#more()
      else if (this.#outcome.fault) throw this.#outcome.fault
      else return
    }
  }

  #isFull(): boolean {
    return this.#waiting.length >= CHUNK_ROWS || this.#waitingBytes >= CHUNK_BYTES_MAX
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
      const row = tdsRow(values, this.#columns ?? [])
      this.#waiting.push(row)
      this.#waitingBytes += rowBytes(Object.values(row))
    } catch (error) {
      this.#fail(error)
    }
    if (!this.#isFull() && !this.#outcome) return
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

  /** A message without its DONE was cut off. */
  #missingEnd(): SourceFault | null {
    return this.#isDone ? null : new SourceFault('dropped', 'the response ends too early')
  }

  end(): Promise<void> {
    this.#ended ??= this.#end()
    return this.#ended
  }

  async #end(): Promise<void> {
    this.#outcome ??= { fault: new SourceFault('dropped', 'the query was cancelled') }
    this.#wake()
    if (this.#isRunning && this.#connection.cancel()) {
      // Called when the server confirms, or after CANCEL_TIMEOUT_MS.
      await once(this.#request, 'requestCompleted').catch(() => {})
    }
    this.#connection.close()
  }
}

function faultOf(error: Error): SourceFault {
  const errors: unknown[] = error instanceof AggregateError ? error.errors : [error]
  const isRefused = errors.some((cause) => codeOf(cause) === 'EREQUEST')
  return new SourceFault(isRefused ? 'refused' : 'dropped', reasonOf(error), error)
}
