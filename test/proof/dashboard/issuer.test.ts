// Signing in to the dashboard at a certified OpenID server: code flow with PKCE, back to the view that the person wanted.
import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, it } from 'node:test'
import { exportJWK } from 'jose'
import Provider, { type Configuration } from 'oidc-provider'
import type { Browser } from 'playwright-core'
import { realClock } from '../../../src/base/run/clock.ts'
import { type ApiUnderTest, openApiUnderTest } from '../../api/under-test.ts'
import { openBrowser, openPage, type TestPage } from '../../kit/browser.ts'
import { newKey } from '../../kit/issuer.ts'
import { assertSound } from './under-test.ts'

const AUDIENCE = 'urn:matoolkit:api'
const CLIENT = 'dashboard'

async function configuration(redirectUri: string): Promise<Configuration> {
  const key = await newKey('provider-key')
  return {
    jwks: { keys: [{ ...(await exportJWK(key.secret)), kid: key.kid, use: 'sig', alg: 'RS256' }] },
    cookies: { keys: ['only for this test'] },
    clients: [
      {
        client_id: CLIENT,
        token_endpoint_auth_method: 'none',
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        redirect_uris: [redirectUri],
      },
    ],
    clientBasedCORS: () => true,
    pkce: { required: () => true },
    issueRefreshToken: async () => true,
    features: {
      devInteractions: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => AUDIENCE,
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({
          scope: 'access_as_user',
          audience: AUDIENCE,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'RS256' } },
        }),
      },
    },
    // A person's name is their role.
    extraTokenClaims: (_ctx, token) => ({
      roles: 'accountId' in token && token.accountId !== 'nobody' ? [token.accountId] : [],
      name: 'Ada',
    }),
    findAccount: (_ctx, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
  }
}

describe('signing in to the dashboard at an issuer', () => {
  let server: Server
  let api: ApiUnderTest
  let browser: Browser
  before(async () => {
    let handle: ReturnType<Provider['callback']> | undefined
    server = createServer((request, response) => void handle!(request, response))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const config = { oidcIssuers: [issuer], oidcAudiences: [AUDIENCE], oidcClientId: CLIENT }
    // The provider uses the machine's clock, so the API does too.
    api = await openApiUnderTest({ config, options: { clock: realClock() } })
    const provider = new Provider(issuer, await configuration(`${api.url}/`))
    provider.on('server_error', (_ctx, error) => console.error(error))
    handle = provider.callback()
    browser = await openBrowser()
  })
  after(async () => {
    await browser.close()
    await api.close()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })

  async function signInAs(person: string, view: string): Promise<TestPage> {
    const opened = await openPage(browser)
    const { page } = opened
    // The provider's own pages want a font from elsewhere.
    await page.route('https://fonts.googleapis.com/**', (route) => route.fulfill({ body: '' }))
    await page.goto(`${api.url}${view}`)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.locator('input[name=login]').fill(person)
    await page.locator('input[name=password]').fill('anything')
    await page.getByRole('button', { name: 'Sign-in' }).click()
    await page.getByRole('button', { name: 'Continue' }).click()
    return opened
  }

  it('brings the person back to the view they wanted, without the code in the address', async () => {
    const opened = await signInAs('Admin', '/?wallboard=no')
    const { page } = opened
    await page.getByRole('button', { name: 'Hold everything' }).waitFor()
    assert.equal(page.url(), `${api.url}/?wallboard=no`)
    await page.reload()
    await page.getByRole('button', { name: 'Hold everything' }).waitFor()
    await page.getByRole('heading', { name: 'Now' }).waitFor()
    const stored = await page.evaluate(() => JSON.stringify(localStorage))
    assert.doesNotMatch(stored, /eyJ/, 'no token of an issuer outlives the tab')
    await assertSound(opened)
  })

  it('shows a reader everything and nothing to change it', async () => {
    const { page } = await signInAs('Reader', '/')
    await page.getByRole('heading', { name: 'Now' }).waitFor()
    assert.equal(await page.getByRole('button', { name: 'Hold everything' }).count(), 0)
  })

  it('tells a person without a role so, and shows nothing', async () => {
    const { page } = await signInAs('nobody', '/')
    await page
      .getByRole('alert')
      .filter({ hasText: 'the role HelpDesk, Reader or Admin' })
      .waitFor()
    assert.equal(await page.getByRole('navigation').count(), 0)
  })

  it('renews a token that ends soon, once for all requests', async () => {
    const { page } = await signInAs('Reader', '/')
    await page.getByRole('heading', { name: 'Now' }).waitFor()
    let renewals = 0
    page.on('request', (request) => {
      if (request.postData()?.includes('grant_type=refresh_token')) renewals += 1
    })
    await page.evaluate(() => {
      const grant = JSON.parse(sessionStorage.getItem('matoolkit.grant')!)
      sessionStorage.setItem(
        'matoolkit.grant',
        JSON.stringify({ ...grant, endsAt: Date.now() + 1_000 }),
      )
    })
    await page.reload()
    await page.getByRole('heading', { name: 'Now' }).waitFor()
    await page.getByText('Live', { exact: true }).waitFor()
    assert.equal(renewals, 1)
  })
})
