// Which hosts webhooks may call.
import assert from 'node:assert/strict'
import { after, before, describe, it } from 'node:test'
import { ApiError } from '../../../src/worker/http/api.ts'
import { openWebhooks } from '../../../src/worker/http/webhooks.ts'
import { drivenClock, type Reply, type Service, startService } from '../../kit/scripted-service.ts'

const clock = drivenClock()
const signal = new AbortController().signal
let service: Service
let replies: Reply[] = []
before(async () => {
  service = await startService(clock, () => replies.shift() ?? { status: 202 })
})
after(() => service.close())

function webhooks(hosts: readonly string[] = [new URL(service.url).host]) {
  return openWebhooks({
    clock,
    hosts,
    policy: { attempts: 3, baseSec: 1, maxSec: 1 },
    random: () => 0,
    timeout: () => new AbortController().signal,
  })
}

const post = async (url: string, hosts?: readonly string[]) => {
  const [result] = await clock.drive([webhooks(hosts).post(url, { text: 'hi' }, { signal })])
  if (result!.status === 'fulfilled') return result!.value.status
  const { reason } = result as PromiseRejectedResult
  assert.ok(reason instanceof ApiError, String(reason))
  return reason
}

describe('webhooks', () => {
  it('are posted to a listed host, without a token', async () => {
    assert.equal(await post(`${service.url}/hook`), 202)
    const { method, path, body, headers } = service.seen.at(-1)!
    assert.deepEqual(
      [method, path, body, headers.authorization],
      ['POST', '/hook', { text: 'hi' }, undefined],
    )
  })

  const REFUSED: [url: string, hosts: string[], says: RegExp][] = [
    ['https://evil.example/x', ['hooks.contoso.com'], /host "evil.example" is not listed/],
    ['https://hooks.contoso.com:444/x', ['hooks.contoso.com'], /"hooks.contoso.com:444" is not/],
    ['https://hooks.contoso.com.evil.example/', ['hooks.contoso.com'], /is not listed/],
    ['https://hooks.contoso.com@evil.example/', ['hooks.contoso.com'], /"evil.example" is not/],
    ['http://hooks.contoso.com/x', ['hooks.contoso.com'], /must begin with https/],
    ['https://kim:pw@hooks.contoso.com/x', ['hooks.contoso.com'], /a user or a password/],
    ['file:///etc/passwd', [''], /must begin with https/],
    ['no address', ['hooks.contoso.com'], /its URL is not valid/],
    ['https://169.254.169.254/latest', ['169.254.169.254'], /169.254.169.254 is never allowed/],
    ['https://0xa9fea9fe/latest', ['169.254.169.254'], /169.254.169.254 is never allowed/],
  ]
  for (const [url, hosts, says] of REFUSED) {
    it(`are not posted to ${url}`, async () => {
      const error = await post(url, hosts)
      assert.ok(error instanceof ApiError)
      assert.equal(error.code, 'HostNotAllowed')
      assert.match(error.message, says)
    })
  }

  it('follow no redirect', async () => {
    const before = service.seen.length
    replies = [{ status: 302, headers: { location: `${service.url}/elsewhere` } }]
    const error = await post(`${service.url}/hook`)
    assert.ok(error instanceof ApiError)
    assert.deepEqual([error.status, service.seen.length - before], [302, 1])
  })

  it('are retried when the receiver is busy, not when it may have received them', async () => {
    replies = [{ status: 429, headers: { 'retry-after': '1' } }, { status: 202 }]
    assert.equal(await post(`${service.url}/hook`), 202)
    for (const reply of ['cut', { status: 429 }, { status: 503 }] as const) {
      replies = [reply]
      const error = await post(`${service.url}/hook`)
      assert.ok(error instanceof ApiError && error.isOutcomeUnknown)
    }
  })
})
