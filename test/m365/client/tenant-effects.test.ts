// Whether a failed job may have changed anything: a rollback runs only if it may.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { countingFor, type M365Tenant } from '../../../src/m365/client/tenant.ts'
import { STANDARD_FUNCTIONS } from '../../../src/m365/functions/standard.ts'
import { ApiError, type ApiFailure } from '../../../src/worker/http/api.ts'

const { signal } = new AbortController()
const get = { method: 'GET', path: '/users/1', signal } as const
const post = { method: 'POST', path: '/users', signal } as const

/** A tenant whose every call ends as given. */
function tenantThat(failure: Partial<ApiFailure> | null): M365Tenant {
  const act = async () => {
    if (failure) throw new ApiError({ status: null, code: 'X', message: 'no', ...failure })
    return { status: 200, headers: new Headers(), body: null }
  }
  return {
    id: 'id',
    organization: 'contoso',
    graph: { call: act, list: () => assert.fail('not used'), urlOf: () => '' },
    exchange: { run: async () => [(await act()) as never] },
    secrets: { put: async () => 'ref', get: async () => '', find: async () => null },
    webhooks: { post: act },
    token: async () => '',
    countingFor(jobs) {
      return countingFor(jobs, this)
    },
  }
}

const CASES: readonly (readonly [
  what: string,
  failure: Partial<ApiFailure> | null,
  run: (tenant: M365Tenant) => Promise<unknown>,
  mayHaveChanged: boolean,
])[] = [
  ['a read', null, ({ graph }) => graph.call(get), false],
  ['a read by POST', null, ({ graph }) => graph.call({ ...post, isRead: true }), false],
  ['a read that fails', { status: 500 }, ({ graph }) => graph.call(get), false],
  ['a Get cmdlet', null, ({ exchange }) => exchange.run('Get-Mailbox', {}, { signal }), false],
  ['a secret', null, ({ secrets }) => secrets.put('name', 'value'), false],
  ['a change', null, ({ graph }) => graph.call(post), true],
  ['a refused change', { status: 400 }, ({ graph }) => graph.call(post), false],
  [
    'a change refused after it was sent twice',
    { status: 404, attempts: 2 },
    ({ graph }) => graph.call(post),
    true,
  ],
  ['a change that ends in a server error', { status: 500 }, ({ graph }) => graph.call(post), true],
  [
    'a change of something that a 500 calls missing',
    { status: 500, isMissing: true },
    ({ graph }) => graph.call(post),
    false,
  ],
  ['a change without answer', { isOutcomeUnknown: true }, ({ graph }) => graph.call(post), true],
  ['a Set cmdlet', null, ({ exchange }) => exchange.run('Set-Mailbox', {}, { signal }), true],
  ['a webhook', null, ({ webhooks }) => webhooks.post('https://x', null, { signal }), true],
]

describe('a job may have changed something after', () => {
  for (const [what, failure, run, expected] of CASES) {
    it(`${what}: ${expected ? 'yes' : 'no'}`, async () => {
      const changes = { count: 0 }
      const tenant = tenantThat(failure).countingFor([changes])
      await run(tenant).catch(() => undefined)
      assert.equal(changes.count > 0, expected)
      assert.equal(tenant.organization, 'contoso')
    })
  }

  it('a test: its rollback reverses earlier steps, so the worker claims nothing', () => {
    const watched = STANDARD_FUNCTIONS.filter(({ actsOnlyOnTenant }) => actsOnlyOnTenant)
    const others = STANDARD_FUNCTIONS.filter((one) => !watched.includes(one))
    assert.ok(watched.length > 20)
    assert.deepEqual(
      others.map(({ name }) => name),
      STANDARD_FUNCTIONS.map(({ name }) => name).filter((name) => /^Test-/.test(name)),
    )
  })

  it('one change among refused ones: yes', async () => {
    let isRefused = false
    const real = tenantThat(null)
    const refused = tenantThat({ status: 409 })
    const graph = {
      ...real.graph,
      call: (request: never) => (isRefused ? refused : real).graph.call(request),
    }
    const changes = { count: 0 }
    const tenant = { ...real, graph }.countingFor([changes])
    await tenant.graph.call(post)
    isRefused = true
    await tenant.graph.call(post).catch(() => undefined)
    assert.ok(changes.count > 0)
  })
})
