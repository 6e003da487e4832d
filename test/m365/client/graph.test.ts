// Calls over real HTTP: what is retried, how long all slots wait, and what an error says.
import assert from 'node:assert/strict'
import { afterEach, describe, it } from 'node:test'
import { SignInFault } from '../../../src/base/sign-in/token.ts'
import { Graph, type GraphOptions } from '../../../src/m365/client/graph.ts'
import { odataText } from '../../../src/m365/client/tenant.ts'
import { ApiError, pathOf, type RestRequest } from '../../../src/worker/http/api.ts'
import type { GateChange } from '../../../src/worker/http/throttle.ts'
import {
  drivenClock,
  GRAPH_BUSY,
  type Reply,
  type Seen,
  type Service,
  START,
  startService,
} from '../../kit/scripted-service.ts'

const OK: Reply = { status: 200, body: { id: '1' } }
const busy = (retryAfter?: string): Reply => ({
  status: 429,
  body: GRAPH_BUSY,
  ...(retryAfter === undefined ? {} : { headers: { 'retry-after': retryAfter } }),
})

let service: Service | undefined
afterEach(async () => {
  await service?.close()
  service = undefined
})

type Script = readonly Reply[] | ((seen: Seen, index: number) => Reply)

async function graphWith(script: Script, options: Partial<GraphOptions> = {}) {
  const clock = drivenClock()
  const started = await startService(clock, (seen, index) =>
    typeof script === 'function' ? script(seen, index) : (script[index] ?? OK),
  )
  service = started
  const graph = new Graph({
    clock,
    url: started.url,
    token: async () => 'token',
    policy: { attempts: 5, baseSec: 2, maxSec: 120 },
    quota: { unitsPerSec: 1_000, writesPerSec: 1_000, invitationsPerSec: 1_000 },
    random: () => 0.5,
    timeout: () => new AbortController().signal,
    ...options,
  })
  const call = (request: Partial<RestRequest> = {}) =>
    graph.call({
      method: 'GET',
      path: '/users/1',
      signal: new AbortController().signal,
      ...request,
    })
  /** The status of the response, or the error. */
  const outcome = async (request: Partial<RestRequest> = {}) => {
    const [result] = await clock.drive([call(request)])
    if (result!.status === 'fulfilled') return result!.value.status
    const { reason } = result as PromiseRejectedResult
    assert.ok(reason instanceof ApiError, String(reason))
    return reason
  }
  return { clock, graph, call, outcome, seen: started.seen, url: started.url }
}

const errorOf = (outcome: ApiError | number): ApiError => {
  assert.ok(outcome instanceof ApiError, `it answered ${outcome}`)
  return outcome
}

const times = (seen: readonly Seen[]) => seen.map(({ atSec }) => atSec)

describe('a call to Microsoft Graph', () => {
  it('sends the request and returns the response', async () => {
    const { graph, clock, seen } = await graphWith([{ status: 201, body: { id: '7' } }])
    const signal = new AbortController().signal
    const request = {
      method: 'POST',
      path: pathOf`/users/${"o'brien#EXT#@x"}/manager/$ref`,
      query: { $select: 'id,mail' },
      version: 'beta',
      body: { a: 1 },
      headers: { consistencylevel: 'eventual' },
      signal,
    } as const
    const [result] = await clock.drive([graph.call(request)])
    assert.ok(result?.status === 'fulfilled')
    assert.deepEqual([result.value.status, result.value.body], [201, { id: '7' }])
    const [one] = seen
    assert.equal(one!.path, "/beta/users/o'brien%23EXT%23%40x/manager/$ref?$select=id%2Cmail")
    assert.deepEqual(one!.body, { a: 1 })
    assert.equal(one!.headers.authorization, 'Bearer token')
    assert.equal(one!.headers.consistencylevel, 'eventual')
    assert.match(String(one!.headers['client-request-id']), /^[0-9a-f-]{36}$/)
  })

  it('follows pages, but not to another host', async () => {
    const page = (value: number[], next?: string): Reply => ({
      status: 200,
      body: {
        value: value.map((id) => ({ id })),
        ...(next ? { '@odata.nextLink': next } : {}),
      },
    })
    const world = await graphWith(({ path }) =>
      path.includes('skip')
        ? page([3], 'http://127.0.0.2:9/v1.0/steal')
        : page([1, 2], `${world.url}/v1.0/users?$skiptoken=2`),
    )
    const ids: unknown[] = []
    const reading = (async () => {
      const signal = new AbortController().signal
      for await (const { id } of world.graph.list({ path: '/users', signal })) ids.push(id)
    })()
    const [result] = await world.clock.drive([reading])
    assert.deepEqual(ids, [1, 2, 3])
    assert.match(String((result as PromiseRejectedResult).reason), /another host/)
  })

  it('escapes values in paths and filters', () => {
    assert.equal(pathOf`/users/${'../groups/1?x=1'}`, '/users/..%2Fgroups%2F1%3Fx%3D1')
    for (const value of ['', '.', '..']) assert.throws(() => pathOf`/users/${value}/x`, TypeError)
    assert.equal(odataText("O'Brien' or 1 eq 1"), "'O''Brien'' or 1 eq 1'")
  })
})

describe('throttling', () => {
  it('obeys Retry-After in seconds, fractions or as a date', async () => {
    for (const [told, sec] of [
      ['5', 5],
      ['0.5', 0.5],
      [new Date(+START + 7_000).toUTCString(), 7],
    ] as const) {
      const { outcome, seen } = await graphWith((_, index) =>
        index === 0
          ? { status: 429, headers: { 'retry-after': told, date: START.toUTCString() } }
          : OK,
      )
      assert.equal(await outcome(), 200)
      assert.deepEqual(times(seen), [0, sec])
      await service!.close()
    }
  })

  it('backs off exponentially without Retry-After and gives up after five attempts', async () => {
    const { outcome, seen } = await graphWith(() => busy())
    const error = errorOf(await outcome({ method: 'PATCH', body: {} }))
    assert.deepEqual(times(seen), [0, 2.3, 6.9, 16.1, 34.5])
    assert.deepEqual(
      [error.isThrottled, error.attempts, error.code, error.status],
      [true, 5, 'TooManyRequests', 429],
    )
    assert.equal(error.isOutcomeUnknown, false)
  })

  it('without Retry-After is no proof that a POST was not done: it is not sent again', async () => {
    const { outcome, seen } = await graphWith(() => busy())
    const error = errorOf(await outcome({ method: 'POST', body: {} }))
    assert.deepEqual([error.isOutcomeUnknown, error.isThrottled, seen.length], [true, true, 1])
  })

  it('never waits longer than the cap and its jitter', async () => {
    const { outcome, seen } = await graphWith(() => busy(), {
      policy: { attempts: 4, baseSec: 100, maxSec: 120 },
      random: () => 0.999,
    })
    await outcome()
    const [a, b, c, d] = times(seen) as [number, number, number, number]
    assert.ok(b - a < 130 && c - b < 156.1 && d - c < 156.1, String(times(seen)))
  })

  it('stops all slots: after a 429 with Retry-After 5 nothing is sent for 5 s', async () => {
    const told: string[] = []
    const onGate = ({ name, isClosed, seconds, concurrency }: GateChange) =>
      told.push(`${name} ${isClosed ? 'closed' : 'open'} ${seconds} s, ${concurrency} at once`)
    const { graph, clock, call, seen } = await graphWith(
      (_, index) => (index === 2 ? busy('5') : OK),
      { onGate },
    )
    const slots = Array.from({ length: 8 }, async () => {
      for (let job = 0; job < 4; job++) {
        await call()
        await clock.wait(1_000)
      }
    })
    const results = await clock.drive(slots, () => graph.throttles())
    assert.deepEqual(
      results.filter(({ status }) => status === 'rejected'),
      [],
    )
    // Eight requests were under way when it came; then nothing for five seconds.
    assert.deepEqual(
      times(seen).filter((sec) => sec > 0 && sec < 5),
      [],
    )
    assert.equal(seen.length, 33)
    assert.deepEqual(told, [
      'Microsoft Graph directory closed 5 s, 4 at once',
      'Microsoft Graph directory open 5 s, 4 at once',
    ])
    assert.equal(times(seen).filter((sec) => sec === 5).length, 8)
  })

  it('keeps to its rate and allows a burst after a pause', async () => {
    const quota = { unitsPerSec: 1_000, writesPerSec: 1, invitationsPerSec: 1_000 }
    const { clock, call, seen } = await graphWith([], { quota })
    const writes = Array.from({ length: 7 }, () => call({ method: 'PATCH', body: {} }))
    await clock.drive([...writes, ...Array.from({ length: 7 }, () => call())])
    const patches = seen.filter(({ method }) => method === 'PATCH')
    assert.deepEqual(times(patches), [0, 0, 0, 0, 1, 2, 3])
    assert.ok(seen.filter(({ method }) => method === 'GET').every(({ atSec }) => atSec === 0))
  })

  it('stops waiting when the job aborts', async () => {
    const { clock, call, seen } = await graphWith(() => busy('3600'))
    const abort = new AbortController()
    const stopping = clock.wait(10_000).then(() => abort.abort(new Error('the job is over')))
    const [result] = await clock.drive<unknown>([call({ signal: abort.signal }), stopping])
    assert.match(String((result as PromiseRejectedResult).reason), /the job is over/)
    assert.equal(seen.length, 1)
  })
})

describe('retries', () => {
  const done = { status: 504, body: { error: { code: 'GatewayTimeout', message: 'late' } } }
  const lost: [what: string, reply: Reply][] = [
    ['a connection lost after sending', 'cut'],
    ['a gateway that timed out', done],
    ['an internal error', { ...done, status: 500 }],
  ]
  for (const [what, reply] of lost) {
    it(`${what}: retries only idempotent calls`, async () => {
      const { outcome, seen } = await graphWith([reply, reply])
      assert.equal(await outcome(), 200)
      assert.equal(await outcome({ method: 'PATCH', body: {} }), 200)
      assert.equal(await outcome({ method: 'POST', body: {}, isIdempotent: true }), 200)
      assert.equal(seen.length, 5)
      await service!.close()
      const again = await graphWith([reply])
      const error = errorOf(await again.outcome({ method: 'POST', body: {} }))
      assert.equal(again.seen.length, 1)
      assert.equal(error.isOutcomeUnknown, true)
      assert.match(error.message, /It may have been done all the same: check in the tenant/)
    })
  }

  it('retries a call that was not sent', async () => {
    const { outcome } = await graphWith([], { url: 'http://127.0.0.1:1' })
    const error = errorOf(await outcome({ method: 'POST', body: {} }))
    assert.deepEqual([error.attempts, error.isOutcomeUnknown], [5, false])
    assert.match(error.message, /^Microsoft Graph cannot be reached: .*ECONNREFUSED/)
  })

  it('retries a concurrent change', async () => {
    const clash = {
      status: 409,
      body: { error: { code: 'Directory_ConcurrencyViolation', message: 'x' } },
    }
    const { outcome, seen } = await graphWith([clash])
    assert.equal(await outcome({ method: 'POST', body: {} }), 200)
    assert.deepEqual(times(seen), [0, 2.3])
  })

  it('never retries a refusal, and reports its details', async () => {
    const refusal: Reply = {
      status: 400,
      headers: { 'request-id': 'abc-1' },
      body: {
        error: {
          code: 'Request_BadRequest',
          message: 'Another object with the same value exists.',
          details: [{ code: 'ObjectConflict', target: 'userPrincipalName', message: 'taken' }],
        },
      },
    }
    const { outcome, seen } = await graphWith(() => refusal)
    const error = errorOf(await outcome({ method: 'POST', body: {} }))
    assert.equal(seen.length, 1)
    assert.equal(
      error.message,
      'Microsoft Graph returned 400 Request_BadRequest: Another object with the same value exists. (request id abc-1)',
    )
    assert.deepEqual(error.details, [
      { code: 'ObjectConflict', target: 'userPrincipalName', message: 'taken' },
    ])
    assert.deepEqual([error.requestId, error.isThrottled, error.attempts], ['abc-1', false, 1])
  })

  it('treats a timeout like a lost response', async () => {
    const up = new AbortController()
    const { outcome } = await graphWith(
      () => {
        setImmediate(() => up.abort())
        return 'silence'
      },
      { timeout: () => up.signal },
    )
    const error = errorOf(await outcome({ method: 'POST', body: {} }))
    assert.deepEqual([error.code, error.isOutcomeUnknown], ['Timeout', true])
    assert.match(error.message, /did not respond within 100 s/)
  })
})

describe('tokens', () => {
  it('are renewed once when refused', async () => {
    const asked: (string | undefined)[] = []
    const token = async (refused?: string) => {
      asked.push(refused)
      return `token-${asked.length}`
    }
    const expired = (seen: Seen): Reply =>
      seen.headers.authorization === 'Bearer token-2' ? OK : { status: 401 }
    const { outcome } = await graphWith(expired, { token })
    assert.equal(await outcome(), 200)
    assert.deepEqual(asked, [undefined, 'token-1'])
    await service!.close()
    const never = await graphWith(() => ({ status: 401 }))
    assert.deepEqual([errorOf(await never.outcome()).attempts, never.seen.length], [2, 2])
  })

  it('are requested again when the sign-in is unreachable', async () => {
    let asked = 0
    const token = async () => {
      if (++asked < 3) throw new SignInFault('unreachable', 'Microsoft Entra ID returned 503')
      return 'token'
    }
    const { outcome, seen } = await graphWith([], { token })
    assert.equal(await outcome({ method: 'POST', body: {} }), 200)
    assert.deepEqual(times(seen), [6.9])
  })

  it('fail the call with a sign-in error when refused', async () => {
    const token = async () => {
      throw new SignInFault('sign_in', 'Microsoft Entra ID returned 401: AADSTS700027')
    }
    const { outcome, seen } = await graphWith([], { token })
    const error = errorOf(await outcome())
    assert.deepEqual([error.code, seen.length], ['SignInRefused', 0])
    assert.match(error.message, /No token for Microsoft Graph: .*AADSTS700027/)
  })
})
