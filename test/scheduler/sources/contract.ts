// The contract suite that every queryable data source must pass.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { after, before, describe, it } from 'node:test'
import type { Tokens } from '../../../src/base/sign-in/token.ts'
import type { DataSource } from '../../../src/domain/runbook/model.ts'
import type { SourceColumn, SourceRow } from '../../../src/domain/sources/source-values.ts'
import { openSource, type SourceSettings } from '../../../src/scheduler/sources/source.ts'
import {
  collectGarbage,
  errorOf,
  NEVER,
  readAll,
  requireError,
  settingsOf,
  skippingClock,
  someTurns,
} from './under-test.ts'

/** 1..n with a text: `{ id: 7, name: 'Member 7 – Zoë 李' }`. */
export const memberName = (id: number): string => `Member ${id} – Zoë 李 😀`
export const MANY = 100_000
export const WIDE = 2_000
export const WIDE_CHARS = 20_000
/** A chunk's 4 MB of text, and the row that exceeds them. */
const CHUNK_CHARS_MAX = 5_000_000

/** The queries of the suite. */
export interface Queries {
  /** One row of every type and one of nulls, with the expected values. */
  readonly types: string
  /** Columns id and name, no rows. */
  readonly none: string
  /** MANY rows of id and name. */
  readonly many: string
  /** WIDE rows of id and a name of WIDE_CHARS characters: far more than sockets buffer. */
  readonly wide: string
  /** Like many, but the connection is cut midway, by the server or by `cut`. */
  readonly dropped: string
  /** Never ends. */
  readonly endless: string
  readonly wrong: string
  /** The column id twice. */
  readonly twice: string
}

export interface StartedSource {
  readonly source: Pick<DataSource, 'type' | 'connection' | 'warehouseId'>
  readonly variables: Readonly<Record<string, string>>
  /** The same with a wrong password, secret or token. */
  readonly wrongVariables: Readonly<Record<string, string>>
  /** The same for another local port. */
  variablesAt(port: number): Readonly<Record<string, string>>
  readonly tokens?: Tokens
  readonly wrongTokens?: Tokens
  readonly secrets: readonly string[]
  readonly queries: Queries
  readonly typeColumns: readonly SourceColumn[]
  readonly typeRows: readonly SourceRow[]
  /** The server's error for the wrong query. */
  readonly wrongSaid: RegExp
  /** Resolves when the server runs a query. */
  whenAsked(): Promise<void>
  /** Whether the server was told to cancel. */
  wasCancelled(): Promise<boolean>
  /** Cuts the connection of the query `dropped`, where the server does not. */
  cut?(): Promise<void>
  /** How many rows the server has sent. */
  rowsGiven(): Promise<number>
  close(): Promise<void>
}

export function describeSource(name: string, start: () => Promise<StartedSource>): void {
  describe(`${name}: source contract`, () => {
    let started: StartedSource
    before(async () => {
      started = await start()
    })
    after(() => started.close())
    const asking = (query: string): DataSource => ({
      path: null,
      query,
      primaryKey: 'id',
      batchTimeColumn: null,
      timeZone: null,
      columns: null,
      multiValuedColumns: [],
      ...started.source,
    })
    const settings = (variables = started.variables, tokens = started.tokens): SourceSettings =>
      settingsOf({ variables, ...(tokens ? { tokens } : {}) })

    describeResults(() => started, asking, settings)
    describeEnds(() => started, asking)
    describeFaults(() => started, asking, settings)
  })
}

type Asking = (query: string) => DataSource
type Settings = (variables?: Readonly<Record<string, string>>, tokens?: Tokens) => SourceSettings

function describeResults(started: () => StartedSource, asking: Asking, settings: Settings): void {
  it('returns types, nulls, unicode and times as JSON', async () => {
    const { queries, typeColumns, typeRows } = started()
    const { columns, rows } = await readAll(asking(queries.types), settings())
    assert.deepEqual(columns, typeColumns)
    assert.deepEqual(rows, typeRows)
  })

  it('returns the columns of an empty result', async () => {
    const { columns, rows } = await readAll(asking(started().queries.none), settings())
    assert.deepEqual([columns.map(({ name }) => name), rows], [['id', 'name'], []])
  })

  it(`returns ${MANY} rows, each once and in order, in chunks`, async () => {
    const { rows, chunks } = await readAll(asking(started().queries.many), settings())
    assert.equal(rows.length, MANY)
    assert.ok(chunks >= MANY / 1_000, `${chunks} chunks`)
    const wrong = rows.findIndex(({ id, name }, at) => id !== at + 1 || name !== memberName(at + 1))
    assert.equal(wrong, -1)
  })

  it('retains nothing that was read', async () => {
    const result = await openSource(asking(started().queries.many), settings(), NEVER)
    const chunks: WeakRef<object>[] = []
    for await (const chunk of result.rows) {
      chunks.push(new WeakRef(chunk))
      if (chunks.length === 50) break
    }
    await someTurns()
    collectGarbage()
    const kept = chunks.filter((chunk) => chunk.deref() !== undefined).length
    assert.ok(kept <= 2, `${kept} of 50 chunks are still in memory`)
    await result.close()
  })

  it('returns wide rows in chunks of bounded bytes', async () => {
    const result = await openSource(asking(started().queries.wide), settings(), NEVER)
    let [rows, most] = [0, 0]
    for await (const chunk of result.rows) {
      rows += chunk.length
      most = Math.max(most, JSON.stringify(chunk).length)
    }
    await result.close()
    assert.equal(rows, WIDE)
    assert.ok(most <= CHUNK_CHARS_MAX, `a chunk has ${most} characters`)
  })

  it('fetches no more from the server than is read', async () => {
    const { queries, rowsGiven } = started()
    const givenBefore = await rowsGiven()
    const result = await openSource(asking(queries.wide), settings(), NEVER)
    for await (const chunk of result.rows) {
      assert.ok(chunk.length <= 1_000)
      await someTurns()
      const given = (await rowsGiven()) - givenBefore
      assert.ok(given < WIDE / 2, `${given} rows were given for ${chunk.length} that were read`)
      break
    }
    await result.close()
  })

  it('refuses duplicate columns and missing ones', async () => {
    const { queries } = started()
    const twice = await errorOf(asking(queries.twice), settings(), 'SOURCE_COLUMNS_INVALID')
    assert.match(twice, /the column "id" appears twice/i)
    const source = { ...asking(queries.none), primaryKey: 'Naem' }
    const missing = await errorOf(source, settings(), 'SOURCE_COLUMNS_INVALID')
    assert.match(missing, /there is no column "Naem"\. Did you mean "name"\?/)
  })
}

function describeEnds(started: () => StartedSource, asking: Asking): void {
  const openEndless = (stopping: AbortSignal, variables = started().variables) => {
    const { tokens, queries } = started()
    const clock = skippingClock()
    const settings = settingsOf({ variables, clock, ...(tokens ? { tokens } : {}) })
    const source = asking(queries.endless)
    const failed = (async () => {
      const result = await openSource(source, settings, stopping)
      for await (const _ of result.rows);
      return null
    })().catch((error: unknown) => error)
    return { failed, clock, source }
  }

  it('cancels a query at its timeout, on the server too', async () => {
    const { failed, clock, source } = openEndless(NEVER)
    await started().whenAsked()
    clock.ring()
    const message = requireError(await failed, source, 'SOURCE_TIMED_OUT', started().secrets)
    assert.match(message, /took longer than 300 seconds/)
    assert.ok(await started().wasCancelled(), 'the server works on')
  })

  it('cancels a query when the program stops', async () => {
    const stopping = new AbortController()
    const { failed, source } = openEndless(stopping.signal)
    await started().whenAsked()
    stopping.abort()
    requireError(await failed, source, 'SOURCE_CANCELLED', started().secrets)
    assert.ok(await started().wasCancelled(), 'the server works on')
  })

  it('does not wait for a server that accepts the connection and stays silent', async () => {
    const mute = createServer()
    const heard = once(mute, 'connection')
    await once(mute.listen(0, 'localhost'), 'listening')
    const { port } = mute.address() as { port: number }
    const { failed, clock, source } = openEndless(NEVER, started().variablesAt(port))
    const [socket] = (await heard) as [Socket]
    socket.on('error', () => {})
    await once(socket, 'data')
    clock.ring()
    requireError(await failed, source, 'SOURCE_TIMED_OUT', started().secrets)
    socket.destroy()
    mute.close()
  })

  it('does not start while the program is stopping', async () => {
    const { failed, source } = openEndless(AbortSignal.abort())
    requireError(await failed, source, 'SOURCE_CANCELLED', started().secrets)
  })

  it('can be closed at any time, and twice', async () => {
    const { variables, tokens, queries } = started()
    const settings = settingsOf({ variables, ...(tokens ? { tokens } : {}) })
    const unread = await openSource(asking(queries.many), settings, NEVER)
    await unread.close()
    await unread.close()
    const begun = await openSource(asking(queries.many), settings, NEVER)
    for await (const _ of begun.rows) break
    await begun.close()
    await assert.rejects(async () => {
      for await (const _ of unread.rows);
    }, /was cancelled, and no rows were used/)
  })
}

function describeFaults(started: () => StartedSource, asking: Asking, settings: Settings): void {
  const sayOf = (query: string, code: Parameters<typeof errorOf>[2], use = settings()) =>
    errorOf(asking(query), use, code, started().secrets)

  it('reports a refused sign-in', async () => {
    const { queries, wrongVariables, wrongTokens, tokens } = started()
    const use = settings(wrongVariables, wrongTokens ?? tokens)
    await sayOf(queries.many, 'SOURCE_SIGN_IN_REFUSED', use)
  })

  it('reports the server’s error for a wrong query', async () => {
    const message = await sayOf(started().queries.wrong, 'SOURCE_QUERY_REFUSED')
    assert.match(message, started().wrongSaid)
  })

  it('reports a lost connection and the rows read so far', async () => {
    const { queries, cut } = started()
    const source = asking(queries.dropped)
    const result = await openSource(source, settings(), NEVER)
    let read = 0
    const error = await (async () => {
      for await (const chunk of result.rows) {
        if (read === 0) await cut?.()
        read += chunk.length
      }
    })().catch((failure: unknown) => failure)
    const message = requireError(error, source, 'SOURCE_DROPPED', started().secrets)
    assert.ok(read > 0 && read < MANY)
    assert.match(message, new RegExp(`lost after ${read} rows`))
  })

  it('reports an unreachable server', async () => {
    const { queries, variablesAt } = started()
    await sayOf(queries.many, 'SOURCE_UNREACHABLE', settings(variablesAt(1)))
  })

  it('names a missing variable and the allowed names', async () => {
    const message = await sayOf(started().queries.many, 'SOURCE_NOT_CONFIGURED', settings({}))
    assert.match(message, new RegExp(`the variable ${started().source.connection} is not set`))
    assert.match(
      message,
      /starts with DATAVERSE_, DATABRICKS_, MATOOLKIT_SOURCE_ where the scheduler runs/,
    )
  })

  it('refuses a variable that is not allowed', async () => {
    const source = { ...asking('x'), connection: 'DATABASE_URL' }
    const use = settings({ DATABASE_URL: Object.values(started().variables)[0]! })
    const message = await errorOf(source, use, 'SOURCE_NOT_CONFIGURED', started().secrets)
    assert.match(message, /"DATABASE_URL" is not an allowed variable/)
  })
}
