// How an app proves its identity, and refused tokens. What all tokens share is tested with the data sources.
import assert from 'node:assert/strict'
import { createPublicKey } from 'node:crypto'
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { after, before, beforeEach, describe, it } from 'node:test'
import { jwtVerify } from 'jose'
import { virtualClock } from '../../src/clock.ts'
import { readCertificate } from '../../src/sign-in/certificate.ts'
import { makeTokens, type TokenEndpoints } from '../../src/sign-in/token.ts'
import { rsaCertificate } from './rsa-certificate.ts'

const START = new Date('2026-03-01T10:00:00Z')
const app = { from: 'entra', tenantId: 'tenant-1', clientId: 'app-1', scope: 's/.default' } as const

describe('tokens for an app', () => {
  const forms: URLSearchParams[] = []
  let identityAsked = 0
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
    const access_token = `token-${forms.length}`
    response.end(JSON.stringify({ access_token, expires_in: 3600 }))
  })
  let endpoints: TokenEndpoints
  before(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(server.address() as { port: number }).port}`
    endpoints = { entra: url, machine: `${url}/metadata/token`, identity: null }
  })
  after(() => {
    server.closeAllConnections()
    server.close()
  })
  beforeEach(() => {
    forms.length = 0
  })
  const tokens = () => makeTokens(virtualClock(START), endpoints)

  it('are requested with an assertion signed by the certificate', async () => {
    const own = rsaCertificate()
    const bytes = Buffer.from(own.keyPem + own.certPem)
    const certificate = await readCertificate({ bytes, password: '' })
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
