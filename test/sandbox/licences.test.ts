// Licences and the mailboxes they create.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { NO_GUID } from '../../sandbox/identity.ts'
import type { Seed } from '../../sandbox/state.ts'
import type { JsonObject } from '../../src/base/text/json.ts'
import { assertRefused, id, itemsOf, openUnderTest, type UnderTest } from './under-test.ts'

const E3 = '6fd2c87f-b296-42f0-b197-1e91e994b900'
const EXCHANGE_PLAN = 'efb87545-963c-4e0d-99df-69c6916d9eb0'
const P1 = '078d2b04-f1bd-4111-bbd4-b4b1b354cef4'
const RARE = id(500)

const SEED: Seed = {
  tenants: [
    {
      domains: ['contoso.example'],
      users: [
        { id: id(1), userPrincipalName: 'ada@contoso.example', usageLocation: 'US' },
        { id: id(2), userPrincipalName: 'ben@contoso.example' },
        {
          id: id(3),
          userPrincipalName: 'cleo@contoso.example',
          usageLocation: 'US',
          mail: 'cleo@fabrikam.example',
          recipient: { kind: 'mailUser', externalEmailAddress: 'cleo@fabrikam.example' },
        },
      ],
    },
  ],
}

const assign = (
  under: UnderTest,
  user: number,
  added: readonly object[],
  removed: readonly string[] = [],
) =>
  under.graph('POST', `/v1.0/users/${id(user)}/assignLicense`, {
    addLicenses: added.map((one) => ({ ...one })) as never,
    removeLicenses: [...removed],
  })

const kindOf = async (under: UnderTest, user: number) =>
  itemsOf(await under.exchange('Get-Recipient', { Identity: id(user) }))[0]!.RecipientTypeDetails

describe('a licence', () => {
  it('is assigned once, counted, and listed with its plans', async () => {
    await using under = await openUnderTest(SEED)
    for (let time = 0; time < 2; time += 1)
      assert.equal((await assign(under, 1, [{ skuId: P1 }])).status, 200)
    const sku = itemsOf(await under.graph('GET', '/v1.0/subscribedSkus')).find(
      ({ skuId }) => skuId === P1,
    )
    assert.deepEqual([sku!.consumedUnits, sku!.skuPartNumber], [1, 'AAD_PREMIUM'])
    const path = `/v1.0/users/${id(1)}?$select=assignedPlans,provisionedPlans`
    const { body } = await under.graph('GET', path)
    const plans = body as { assignedPlans: JsonObject[]; provisionedPlans: JsonObject[] }
    assert.deepEqual(
      [plans.assignedPlans.map(({ capabilityStatus }) => capabilityStatus), plans.provisionedPlans],
      [['Enabled'], []],
    )
    assert.deepEqual(await under.done(), ['licences changed'])
  })

  it('has details that are closed to applications, as documented, or open, as reported', async () => {
    const details = `/v1.0/users/${id(1)}/licenseDetails`
    {
      await using under = await openUnderTest(SEED)
      assertRefused(await under.graph('GET', details), 403, 'Authorization_RequestDenied', /privil/)
    }
    const [tenant, ...others] = SEED.tenants
    const open = { ...tenant!, dialect: { licenseDetails: 'allowed' as const } }
    await using under = await openUnderTest({ tenants: [open, ...others] })
    await assign(under, 1, [{ skuId: P1 }])
    const [detail] = itemsOf(await under.graph('GET', details))
    const [plan] = detail!.servicePlans as { servicePlanName: string }[]
    assert.equal(plan!.servicePlanName, 'AAD_PREMIUM')
  })

  it('requires a usage location', async () => {
    await using under = await openUnderTest(SEED)
    assertRefused(
      await assign(under, 2, [{ skuId: P1 }]),
      400,
      'Request_BadRequest',
      /invalid usage location/,
    )
    await under.graph('PATCH', `/v1.0/users/${id(2)}`, { usageLocation: 'DE' })
    assert.equal((await assign(under, 2, [{ skuId: P1 }])).status, 200)
  })

  it('must belong to the tenant and be available', async () => {
    const seed = {
      tenants: [
        {
          ...SEED.tenants[0]!,
          skus: [{ skuId: RARE, skuPartNumber: 'RARE', enabledUnits: 1, servicePlans: [] }],
        },
      ],
    }
    await using under = await openUnderTest(seed)
    assertRefused(
      await assign(under, 1, [{ skuId: E3 }]),
      400,
      'Request_BadRequest',
      /valid company License/,
    )
    assert.equal((await assign(under, 1, [{ skuId: RARE }])).status, 200)
    assertRefused(
      await assign(under, 3, [{ skuId: RARE }]),
      400,
      'Request_BadRequest',
      /does not have any available licenses/,
    )
    await under.graph('DELETE', `/v1.0/users/${id(1)}`)
    assert.equal((await assign(under, 3, [{ skuId: RARE }])).status, 200)
  })

  it('is removed only from a user who has it; both lists are required', async () => {
    await using under = await openUnderTest(SEED)
    assertRefused(
      await assign(under, 1, [], [P1]),
      400,
      'Request_BadRequest',
      /does not have a corresponding license/,
    )
    const path = `/v1.0/users/${id(1)}/assignLicense`
    assert.equal((await under.graph('POST', path, { addLicenses: [] })).status, 400)
  })
})

describe('a licence with Exchange', () => {
  it('creates a mailbox after the Exchange lag', async () => {
    await using under = await openUnderTest(SEED)
    await assign(under, 1, [{ skuId: E3 }])
    assert.equal(
      (await under.exchange('Get-Mailbox', { Identity: 'ada@contoso.example' })).status,
      404,
    )
    await under.clock.advance(60_000)
    const [mailbox] = itemsOf(
      await under.exchange('Get-Mailbox', { Identity: 'ada@contoso.example' }),
    )
    assert.notEqual(mailbox!.ExchangeGuid, NO_GUID)
    assert.deepEqual(mailbox!.EmailAddresses, ['SMTP:ada@contoso.example'])
    assert.deepEqual(await under.done(), ['licences changed', 'mailbox created'])
  })

  it('creates no mailbox with the plan disabled', async () => {
    await using under = await openUnderTest(SEED)
    await assign(under, 1, [{ skuId: E3, disabledPlans: [EXCHANGE_PLAN] }])
    assert.deepEqual(await under.done(), ['licences changed'])
  })

  it('turns a mail user without ExchangeGuid into a new mailbox', async () => {
    await using under = await openUnderTest(SEED)
    assert.equal(await kindOf(under, 3), 'MailUser')
    await assign(under, 3, [{ skuId: E3 }])
    assert.equal(await kindOf(under, 3), 'UserMailbox')
    const late = await under.exchange('Set-MailUser', { Identity: id(3), ExchangeGuid: id(900) })
    assert.equal(late.status, 404)
  })

  it('leaves a mail user with an ExchangeGuid unchanged', async () => {
    await using under = await openUnderTest(SEED)
    await under.exchange('Set-MailUser', { Identity: id(3), ExchangeGuid: id(900) })
    await assign(under, 3, [{ skuId: E3 }])
    assert.equal(await kindOf(under, 3), 'MailUser')
  })

  it('disconnects the mailbox when removed, restores it when assigned again; cleared, it is gone', async () => {
    await using under = await openUnderTest(SEED, { timing: { exchangeLagSec: 0 } })
    await assign(under, 3, [{ skuId: E3 }])
    const guidOf = async () =>
      itemsOf(await under.exchange('Get-Mailbox', { Identity: id(3) }))[0]!.ExchangeGuid
    const first = await guidOf()
    await assign(under, 3, [], [E3])
    assert.equal((await under.exchange('Get-Recipient', { Identity: id(3) })).status, 404)
    assert.equal(
      itemsOf(await under.exchange('Get-User', { Identity: id(3) }))[0]!
        .PreviousRecipientTypeDetails,
      'UserMailbox',
    )
    await assign(under, 3, [{ skuId: E3 }])
    assert.equal(await guidOf(), first)
    await assign(under, 3, [], [E3])
    const clear = { Identity: id(3), PermanentlyClearPreviousMailboxInfo: true, Confirm: false }
    assert.equal((await under.exchange('Set-User', clear)).status, 200)
    const [cleared] = itemsOf(await under.exchange('Get-User', { Identity: id(3) }))
    assert.equal(cleared!.PreviousRecipientTypeDetails, 'None')
  })
})
