// The contract of all data sources: columns, then rows in chunks, as fast as the caller reads. A result that ends is complete.
// Anything else throws a coded error that names the source and none of its secrets, and nothing of the result may be used: a
// member missing from half a result looks like a leaver.

import {
  type ErrorCode,
  type ErrorDetails,
  MatoolkitError,
  messageOf,
} from '../../base/errors/errors.ts'
import { HiddenSecrets } from '../../base/log/hidden-secrets.ts'
import { redactText } from '../../base/log/redact.ts'
import type { Clock } from '../../base/run/clock.ts'
import { type Config, readConnectionVariable } from '../../base/settings/config.ts'
import { type MachineSettings, machineIdentityOf } from '../../base/sign-in/machine-identity.ts'
import {
  AZURE_ENDPOINTS,
  makeTokens,
  SignInFault,
  type TokenEndpoints,
  type TokenRequest,
  type Tokens,
} from '../../base/sign-in/token.ts'
import { CONNECTION_PREFIXES } from '../../base/text/reserved-names.ts'
import type { DataSource } from '../../domain/runbook/model.ts'
import { columnsProblem } from '../../domain/sources/row-reader.ts'
import type { SourceColumn, SourceRow } from '../../domain/sources/source-values.ts'
import { SOURCE_ADVICE } from './advice.ts'
import { openCsv } from './csv.ts'
import { openDatabricks } from './databricks.ts'
import { type FaultKind, SourceFault } from './fault.ts'
import { openPostgresSource } from './postgres.ts'
import { openTds } from './tds.ts'

/** More than any tenant moves at once; stops a query without its WHERE. */
const ROWS_MAX = 1_000_000
const REASON_CHARS_MAX = 500

export interface SourceSettings {
  /** The value of an environment variable; undefined when not set. */
  readonly connection: (name: string) => string | undefined
  /** Real time even in a simulation: servers do not run faster. */
  readonly clock: Clock
  readonly tokens: Tokens
  /** The folder of csv sources; null when not set. */
  readonly folder: string | null
  /** From opening to the last row. */
  readonly timeoutMs: number
}

export type OpenSource = typeof openSource

export interface SourceAccess {
  readonly settings: SourceSettings
  /** Tests replace it by a double. */
  readonly open: OpenSource
}

type AccessConfig = Pick<Config, 'sourceFolder' | 'sourceTimeoutSec'> & MachineSettings

/** Access to data sources as this process is configured. `clock` is real time even in a simulation. */
export function sourceAccessFrom(config: AccessConfig, clock: Clock): SourceAccess {
  return {
    settings: {
      connection: readConnectionVariable,
      clock,
      tokens: makeSourceTokens(clock, { ...AZURE_ENDPOINTS, ...machineIdentityOf(config) }),
      folder: config.sourceFolder,
      timeoutMs: config.sourceTimeoutSec * 1000,
    },
    open: openSource,
  }
}

/** Tokens as in src/sign-in, with failures as SourceFault. */
export function makeSourceTokens(clock: Clock, endpoints?: TokenEndpoints): Tokens {
  const tokens = makeTokens(clock, endpoints)
  return {
    get: async (request, refused) => {
      try {
        return await tokens.get(request, refused)
      } catch (error) {
        if (!(error instanceof SignInFault)) throw error
        throw new SourceFault(error.kind, error.message, error.cause)
      }
    },
  }
}

export interface SourceResult {
  readonly columns: readonly SourceColumn[]
  /** Can be read once. Ends after the last row of a complete result; anything else throws. */
  readonly rows: AsyncIterable<readonly SourceRow[]>
  /** Cancels a running query. Call it whether or not the rows were read. */
  close(): Promise<void>
}

/** What each type of source receives. */
export interface SourceRequest {
  readonly source: DataSource
  readonly settings: SourceSettings
  /** Aborts on timeout, on stop, and when reading ends. */
  readonly signal: AbortSignal
  /** The value of a connection variable. */
  variable(name: string | null): string
  /** An access token, redacted from every message from then on. */
  token(request: TokenRequest): Promise<string>
  /** Redacts this text from every message from then on. */
  hide(secret: string): void
}

/** What each type of source returns. `close` cancels a running query on the server and ends within seconds. */
export interface OpenedSource {
  readonly columns: readonly SourceColumn[]
  readonly rows: AsyncGenerator<readonly SourceRow[]>
  close(): Promise<void>
}

const OPENERS: Readonly<
  Record<DataSource['type'], (request: SourceRequest) => Promise<OpenedSource>>
> = {
  dataverse: openTds,
  sqlserver: openTds,
  databricks: openDatabricks,
  postgres: openPostgresSource,
  csv: openCsv,
}

/** Starts the query. Throws a coded error when that fails; `stopping` ends it at any time. */
export async function openSource(
  source: DataSource,
  settings: SourceSettings,
  stopping: AbortSignal,
): Promise<SourceResult> {
  const query = new RunningQuery(source, settings, stopping)
  try {
    const opened = await query.open()
    return {
      columns: opened.columns,
      rows: query.rows(opened),
      close: () => query.close(),
    }
  } catch (error) {
    const coded = query.errorOf(error)
    await query.close()
    throw coded
  }
}

class RunningQuery {
  readonly #source: DataSource
  readonly #settings: SourceSettings
  readonly #ending = new AbortController()
  readonly #secrets = new HiddenSecrets()
  readonly #stopping: AbortSignal
  readonly #stop = () => this.#end('stopped')
  #endedBecause: 'timed_out' | 'stopped' | 'closed' | null = null
  #opening: Promise<OpenedSource> | undefined
  #rowsRead = 0

  constructor(source: DataSource, settings: SourceSettings, stopping: AbortSignal) {
    this.#source = source
    this.#settings = settings
    this.#stopping = stopping
    const { signal } = this.#ending
    if (stopping.aborted) this.#end('stopped')
    stopping.addEventListener('abort', this.#stop)
    void settings.clock.wait(settings.timeoutMs, signal).then(() => this.#end('timed_out'))
  }

  #end(because: 'timed_out' | 'stopped' | 'closed'): void {
    this.#endedBecause ??= because
    this.#ending.abort()
  }

  async open(): Promise<OpenedSource> {
    this.#ending.signal.throwIfAborted()
    const request: SourceRequest = {
      source: this.#source,
      settings: this.#settings,
      signal: this.#ending.signal,
      variable: (name) => this.#variable(name ?? ''),
      token: (tokenRequest) => this.#token(tokenRequest),
      hide: (secret) => this.#secrets.add(secret, '[redacted]'),
    }
    this.#opening = OPENERS[this.#source.type](request)
    const opened = await orAborted(this.#opening, this.#ending.signal)
    const problem = columnsProblem(opened.columns, this.#source)
    if (problem) throw new SourceFault('columns', problem)
    return opened
  }

  async *rows(opened: OpenedSource): AsyncGenerator<readonly SourceRow[]> {
    try {
      for (;;) {
        // A driver that ignores the signal must not block the scheduler.
        const next = await orAborted(opened.rows.next(), this.#ending.signal)
        if (next.done) return
        this.#rowsRead += next.value.length
        if (this.#rowsRead > ROWS_MAX)
          throw new SourceFault('truncated', `it has more than ${ROWS_MAX} rows`)
        yield next.value
      }
    } catch (error) {
      throw this.errorOf(error)
    } finally {
      await this.close()
    }
  }

  async close(): Promise<void> {
    this.#end('closed')
    this.#stopping.removeEventListener('abort', this.#stop)
    try {
      const opened = await this.#opening
      await opened?.close()
    } catch {
      // open or rows reported it already.
    }
  }

  async #token(request: TokenRequest): Promise<string> {
    const token = await orAborted(this.#settings.tokens.get(request), this.#ending.signal)
    this.#secrets.add(token, '[redacted]')
    return token
  }

  #variable(name: string): string {
    const isAllowed = CONNECTION_PREFIXES.some((prefix) => name.startsWith(prefix))
    if (!isAllowed) throw new SourceFault('not_configured', `"${name}" is not an allowed variable`)
    const text = this.#settings.connection(name)?.trim()
    if (!text) throw new SourceFault('not_configured', `the variable ${name} is not set`)
    return text
  }

  errorOf(error: unknown): MatoolkitError {
    if (error instanceof MatoolkitError) return error
    const source = sourceName(this.#source)
    if (this.#endedBecause === 'timed_out') {
      const seconds = this.#settings.timeoutMs / 1000
      return new MatoolkitError('SOURCE_TIMED_OUT', { source, seconds })
    }
    if (this.#endedBecause !== null) return new MatoolkitError('SOURCE_CANCELLED', { source })
    const reason = this.#cleanReason(messageOf(error))
    if (!(error instanceof SourceFault))
      return new MatoolkitError('INTERNAL', { reason: `the ${source} failed: ${reason}` })
    const details: ErrorDetails = {
      source,
      reason,
      rows: this.#rowsRead,
      ...SOURCE_ADVICE[this.#source.type],
    }
    return new MatoolkitError(CODES[error.kind], details)
  }

  /** One line without full stop and secrets, to fit into our sentences. */
  #cleanReason(text: string): string {
    const hidden = redactText(this.#secrets.hideIn(text))
    const reason = hidden
      .replaceAll(/\s+/g, ' ')
      .trim()
      .replace(/(?<!\.)\.+$/, '')
    return reason.length > REASON_CHARS_MAX ? `${reason.slice(0, REASON_CHARS_MAX)}…` : reason
  }
}

/**
 * The promise, unless the signal aborts first. `Promise.race` with one promise for the whole query kept every chunk alive:
 * 500,000 rows took three times the memory of 100,000.
 */
function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort)
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort))
  })
}

const CODES: Readonly<Record<FaultKind, ErrorCode>> = {
  not_configured: 'SOURCE_NOT_CONFIGURED',
  unreachable: 'SOURCE_UNREACHABLE',
  sign_in: 'SOURCE_SIGN_IN_REFUSED',
  refused: 'SOURCE_QUERY_REFUSED',
  truncated: 'SOURCE_TRUNCATED',
  dropped: 'SOURCE_DROPPED',
  columns: 'SOURCE_COLUMNS_INVALID',
  value: 'SOURCE_VALUE_UNREADABLE',
  file: 'SOURCE_FILE_INVALID',
  missing: 'SOURCE_FILE_MISSING',
  changing: 'SOURCE_FILE_CHANGING',
}

/** A source's name in messages: its type, and its variable or file. */
export const sourceName = (source: DataSource): string =>
  source.type === 'csv'
    ? `csv source "${source.path}"`
    : `${source.type} source ${source.connection}`
