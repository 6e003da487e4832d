// Licences: what is assigned, provisioned and free.
import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { DEFAULT_SKUS } from '../../../../sandbox/skus.ts'
import type { JsonObject } from '../../../../src/base/text/json.ts'
import { CASES } from '../cases.ts'
import type { WithinOptions } from '../setting.ts'
import { fails, story, succeeds, userOf } from '../story.ts'
import { ADA, BOX, id, LEAD, NOBODY } from '../tenants.ts'

const plan = (n: number, servicePlanName: string) => ({
  servicePlanId: id(600 + n),
  servicePlanName,
})
const E5 = {
  ...DEFAULT_SKUS[0]!,
  skuId: id(600),
  skuPartNumber: 'SPE_E5',
  servicePlans: [
    plan(1, 'EXCHANGE_S_ENTERPRISE'),
    plan(2, 'INTUNE_A'),
    plan(3, 'INTUNE_O365'),
    plan(4, 'MESH_IMMERSIVE_FOR_TEAMS'),
  ],
}
const withE5: NonNullable<WithinOptions['seeded']> = ({
  tenants: [contoso, ...others],
  ...rest
}) => ({
  ...rest,
  tenants: [
    {
      ...contoso!,
      skus: [...DEFAULT_SKUS, E5],
      users: contoso!.users!.map((user) =>
        user.id === BOX ? { ...user, assignedLicenses: [{ skuId: E5.skuId }] } : user,
      ),
    },
    ...others,
  ],
})

describe('Test-EntraLicense', () => {
  const { params } = CASES['Test-EntraLicense']!
  const E3 = '6fd2c87f-b296-42f0-b197-1e91e994b900'

  for (const licenseDetails of ['refused', 'allowed'] as const)
    story(
      `tells what is ready where licence details are ${licenseDetails} to applications`,
      async (s) => {
        assert.equal((await succeeds(s, 'Test-EntraLicense', params)).complete, true)
        const all = { UserId: BOX, SkuId: 'enterprisepack' }
        assert.equal((await succeeds(s, 'Test-EntraLicense', all)).complete, true)
        const unknown = await succeeds(s, 'Test-EntraLicense', { ...params, Plans: 'NO_PLAN' })
        assert.equal(unknown.complete, false)
        const nobody = await succeeds(s, 'Test-EntraLicense', { ...params, UserId: NOBODY })
        assert.match(JSON.stringify(nobody), /no user/)
        assert.deepEqual(s.effects(), [])
      },
      { dialect: { licenseDetails } },
    )

  story(
    'plans that are never done, as an E5 shows them, keep nobody waiting unless they are named',
    async (s) => {
      const asked = { UserId: BOX, SkuId: 'SPE_E5' }
      assert.equal((await succeeds(s, 'Test-EntraLicense', asked)).complete, true)
      const named = await succeeds(s, 'Test-EntraLicense', { ...asked, Plans: 'INTUNE_A' })
      assert.equal(named.complete, false)
    },
    { dialect: { licenseDetails: 'allowed' }, seeded: withE5 },
  )

  story('waits for a plan that is disabled only if it is named', async (s) => {
    const disabledPlans = ['efb87545-963c-4e0d-99df-69c6916d9eb0']
    const path = `/users/${LEAD}`
    const { signal } = new AbortController()
    await s.tenant.graph.call({ method: 'PATCH', path, body: { usageLocation: 'DE' }, signal })
    const body = { addLicenses: [{ skuId: E3, disabledPlans }], removeLicenses: [] }
    await s.tenant.graph.call({ method: 'POST', path: `${path}/assignLicense`, body, signal })
    const asked = { UserId: LEAD, SkuId: E3 }
    assert.equal((await succeeds(s, 'Test-EntraLicense', asked)).complete, true)
    const named = { ...asked, Plans: 'EXCHANGE_S_ENTERPRISE' }
    const { complete, data } = await succeeds(s, 'Test-EntraLicense', named)
    assert.equal(complete, false)
    assert.deepEqual((data as JsonObject).Pending, ['EXCHANGE_S_ENTERPRISE: Disabled'])
  })
})

/** The units that the tenant has bought of each product. */
const withUnits =
  (enabledUnits: number): NonNullable<WithinOptions['seeded']> =>
  (seed) => ({
    ...seed,
    tenants: seed.tenants.map((one) => ({
      ...one,
      skus: DEFAULT_SKUS.map((sku) => ({ ...sku, enabledUnits })),
    })),
  })

describe('licences', () => {
  for (const [units, free] of [
    [0, 0],
    [62, 61],
  ] as const)
    story(
      `are free as far as ${units} were bought`,
      async (s) => {
        const given = { UserId: ADA, SkuId: 'ENTERPRISEPACK' }
        const { Licenses } = await succeeds(s, 'Get-EntraLicenseCount', given)
        assert.partialDeepStrictEqual(Licenses, [{ IsHeld: false, Free: free }])
      },
      { seeded: withUnits(units) },
    )

  story('are counted: those that are free, and whether a person has one', async (s) => {
    const count = async (UserId: string) => {
      const given = { UserId, SkuId: 'AAD_PREMIUM' }
      const { Licenses } = await succeeds(s, 'Get-EntraLicenseCount', given)
      const [{ IsHeld, Free }] = Licenses as [JsonObject]
      return [IsHeld, Free]
    }
    const [, free] = await count(ADA)
    await succeeds(s, 'Add-EntraUserLicense', {
      UserId: ADA,
      SkuId: 'AAD_PREMIUM',
      UsageLocation: 'DE',
    })
    assert.deepEqual(await count(ADA), [true, Number(free) - 1])
    assert.deepEqual(await count(NOBODY), [false, Number(free) - 1], 'an account to come has none')
  })

  story('require a country on the user or as a parameter', (s) =>
    fails(
      s,
      'Add-EntraUserLicense',
      { UserId: ADA, SkuId: 'AAD_PREMIUM', UsageLocation: '' },
      'Refused',
      /has no usage location.*Set the parameter UsageLocation/,
    ),
  )

  story('change when other plans are disabled', async (s) => {
    const plan = '5dbe027f-2339-4123-9542-606e4d348a72'
    const given = { UserId: BOX, SkuId: 'ENTERPRISEPACK', DisabledPlans: plan }
    const first = await succeeds(s, 'Add-EntraUserLicense', given)
    const second = await succeeds(s, 'Add-EntraUserLicense', { ...given, DisabledPlans: [plan] })
    assert.deepEqual([first.Changed, second.Changed], [true, false])
    assert.deepEqual(userOf(s, BOX).assignedLicenses[0]!.disabledPlans, [plan])
  })
})
