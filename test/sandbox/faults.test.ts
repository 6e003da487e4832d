// Injected faults: by script, by rate, and what each leaves behind.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  FAULT_KINDS,
  type FaultCandidate,
  type FaultSettings,
  Faults,
  ratesOf,
} from '../../sandbox/faults.ts'
import type { Seed } from '../../sandbox/state.ts'
import {
  assertRefused,
  EXCHANGE,
  formOf,
  GRAPH,
  id,
  openUnderTest,
  type UnderTest,
} from './under-test.ts'

const SEED: Seed = {
  tenants: [
    {
      id: id(70),
      domains: ['contoso.example'],
      users: [
        { id: id(1), userPrincipalName: 'ada@contoso.example' },
        { id: id(2), userPrincipalName: 'ben@contoso.example', mail: 'ben@fabrikam.example' },
      ],
    },
    {
      id: id(71),
      domains: ['fabrikam.example'],
      users: [{ id: id(3), userPrincipalName: 'eve@fabrikam.example' }],
    },
  ],
}

const read = (under: UnderTest) => under.graph('GET', `/v1.0/users/${id(1)}`)
const change = (under: UnderTest, jobTitle = 'Engineer') =>
  under.graph('PATCH', `/v1.0/users/${id(1)}`, { jobTitle })
const setFaults = async (under: UnderTest, faults: FaultSettings) => {
  const reply = await under.send('POST', '/_sandbox/faults', { body: faults as never })
  assert.equal(reply.status, 200, reply.text)
}
const isLost = (error: unknown) =>
  error instanceof TypeError && /fetch failed|terminated/.test(error.message)

describe('a fault', () => {
  it('throttle: 429 with Retry-After, and the API stays closed to that tenant', async () => {
    await using under = await openUnderTest(SEED)
    await setFaults(under, {
      script: [{ on: 'PATCH /v1.0/users/*', fault: { kind: 'throttle', retryAfterSec: 5 } }],
    })
    const throttled = await change(under)
    assertRefused(throttled, 429, 'TooManyRequests', /retry/)
    assert.equal(throttled.headers.get('retry-after'), '5')
    assert.match(
      throttled.headers.get('x-ms-throttle-scope') ?? '',
      new RegExp(`^Tenant_Application/.*${id(70)}$`),
    )
    await under.clock.advance(3_500)
    const early = await read(under)
    assert.deepEqual([early.status, early.headers.get('retry-after')], [429, '2'])
    assert.equal((await under.exchange('Get-MailUser')).status, 200)
    const other = await under.graph('GET', `/v1.0/users/${id(3)}`, undefined, { tenant: id(71) })
    assert.equal(other.status, 200)
    await under.clock.advance(1_500)
    assert.equal((await change(under)).status, 204)
    assert.deepEqual(await under.done(), ['user changed'])
  })

  it('throttle in Exchange: plain text', async () => {
    await using under = await openUnderTest(SEED, {
      faults: { script: [{ on: 'Get-MailUser', fault: 'throttle' }] },
    })
    const throttled = await under.exchange('Get-MailUser')
    assert.deepEqual([throttled.status, throttled.headers.get('content-type')], [429, 'text/plain'])
    assert.match(throttled.text, /maximum number of concurrent requests per tenant/)
  })

  for (const status of [500, 502, 503, 504] as const) {
    it(`error: ${status} without an effect`, async () => {
      await using under = await openUnderTest(SEED)
      await setFaults(under, { script: [{ on: 'PATCH *', fault: { kind: 'error', status } }] })
      assert.equal((await change(under)).status, status)
      assert.deepEqual(await under.done(), [])
      assert.equal((await change(under)).status, 204)
    })
  }

  it('slow: the response takes time on the clock, and the effect happens then', async () => {
    await using under = await openUnderTest(SEED)
    await under.token(GRAPH)
    await setFaults(under, { script: [{ on: 'PATCH *', fault: { kind: 'slow', delaySec: 30 } }] })
    await read(under)
    const answer = change(under)
    while (under.clock.nextWakeAt() === null) await new Promise((resolve) => setImmediate(resolve))
    assert.deepEqual(await under.done(), [])
    await under.clock.advance(30_000)
    assert.equal((await answer).status, 204)
    assert.equal((await under.effects())[0]!.at, '2030-03-01T08:00:30.000Z')
  })

  it('drop-before: the connection drops without an effect', async () => {
    await using under = await openUnderTest(SEED)
    await setFaults(under, { script: [{ on: 'PATCH *', fault: 'drop-before' }] })
    await assert.rejects(change(under), isLost)
    assert.deepEqual(await under.done(), [])
  })

  it('drop-after: the connection drops after the effect', async () => {
    await using under = await openUnderTest(SEED)
    await setFaults(under, { script: [{ on: 'PATCH *', fault: 'drop-after' }] })
    await assert.rejects(change(under), isLost)
    assert.deepEqual(await under.done(), ['user changed'])
    assert.equal((await change(under)).status, 204)
    assert.deepEqual(await under.done(), ['user changed'])
  })

  it('error-after: the response is an error without Retry-After, after the effect', async () => {
    await using under = await openUnderTest(SEED)
    const fault = { kind: 'error-after', status: 429 } as const
    await setFaults(under, { script: [{ on: 'PATCH *', fault }] })
    const answer = await change(under)
    assertRefused(answer, 429, 'TooManyRequests', /Too many requests/)
    assert.equal(answer.headers.get('retry-after'), null)
    assert.deepEqual(await under.done(), ['user changed'])
  })

  it('drop-after loses a refusal', async () => {
    await using under = await openUnderTest(SEED, {
      faults: { script: [{ on: 'Set-MailUser', fault: 'drop-after' }] },
    })
    await assert.rejects(under.exchange('Set-MailUser', { Identity: 'nobody' }), isLost)
  })

  it('expired-token: 401, and that token stays expired', async () => {
    await using under = await openUnderTest(SEED)
    const [token, other] = [await under.token(GRAPH), await under.token(GRAPH)]
    await setFaults(under, { script: [{ on: 'GET *', fault: 'expired-token' }] })
    const get = (one: string) =>
      under.graph('GET', `/v1.0/users/${id(1)}`, undefined, { token: one })
    assertRefused(await get(token), 401, 'InvalidAuthenticationToken', /expired/)
    assert.equal((await get(token)).status, 401)
    assert.equal((await get(other)).status, 200)
  })

  it('reaches the token endpoint by script', async () => {
    await using under = await openUnderTest(SEED)
    const on = `POST /${id(70)}/oauth2/*`
    await setFaults(under, {
      script: [
        { on, fault: { kind: 'throttle', retryAfterSec: 7 } },
        { on, nth: 2, fault: 'error' },
        { on, nth: 3, fault: 'drop-before' },
      ],
    })
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const ask = () =>
      under.send('POST', `/${id(70)}/oauth2/v2.0/token`, {
        headers,
        body: formOf({ scope: EXCHANGE }),
      })
    const first = await ask()
    assert.deepEqual([first.status, first.headers.get('retry-after')], [429, '7'])
    assert.equal((await ask()).status, 503)
    await assert.rejects(ask(), isLost)
    assert.equal((await ask()).status, 200)
  })
})

const asked = (more: Partial<FaultCandidate> = {}): FaultCandidate => ({
  method: 'GET',
  path: '/v1.0/users/ada@contoso.example',
  cmdlet: null,
  words: 'a',
  isApi: true,
  ...more,
})

describe('a script', () => {
  it('counts matching requests from the n-th, as often as set', () => {
    const faults = new Faults({
      script: [{ on: 'GET /v1.0/users/*', nth: 2, times: 2, fault: 'error' }],
    })
    const seen = [1, 2, 3, 4].map(() => faults.next(asked())?.kind ?? null)
    assert.deepEqual(seen, [null, 'error', 'error', null])
    assert.equal(faults.next(asked({ method: 'POST' })), null)
  })

  it('matches methods, paths and cmdlets with wildcards, without case', () => {
    const fits = (on: string, more: Partial<FaultCandidate> = {}) =>
      new Faults({ script: [{ on, fault: 'error' }] }).next(asked(more)) !== null
    assert.ok(fits('*'))
    assert.ok(fits('* /v1.0/*'))
    assert.ok(fits('get /V1.0/users/ADA@contoso.example'))
    assert.ok(fits('Set-*', { cmdlet: 'Set-MailUser' }))
    assert.ok(!fits('Set-*'))
    assert.ok(!fits('GET /v1.0/users'))
    assert.ok(!fits('GET /v1x0/users/*'))
  })

  it('fires the first matching rule and counts for all', () => {
    const faults = new Faults({
      script: [
        { on: '*', fault: 'slow' },
        { on: '*', nth: 2, fault: 'error' },
        { on: '*', fault: 'throttle' },
      ],
    })
    assert.deepEqual(
      [1, 2, 3].map(() => faults.next(asked())?.kind ?? null),
      ['slow', 'error', null],
    )
  })
})

describe('rates', () => {
  const many = (settings: FaultSettings, order: readonly number[]) => {
    const faults = new Faults(settings)
    const kinds = new Map(
      order.map((at) => [at, faults.next(asked({ words: `request ${at}` }))?.kind ?? null]),
    )
    return [...kinds].toSorted(([a], [b]) => a - b).map(([, kind]) => kind)
  }
  const forth = Array.from({ length: 2_000 }, (_, at) => at)
  const settings = { rates: { throttle: 0.1, slow: 0.05, 'drop-after': 0.02 }, seed: 7 }

  it('hit about their share, the same requests in any order, others with another seed', () => {
    const kinds = many(settings, forth)
    const share = (kind: string) => kinds.filter((one) => one === kind).length / forth.length
    assert.ok(Math.abs(share('throttle') - 0.1) < 0.03)
    assert.ok(Math.abs(share('slow') - 0.05) < 0.02)
    assert.ok(Math.abs(share('drop-after') - 0.02) < 0.015)
    assert.deepEqual(many(settings, forth.toReversed()), kinds)
    assert.notDeepEqual(many({ ...settings, seed: 8 }, forth), kinds)
  })

  it('decide again for a repeated request', () => {
    const faults = new Faults({ rates: { error: 0.5 } })
    const kinds = new Set(forth.slice(0, 20).map(() => faults.next(asked())?.kind))
    assert.equal(kinds.size, 2)
  })

  it('spare the token endpoint', () => {
    assert.equal(new Faults({ rates: { error: 1 } }).next(asked({ isApi: false })), null)
  })

  it('spare the requests that are named, and no others', () => {
    const faults = new Faults({ rates: { error: 1 }, spared: ['POST /v1.0/users/*/sendMail'] })
    const mail = { method: 'POST', path: '/v1.0/users/desk@contoso.example/sendMail' }
    assert.equal(faults.next(asked(mail)), null)
    assert.equal(faults.next(asked({ ...mail, path: '/v1.0/users' }))?.kind, 'error')
  })

  it('are parsed from text', () => {
    assert.deepEqual(ratesOf('throttle=0.02, drop-after=0.01'), {
      rates: { throttle: 0.02, 'drop-after': 0.01 },
    })
    for (const wrong of ['throttle', 'throttle=2', 'hail=0.1', 'throttle=x', ''])
      assert.equal(ratesOf(wrong), null)
    for (const kind of FAULT_KINDS) assert.ok(ratesOf(`${kind}=1`))
  })
})

describe('quotas', () => {
  it('refuse the cmdlets above the concurrency of Exchange at once, and no Graph call', async () => {
    await using under = await openUnderTest(SEED)
    await under.token(GRAPH)
    await under.exchange('Get-MailUser')
    await setFaults(under, { quotas: { exchangeConcurrency: 1, callSec: 60, retryAfterSec: 7 } })
    const waits = async () => {
      while (under.clock.nextWakeAt() === null)
        await new Promise((resolve) => setImmediate(resolve))
    }
    const first = under.exchange('Get-MailUser')
    await waits()
    const second = await under.exchange('Get-MailUser')
    assert.deepEqual([second.status, second.headers.get('retry-after')], [429, '7'])
    await under.clock.advance(60_000)
    assert.equal((await first).status, 200)
    const third = under.exchange('Get-MailUser')
    await waits()
    await setFaults(under, { quotas: { exchangeConcurrency: 1 } })
    assert.equal((await read(under)).status, 200)
    assert.equal((await under.exchange('Get-MailUser')).status, 429)
    await under.clock.advance(60_000)
    assert.equal((await third).status, 200)
  })

  it('tell from 80 % how much of the resource units is used, then refuse and name the scope', async () => {
    await using under = await openUnderTest(SEED)
    await setFaults(under, { quotas: { directoryUnitsPer10Sec: 5 } })
    const told: (string | null)[] = []
    for (let calls = 0; calls < 6; calls++) {
      const { status, headers } = await read(under)
      told.push(
        status === 429
          ? headers.get('x-ms-throttle-information')
          : headers.get('x-ms-throttle-limit-percentage'),
      )
    }
    assert.deepEqual(told, [null, null, null, '0.80', '1.00', 'ResourceUnitLimitExceeded'])
    await under.clock.advance(2_000)
    assert.equal((await read(under)).status, 200)
  })

  it('refuse writes of the directory and name writes, while reads pass', async () => {
    await using under = await openUnderTest(SEED)
    await setFaults(under, { quotas: { directoryWritesPer150Sec: 1 } })
    assert.equal((await change(under)).status, 204)
    const { status, headers } = await change(under)
    assert.equal(status, 429)
    assert.match(headers.get('x-ms-throttle-scope')!, /^Tenant_Application\/Write\//)
    assert.equal((await read(under)).status, 200)
  })

  it('tell how many cmdlets are left, and refuse the next', async () => {
    await using under = await openUnderTest(SEED)
    await setFaults(under, { quotas: { exchangePerMin: 2 } })
    const left: (string | null)[] = []
    for (let calls = 0; calls < 3; calls++)
      left.push((await under.exchange('Get-MailUser')).headers.get('rate-limit-remaining'))
    assert.deepEqual(left, ['1', '0', null])
    assert.equal((await read(under)).status, 200)
  })

  it('a throttled mailbox closes neither the directory nor another mailbox', async () => {
    await using under = await openUnderTest(SEED)
    await setFaults(under, { script: [{ on: 'POST */sendMail', fault: 'throttle' }] })
    const send = (from: string) => under.graph('POST', `/v1.0/users/${from}/sendMail`, {})
    assert.equal((await send('ada@contoso.example')).status, 429)
    assert.equal((await send('ada@contoso.example')).status, 429)
    assert.notEqual((await send('kim@contoso.example')).status, 429)
    assert.equal((await read(under)).status, 200)
  })
})

it('refuses invalid faults with their place', async () => {
  await using under = await openUnderTest(SEED)
  for (const [body, error] of [
    [{ script: [{ on: '*', fault: 'hail' }] }, /script\.0\.fault/],
    [{ rates: { throttle: 2 } }, /rates\.throttle/],
    [{ script: [{ fault: 'slow' }] }, /script\.0\.on/],
  ] as const) {
    const reply = await under.send('POST', '/_sandbox/faults', { body: body as never })
    assert.equal(reply.status, 400)
    assert.match(String(reply.body.error), error)
  }
  const noJson = await under.send('POST', '/_sandbox/faults', { body: '{' })
  assert.equal(noJson.status, 400)
})
