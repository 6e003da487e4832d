import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { type ApiUnderTest, openApiUnderTest } from './under-test.ts'

describe('the service', () => {
  let api: ApiUnderTest
  before(async () => {
    api = await openApiUnderTest()
  })
  after(() => api.close())

  it('is healthy without a token', async () => {
    const { status, body, headers } = await api.call('GET', '/api/health', { token: null })
    assert.deepEqual([status, body], [200, { status: 'healthy' }])
    assert.equal(headers.get('cache-control'), 'no-store')
    assert.equal(headers.get('x-content-type-options'), 'nosniff')
    assert.match(headers.get('content-security-policy')!, /default-src 'none'/)
    assert.equal(headers.get('access-control-allow-origin'), null)
  })

  it('is ready when database, schema, bus and clock are', async () => {
    const { status, text } = await api.call('GET', '/api/ready', { token: null })
    assert.equal(status, 200, text)
  })
})
