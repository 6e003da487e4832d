// Connection variables, and their errors, which name keys and never values.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { type Connection, readConnection } from '../../../src/scheduler/sources/connection.ts'
import { tenantOfDataverse } from '../../../src/scheduler/sources/dataverse-tenant.ts'
import { SourceFault } from '../../../src/scheduler/sources/fault.ts'

type Type = Parameters<typeof readConnection>[0]
const NAME = 'MATOOLKIT_SOURCE_X'
const read = (type: Type, text: string): Connection => readConnection(type, text, NAME, () => {})

describe('a connection', () => {
  const GOOD: readonly (readonly [Type, string, Partial<Connection>])[] = [
    [
      'sqlserver',
      'Server=tcp:db.local,1433;Initial Catalog=hr;User ID=reader;Password=secret-1;Encrypt=True',
      {
        server: 'tcp:db.local,1433',
        database: 'hr',
        encrypt: true,
        identity: { kind: 'sql', user: 'reader', password: 'secret-1' },
      },
    ],
    [
      'sqlserver',
      ' data source = db ; uid = a ; pwd = "x;""y""=z" ; trust server certificate = yes ; ',
      {
        server: 'db',
        database: null,
        trustServerCertificate: true,
        identity: { kind: 'sql', user: 'a', password: 'x;"y"=z' },
      },
    ],
    [
      'sqlserver',
      "Server=db;UID=a;PWD='it''s';Pooling=true;Connect Timeout=5;HostNameInCertificate=db.local",
      {
        identity: { kind: 'sql', user: 'a', password: "it's" },
        hostNameInCertificate: 'db.local',
      },
    ],
    [
      'sqlserver',
      'Server=db;UID=a;PWD=b;Trusted_Connection=False;Integrated Security=false',
      { identity: { kind: 'sql', user: 'a', password: 'b' } },
    ],
    [
      'sqlserver',
      'Server=db;Authentication=Active Directory Managed Identity',
      { identity: { kind: 'managed_identity', clientId: null } },
    ],
    [
      'dataverse',
      'Server=org.crm4.dynamics.com,5558',
      { identity: { kind: 'managed_identity', clientId: null }, encrypt: true },
    ],
    [
      'dataverse',
      'Server=org;Authentication=ActiveDirectoryServicePrincipal;TenantId=t;User=c;ClientSecret=s',
      { identity: { kind: 'service_principal', tenantId: 't', clientId: 'c', secret: 's' } },
    ],
    [
      'dataverse',
      'Server=org;Authentication=Active Directory Default;ConnectRetryCount=3;Max Pool Size=5',
      { server: 'org', identity: { kind: 'managed_identity', clientId: null } },
    ],
    [
      'dataverse',
      'Data Source=org.crm.dynamics.com,1433;Authentication=Active Directory MSI;User Id=c',
      {
        server: 'org.crm.dynamics.com,1433',
        identity: { kind: 'managed_identity', clientId: 'c' },
      },
    ],
    [
      'dataverse',
      'org.crm.dynamics.com,5558',
      {
        server: 'org.crm.dynamics.com,5558',
        identity: { kind: 'managed_identity', clientId: null },
        encrypt: true,
      },
    ],
    [
      'dataverse',
      'Server=org;Authentication=Active Directory Service Principal;User ID=c;Password=s',
      { identity: { kind: 'service_principal', tenantId: null, clientId: 'c', secret: 's' } },
    ],
    [
      'sqlserver',
      'Server=db;Authentication=Active Directory Service Principal;User ID=11111111-1111-1111-1111-111111111111@contoso.com;Password=s',
      {
        identity: {
          kind: 'service_principal',
          tenantId: 'contoso.com',
          clientId: '11111111-1111-1111-1111-111111111111',
          secret: 's',
        },
      },
    ],
    [
      'databricks',
      'https://adb-1.2.azuredatabricks.net',
      {
        server: 'https://adb-1.2.azuredatabricks.net',
        identity: { kind: 'managed_identity', clientId: null },
      },
    ],
    [
      'databricks',
      'Host=adb-1;Authentication=Databricks OAuth;Client ID=c;Client Secret=s',
      { identity: { kind: 'databricks_oauth', clientId: 'c', secret: 's' } },
    ],
    [
      'databricks',
      'Server=adb-1;Authentication=Active Directory Managed Identity;User ID=c',
      { identity: { kind: 'managed_identity', clientId: 'c' } },
    ],
  ]
  for (const [type, text, expected] of GOOD) {
    it(`of ${type}: ${text}`, () => {
      const found = read(type, text)
      for (const [key, value] of Object.entries(expected))
        assert.deepEqual(found[key as keyof Connection], value)
    })
  }

  const BAD: readonly (readonly [Type, string, RegExp])[] = [
    ['sqlserver', 'geheim', /does not have the form Key=value/],
    ['sqlserver', 'Server=db;geheim', /does not have the form Key=value/],
    ['sqlserver', 'Server=db;Password= "geheim', /does not have the form Key=value/],
    ['sqlserver', 'Server=db;Password="geheim"x', /does not have the form Key=value/],
    ['sqlserver', `${' '.repeat(3_000)}geheim`, /does not have the form Key=value/],
    ['sqlserver', 'Server=db;Pasword=geheim', /has the unknown key "Pasword"/],
    ['sqlserver', 'Server=db;Password=geheim;PWD=geheim', /has the key "PWD" twice/],
    ['sqlserver', 'Password=geheim', /has no Server/],
    ['sqlserver', 'Server=db;Integrated Security=SSPI', /has no User ID, which Sql Password needs/],
    ['sqlserver', 'Server=db;User ID=a', /has no Password, which Sql Password needs/],
    ['sqlserver', 'Server=db;Encrypt=maybe;UID=a;PWD=geheim', /has Encrypt=maybe; use True/],
    ['sqlserver', 'Server=db;Authentication=Databricks Token', /use one of: Sql Password, Active/],
    [
      'dataverse',
      'Server=org;Encrypt=False',
      /must leave Encrypt on and TrustServerCertificate off/,
    ],
    ['dataverse', 'Server=org;TrustServerCertificate=True', /must leave Encrypt on/],
    ['dataverse', 'Server=org;Authentication=Sql Password', /has an unsupported Authentication/],
    ['dataverse', 'Server=o;Authentication=Active Directory Interactive', /use one of: Active/],
    [
      'sqlserver',
      'Server=o;Authentication=Active Directory Service Principal;User ID=a;Password=geheim',
      /has no Tenant ID, which Active Directory Service Principal needs/,
    ],
  ]
  for (const [type, text, said] of BAD) {
    it(`of ${type} is refused: ${text}`, () => {
      assert.throws(
        () => read(type, text),
        (error: unknown) => {
          assert.ok(error instanceof SourceFault)
          assert.equal(error.kind, 'not_configured')
          assert.match(error.message, said)
          assert.match(error.message, /^MATOOLKIT_SOURCE_X /)
          assert.doesNotMatch(error.message, /geheim/)
          return true
        },
      )
    })
  }

  it('passes its secret to hide before anything can fail', () => {
    const hidden: string[] = []
    assert.throws(() =>
      readConnection('sqlserver', 'Password=geheim', NAME, (secret) => hidden.push(secret)),
    )
    assert.deepEqual(hidden, ['geheim'])
  })

  it('is refused when too long', () => {
    assert.throws(
      () => read('sqlserver', `Server=${'x'.repeat(4_000)}`),
      /more than 4000 characters/,
    )
  })
})

describe('the tenant of a Dataverse environment', () => {
  const TENANT = '11111111-2222-3333-4444-555555555555'
  const answering = (header: string) => async (url: unknown) => {
    assert.equal(String(url), 'https://org.crm.dynamics.com/api/data/v9.2/')
    return new Response('', { status: 401, headers: { 'www-authenticate': header } })
  }
  const { signal } = new AbortController()
  const tenantBy = (ask: unknown) =>
    tenantOfDataverse('org.crm.dynamics.com', signal, ask as typeof fetch)

  it('is what its Web API says to a call without a token', async () => {
    const bearer = `Bearer authorization_uri=https://login.microsoftonline.com/${TENANT}/oauth2/authorize, resource_id=https://org.crm.dynamics.com/`
    assert.equal(await tenantBy(answering(bearer)), TENANT)
  })
  it('is asked for when it says nothing useful, or nothing', async () => {
    for (const header of [
      'Bearer',
      `Bearer authorization_uri=https://login.microsoftonline.com/common/oauth2`,
    ])
      await assert.rejects(tenantBy(answering(header)), /add Tenant ID to the connection/)
    await assert.rejects(
      tenantBy(async () => Promise.reject(new TypeError('fetch failed'))),
      /org\.crm\.dynamics\.com does not say its tenant/,
    )
  })
})
