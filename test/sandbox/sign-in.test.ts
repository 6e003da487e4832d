// Tokens: who gets one, for which API, and for how long.
import assert from 'node:assert/strict'
import {
  constants,
  createHash,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  X509Certificate,
} from 'node:crypto'
import { before, describe, it } from 'node:test'
import forge from 'node-forge'
import type { Seed } from '../../sandbox/state.ts'
import { readCertificate } from '../../src/base/sign-in/certificate.ts'
import { AZURE_ENDPOINTS, makeTokens } from '../../src/base/sign-in/token.ts'
import { missingRights, rightsIn } from '../../src/m365/check/rights.ts'
import { STANDARD_FUNCTIONS } from '../../src/m365/functions/standard.ts'
import {
  assertRefused,
  EXCHANGE,
  formOf,
  GRAPH,
  id,
  openUnderTest,
  START,
  type UnderTest,
} from './under-test.ts'

const CLIENT = id(77)
const TENANT = id(70)

interface Certificate {
  readonly key: KeyObject
  readonly pem: string
}

function certificateOf(validUntil: string): Certificate {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const pem = String(privateKey.export({ type: 'pkcs8', format: 'pem' }))
  const certificate = forge.pki.createCertificate()
  const publicPem = String(createPublicKey(privateKey).export({ type: 'spki', format: 'pem' }))
  certificate.publicKey = forge.pki.publicKeyFromPem(publicPem)
  certificate.serialNumber = '01'
  certificate.validity.notBefore = new Date('2020-01-01T00:00:00Z')
  certificate.validity.notAfter = new Date(validUntil)
  certificate.sign(forge.pki.privateKeyFromPem(pem), forge.md.sha256.create())
  return { key: privateKey, pem: forge.pki.certificateToPem(certificate) }
}

const base64 = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

interface Claimed {
  readonly header?: object
  readonly claims?: object
  readonly key?: KeyObject
}

/** A valid assertion; tests change one thing in it. */
function assertionOf(
  certificate: Certificate,
  audience: string,
  { header, claims, key }: Claimed = {},
): string {
  const nowSec = +START / 1000
  const { raw } = new X509Certificate(certificate.pem)
  const thumbprint = createHash('sha256').update(raw).digest('base64url')
  const head = { alg: 'PS256', typ: 'JWT', 'x5t#S256': thumbprint, ...header } as { alg: string }
  const body = {
    aud: audience,
    iss: CLIENT,
    sub: CLIENT,
    jti: id(1),
    nbf: nowSec,
    exp: nowSec + 600,
    ...claims,
  }
  const text = `${base64(head)}.${base64(body)}`
  const pss = {
    padding: constants.RSA_PKCS1_PSS_PADDING,
    saltLength: constants.RSA_PSS_SALTLEN_DIGEST,
  }
  const by = key ?? certificate.key
  const signature = sign(
    'sha256',
    Buffer.from(text),
    head.alg === 'PS256' ? { key: by, ...pss } : by,
  )
  return `${text}.${signature.toString('base64url')}`
}

describe('a client assertion', () => {
  let good: Certificate
  let old: Certificate
  let seed: Seed
  let issuer: KeyObject
  before(() => {
    good = certificateOf('2040-01-01T00:00:00Z')
    old = certificateOf('2029-01-01T00:00:00Z')
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    issuer = privateKey
    const publicPem = String(publicKey.export({ type: 'spki', format: 'pem' }))
    seed = {
      tenants: [
        {
          id: TENANT,
          domains: ['contoso.example'],
          applications: [
            {
              clientId: CLIENT,
              certificates: [good.pem, old.pem],
              federatedCredentials: [
                { issuer: 'https://issuer.example', subject: 'machine', publicKey: publicPem },
              ],
            },
          ],
        },
      ],
    }
  })

  const ask = (under: UnderTest, assertion: string) =>
    under.send('POST', `/${TENANT}/oauth2/v2.0/token`, {
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: formOf({
        client_id: CLIENT,
        client_secret: '',
        scope: GRAPH,
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
        client_assertion: assertion,
      }),
    })
  const here = (under: UnderTest) => `${under.sandbox.url}/${TENANT}/oauth2/v2.0/token`

  it('is accepted with PS256 or RS256, either thumbprint and either endpoint URL', async () => {
    await using under = await openUnderTest(seed)
    const { raw } = new X509Certificate(good.pem)
    const sha1 = {
      alg: 'RS256',
      'x5t#S256': undefined,
      x5t: createHash('sha1').update(raw).digest('base64url'),
    }
    const accepted = [
      assertionOf(good, here(under)),
      assertionOf(good, `https://login.microsoftonline.com/${TENANT}/oauth2/v2.0/token`, {
        header: sha1,
      }),
    ]
    for (const assertion of accepted) {
      const reply = await ask(under, assertion)
      assert.equal(reply.status, 200, reply.text)
      const token = String(reply.body.access_token)
      assert.equal((await under.graph('GET', '/v1.0/users', undefined, { token })).status, 200)
    }
  })

  it('made by our own sign-in is accepted', async () => {
    await using under = await openUnderTest(seed)
    const pem = `${String(good.key.export({ type: 'pkcs8', format: 'pem' }))}${good.pem}`
    const certificate = await readCertificate({ bytes: Buffer.from(pem), password: '' })
    const tokens = makeTokens(under.clock, { ...AZURE_ENDPOINTS, entra: under.sandbox.url })
    const request = { from: 'entra', tenantId: TENANT, clientId: CLIENT, scope: GRAPH } as const
    const rotating = { candidates: async () => [certificate] }
    const token = await tokens.get({ ...request, certificate: rotating })
    assert.equal((await under.graph('GET', '/v1.0/users', undefined, { token })).status, 200)
  })

  it('of a trusted issuer is accepted', async () => {
    await using under = await openUnderTest(seed)
    const federated = {
      iss: 'https://issuer.example',
      sub: 'machine',
      aud: 'api://AzureADTokenExchange',
    }
    const good200 = await ask(under, assertionOf(good, '', { claims: federated, key: issuer }))
    assert.equal(good200.status, 200, good200.text)
    for (const [change, number] of [
      [{ sub: 'other' }, 700213],
      [{ aud: 'other' }, 700212],
    ] as const) {
      const claims = { ...federated, ...change }
      const refused = await ask(under, assertionOf(good, '', { claims, key: issuer }))
      assert.deepEqual([refused.status, refused.body.error_codes], [401, [number]])
    }
  })

  const nowSec = +START / 1000
  const WRONG: readonly [name: string, number: number, wrong: (under: UnderTest) => string][] = [
    [
      'signed with another key',
      700027,
      (under) => assertionOf(good, here(under), { key: old.key }),
    ],
    [
      'of an unknown certificate',
      700027,
      (under) => assertionOf(good, here(under), { header: { 'x5t#S256': 'unknown' } }),
    ],
    ['of an expired certificate', 700027, (under) => assertionOf(old, here(under))],
    [
      'changed after signing',
      700027,
      (under) =>
        assertionOf(good, here(under)).replace(
          /\.[^.]+\./,
          `.${base64({ aud: here(under), iss: CLIENT, sub: CLIENT, exp: nowSec + 9_999 })}.`,
        ),
    ],
    [
      'with algorithm none',
      700027,
      (under) =>
        `${base64({ alg: 'none', 'x5t#S256': thumbprintOf(good) })}.${base64({ aud: here(under), iss: CLIENT, sub: CLIENT, exp: nowSec + 600 })}.`,
    ],
    [
      'that has expired',
      700024,
      (under) => assertionOf(good, here(under), { claims: { exp: nowSec - 301 } }),
    ],
    [
      'that is not valid yet',
      700024,
      (under) => assertionOf(good, here(under), { claims: { nbf: nowSec + 301 } }),
    ],
    ['for another audience', 700023, () => assertionOf(good, 'https://elsewhere.example/token')],
    [
      'of another application',
      700213,
      (under) => assertionOf(good, here(under), { claims: { iss: id(5), sub: id(5) } }),
    ],
    ['that is not a JWT', 50027, () => 'nonsense'],
  ]
  const thumbprintOf = ({ pem }: Certificate) =>
    createHash('sha256').update(new X509Certificate(pem).raw).digest('base64url')
  for (const [name, number, wrong] of WRONG) {
    it(`${name} is refused`, async () => {
      await using under = await openUnderTest(seed)
      const refused = await ask(under, wrong(under))
      assert.deepEqual(
        [refused.status, refused.body.error, refused.body.error_codes],
        [401, 'invalid_client', [number]],
      )
      assert.match(
        String(refused.body.error_description),
        new RegExp(`^AADSTS${number}: .* Trace ID: `),
      )
    })
  }
})

const SEED: Seed = {
  tenants: [
    { id: TENANT, domains: ['contoso.example'] },
    { id: id(71), domains: ['fabrikam.example'] },
    {
      id: id(72),
      domains: ['tailspin.example'],
      applications: [
        { clientId: CLIENT, secret: 'x', roles: ['User.Read.All'], directoryRoles: [] },
      ],
      users: [{ id: id(1), userPrincipalName: 'ada@tailspin.example' }],
    },
  ],
}

describe('a token', () => {
  const ask = (under: UnderTest, more: Record<string, string>, tenant = TENANT) =>
    under.send('POST', `/${tenant}/oauth2/v2.0/token`, {
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: formOf({ scope: GRAPH, ...more }),
    })

  const WRONG: readonly [
    name: string,
    more: Record<string, string>,
    status: number,
    error: string,
    number: number,
  ][] = [
    ['a wrong secret', { client_secret: 'wrong' }, 401, 'invalid_client', 7000215],
    ['an unknown application', { client_id: id(99) }, 400, 'unauthorized_client', 700016],
    ['another grant', { grant_type: 'password' }, 400, 'unsupported_grant_type', 70003],
    ['a scope without /.default', { scope: 'User.Read' }, 400, 'invalid_scope', 1002012],
    [
      'an unknown resource',
      { scope: 'https://elsewhere.example/.default' },
      400,
      'invalid_resource',
      500011,
    ],
  ]
  it('shows every right of an application that may do everything, and only those of another', async () => {
    await using under = await openUnderTest(SEED)
    const graph = rightsIn(await under.token(GRAPH, TENANT))
    const exchange = rightsIn(await under.token(EXCHANGE, TENANT))
    assert.deepEqual([...missingRights(STANDARD_FUNCTIONS, { graph, exchange }).keys()], [])
    const { body } = await ask(under, { client_id: CLIENT, client_secret: 'x' }, id(72))
    assert.deepEqual(rightsIn(String(body.access_token)), ['User.Read.All'])
  })

  for (const [name, more, status, error, number] of WRONG) {
    it(`is refused for ${name}`, async () => {
      await using under = await openUnderTest(SEED)
      const refused = await ask(under, more)
      assert.deepEqual(
        [refused.status, refused.body.error, refused.body.error_codes],
        [status, error, [number]],
      )
    })
  }

  it('is refused in an unknown tenant', async () => {
    await using under = await openUnderTest(SEED)
    const refused = await ask(under, {}, id(9))
    assert.deepEqual([refused.status, refused.body.error_codes], [400, [90002]])
  })

  it('is issued for a domain name too, with its lifetime', async () => {
    await using under = await openUnderTest(SEED)
    const reply = await ask(under, {}, 'contoso.example')
    assert.deepEqual(
      [reply.status, reply.body.token_type, reply.body.expires_in],
      [200, 'Bearer', 3600],
    )
  })

  it('expires by the clock', async () => {
    await using under = await openUnderTest(SEED)
    const token = await under.token(GRAPH)
    const read = () => under.graph('GET', '/v1.0/users', undefined, { token })
    await under.clock.advance(3_599_000)
    assert.equal((await read()).status, 200)
    await under.clock.advance(1_000)
    const refused = await read()
    assertRefused(refused, 401, 'InvalidAuthenticationToken', /token is expired/)
    assert.match(refused.headers.get('www-authenticate') ?? '', /^Bearer /)
  })

  it('is for one API, Graph or Exchange', async () => {
    await using under = await openUnderTest(SEED)
    const graph = await under.token(GRAPH)
    const exchange = await under.token(EXCHANGE)
    assertRefused(
      await under.graph('GET', '/v1.0/users', undefined, { token: exchange }),
      401,
      'InvalidAuthenticationToken',
      /Invalid audience/,
    )
    assertRefused(
      await under.exchange('Get-MailUser', {}, { token: graph }),
      401,
      'InvalidAuthenticationToken',
      /Invalid audience/,
    )
  })

  it('is for one tenant', async () => {
    await using under = await openUnderTest(SEED)
    const token = await under.token(EXCHANGE, id(71))
    assert.equal((await under.exchange('Get-MailUser', {}, { token })).status, 403)
  })

  it('is refused when missing, forged or changed', async () => {
    await using under = await openUnderTest(SEED)
    assertRefused(
      await under.send('GET', '/v1.0/users'),
      401,
      'InvalidAuthenticationToken',
      /is empty/,
    )
    const token = await under.token(GRAPH)
    for (const wrong of [
      'abc',
      token.slice(0, -2),
      `${token.split('.')[0]}.e30.${token.split('.')[2]}`,
    ])
      assertRefused(
        await under.graph('GET', '/v1.0/users', undefined, { token: wrong }),
        401,
        'InvalidAuthenticationToken',
        /Invalid signature/,
      )
  })
})

it('limits an application to its permissions', async () => {
  await using under = await openUnderTest(SEED)
  const tenant = id(72)
  const tokenFor = async (scope: string) => {
    const body = formOf({ client_id: CLIENT, client_secret: 'x', scope })
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const reply = await under.send('POST', `/${tenant}/oauth2/v2.0/token`, { headers, body })
    return String(reply.body.access_token)
  }
  const token = await tokenFor(GRAPH)
  const path = `/v1.0/users/${id(1)}`
  assert.equal((await under.graph('GET', path, undefined, { token })).status, 200)
  const refused = await under.graph('PATCH', path, { jobTitle: 'x' }, { token })
  assertRefused(refused, 403, 'Authorization_RequestDenied', /Insufficient privileges/)
  const headers = { 'accept-encoding': 'identity' }
  const exchange = fetch(`${under.sandbox.url}/adminapi/beta/${tenant}/InvokeCommand`, {
    method: 'POST',
    headers: { ...headers, authorization: `Bearer ${await tokenFor(EXCHANGE)}` },
    body: JSON.stringify({ CmdletInput: { CmdletName: 'Get-MailUser', Parameters: {} } }),
  })
  assert.equal((await exchange).status, 403)
})
