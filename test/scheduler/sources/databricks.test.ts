// Databricks, against a fake server built after its documentation.
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import type { TokenRequest } from '../../../src/base/sign-in/token.ts'
import { openSource } from '../../../src/scheduler/sources/source.ts'
import {
  describeSource,
  MANY,
  memberName,
  type StartedSource,
  WIDE,
  WIDE_CHARS,
} from './contract.ts'
import {
  type DatabricksAnswer,
  type DatabricksFailure,
  type DatabricksServer,
  startDatabricksServer,
} from './databricks-server.ts'
import { dataSource, errorOf, NEVER, readAll, settingsOf, skippingClock } from './under-test.ts'

const NAME = 'DATABRICKS_WORKSPACE'
const WAREHOUSE = 'DATABRICKS_WAREHOUSE_ID'
const WAREHOUSE_ID = '0123456789abcdef'
const TOKEN = 'dapi-0123456789abcdef'
const COLUMNS = [
  ['id', 'INT'],
  ['name', 'STRING'],
] as const

/** `rows` rows in chunks of `perChunk`. */
function chunked(
  rows: number,
  perChunk: number,
  name: (id: number) => string,
  given: { rows: number } = { rows: 0 },
): DatabricksAnswer {
  const chunks = Array.from({ length: Math.ceil(rows / perChunk) }, (_, chunk) => () => {
    const count = Math.min(perChunk, rows - chunk * perChunk)
    given.rows += count
    return Array.from({ length: count }, (_, at) => {
      const id = chunk * perChunk + at + 1
      return [String(id), name(id)]
    })
  })
  return { columns: COLUMNS, chunks, totalRows: rows }
}

/** Name, type, the text Databricks sends, the expected JSON and column type. */
const TYPES: readonly (readonly [string, string, string, unknown, string])[] = [
  ['id', 'INT', '-7', -7, 'number'],
  ['big', 'LONG', '9007199254740991', 9_007_199_254_740_991, 'number'],
  ['bigger', 'LONG', '-9223372036854775808', '-9223372036854775808', 'number'],
  ['yes', 'BOOLEAN', 'true', true, 'boolean'],
  ['no', 'BOOLEAN', 'false', false, 'boolean'],
  ['decimal', 'DECIMAL', '-12.5000', -12.5, 'number'],
  ['digits', 'DECIMAL', '0.12345678901234567890', '0.12345678901234567890', 'number'],
  ['double', 'DOUBLE', '1.0E10', 10_000_000_000, 'number'],
  ['long_double', 'DOUBLE', '0.30000000000000004', 0.300_000_000_000_000_04, 'number'],
  ['float', 'FLOAT', '0.1', 0.1, 'number'],
  ['not_a_number', 'DOUBLE', 'NaN', 'NaN', 'number'],
  ['endless', 'DOUBLE', '-Infinity', '-Infinity', 'number'],
  ['name', 'STRING', memberName(1), memberName(1), 'text'],
  ['empty', 'STRING', '', '', 'text'],
  ['day', 'DATE', '2026-03-01', '2026-03-01', 'date'],
  ['at', 'TIMESTAMP', '2026-03-01T12:30:15.250Z', '2026-03-01T12:30:15.25Z', 'time'],
  ['offset', 'TIMESTAMP', '2026-03-01T12:30:15+02:00', '2026-03-01T10:30:15Z', 'time'],
  ['local', 'TIMESTAMP_NTZ', '2026-03-01 12:30:15', '2026-03-01T12:30:15Z', 'time'],
  ['list', 'ARRAY', '["a",null,"ü"]', ['a', null, 'ü'], 'json'],
  ['map', 'MAP', '{"a":"1"}', { a: '1' }, 'json'],
  ['odd', 'STRUCT', 'not json', 'not json', 'json'],
  ['bytes', 'BINARY', 'AP8Q', 'AP8Q', 'binary'],
  ['new', 'SOMETHING_NEW', 'as it is', 'as it is', 'text'],
]

const types: DatabricksAnswer = {
  columns: TYPES.map(([name, type]) => [name, type]),
  chunks: [
    () => [
      TYPES.map(([, , text]) => text),
      TYPES.map(([name, , text]) => (name === 'id' ? text : null)),
    ],
  ],
  totalRows: 2,
}

const WRONG: DatabricksFailure = {
  errorCode: 'BAD_REQUEST',
  message: "[PARSE_SYNTAX_ERROR] Syntax error at or near 'wrong'. SQLSTATE: 42601 (line 1, pos 0)",
}

async function startDatabricks(): Promise<StartedSource> {
  const given = { rows: 0 }
  const answers: Readonly<Record<string, () => DatabricksAnswer | DatabricksFailure>> = {
    types: () => types,
    none: () => ({ columns: COLUMNS, chunks: [], totalRows: 0 }),
    many: () => ({ ...chunked(MANY, 12_345, memberName, given), polls: 3 }),
    wide: () => chunked(WIDE, 500, () => 'x'.repeat(WIDE_CHARS), given),
    dropped: () => ({ ...chunked(MANY, 5_000, memberName), dropAtChunk: 2 }),
    endless: () => ({ ...chunked(1, 1, memberName), polls: 'never' }),
    wrong: () => WRONG,
    twice: () => ({ columns: [COLUMNS[0], ['ID', 'INT']], chunks: [], totalRows: 0 }),
  }
  const server = await startDatabricksServer({
    token: TOKEN,
    warehouseId: WAREHOUSE_ID,
    answer: (sql) => answers[sql]!(),
  })
  const text = (host: string, token: string) =>
    `Server=${host};Authentication=Databricks Token;Password=${token}`
  const variables = (host: string, token: string) => ({
    [NAME]: text(host, token),
    [WAREHOUSE]: WAREHOUSE_ID,
  })
  let cancelsSeen = 0
  const cancels = () => server.calls.filter((call) => call === 'CANCEL').length
  return {
    source: { type: 'databricks', connection: NAME, warehouseId: WAREHOUSE },
    variables: variables(server.url, TOKEN),
    wrongVariables: variables(server.url, 'wrong-token'),
    variablesAt: (port) => variables(`http://localhost:${port}`, TOKEN),
    secrets: [TOKEN, 'wrong-token'],
    queries: {
      types: 'types',
      none: 'none',
      many: 'many',
      wide: 'wide',
      dropped: 'dropped',
      endless: 'endless',
      wrong: 'wrong',
      twice: 'twice',
    },
    typeColumns: TYPES.map(([name, , , , type]) => ({
      name,
      type,
    })) as StartedSource['typeColumns'],
    typeRows: [
      Object.fromEntries(TYPES.map(([name, , , json]) => [name, json])),
      Object.fromEntries(TYPES.map(([name, , , json]) => [name, name === 'id' ? json : null])),
    ] as StartedSource['typeRows'],
    wrongSaid: /refused the query: \[PARSE_SYNTAX_ERROR\] .*near 'wrong'/,
    whenAsked: () => server.whenRunning(),
    wasCancelled: async () => {
      const isNew = cancels() > cancelsSeen
      cancelsSeen = cancels()
      return isNew
    },
    rowsGiven: async () => given.rows,
    close: () => server.close(),
  }
}

describeSource('databricks', startDatabricks)

describe('Databricks', () => {
  let server: DatabricksServer
  let answer: DatabricksAnswer | DatabricksFailure
  beforeEach(async () => {
    answer = chunked(3, 2, memberName)
    server = await startDatabricksServer({
      token: TOKEN,
      warehouseId: WAREHOUSE_ID,
      answer: () => answer,
    })
  })
  afterEach(() => server.close())
  const source = dataSource({
    type: 'databricks',
    connection: NAME,
    warehouseId: WAREHOUSE,
    query: 'q',
  })
  const settings = (
    clock = skippingClock(),
    text = `Password=${TOKEN}`,
    warehouse = WAREHOUSE_ID,
  ) =>
    settingsOf({
      variables: {
        [NAME]: `Host=${server.url};Authentication=Databricks Token;${text}`,
        [WAREHOUSE]: warehouse,
      },
      clock,
    })
  const idsOf = async (clock = skippingClock()) =>
    (await readAll(source, settings(clock))).rows.map(({ id }) => id)

  it('polls ever more slowly until the statement ends', async () => {
    answer = { ...chunked(3, 2, memberName), polls: 6 }
    const clock = skippingClock()
    assert.deepEqual(await idsOf(clock), [1, 2, 3])
    assert.deepEqual(clock.waitedMs, [250, 500, 1_000, 2_000, 4_000, 5_000])
    assert.deepEqual(server.calls, ['POST INLINE', ...Array(6).fill('GET'), 'CHUNK 1'])
  })

  it('detects a failure with HTTP 200, at once or later', async () => {
    for (const polls of [0, 2]) {
      answer = { errorCode: 'RESOURCE_EXHAUSTED', message: 'The warehouse is full.', polls }
      const message = await errorOf(source, settings(), 'SOURCE_QUERY_REFUSED')
      assert.match(message, /refused the query: The warehouse is full\. Run/)
    }
  })

  it('downloads a large result from storage without sending the token', async () => {
    answer = { ...chunked(5, 2, memberName), isLarge: true, polls: 1 }
    assert.deepEqual(await idsOf(), [1, 2, 3, 4, 5])
    assert.deepEqual(server.calls, [
      'POST INLINE',
      'GET',
      'POST EXTERNAL_LINKS',
      'GET',
      'LINK 0',
      'CHUNK 1',
      'LINK 1',
      'CHUNK 2',
      'LINK 2',
    ])
  })

  it('refuses a truncated result, reported or not', async () => {
    answer = { ...chunked(3, 2, memberName), truncated: true }
    assert.match(await errorOf(source, settings(), 'SOURCE_TRUNCATED'), /truncated it at a limit/)
    answer = { ...chunked(3, 2, memberName), totalRows: 4 }
    const message = await errorOf(source, settings(), 'SOURCE_TRUNCATED')
    assert.match(message, /it has 4 rows, but 3 arrived\. No rows were used/)
  })

  it('obeys Retry-After when Databricks is busy', async () => {
    server.busy.push({ status: 429, retryAfterSec: 7 }, { status: 503 }, { status: 504 })
    const clock = skippingClock()
    assert.deepEqual(await idsOf(clock), [1, 2, 3])
    assert.deepEqual(clock.waitedMs, [7_000, 2_000, 4_000])
  })

  it('gives up when Databricks stays busy', async () => {
    server.busy.push(...Array(10).fill({ status: 429 }))
    const message = await errorOf(source, settings(), 'SOURCE_UNREACHABLE')
    assert.match(message, /Databricks returned 429: busy/)
    assert.equal(server.busy.length, 6)
  })

  it('reports an unknown warehouse without its id', async () => {
    const use = settings(skippingClock(), `Password=${TOKEN}`, 'feedfeedfeedfeed')
    const message = await errorOf(source, use, 'SOURCE_QUERY_REFUSED')
    assert.match(message, /Databricks returned 404: no warehouse \[redacted\]/)
  })

  it('neither sends nor shows a warehouse id that does not look like one', async () => {
    for (const id of [
      'Server=x;Password=hunter2',
      'dapi0123456789abcdef',
      '0123456789abcde',
      'w1',
    ]) {
      const use = settings(skippingClock(), `Password=${TOKEN}`, id)
      const message = await errorOf(source, use, 'SOURCE_NOT_CONFIGURED')
      assert.match(message, new RegExp(`${WAREHOUSE} does not hold the id of a warehouse: 16 hex`))
      assert.ok(!message.includes(id), message)
    }
    assert.deepEqual(server.calls, [])
  })

  it('does not quote the value that a cast refused', async () => {
    const message = `[CAST_INVALID_INPUT] The value 'Ada O'Hara' of the type "STRING" cannot be cast to "INT"`
    answer = { errorCode: 'BAD_REQUEST', message, polls: 0 }
    const told = await errorOf(source, settings(), 'SOURCE_QUERY_REFUSED')
    assert.match(told, /The value \[redacted\] of the type "STRING" cannot be cast to "INT"/)
    assert.doesNotMatch(told, /Ada|Hara/)
  })

  it('does not cancel a finished statement', async () => {
    const result = await openSource(source, settings(), NEVER)
    await result.close()
    assert.deepEqual(server.calls, ['POST INLINE'])
  })

  it('signs in with the identity of the variable', async () => {
    const asked: TokenRequest[] = []
    const tokens = {
      get: async (request: TokenRequest) => {
        asked.push(request)
        return TOKEN
      },
    }
    const place = `Server=${server.url}`
    for (const text of [
      server.url,
      `${place};User ID=mine`,
      `${place};Authentication=Active Directory Service Principal;Tenant ID=t;UID=c;PWD=secret`,
      `${place};Authentication=Databricks OAuth;UID=c;PWD=secret`,
    ]) {
      answer = { columns: COLUMNS, chunks: [], totalRows: 0 }
      await readAll(
        source,
        settingsOf({ variables: { [NAME]: text, [WAREHOUSE]: WAREHOUSE_ID }, tokens }),
      )
    }
    const scope = '2ff814a6-3304-4ab8-85cb-cd0e6f879c1d/.default'
    assert.deepEqual(asked, [
      { from: 'machine', clientId: null, scope },
      { from: 'machine', clientId: 'mine', scope },
      { from: 'entra', tenantId: 't', clientId: 'c', secret: 'secret', scope },
      { from: 'databricks', host: server.url, clientId: 'c', secret: 'secret' },
    ])
  })

  it('refuses a URL with a path or without TLS', async () => {
    for (const host of ['http://adb-1.azuredatabricks.net', 'https://adb-1.net/sql/1', 'ftp://x']) {
      const use = settingsOf({ variables: { [NAME]: `Server=${host}`, [WAREHOUSE]: WAREHOUSE_ID } })
      const message = await errorOf(source, use, 'SOURCE_NOT_CONFIGURED')
      assert.match(message, /DATABRICKS_WORKSPACE is not an address such as https:/)
    }
  })
})
