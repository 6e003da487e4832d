// Microsoft's own driver for SQL Server confirms the stand-in that our reader of SQL Server and Dataverse is tested with.
import assert from 'node:assert/strict'
import { after, before, describe, it, type TestContext } from 'node:test'
import { selfSigned } from '../../scheduler/sources/certificate.ts'
import { MANY, memberName } from '../../scheduler/sources/contract.ts'
import { answer, TYPES } from '../../scheduler/sources/tds-answers.ts'
import {
  startTdsServer,
  type TdsOptions,
  type TdsServer,
} from '../../scheduler/sources/tds-server.ts'
import { type Judge, type LeftOut, openJudge } from './judge.ts'

/** What the driver says of a query. */
interface Said {
  readonly columns: readonly string[]
  readonly rows: readonly (readonly (string | null)[])[]
  readonly count: number
  readonly more?: boolean
  readonly number?: number
  readonly message?: string
}

/** Names of types and values as the driver gives them, by our column; those that are not named here are equal to ours. */
const TYPE_NAMES = [
  'int',
  'bigint',
  'bigint',
  'bit',
  'decimal',
  'decimal',
  'decimal',
  'money',
  'float',
  'real',
  'nvarchar',
  'nvarchar',
  'nvarchar',
  'date',
  'time',
  'datetime2',
  'datetime2',
  'datetimeoffset',
  'datetime',
  'datetime',
  'uniqueidentifier',
  'varbinary',
]
const VALUES: Readonly<Record<string, string>> = {
  yes: 'True',
  decimal: '-12.5000',
  cents: '0.10',
  day: '2026-03-01T00:00:00.0000000',
  clock: '12:30:15.2500000',
  at: '2026-03-01T12:30:15.2500000',
  exactly: '2026-03-01T12:30:15.2501234',
  // Two hours from UTC, as the server says.
  offset: '2026-03-01T14:30:15.2500000+02:00',
  old: '2026-03-01T12:30:15.0000000',
  early: '1899-12-31T06:00:00.0000000',
}

describe('the stand-in of SQL Server, read by Microsoft.Data.SqlClient', () => {
  let judge: Judge | LeftOut
  let server: TdsServer
  let secure: TdsServer
  before(async () => {
    judge = await openJudge('sql-server.cs')
    const signIn: TdsOptions['signIn'] = ({ user, password, token }) =>
      token === 'a token' || (user === 'reader' && password === 'p4ss;"x"')
        ? null
        : { number: 18_456, message: `Login failed for user '${user}'.` }
    server = await startTdsServer({ signIn, answer })
    secure = await startTdsServer({ certificate: selfSigned(), signIn, answer })
  })
  after(async () => {
    await server.close()
    await secure.close()
  })

  const text = ({ port }: TdsServer, rest: string) =>
    `Server=tcp:localhost,${port};Database=hr;Pooling=false;ConnectRetryCount=0;${rest}`
  const plain = (password = '\'p4ss;"x"\'') =>
    text(server, `User ID=reader;Password=${password};Encrypt=False`)
  const hear = async (test: TestContext, connection: string, ...queries: string[]) => {
    if ('leftOut' in judge) return test.skip(`left out: ${judge.leftOut}`)
    const said = await judge.ask<Said>([connection, ...queries])
    assert.equal(said.length, queries.filter((query) => !query.startsWith('token: ')).length)
    return said
  }

  it('sends every type and null as a server does', async (test) => {
    const [said] = (await hear(test, plain(), 'types')) ?? []
    if (!said) return
    assert.deepEqual(
      said.columns,
      TYPES.map(([name], index) => `${name} ${TYPE_NAMES[index]}`),
    )
    assert.deepEqual(said.rows, [
      TYPES.map(([name, , , json]) => VALUES[name] ?? String(json)),
      TYPES.map(([name]) => (name === 'id' ? '-7' : null)),
    ])
  })

  it('sends many rows, none, two results, and errors before and after rows', async (test) => {
    const queries = ['many', 'none', 'two results', 'wrong', 'fails late']
    const said = await hear(test, plain(), ...queries)
    if (!said) return
    const [many, none, two, wrong, late] = said
    assert.deepEqual([many?.count, many?.rows[0]], [MANY, ['1', memberName(1)]])
    assert.deepEqual([none?.count, none?.columns], [0, ['id int', 'name nvarchar']])
    assert.equal(two?.more, true)
    assert.deepEqual([wrong?.number, wrong?.count], [102, 0])
    assert.deepEqual([late?.number, late?.count], [8134, 3_000])
    assert.match(late?.message ?? '', /^Divide by zero/)
  })

  it('ends a query whose time is over when the driver asks for it', async (test) => {
    const before = server.attentions
    const [said] = (await hear(test, plain(), 'endless')) ?? []
    if (!said) return
    assert.deepEqual([said.count, said.number], [10, -2])
    assert.equal(server.attentions, before + 1)
  })

  it('refuses a wrong password with its number', async (test) => {
    const [said] = (await hear(test, plain('wrong'), 'none')) ?? []
    if (said) assert.equal(said.number, 18_456)
  })

  it('encrypts, and its certificate is refused unless it is trusted', async (test) => {
    const password = 'User ID=reader;Password=\'p4ss;"x"\';Encrypt=True'
    const trusted = `${password};TrustServerCertificate=True`
    const [said] = (await hear(test, text(secure, trusted), 'many')) ?? []
    if (!said) return
    assert.equal(said.count, MANY)
    const logins = secure.logins.length
    const [refused] = (await hear(test, text(secure, password), 'many'))!
    assert.match(refused?.message ?? '', /pre-login handshake/)
    assert.equal(secure.logins.length, logins)
  })

  it('signs in with a token, as Dataverse demands', async (test) => {
    const connection = `${text(secure, 'TrustServerCertificate=True')};Encrypt=True`
    const [said] = (await hear(test, connection, 'token: a token', 'none')) ?? []
    if (!said) return
    assert.deepEqual(said.columns, ['id int', 'name nvarchar'])
    assert.equal(secure.logins.at(-1)?.token, 'a token')
  })
})
