// Cmdlets over real HTTP, with bodies observed from Exchange Online.
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import type { Json, JsonObject } from '../../../src/base/text/json.ts'
import { ExchangeOnline } from '../../../src/m365/client/exchange.ts'
import { changeOfList } from '../../../src/m365/client/tenant.ts'
import { ApiError } from '../../../src/worker/http/api.ts'
import {
  drivenClock,
  type Reply,
  type Seen,
  type Service,
  startService,
} from '../../kit/scripted-service.ts'

const TENANT_ID = '11111111-2222-3333-4444-555555555555'
const never = new AbortController().signal

const services: Service[] = []
afterEach(async () => {
  for (const one of services.splice(0)) await one.close()
})

async function exchangeWith(
  reply: (seen: Seen, index: number) => Reply | Promise<Reply>,
  lanes = 4,
) {
  const clock = drivenClock()
  const started = await startService(clock, reply)
  services.push(started)
  const exchange = new ExchangeOnline({
    clock,
    url: started.url,
    tenantId: TENANT_ID,
    lanes,
    token: async () => 'token',
    policy: { attempts: 5, baseSec: 2, maxSec: 120 },
    random: () => 0,
    timeout: () => new AbortController().signal,
  })
  const outcome = async (cmdlet: string, parameters: JsonObject = {}) => {
    const [result] = await clock.drive([exchange.run(cmdlet, parameters, { signal: never })])
    if (result!.status === 'fulfilled') return result!.value
    const { reason } = result as PromiseRejectedResult
    assert.ok(reason instanceof ApiError, String(reason))
    return reason
  }
  return { clock, exchange, outcome, seen: started.seen, url: started.url }
}

const refusal = (status: number, message: string, code = 'BadRequest'): Reply => ({
  status,
  body: {
    error: {
      code,
      message: 'Error executing cmdlet',
      details: [{ code: 'Client', target: '', message }],
    },
  },
})
const NOT_FOUND =
  "Ex6F9304|Microsoft.Exchange.Configuration.Tasks.ManagementObjectNotFoundException|The object 'kim' couldn't be found."

describe('a cmdlet', () => {
  it('is sent as the PowerShell module sends it and returns all pages without annotations', async () => {
    const item = { 'Guid@odata.type': '#Guid', Guid: 'g-1', Name: 'Kim' }
    const world = await exchangeWith((_, index) => ({
      status: 200,
      body: {
        value: [index === 0 ? item : { Name: 'Lee' }],
        ...(index === 0 ? { '@odata.nextLink': `${world.url}/adminapi/beta/next` } : {}),
      } as Json,
    }))
    const change = changeOfList({ add: ['smtp:kim@contoso.com'] })
    const parameters = { Identity: 'kim', EmailAddresses: change }
    assert.deepEqual(await world.outcome('Set-MailUser', parameters), [
      { Guid: 'g-1', Name: 'Kim' },
      { Name: 'Lee' },
    ])
    const [first, second] = world.seen
    assert.equal(first!.path, `/adminapi/beta/${TENANT_ID}/InvokeCommand`)
    assert.deepEqual(first!.body, {
      CmdletInput: {
        CmdletName: 'Set-MailUser',
        Parameters: {
          Identity: 'kim',
          EmailAddresses: {
            '@odata.type': '#Exchange.GenericHashTable',
            Add: ['smtp:kim@contoso.com'],
          },
        },
      },
    })
    assert.match(String(first!.headers['x-anchormailbox']), new RegExp(`^APP:.*@${TENANT_ID}$`))
    assert.equal(second!.path, '/adminapi/beta/next')
    assert.deepEqual(second!.body, first!.body)
  })

  it('returns nothing when the response is empty', async () => {
    const { outcome } = await exchangeWith(() => ({ status: 204 }))
    assert.deepEqual(await outcome('Set-MailUser'), [])
  })

  it('reports the exception and its message, whatever the status', async () => {
    for (const status of [404, 500, 400]) {
      const { outcome, seen } = await exchangeWith(() => refusal(status, NOT_FOUND))
      const error = (await outcome('Get-MailUser')) as ApiError
      assert.deepEqual([error.code, seen.length], ['ManagementObjectNotFoundException', 1])
      assert.match(error.message, /^Exchange Online returned \d+ Man.*: The object 'kim' couldn't/)
      await services[0]!.close()
    }
  })

  it('fails on an error inside a 200 response', async () => {
    const { outcome } = await exchangeWith(() => ({
      status: 200,
      body: { value: [], '@adminapi.errors': [NOT_FOUND] },
    }))
    assert.equal(
      ((await outcome('Get-MailUser')) as ApiError).code,
      'ManagementObjectNotFoundException',
    )
  })

  it('reports an unknown or forbidden cmdlet although the body is garbled', async () => {
    const { outcome } = await exchangeWith(() => ({ status: 403, body: '\u0000\u0000' }))
    const error = (await outcome('Get-Everything')) as ApiError
    assert.match(
      error.message,
      /403 .*The cmdlet does not exist, or no Exchange role of the app allows it/,
    )
  })

  it('is retried while the server is busy, by message or by status', async () => {
    const tired = [
      refusal(500, 'Ex1|Microsoft.Exchange.Data.Storage.ServerBusyException|Server Busy'),
      {
        status: 400,
        body: 'You have reached the maximum number of concurrent requests per tenant.',
      },
      { status: 503, headers: { 'retry-after': '4' } },
      { status: 429 },
    ] as const
    const { outcome, seen } = await exchangeWith(
      (_, index) => tired[index] ?? { status: 200, body: { value: [] } },
    )
    assert.deepEqual(await outcome('Set-MailUser'), [])
    assert.deepEqual(
      seen.map(({ atSec }) => atSec),
      [0, 2, 6, 10, 26],
    )
  })

  for (const words of ['Server Busy', 'The server is too busy.', 'MicroDelay', 'BackoffException'])
    it(`is retried after a 400 that says "${words}"`, async () => {
      const { outcome, seen } = await exchangeWith((_, index) =>
        index === 0
          ? refusal(400, `Ex1|Microsoft.Exchange.SomeException|${words}`)
          : { status: 200, body: { value: [] } },
      )
      assert.deepEqual(await outcome('Set-MailUser'), [])
      assert.equal(seen.length, 2)
    })

  it('that is not idempotent is retried only when it was refused before it ran', async () => {
    const limit = 'You have reached the maximum number of concurrent requests per tenant.'
    const notLetIn = [
      { status: 400, body: limit },
      { status: 429, body: limit },
      { status: 429, headers: { 'retry-after': '4' } },
    ]
    const served = await exchangeWith(
      (_, index) => notLetIn[index] ?? { status: 200, body: { value: [] } },
    )
    assert.deepEqual(await served.outcome('New-MigrationBatch'), [])
    for (const inside of [
      refusal(500, 'Ex1|Microsoft.Exchange.Data.Storage.ServerBusyException|Server Busy'),
      { status: 503, headers: { 'retry-after': '4' } },
      { status: 429 },
    ]) {
      const { outcome, seen } = await exchangeWith(() => inside)
      const error = (await outcome('New-MigrationBatch')) as ApiError
      assert.deepEqual([error.isOutcomeUnknown, error.isThrottled, seen.length], [true, true, 1])
      assert.match(error.message, /may have been done all the same/)
    }
  })

  it('is retried after an unknown outcome only if its verb or the caller allows it', async () => {
    const { outcome, seen, exchange, clock } = await exchangeWith((_, index) =>
      index % 2 === 0 ? 'cut' : { status: 200, body: { value: [] } },
    )
    assert.deepEqual(await outcome('Set-MailUser'), [])
    const run = exchange.run(
      'Add-DistributionGroupMember',
      {},
      { signal: never, isIdempotent: true },
    )
    assert.equal((await clock.drive([run]))[0]!.status, 'fulfilled')
    const error = (await outcome('New-MigrationBatch')) as ApiError
    assert.deepEqual([error.isOutcomeUnknown, seen.length], [true, 5])
  })

  it('runs no more concurrently than there are lanes', async () => {
    let inside = 0
    let most = 0
    let second = Promise.withResolvers<void>()
    const { clock, exchange, seen } = await exchangeWith(async () => {
      most = Math.max(most, ++inside)
      // The first of a pair waits for the second, and both linger: a third would be noticed.
      if (inside === 2) second.resolve()
      await second.promise
      for (let turn = 0; turn < 20; turn++) await new Promise<void>((done) => setImmediate(done))
      if (--inside === 0) second = Promise.withResolvers()
      return { status: 200, body: { value: [] } }
    }, 2)
    const runs = Array.from({ length: 10 }, () =>
      exchange.run('Get-MailUser', {}, { signal: never }),
    )
    const gone = new AbortController()
    const leaving = exchange.run('Get-MailUser', {}, { signal: gone.signal })
    gone.abort(new Error('the job is over'))
    const results = await clock.drive([...runs, leaving])
    assert.deepEqual([most, seen.length], [2, 10])
    assert.match(String((results.at(-1) as PromiseRejectedResult).reason), /the job is over/)
  })
})
