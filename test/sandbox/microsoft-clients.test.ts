// Microsoft's own clients against the sandbox, over https and unmodified: MSAL, Azure Identity and the Graph SDK. What they accept was not
// written by us.
import assert from 'node:assert/strict'
import { createHash, X509Certificate } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, describe, it } from 'node:test'
import { getCACertificates, setDefaultCACertificates } from 'node:tls'
import { ClientCertificateCredential, ClientSecretCredential } from '@azure/identity'
import { ConfidentialClientApplication } from '@azure/msal-node'
import { Client, PageIterator } from '@microsoft/microsoft-graph-client'
import { openSandbox, type Sandbox } from '../../sandbox/sandbox.ts'
import { DEFAULT_SECRET } from '../../sandbox/state.ts'
import { realClock } from '../../src/base/run/clock.ts'
import { rsaCertificate } from '../kit/rsa-certificate.ts'
import { EXCHANGE, GRAPH, id } from './under-test.ts'

const CLIENT = id(1)
const own = rsaCertificate()
const PEOPLE = Array.from({ length: 130 }, (_, n) => `person${n}@contoso.example`)

describe('Microsoft’s clients', () => {
  const trusted = getCACertificates('default')
  let sandbox: Sandbox
  let tenantId: string
  let folder: string
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'clients-'))
    sandbox = await openSandbox({
      clock: realClock(),
      httpsSince: realClock().now(),
      timing: { replicationLagSec: 0 },
      seed: {
        tenants: [
          {
            domains: ['contoso.example', 'contoso.onmicrosoft.com'],
            users: PEOPLE.map((userPrincipalName) => ({ userPrincipalName })),
            groups: [{ displayName: 'Everybody', members: [PEOPLE[0]!] }],
            applications: [
              { clientId: CLIENT, secret: DEFAULT_SECRET, certificates: [own.certPem] },
            ],
          },
        ],
      },
    })
    tenantId = sandbox.state().tenants[0]!.id
    setDefaultCACertificates([...trusted, sandbox.authority!])
  })
  after(async () => {
    setDefaultCACertificates(trusted)
    await sandbox.close()
    await rm(folder, { recursive: true })
  })

  const msal = (proof: object) =>
    new ConfidentialClientApplication({
      auth: {
        clientId: CLIENT,
        authority: `${sandbox.url}/${tenantId}`,
        knownAuthorities: [new URL(sandbox.url).host],
        ...proof,
      },
    }).acquireTokenByClientCredential({ scopes: [GRAPH] })

  it('MSAL signs in with a secret and with a certificate', async () => {
    const thumbprintSha256 = createHash('sha256')
      .update(new X509Certificate(own.certPem).raw)
      .digest('hex')
    const clientCertificate = { thumbprintSha256, privateKey: own.keyPem }
    for (const proof of [{ clientSecret: DEFAULT_SECRET }, { clientCertificate }]) {
      const result = await msal(proof)
      assert.equal(result?.tokenType, 'Bearer')
      assert.ok(result!.expiresOn! > realClock().now())
    }
    await assert.rejects(msal({ clientSecret: 'wrong' }), /AADSTS7000215/)
  })

  const options = () => ({ authorityHost: sandbox.url, disableInstanceDiscovery: true })

  it('Azure Identity gets tokens with a secret and with a certificate', async () => {
    const certificatePath = join(folder, 'app.pem')
    await writeFile(certificatePath, own.keyPem + own.certPem)
    for (const credential of [
      new ClientSecretCredential(tenantId, CLIENT, DEFAULT_SECRET, options()),
      new ClientCertificateCredential(tenantId, CLIENT, { certificatePath }, options()),
    ])
      for (const scope of [GRAPH, EXCHANGE])
        assert.ok((await credential.getToken(scope)).token.split('.').length === 3)
    const wrong = new ClientSecretCredential(tenantId, id(2), DEFAULT_SECRET, options())
    await assert.rejects(wrong.getToken(GRAPH), /AADSTS700016/)
  })

  const graph = () => {
    const credential = new ClientSecretCredential(tenantId, CLIENT, DEFAULT_SECRET, options())
    return Client.initWithMiddleware({
      baseUrl: sandbox.url,
      customHosts: new Set([new URL(sandbox.url).hostname]),
      authProvider: { getAccessToken: async () => (await credential.getToken(GRAPH)).token },
    })
  }

  it('the Graph SDK reads pages, counts, sorts and filters', async () => {
    const client = graph()
    const seen: string[] = []
    const first = await client.api('/users').select('userPrincipalName').top(50).get()
    const pages = new PageIterator(client, first, ({ userPrincipalName }) => {
      seen.push(userPrincipalName)
      return true
    })
    await pages.iterate()
    assert.deepEqual(seen.toSorted(), PEOPLE.toSorted())
    const eventual = { ConsistencyLevel: 'eventual' }
    assert.equal(Number(await client.api('/users/$count').headers(eventual).get()), PEOPLE.length)
    const ends = await client
      .api('/users')
      .headers(eventual)
      .count(true)
      .filter("endsWith(userPrincipalName,'9@contoso.example')")
      .orderby('userPrincipalName desc')
      .top(2)
      .get()
    assert.equal(ends['@odata.count'], 13)
    assert.deepEqual(
      ends.value.map((user: { userPrincipalName: string }) => user.userPrincipalName),
      ['person9@contoso.example', 'person99@contoso.example'],
    )
  })

  it('the Graph SDK changes users and groups, and sends batches', async () => {
    const client = graph()
    const [user] = (
      await client.api('/users').filter(`startswith(userPrincipalName,'person7@')`).get()
    ).value
    await client.api(`/users/${user.id}`).patch({ department: 'Sales' })
    const [group] = (await client.api('/groups').get()).value
    const bind = [`${sandbox.url}/v1.0/directoryObjects/${user.id}`]
    await client.api(`/groups/${group.id}`).patch({ 'members@odata.bind': bind })
    const { responses } = await client.api('/$batch').post({
      requests: [
        { id: '1', method: 'GET', url: `/users/${user.id}?$select=department` },
        { id: '2', method: 'GET', url: '/users/nobody@contoso.example' },
        {
          id: '3',
          method: 'GET',
          url: `/groups/${group.id}/members/microsoft.graph.user?$count=true`,
        },
      ],
    })
    const byId = new Map<string, { status: number; body: Record<string, unknown> }>(
      responses.map((one: { id: string }) => [one.id, one]),
    )
    assert.equal(byId.get('1')!.body.department, 'Sales')
    assert.equal(byId.get('2')!.status, 404)
    assert.equal((byId.get('3')!.body.value as unknown[]).length, 2)
    await assert.rejects(client.api('/users/delta').get(), /delta/)
    await assert.rejects(client.api('/me').get(), /signed-in user/)
  })
})
