// Building a tenant from settings: the URLs of the clouds, token audiences, and each replica's share of the quota.
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { readConfig } from '../../../src/base/settings/config.ts'
import { tokenEndpointsOf } from '../../../src/base/sign-in/clouds.ts'
import type { TokenRequest } from '../../../src/base/sign-in/token.ts'
import { connectTenant } from '../../../src/m365/client/connect.ts'
import { NO_M365_TENANT } from '../../../src/m365/client/tenant.ts'
import { drivenClock, type Service, startService } from '../../kit/scripted-service.ts'

const IDS = {
  MATOOLKIT_TENANT_ID: '11111111-2222-3333-4444-555555555555',
  MATOOLKIT_APP_ID: '66666666-7777-8888-9999-000000000000',
  MATOOLKIT_ORGANIZATION: 'contoso.onmicrosoft.com',
}
const configOf = (env: Record<string, string>) => {
  const read = readConfig({ ...IDS, ...env })
  assert.ok('config' in read, JSON.stringify(read))
  return read.config
}

let service: Service | undefined
afterEach(async () => {
  await service?.close()
  service = undefined
})

describe('a tenant from settings', () => {
  it('requests the tokens of its cloud from the sign-in of that cloud', async () => {
    const asked: TokenRequest[] = []
    const config = configOf({ MATOOLKIT_CLOUD: 'usgov' })
    const tenant = connectTenant({
      config,
      credential: { secret: 'secret' },
      tokens: { get: async (request) => `token-${asked.push(request)}` },
      secrets: NO_M365_TENANT.secrets,
      clock: drivenClock(),
    })
    await tenant.signIn()
    assert.deepEqual(
      asked.map((request) => 'scope' in request && request.scope),
      ['https://graph.microsoft.us/.default', 'https://outlook.office365.us/.default'],
    )
    assert.equal(tokenEndpointsOf(config).entra, 'https://login.microsoftonline.us')
    assert.equal(
      tenant.graph.urlOf('/directoryObjects/1'),
      'https://graph.microsoft.us/v1.0/directoryObjects/1',
    )
    const sandbox = configOf({ MATOOLKIT_LOGIN_URL: 'http://127.0.0.1:4365/' })
    assert.equal(tokenEndpointsOf(sandbox).entra, 'http://127.0.0.1:4365')
  })

  it('keeps to its share of the quota among several replicas', async () => {
    const clock = drivenClock()
    service = await startService(clock, () => ({ status: 204 }))
    const tenant = connectTenant({
      config: configOf({
        MATOOLKIT_GRAPH_URL: service.url,
        MATOOLKIT_GRAPH_WRITES_PER_SEC: '2',
        MATOOLKIT_WORKER_REPLICAS: '4',
      }),
      credential: { secret: 'secret' },
      tokens: { get: async () => 'token' },
      secrets: NO_M365_TENANT.secrets,
      clock,
    })
    const signal = new AbortController().signal
    const calls = Array.from({ length: 4 }, () =>
      tenant.graph.call({ method: 'PATCH', path: '/users/1', body: {}, signal }),
    )
    await clock.drive(calls)
    assert.deepEqual(
      service.seen.map(({ atSec }) => atSec),
      [0, 0, 2, 4],
    )
  })
})
