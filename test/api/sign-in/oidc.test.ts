// Sign-in against a certified OpenID server: the API accepts its tokens and finds its keys by discovery.
import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { exportJWK } from 'jose'
import Provider, { type Configuration } from 'oidc-provider'
import { realClock } from '../../../src/base/run/clock.ts'
import { newKey } from '../../kit/issuer.ts'
import { type ApiUnderTest, openApiUnderTest } from '../under-test.ts'

const AUDIENCE = 'urn:matoolkit:api'

async function configuration(): Promise<Configuration> {
  const key = await newKey('provider-key')
  return {
    jwks: { keys: [{ ...(await exportJWK(key.secret)), kid: key.kid, use: 'sig', alg: 'RS256' }] },
    cookies: { keys: ['only for this test'] },
    clients: ['nightly', 'stranger'].map((clientId) => ({
      client_id: clientId,
      client_secret: 'only-for-this-test',
      grant_types: ['client_credentials'],
      redirect_uris: [],
      response_types: [],
    })),
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_ctx, resource) => ({
          scope: 'access_as_user',
          audience: resource,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'RS256' } },
        }),
      },
    },
    extraTokenClaims: (_ctx, token) =>
      'accountId' in token ? { roles: ['Admin'], name: 'Ada' } : { roles: ['Reader'] },
    findAccount: (_ctx, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  }
}

describe('an OpenID server', () => {
  let server: Server
  let issuer: string
  let provider: Provider
  let api: ApiUnderTest
  before(async () => {
    let handle: ReturnType<Provider['callback']> | undefined
    server = createServer((request, response) => void handle!(request, response))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    provider = new Provider(issuer, await configuration())
    handle = provider.callback()
    api = await openApiUnderTest({
      config: { oidcIssuers: [issuer], oidcAudiences: [AUDIENCE], oidcApps: ['nightly'] },
      // The provider uses the machine's clock, so the API does too.
      options: { clock: realClock() },
    })
  })
  after(async () => {
    await api.close()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })

  const tokenOf = async (
    scope: string,
    resource = AUDIENCE,
    client = 'nightly',
  ): Promise<string> => {
    const answer = await fetch(`${issuer}/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${btoa(`${client}:only-for-this-test`)}` },
      body: new URLSearchParams({ grant_type: 'client_credentials', scope, resource }),
    })
    const { access_token: token } = (await answer.json()) as { access_token: string }
    return token
  }

  it('signs an application in with the scope and role of its token', async () => {
    const { status, body, text } = await api.call('GET', '/api/me', {
      token: await tokenOf('access_as_user'),
    })
    assert.equal(status, 200, text)
    assert.deepEqual(body, {
      id: `${issuer}/nightly`,
      name: `${issuer}/nightly`,
      roles: ['Reader'],
    })
  })

  it('issues tokens for any application; only listed ones are accepted', async () => {
    const token = await tokenOf('access_as_user', AUDIENCE, 'stranger')
    const { body } = await api.refused(403, 'NOT_ALLOWED', 'GET', '/api/me', { token })
    assert.match(body.detail, /MATOOLKIT_OIDC_APPS/)
  })

  it('issues tokens for other audiences, which are refused', async () => {
    const token = await tokenOf('access_as_user', 'urn:else')
    await api.refused(401, 'TOKEN_REFUSED', 'GET', '/api/me', { token })
  })

  it('issues a reader role, which cannot change anything', async () => {
    const token = await tokenOf('access_as_user')
    assert.equal((await api.call('GET', '/api/batches', { token })).status, 200)
    await api.refused(403, 'NOT_ALLOWED', 'POST', '/api/batches/1/cancel', {
      token,
      body: { reason: 'x' },
    })
  })

  it('issues a person’s token, identified by issuer and subject', async () => {
    const client = (await provider.Client.find('nightly'))!
    const made = new provider.AccessToken({
      client,
      accountId: 'ada',
      grantId: 'grant-1',
      scope: 'access_as_user',
      gty: 'authorization_code',
    } as ConstructorParameters<Provider['AccessToken']>[0])
    made.resourceServer = new provider.ResourceServer(AUDIENCE, {
      scope: 'access_as_user',
      audience: AUDIENCE,
      accessTokenFormat: 'jwt',
      jwt: { sign: { alg: 'RS256' } },
    })
    const { body } = await api.call('GET', '/api/me', { token: await made.save() })
    assert.deepEqual(body, { id: `${issuer}/ada`, name: 'Ada', roles: ['Admin'] })
  })
})
