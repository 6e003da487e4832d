// A PostgreSQL source, against a real server.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import pg from 'pg'
import { openEmptyPostgres, type TestDatabase } from '../../kit/databases.ts'
import { describeSource, MANY, type StartedSource, WIDE, WIDE_CHARS } from './contract.ts'
import { dataSource, errorOf, readAll, settingsOf } from './under-test.ts'

const NAME = 'MATOOLKIT_SOURCE_HR'
const PASSWORD = 'p4ss/word@x'

/** Name, expression, the expected JSON and column type. */
const TYPES: readonly (readonly [string, string, unknown, string])[] = [
  ['id', '-7', -7, 'number'],
  ['big', '9007199254740991::int8', 9_007_199_254_740_991, 'number'],
  ['bigger', "'-9223372036854775808'::int8", '-9223372036854775808', 'number'],
  ['yes', 'true', true, 'boolean'],
  ['no', 'false', false, 'boolean'],
  ['decimal', '-12.5000::numeric', -12.5, 'number'],
  ['digits', '0.12345678901234567890::numeric', '0.12345678901234567890', 'number'],
  ['not_a_number', "'NaN'::numeric", 'NaN', 'number'],
  ['float', '0.1::float8', 0.1, 'number'],
  ['real', '0.1::float4', 0.1, 'number'],
  ['endless', "'-infinity'::float8", '-Infinity', 'number'],
  ['name', "'Zoë 李 😀 \"q\" '''", 'Zoë 李 😀 "q" \'', 'text'],
  ['empty', "''", '', 'text'],
  ['day', "'2026-03-01'::date", '2026-03-01', 'date'],
  ['clock', "'12:30:15.25'::time", '12:30:15.25', 'text'],
  ['local', "'2026-03-01 12:30:15'::timestamp", '2026-03-01T12:30:15Z', 'time'],
  ['exactly', "'2026-03-01 12:30:15.250001'::timestamp", '2026-03-01T12:30:15.250001Z', 'time'],
  ['at', "'2026-03-01 12:30:15+02'::timestamptz", '2026-03-01T10:30:15Z', 'time'],
  ['forever', "'infinity'::timestamptz", 'infinity', 'time'],
  ['json', '\'{"a": [1, null, "ü"]}\'::jsonb', { a: [1, null, 'ü'] }, 'json'],
  ['list', "array['a', null, 'b,c']::text[]", ['a', null, 'b,c'], 'json'],
  ['numbers', 'array[1, 9223372036854775807]::int8[]', [1, '9223372036854775807'], 'json'],
  [
    'guid',
    "'6F1C2A34-5B7E-4D0A-9C11-2F8E7A905D10'::uuid",
    '6f1c2a34-5b7e-4d0a-9c11-2f8e7a905d10',
    'text',
  ],
  ['bytes', "'\\x00ff10'::bytea", 'AP8Q', 'binary'],
]

const named = (list: readonly (readonly [string, string])[]) =>
  `select ${list.map(([name, expression]) => `${expression} as "${name}"`).join(', ')}`
const nulls = TYPES.map(([name, expression]) =>
  name === 'id' ? expression : `nullif(${expression}, ${expression})`,
)
const MEMBERS = `select g as id, 'Member ' || g || ' – Zoë 李 😀' as name from generate_series(1, ${MANY}) g`

async function startPostgresSource(): Promise<StartedSource> {
  const database = await openEmptyPostgres()
  const { db } = database
  const isAsked = async (query: string) => {
    const rows = await db.query<{ state: string }>(
      `select state from pg_stat_activity where application_name = 'matoolkit source' and datname = current_database() and state <> 'idle' and query like $1`,
      [query],
    )
    return rows.map(({ state }) => state)
  }
  const url = (host: string, name: string) =>
    `postgres://postgres:${encodeURIComponent(PASSWORD)}@${host}/${name}`
  const { host, pathname } = new URL(database.url!)
  const [databaseName] = pathname.slice(1).split('?')
  return {
    source: { type: 'postgres', connection: NAME, warehouseId: null },
    variables: { [NAME]: url(host, databaseName!) },
    // The test server trusts every client that names an existing role.
    wrongVariables: { [NAME]: url(host, databaseName!).replace('//postgres:', '//nobody_here:') },
    variablesAt: (port) => ({ [NAME]: url(`localhost:${port}`, databaseName!) }),
    secrets: [PASSWORD, encodeURIComponent(PASSWORD)],
    queries: {
      types: `${named(TYPES.map(([name, expression]) => [name, expression]))} union all select ${nulls.join(', ')};`,
      none: 'select 1 as id, null::text as name where false',
      many: MEMBERS,
      wide: `select g as id, repeat('x', ${WIDE_CHARS}) as name from generate_series(1, ${WIDE}) g`,
      dropped: MEMBERS,
      endless: 'select g as id, pg_sleep(1)::text as name from generate_series(1, 600) g',
      wrong: 'selec 1',
      twice: 'select 1 as id, 2 as "ID"',
    },
    typeColumns: TYPES.map(([name, , , type]) => ({ name, type })) as StartedSource['typeColumns'],
    typeRows: [
      Object.fromEntries(TYPES.map(([name, , json]) => [name, json])),
      Object.fromEntries(TYPES.map(([name, , json]) => [name, name === 'id' ? json : null])),
    ] as StartedSource['typeRows'],
    wrongSaid: /refused the query: syntax error at or near "selec"\. Run/,
    whenAsked: async () => {
      while (!(await isAsked('fetch%')).includes('active'));
    },
    // The server needs a moment; an hour of pg_sleep would outlast this loop.
    wasCancelled: async () => {
      for (let attempt = 0; attempt < 2_000; attempt++)
        if ((await isAsked('%')).length === 0) return true
      return false
    },
    cut: async () => {
      await db.query(
        `select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'matoolkit source' and datname = current_database()`,
      )
    },
    // Between two fetches the backend is idle.
    rowsGiven: async () => ((await isAsked('%')).includes('active') ? WIDE : 0),
    close: () => database.close(),
  }
}

describeSource('postgres', startPostgresSource)

describe('PostgreSQL', () => {
  let database: TestDatabase
  before(async () => {
    database = await openEmptyPostgres()
    await database.db.script(
      'create table people (id int primary key); insert into people values (1);',
    )
  })
  after(() => database.close())
  const asking = (query: string) => dataSource({ type: 'postgres', connection: NAME, query })
  const settings = () => settingsOf({ variables: { [NAME]: database.url! } })
  const peopleLeft = async () => {
    const [row] = await database.db.query<{ n: number }>('select count(*)::int as n from people')
    return row!.n
  }

  const WRITES = [
    'delete from people returning id',
    'with gone as (delete from people returning id) select id from gone',
    'select 1 as id; delete from people',
    'select 1 as id; commit; delete from people',
    `select setval(pg_get_serial_sequence('people', 'id'), 5) as id; commit; delete from people`,
  ]
  for (const query of WRITES) {
    it(`changes nothing: ${query}`, async () => {
      await errorOf(asking(query), settings(), 'SOURCE_QUERY_REFUSED')
      assert.equal(await peopleLeft(), 1)
    })
  }

  it('refuses a function that writes', async () => {
    await database.db.script(
      `create function wipe() returns int language sql as 'delete from people returning 1'`,
    )
    const message = await errorOf(asking('select wipe() as id'), settings(), 'SOURCE_QUERY_REFUSED')
    assert.match(message, /cannot execute DELETE in a read-only transaction/)
    assert.equal(await peopleLeft(), 1)
  })

  it('does not quote the value that the server refused', async () => {
    for (const query of [
      `select name::int as id from (values ('Ada "Countess" Lovelace')) as people (name)`,
      `select name::date as id from (values ('Ada Lovelace')) as people (name)`,
    ]) {
      const message = await errorOf(asking(query), settings(), 'SOURCE_QUERY_REFUSED')
      assert.match(message, /invalid input syntax for type \w+: \[redacted\]/)
      assert.doesNotMatch(message, /Ada|Lovelace/)
    }
  })

  it('accepts a query that ends with a comment and a semicolon', async () => {
    const { rows } = await readAll(asking('select id from people; -- all of them\n'), settings())
    assert.deepEqual(rows, [{ id: 1 }])
  })

  it('reports a query that fails at a late row', async () => {
    const query = 'select 1 / (3000 - g) as id from generate_series(1, 5000) g'
    const message = await errorOf(asking(query), settings(), 'SOURCE_QUERY_REFUSED')
    assert.match(message, /division by zero/)
  })

  it('refuses a connection that is not a URL, without quoting it', async () => {
    const text = 'Host=db;Password=geheim-1'
    const use = settingsOf({ variables: { [NAME]: text } })
    const message = await errorOf(asking('select 1'), use, 'SOURCE_NOT_CONFIGURED', ['geheim'])
    assert.match(message, /MATOOLKIT_SOURCE_HR is not an address such as postgres:/)
  })

  it('leaves no connection behind', async () => {
    const client = new pg.Client({ connectionString: database.url! })
    await client.connect()
    const open = async () => {
      const { rows } = await client.query(
        `select count(*)::int as n from pg_stat_activity where datname = current_database() and application_name = 'matoolkit source'`,
      )
      return Number(rows[0].n)
    }
    await readAll(asking('select id from people'), settings())
    await errorOf(asking('selec'), settings(), 'SOURCE_QUERY_REFUSED')
    let left = await open()
    for (let attempt = 0; left > 0 && attempt < 1_000; attempt++) left = await open()
    assert.equal(left, 0)
    await client.end()
  })
})
