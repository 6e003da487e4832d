// How an app proves its identity, and refused tokens. What all tokens share is tested with the data sources.
import assert from 'node:assert/strict'
import { createPublicKey } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after, before, beforeEach, describe, it } from 'node:test'
import { decodeProtectedHeader, jwtVerify } from 'jose'
import { virtualClock } from '../../../src/base/run/clock.ts'
import { readCertificate, type SigningCertificate } from '../../../src/base/sign-in/certificate.ts'
import { rotatingCertificate } from '../../../src/base/sign-in/rotating-certificate.ts'
import {
  AZURE_ENDPOINTS,
  makeTokens,
  type TokenEndpoints,
  type TokenRequest,
} from '../../../src/base/sign-in/token.ts'
import { rsaCertificate } from '../../kit/rsa-certificate.ts'

const START = new Date('2026-03-01T10:00:00Z')
const app = { from: 'entra', tenantId: 'tenant-1', clientId: 'app-1', scope: 's/.default' } as const

const readOwn = (own: { keyPem: string; certPem: string }): Promise<SigningCertificate> =>
  readCertificate({ bytes: Buffer.from(own.keyPem + own.certPem), password: '' })

const decodeHeader = (assertion: string | null): string => {
  try {
    return String(decodeProtectedHeader(assertion ?? '')['x5t#S256'])
  } catch {
    return 'not signed'
  }
}

describe('tokens for an app', () => {
  const forms: URLSearchParams[] = []
  let identityAsked = 0
  /** Thumbprints that the app registration has; null takes every one. */
  let known: Set<string> | null = null
  const server = createServer(async (request, response) => {
    const form = await text(request)
    response.setHeader('content-type', 'application/json')
    if (request.url?.startsWith('/metadata')) {
      identityAsked++
      const { searchParams } = new URL(request.url, 'http://x')
      const token = `identity ${searchParams.get('client_id')} ${searchParams.get('resource')}`
      return void response.end(JSON.stringify({ access_token: token, expires_in: '3600' }))
    }
    forms.push(new URLSearchParams(form))
    const thumbprint = decodeHeader(forms.at(-1)!.get('client_assertion'))
    if (known !== null && !known.has(thumbprint)) {
      response.statusCode = 401
      const error_description = 'AADSTS700027: The certificate is not registered.'
      return void response.end(JSON.stringify({ error: 'invalid_client', error_description }))
    }
    const access_token = `token-${forms.length}`
    response.end(JSON.stringify({ access_token, expires_in: 3600 }))
  })
  let endpoints: TokenEndpoints
  before(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(server.address() as { port: number }).port}`
    endpoints = { ...AZURE_ENDPOINTS, entra: url, machine: `${url}/metadata/token` }
  })
  after(() => {
    server.closeAllConnections()
    server.close()
  })
  beforeEach(() => {
    forms.length = 0
    known = null
  })
  const tokens = () => makeTokens(virtualClock(START), endpoints)

  it('are requested with an assertion signed by the certificate', async () => {
    const own = rsaCertificate()
    const only = await readOwn(own)
    const certificate = { candidates: async () => [only] }
    const from = tokens()
    assert.equal(await from.get({ ...app, certificate }), 'token-1')
    assert.equal(await from.get({ ...app, certificate }), 'token-1')
    const [form] = forms
    assert.equal(
      form!.get('client_assertion_type'),
      'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
    )
    const audience = `${endpoints.entra}/tenant-1/oauth2/v2.0/token`
    const options = { audience, currentDate: START }
    await jwtVerify(form!.get('client_assertion')!, createPublicKey(own.certPem), options)
  })

  it('follow a certificate that is renewed, whichever side learns of it first', async () => {
    const [old, renewed] = [await readOwn(rsaCertificate()), await readOwn(rsaCertificate())]
    let stored: SigningCertificate | null = old
    const told: string[] = []
    const read = async () => stored ?? Promise.reject(new Error('the vault is away'))
    const certificate = rotatingCertificate(old, read, {
      onRenewed: ({ thumbprint }) => void told.push(thumbprint),
      onUnreadable: (reason) => void told.push(reason),
    })
    const ask = () => tokens().get({ ...app, certificate })
    known = new Set([old.thumbprint])
    assert.equal(await ask(), 'token-1')
    stored = renewed
    assert.equal(await ask(), 'token-3', 'the new one is refused, the old one still works')
    known = new Set([renewed.thumbprint])
    assert.equal(await ask(), 'token-4')
    stored = null
    assert.equal(await ask(), 'token-5')
    assert.deepEqual(told, [renewed.thumbprint, 'the vault is away'])
    known = new Set()
    await assert.rejects(ask(), /AADSTS700027/)
  })

  it('are requested with the token file of a workload identity, read each time', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'workload-'))
    const tokenFile = join(folder, 'token')
    const workload = { tokenFile, clientId: 'workload-1', tenantId: 'tenant-2' }
    const ask = (request: TokenRequest) =>
      makeTokens(virtualClock(START), { ...endpoints, workload }).get(request)
    const machine = { from: 'machine', clientId: null, scope: 'vault/.default' } as const
    try {
      await assert.rejects(ask(machine), /AZURE_FEDERATED_TOKEN_FILE cannot be read/)
      await writeFile(tokenFile, 'cluster-1\n')
      await ask(machine)
      await writeFile(tokenFile, 'cluster-2\n')
      await ask({ ...app, federatedWith: { clientId: null } })
      assert.deepEqual(
        forms.map((form) => [
          form.get('client_id'),
          form.get('scope'),
          form.get('client_assertion'),
        ]),
        [
          ['workload-1', 'vault/.default', 'cluster-1'],
          ['app-1', 's/.default', 'cluster-2'],
        ],
      )
    } finally {
      await rm(folder, { recursive: true })
    }
  })

  it('are requested with a token of the trusted managed identity', async () => {
    const from = tokens()
    const federatedWith = { clientId: 'identity-1' }
    assert.equal(await from.get({ ...app, federatedWith }), 'token-1')
    assert.equal(await from.get({ ...app, federatedWith }), 'token-1')
    assert.equal(
      forms[0]!.get('client_assertion'),
      'identity identity-1 api://AzureADTokenExchange',
    )
    assert.equal(identityAsked, 1)
  })

  it('are not returned again once refused, and one new one is requested', async () => {
    const from = tokens()
    const request = { ...app, secret: 'secret' }
    const first = await from.get(request)
    const renewed = await Promise.all(Array.from({ length: 8 }, () => from.get(request, first)))
    assert.deepEqual(new Set(renewed), new Set(['token-2']))
    assert.equal(await from.get(request, first), 'token-2')
    assert.equal(forms.length, 2)
  })
})
