// SQL Server and Dataverse: the real driver against a fake TDS server, with and without TLS.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import tls from 'node:tls'
import { makeSourceTokens, openSource } from '../../../src/scheduler/sources/source.ts'
import { type Certificate, selfSigned } from './certificate.ts'
import { describeSource, type StartedSource } from './contract.ts'
import { answer, TYPES } from './tds-answers.ts'
import { startTdsServer, type TdsServer } from './tds-server.ts'
import { CLIENT_SECRET, startTokenServer } from './token-server.ts'
import {
  dataSource,
  errorOf,
  NEVER,
  readAll,
  requireError,
  settingsOf,
  skippingClock,
} from './under-test.ts'

const PASSWORD = 'p4ss;word="x"'
const queries = {
  types: 'types',
  none: 'none',
  many: 'many',
  dropped: 'dropped',
  wide: 'wide',
  endless: 'endless',
  wrong: 'wrong',
  twice: 'twice',
}

function sharedBy(server: TdsServer) {
  let attentionsSeen = 0
  return {
    queries,
    typeColumns: TYPES.map(([name, , , , type]) => ({
      name,
      type,
    })) as StartedSource['typeColumns'],
    typeRows: [
      Object.fromEntries(TYPES.map(([name, , , json]) => [name, json])),
      Object.fromEntries(TYPES.map(([name, , , json]) => [name, name === 'id' ? json : null])),
    ] as StartedSource['typeRows'],
    wrongSaid: /refused the query: Incorrect syntax near 'wrong'\. Run/,
    whenAsked: () => whenHanging(server),
    wasCancelled: async () => {
      const isNew = server.attentions > attentionsSeen
      attentionsSeen = server.attentions
      return isNew
    },
    rowsGiven: async () => server.rowsSent,
  }
}

/** `whenAsked` counts every query; those of earlier tests are finished. */
async function whenHanging(server: TdsServer): Promise<void> {
  while (server.hanging === 0) await new Promise((resolve) => setImmediate(resolve))
}

async function startSqlServer(): Promise<StartedSource> {
  const server = await startTdsServer({
    signIn: ({ user, password }) =>
      user === 'reader' && password === PASSWORD
        ? null
        : { number: 18_456, message: `Login failed for user '${user}' with '${password}'.` },
    answer,
  })
  const quoted = `"${PASSWORD.replaceAll('"', '""')}"`
  const text = (port: number, password: string) =>
    `Server=tcp:localhost,${port};Database=hr;User ID=reader;Password=${password};Encrypt=False;Connection Timeout=30;`
  const name = 'MATOOLKIT_SOURCE_HR'
  return {
    ...sharedBy(server),
    source: { type: 'sqlserver', connection: name, warehouseId: null },
    variables: { [name]: text(server.port, quoted) },
    wrongVariables: { [name]: text(server.port, 'wrong-password') },
    variablesAt: (port) => ({ [name]: text(port, quoted) }),
    secrets: [PASSWORD, 'wrong-password'],
    close: () => server.close(),
  }
}

let certificate: Certificate
before(() => {
  certificate = selfSigned()
  tls.setDefaultCACertificates([...tls.getCACertificates('default'), certificate.cert])
})

async function startDataverse(): Promise<StartedSource> {
  const tokenServer = await startTokenServer()
  const tokens = makeSourceTokens(skippingClock(), tokenServer.endpoints)
  const server = await startTdsServer({
    certificate,
    signIn: ({ token }) =>
      token?.startsWith('token-')
        ? null
        : { number: 18_456, message: `Login failed: unauthorized with ${token}` },
    answer,
  })
  const text = (port: number, secret: string) =>
    `Server=localhost,${port};Authentication=Active Directory Service Principal;Tenant ID=contoso;User ID=app-1;Password=${secret}`
  const name = 'DATAVERSE_CONNECTION'
  return {
    ...sharedBy(server),
    source: { type: 'dataverse', connection: name, warehouseId: null },
    variables: { [name]: text(server.port, CLIENT_SECRET) },
    wrongVariables: { [name]: text(server.port, 'wrong-secret') },
    variablesAt: (port) => ({ [name]: text(port, CLIENT_SECRET) }),
    tokens,
    secrets: [CLIENT_SECRET, 'wrong-secret', 'token-1', 'token-2'],
    close: async () => {
      await server.close()
      await tokenServer.close()
    },
  }
}

describeSource('sqlserver', startSqlServer)
describeSource('dataverse', startDataverse)

describe('TDS', () => {
  let server: TdsServer
  const name = 'MATOOLKIT_SOURCE_HR'
  const asking = (query: string) => dataSource({ type: 'sqlserver', connection: name, query })
  const settings = (rest = 'User ID=a;Password=secret-1;Encrypt=No') =>
    settingsOf({ variables: { [name]: `Server=localhost,${server.port};${rest}` } })
  before(async () => {
    server = await startTdsServer({ signIn: () => null, answer })
  })
  after(() => server.close())

  const FAULTS: readonly (readonly [string, Parameters<typeof errorOf>[2], RegExp])[] = [
    ['fails late', 'SOURCE_QUERY_REFUSED', /Divide by zero error encountered\. Run/],
    ['stops short', 'SOURCE_DROPPED', /the response ends too early/],
    ['two results', 'SOURCE_QUERY_REFUSED', /returns more than one result/],
    ['many digits', 'SOURCE_VALUE_UNREADABLE', /column "n" has a number of more than 15 digits/],
    ['much money', 'SOURCE_VALUE_UNREADABLE', /column "n" has a number/],
    ['variant', 'SOURCE_VALUE_UNREADABLE', /column "v" has the type sql_variant/],
  ]
  for (const [query, code, expected] of FAULTS) {
    it(`a query that ${query}: ${code}`, async () => {
      assert.match(await errorOf(asking(query), settings(), code), expected)
    })
  }

  it('follows a redirect with the same token', async () => {
    const signIn = () => null
    const target = await startTdsServer({ certificate, signIn, answer })
    const gate = await startTdsServer({ certificate, signIn, answer, goToPort: target.port })
    const source = dataSource({ type: 'dataverse', connection: name, query: 'none' })
    const tokens = { get: async () => 'the-token' }
    const variables = { [name]: `Server=localhost,${gate.port}` }
    const { columns } = await readAll(source, settingsOf({ variables, tokens }))
    assert.equal(columns.length, 2)
    const used = [...gate.logins, ...target.logins].map(({ token }) => token)
    assert.deepEqual(used, ['the-token', 'the-token'])
    await gate.close()
    await target.close()
  })

  it('stops waiting for a token that never arrives', async () => {
    const clock = skippingClock()
    const asked = Promise.withResolvers<void>()
    const tokens = {
      get: () => {
        asked.resolve()
        return new Promise<string>(() => {})
      },
    }
    const source = dataSource({ type: 'dataverse', connection: name, query: 'none' })
    const use = settingsOf({ variables: { [name]: 'Server=localhost' }, tokens, clock })
    const failed = openSource(source, use, NEVER).catch((error: unknown) => error)
    await asked.promise
    clock.ring()
    requireError(await failed, source, 'SOURCE_TIMED_OUT', [])
  })

  it('cancels a query before its first byte', async () => {
    const clock = skippingClock()
    const attentionsBefore = server.attentions
    const use = { ...settings(), clock }
    const failed = openSource(asking('silent'), use, NEVER).catch((error: unknown) => error)
    await whenHanging(server)
    clock.ring()
    requireError(await failed, asking('silent'), 'SOURCE_TIMED_OUT', [])
    assert.equal(server.attentions, attentionsBefore + 1)
  })

  it('does not send a password without encryption', async () => {
    const loginsBefore = server.logins.length
    const message = await errorOf(
      asking('none'),
      settings('User ID=a;Password=secret-1'),
      'SOURCE_UNREACHABLE',
    )
    assert.match(message, /offers no encryption/)
    assert.equal(server.logins.length, loginsBefore)
  })

  it('does not trust an unknown certificate unless told to', async () => {
    const stranger = await startTdsServer({
      certificate: selfSigned(),
      signIn: () => null,
      answer,
    })
    const use = (rest: string) =>
      settingsOf({
        variables: { [name]: `Server=localhost,${stranger.port};UID=a;PWD=secret-1;${rest}` },
      })
    const message = await errorOf(asking('none'), use(''), 'SOURCE_UNREACHABLE')
    assert.match(message, /self-signed certificate/)
    assert.deepEqual(stranger.logins, [])
    await readAll(asking('none'), use('TrustServerCertificate=yes'))
    const plain = await errorOf(asking('none'), use('Encrypt=no'), 'SOURCE_UNREACHABLE')
    assert.match(plain, /requires encryption; leave Encrypt on/)
    await stranger.close()
  })
})
