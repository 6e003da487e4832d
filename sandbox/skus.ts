// The default licences of a sandbox tenant, with Microsoft's published ids and names; only the ids of the mailbox move licence
// are invented. The sandbox asks two things of a licence: does it include a mailbox, and does it allow mailbox moves between
// tenants.
import { guidOf } from './identity.ts'

export const MAILBOX_PLANS: readonly string[] = ['EXCHANGE_S_ENTERPRISE', 'EXCHANGE_S_STANDARD']
export const MAILBOX_MOVE_PLAN = 'CROSS_TENANT_USER_DATA_MIGRATION'

const DEFAULT_UNITS = 10_000

export const DEFAULT_SKUS = [
  {
    skuId: '6fd2c87f-b296-42f0-b197-1e91e994b900',
    skuPartNumber: 'ENTERPRISEPACK',
    enabledUnits: DEFAULT_UNITS,
    servicePlans: [
      {
        servicePlanId: 'efb87545-963c-4e0d-99df-69c6916d9eb0',
        servicePlanName: 'EXCHANGE_S_ENTERPRISE',
      },
      {
        servicePlanId: '5dbe027f-2339-4123-9542-606e4d348a72',
        servicePlanName: 'SHAREPOINTENTERPRISE',
      },
    ],
  },
  {
    skuId: '078d2b04-f1bd-4111-bbd4-b4b1b354cef4',
    skuPartNumber: 'AAD_PREMIUM',
    enabledUnits: DEFAULT_UNITS,
    servicePlans: [
      { servicePlanId: '41781fb2-bc02-4b7c-bd55-b576c07bb09d', servicePlanName: 'AAD_PREMIUM' },
    ],
  },
  {
    skuId: guidOf('sku', MAILBOX_MOVE_PLAN),
    skuPartNumber: MAILBOX_MOVE_PLAN,
    enabledUnits: DEFAULT_UNITS,
    servicePlans: [
      { servicePlanId: guidOf('plan', MAILBOX_MOVE_PLAN), servicePlanName: MAILBOX_MOVE_PLAN },
    ],
  },
]
