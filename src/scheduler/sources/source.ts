// The one contract of all data sources: columns, then rows in chunks, read as fast as the caller takes them. A result that ends
// is whole; whatever else happens is thrown as a coded sentence that names the source and never its secret, and then nothing of
// the result may be used, because a member that is missing from half a result looks like a member that has left.
import type { Clock } from '../../clock.ts'
import { columnsProblem } from '../../domain/detection/source-rows.ts'
import type { SourceColumn, SourceRow } from '../../domain/detection/source-values.ts'
import type { DataSource } from '../../domain/runbook/model.ts'
import { CONNECTION_PREFIXES } from '../../domain/runbook/shape.ts'
import { type ErrorCode, type ErrorDetails, MatoolkitError, messageOf } from '../../errors.ts'
import { redactText } from '../../redact.ts'
import { openCsv } from './csv.ts'
import { openDatabricks } from './databricks.ts'
import { type FaultKind, SourceFault } from './fault.ts'
import { openPostgresSource } from './postgres.ts'
import { openTds } from './tds.ts'
import type { TokenRequest, Tokens } from './token.ts'

/** More than any tenant moves in one go; a query without its WHERE is stopped here. */
const ROWS_MAX = 1_000_000
const REASON_CHARS_MAX = 500
/** A shorter secret would hide half of every sentence; it is no secret either. */
const SECRET_CHARS_MIN = 4

export interface SourceSettings {
  /** The value of an environment variable that a runbook may name; undefined when it is not set. */
  readonly connection: (name: string) => string | undefined
  /** Real time also where the world's time is not: a server takes as long as it takes. */
  readonly clock: Clock
  readonly tokens: Tokens
  /** Where the files of csv sources are; null when there are none. */
  readonly folder: string | null
  /** From opening to the last row. */
  readonly timeoutMs: number
}

export interface SourceResult {
  readonly columns: readonly SourceColumn[]
  /** Can be read once. Ends after the last row of a whole result; anything else is thrown. */
  readonly rows: AsyncIterable<readonly SourceRow[]>
  /** Cancels what is still running. Needed whether or not the rows were read. */
  close(): Promise<void>
}

/** What each kind of source is asked. */
export interface SourceRequest {
  readonly source: DataSource
  readonly settings: SourceSettings
  /** Aborts when the time is up, the program stops or nobody reads on. */
  readonly signal: AbortSignal
  /** The value of a variable that the runbook names. */
  variable(name: string | null): string
  /** An access token, cut out of every sentence from here on. */
  token(request: TokenRequest): Promise<string>
  /** From here on this text is cut out of every sentence. */
  hide(secret: string): void
}

/** What each kind of source gives. `close` cancels a running query on the server, and ends within seconds. */
export interface OpenedSource {
  readonly columns: readonly SourceColumn[]
  readonly rows: AsyncGenerator<readonly SourceRow[]>
  close(): Promise<void>
}

const OPENERS: Readonly<Record<DataSource['type'], (ask: SourceRequest) => Promise<OpenedSource>>> =
  {
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
    const said = query.errorOf(error)
    await query.close()
    throw said
  }
}

class RunningQuery {
  readonly #source: DataSource
  readonly #settings: SourceSettings
  readonly #ending = new AbortController()
  readonly #secrets = new Set<string>()
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
    const ask: SourceRequest = {
      source: this.#source,
      settings: this.#settings,
      signal: this.#ending.signal,
      variable: (name) => this.#variable(name ?? ''),
      token: (request) => this.#token(request),
      hide: (secret) => this.#secrets.add(secret),
    }
    this.#opening = OPENERS[this.#source.type](ask)
    const opened = await orAborted(this.#opening, this.#ending.signal)
    const problem = columnsProblem(opened.columns, this.#source)
    if (problem) throw new SourceFault('columns', problem)
    return opened
  }

  async *rows(opened: OpenedSource): AsyncGenerator<readonly SourceRow[]> {
    try {
      for (;;) {
        // A driver that does not hear the signal must not keep the scheduler waiting.
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
      // What it had to say was said by open or rows; here it only had to end.
    }
  }

  async #token(request: TokenRequest): Promise<string> {
    const token = await orAborted(this.#settings.tokens.get(request), this.#ending.signal)
    this.#secrets.add(token)
    return token
  }

  #variable(name: string): string {
    const isAllowed = CONNECTION_PREFIXES.some((prefix) => name.startsWith(prefix))
    if (!isAllowed) throw new SourceFault('not_configured', `"${name}" may not be read`)
    const text = this.#settings.connection(name)?.trim()
    if (!text) throw new SourceFault('not_configured', `the variable ${name} is not set`)
    return text
  }

  errorOf(error: unknown): MatoolkitError {
    if (error instanceof MatoolkitError) return error
    const source = nameOf(this.#source)
    if (this.#endedBecause === 'timed_out') {
      const seconds = this.#settings.timeoutMs / 1000
      return new MatoolkitError('SOURCE_TIMED_OUT', { source, seconds })
    }
    if (this.#endedBecause !== null) return new MatoolkitError('SOURCE_CANCELLED', { source })
    const reason = this.#sayable(messageOf(error))
    if (!(error instanceof SourceFault))
      return new MatoolkitError('INTERNAL', { reason: `the ${source} failed: ${reason}` })
    const details: ErrorDetails = {
      source,
      reason,
      rows: this.#rowsRead,
      prefixes: CONNECTION_PREFIXES.join(', '),
    }
    return new MatoolkitError(CODES[error.kind], details)
  }

  /** A reason that fits into our sentence: one line, no full stop, nothing that must not be read. */
  #sayable(text: string): string {
    let said = text
    for (const secret of this.#secrets) {
      if (secret.length >= SECRET_CHARS_MIN) said = said.replaceAll(secret, '[redacted]')
    }
    said = redactText(said).replaceAll(/\s+/g, ' ').trim().replace(/\.+$/, '')
    return said.length > REASON_CHARS_MAX ? `${said.slice(0, REASON_CHARS_MAX)}…` : said
  }
}

/**
 * The promise, unless the signal aborts first. `Promise.race` with one promise for the whole query kept every chunk alive that it
 * had ever seen: 500,000 rows took three times the memory of 100,000.
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
  changing: 'SOURCE_FILE_CHANGING',
}

/** How sentences call a source: by its kind and the name of its variable or file. */
export const nameOf = (source: DataSource): string =>
  source.type === 'csv'
    ? `csv source "${source.path}"`
    : `${source.type} source ${source.connection}`
