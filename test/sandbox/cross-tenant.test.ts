// What the sandbox refuses of migrations between tenants, where the functions never ask for it.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Seed } from '../../sandbox/state.ts'
import type { Json } from '../../src/base/text/json.ts'
import { errorOf, id, itemsOf, openUnderTest } from './under-test.ts'

const SEED: Seed = {
  tenants: [
    {
      domains: ['contoso.example'],
      users: [{ id: id(1), userPrincipalName: 'ada@contoso.example' }],
    },
    { id: id(900), domains: ['fabrikam.example'] },
  ],
}

/** The tests let weeks pass with one token. */
const PATIENT = { timing: { tokenLifetimeSec: 100 * 86_400 } }

const JOBS = '/v1.0/solutions/migrations/crossTenantMigrationJobs'
const JOB = {
  displayName: 'wave 1',
  completeAfterDateTime: '2030-04-01T00:00:00Z',
  sourceTenantId: id(900),
  resourceType: 'Users',
  resources: [id(1)],
  workloads: ['ODSP'],
}

describe('a migration job', () => {
  const WRONG: readonly (readonly [what: string, change: Record<string, Json>, status: number])[] =
    [
      ['without a name', { displayName: '' }, 400],
      ['in the past', { completeAfterDateTime: '2020-01-01T00:00:00Z' }, 422],
      ['without a date', { completeAfterDateTime: null }, 400],
      ['of groups', { resourceType: 'Groups' }, 400],
      ['of nobody', { resources: [] }, 400],
      ['of 101 people', { resources: Array.from({ length: 101 }, (_, at) => id(at)) }, 400],
      ['with an unknown workload', { workloads: ['Yammer'] }, 400],
      ['of mailboxes without an endpoint', { workloads: ['Exchange'] }, 400],
      ['of everything without an endpoint', { workloads: null }, 400],
    ]
  for (const [what, change, status] of WRONG)
    it(`${what} is refused, and nothing is made`, async () => {
      await using under = await openUnderTest(SEED)
      assert.equal((await under.graph('POST', JOBS, { ...JOB, ...change })).status, status)
      assert.deepEqual(itemsOf(await under.graph('GET', JOBS)), [])
    })

  it('goes only the documented way: no name twice, no start without validation', async () => {
    await using under = await openUnderTest(SEED, PATIENT)
    const { body } = await under.graph('POST', JOBS, JOB)
    const job = `${JOBS}/${body.id}`
    const again = await under.graph('POST', JOBS, JOB)
    assert.deepEqual([again.status, errorOf(again).code], [422, 'BadArgument'])
    assert.equal((await under.graph('POST', `${job}/migrate`)).status, 409)
    assert.equal((await under.graph('POST', `${job}/validate`)).status, 200)
    assert.equal((await under.graph('POST', `${job}/validate`)).status, 409)
    assert.equal((await under.graph('POST', `${job}/users/${id(2)}/cancel`)).status, 404)
    assert.equal((await under.graph('POST', `${job}/users/${id(1)}/cancel`)).status, 202)
    assert.equal((await under.graph('POST', `${job}/users/${id(1)}/cancel`)).status, 409)
    await under.clock.advance(40 * 86_400_000)
    assert.equal((await under.graph('POST', `${job}/cancel`)).status, 409, 'the date is past')
    assert.equal((await under.graph('PATCH', `${JOBS}/${id(3)}`, JOB)).status, 404)
  })
})

describe('a OneDrive task', () => {
  const TASKS = '/beta/solutions/sharePoint/migrations/crossOrganizationMigrationTasks'
  const parameters = {
    '@odata.type': '#microsoft.graph.sharePointUserMigrationTaskParameters',
    targetOrganizationHost: 'https://fabrikam-my.sharepoint.com',
    sourceUserIdentity: { userPrincipalName: 'ada@contoso.example' },
    targetUserIdentity: { userPrincipalName: 'ada@fabrikam.example' },
  }
  const WRONG: readonly (readonly [what: string, change: Record<string, Json>])[] = [
    ['of a site', { '@odata.type': '#microsoft.graph.sharePointSiteMigrationTaskParameters' }],
    ['to no tenant', { targetOrganizationHost: null }],
    ['to another service', { targetOrganizationHost: 'https://fabrikam.example' }],
    ['of nobody', { sourceUserIdentity: {} }],
    [
      'that may start only before it should',
      {
        preferredStartDateTime: '2030-03-03T00:00:00Z',
        preferredLatestStartDateTime: '2030-03-02T00:00:00Z',
      },
    ],
  ]
  for (const [what, change] of WRONG)
    it(`${what} is refused`, async () => {
      await using under = await openUnderTest(SEED)
      const made = await under.graph('POST', TASKS, { parameters: { ...parameters, ...change } })
      assert.equal(made.status, 400, made.text)
      assert.deepEqual(await under.done(), [])
    })

  it('is beta only, and is cancelled when it is too late for it', async () => {
    await using under = await openUnderTest(SEED, PATIENT)
    const late = { ...parameters, preferredLatestStartDateTime: '2030-03-01T08:01:00Z' }
    assert.equal((await under.graph('POST', TASKS.replace('beta', 'v1.0'), {})).status, 400)
    const { body } = await under.graph('POST', TASKS, { parameters: late })
    await under.clock.advance(86_400_000)
    const now = await under.graph('GET', `${TASKS}/${body.id}`)
    assert.equal(now.body.status, 'cancelled')
  })
})
