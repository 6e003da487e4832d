// Tokens for data sources: issuers, caching, and errors.
import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, it } from 'node:test'
import type { TokenRequest } from '../../../src/base/sign-in/token.ts'
import { SourceFault } from '../../../src/scheduler/sources/fault.ts'
import { makeSourceTokens } from '../../../src/scheduler/sources/source.ts'
import { CLIENT_SECRET, identityOf, startTokenServer, type TokenServer } from './token-server.ts'
import { skippingClock } from './under-test.ts'

const SCOPE = 'https://org.crm4.dynamics.com/.default'
const ENTRA: TokenRequest = {
  from: 'entra',
  tenantId: 'contoso',
  clientId: 'app-1',
  secret: CLIENT_SECRET,
  scope: SCOPE,
}

describe('tokens', () => {
  let server: TokenServer
  beforeEach(async () => {
    server = await startTokenServer()
  })
  afterEach(() => server.close())
  const tokens = (clock = skippingClock()) => makeSourceTokens(clock, server.endpoints)
  const faultOf = (request: TokenRequest, from = tokens()) =>
    from.get(request).then(
      () => assert.fail('it should have failed'),
      (error: unknown) => {
        assert.ok(error instanceof SourceFault, String(error))
        return `${error.kind}: ${error.message}`
      },
    )

  it('come from Microsoft Entra ID with a secret', async () => {
    assert.equal(await tokens().get(ENTRA), 'token-1')
    assert.deepEqual(server.asked, [`entra contoso app-1 ${SCOPE}`])
  })

  it('come from the metadata service of a virtual machine, for its own or a user-assigned identity', async () => {
    const from = tokens()
    await from.get({ from: 'machine', clientId: null, scope: SCOPE })
    await from.get({ from: 'machine', clientId: 'identity-1', scope: SCOPE })
    assert.deepEqual(server.asked, [
      'machine own https://org.crm4.dynamics.com 2018-02-01',
      'machine identity-1 https://org.crm4.dynamics.com 2018-02-01',
    ])
  })

  it('come from the identity endpoint of Container Apps, which sends only the expiry', async () => {
    const clock = skippingClock()
    const from = makeSourceTokens(clock, identityOf(server))
    const request = { from: 'machine', clientId: null, scope: SCOPE } as const
    assert.equal(await from.get(request), 'token-1')
    clock.turnOn(3_000_000)
    assert.equal(await from.get(request), 'token-1')
    clock.turnOn(301_000)
    assert.equal(await from.get(request), 'token-2')
    assert.equal(server.asked[0], 'identity own https://org.crm4.dynamics.com 2019-08-01')
  })

  it('come from Databricks itself', async () => {
    const request = { from: 'databricks', host: server.url, clientId: 'sp-1' } as const
    assert.equal(await tokens().get({ ...request, secret: CLIENT_SECRET }), 'token-1')
    assert.deepEqual(server.asked, ['databricks sp-1 all-apis'])
    assert.match(
      await faultOf({ ...request, secret: 'x' }),
      /^sign_in: Databricks' sign-in returned 401/,
    )
  })

  it('are requested once for all callers and cached until five minutes before expiry', async () => {
    const clock = skippingClock()
    const from = tokens(clock)
    const all = await Promise.all(Array.from({ length: 10 }, () => from.get(ENTRA)))
    assert.deepEqual(new Set(all), new Set(['token-1']))
    clock.turnOn(3_299_000)
    assert.equal(await from.get(ENTRA), 'token-1')
    clock.turnOn(2_000)
    assert.equal(await from.get(ENTRA), 'token-2')
    assert.equal(server.asked.length, 2)
  })

  it('are cached for half their life when it is short', async () => {
    server.expiresInSec = 100
    const clock = skippingClock()
    const from = tokens(clock)
    await from.get(ENTRA)
    clock.turnOn(49_000)
    assert.equal(await from.get(ENTRA), 'token-1')
    clock.turnOn(2_000)
    assert.equal(await from.get(ENTRA), 'token-2')
  })

  it('stay in use until expiry when renewal fails', async () => {
    const clock = skippingClock()
    const from = tokens(clock)
    await from.get(ENTRA)
    server.fault = { status: 503, body: 'busy' }
    clock.turnOn(3_400_000)
    assert.equal(await from.get(ENTRA), 'token-1')
    clock.turnOn(200_000)
    assert.match(await faultOf(ENTRA, from), /^unreachable: Microsoft Entra ID returned 503/)
    server.fault = null
    assert.match(await from.get(ENTRA), /^token-/)
  })

  it('differ by tenant, client, secret and scope', async () => {
    const from = tokens()
    await from.get(ENTRA)
    await from.get({ ...ENTRA, scope: 'other/.default' })
    await from.get({ ...ENTRA, clientId: 'app-2' })
    await from.get({ ...ENTRA, tenantId: 'fabrikam' })
    assert.equal(server.asked.length, 4)
    assert.match(
      await faultOf({ ...ENTRA, secret: 'wrong' }, from),
      /AADSTS7000215: Invalid client/,
    )
  })

  it('report a failure in one line', async () => {
    const refused = await faultOf({ ...ENTRA, secret: 'wrong' })
    assert.match(refused, /^sign_in: Microsoft Entra ID returned 401: AADSTS7000215[^\n]*$/)
    server.fault = { status: 400, body: '<html>' }
    assert.match(await faultOf(ENTRA), /^sign_in: Microsoft Entra ID returned 400: no reason given/)
    server.fault = { status: 200, body: '{}' }
    assert.match(await faultOf(ENTRA), /^sign_in: .* returned 200: no reason given/)
    const nobody = { ...server.endpoints, entra: 'http://127.0.0.1:1' }
    assert.match(
      await faultOf(ENTRA, makeSourceTokens(skippingClock(), nobody)),
      /^unreachable: Microsoft Entra ID does not respond: .*(ECONNREFUSED|bad port)/,
    )
  })
})
