// The clouds of governments and China, rehearsed: a worker signs in to a tenant of its own cloud and works there, and is refused in another.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { CLOUDS, type Seed } from '../../../sandbox/state.ts'
import { caseOf } from '../functions/cases.ts'
import { within } from '../functions/setting.ts'

const inCloud = (cloud: (typeof CLOUDS)[number]) => (seed: Seed) => ({
  tenants: seed.tenants.map((tenant) => ({ ...tenant, cloud })),
})

describe('a worker in another cloud', () => {
  for (const cloud of CLOUDS)
    it(`works in a tenant of ${cloud}, by Graph and by Exchange`, () =>
      within({ env: { MATOOLKIT_CLOUD: cloud }, seeded: inCloud(cloud) }, async (setting) => {
        for (const name of ['New-EntraUser', 'Set-ExchangeMoveTarget']) {
          const { params, gives } = caseOf(name)
          const { status, result, error } = await setting.run(name, params)
          assert.equal(status, 'Success', error?.message)
          assert.partialDeepStrictEqual(result, gives)
        }
      }))

  it('gets no token for a tenant of the public cloud', async () => {
    const refused = within({ env: { MATOOLKIT_CLOUD: 'usgov' } }, async () => {})
    await assert.rejects(refused, /AADSTS/)
  })
})
