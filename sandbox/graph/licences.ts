// Licences: available units, assignments, and the required usage location.

import {
  ok,
  recordUserEffect,
  type SandboxCall,
  type SandboxResponse,
  updateMail,
} from '../call.ts'
import { isGuidText } from '../identity.ts'
import type { Json, JsonObject } from '../json.ts'
import { disconnectMailbox, hasMailboxPlan } from '../mail.ts'
import { badRequest, GraphRefusal } from '../refusal.ts'
import type { Sku, User } from '../state.ts'
import type { SandboxTenant } from '../tenant.ts'
import { pick } from './odata.ts'
import { graphUser, USER } from './user-properties.ts'
import { userOf } from './users.ts'

const consumedOf = (tenant: SandboxTenant, skuId: string): number =>
  tenant.users().filter((user) => hasSku(user, skuId)).length

const hasSku = (user: User, skuId: string): boolean =>
  user.assignedLicenses.some((one) => one.skuId === skuId)

/** As a licensed E5 user shows them for good (learn.microsoft.com, cross-tenant-mailbox-migration, 2024-10-24). */
const NEVER_DONE: Readonly<Record<string, JsonObject>> = {
  INTUNE_A: { provisioningStatus: 'PendingInput' },
  INTUNE_O365: { provisioningStatus: 'PendingActivation', appliesTo: 'Company' },
  MESH_IMMERSIVE_FOR_TEAMS: { provisioningStatus: 'PendingProvisioning' },
}

const plansOf = (sku: Sku): Json[] =>
  sku.servicePlans.map((plan) => ({
    ...plan,
    provisioningStatus: 'Success',
    appliesTo: 'User',
    ...NEVER_DONE[plan.servicePlanName],
  }))

export const listSkus = ({ tenant }: SandboxCall): SandboxResponse =>
  ok({
    value: tenant.state.skus.map((sku) => ({
      id: `${tenant.id}_${sku.skuId}`,
      skuId: sku.skuId,
      skuPartNumber: sku.skuPartNumber,
      appliesTo: 'User',
      capabilityStatus: 'Enabled',
      consumedUnits: consumedOf(tenant, sku.skuId),
      prepaidUnits: { enabled: sku.enabledUnits, suspended: 0, warning: 0, lockedOut: 0 },
      servicePlans: plansOf(sku),
    })),
  })

/** "Application: Not supported" (learn.microsoft.com/graph/api/user-list-licensedetails); reports differ. */
export const listLicenceDetails = (call: SandboxCall): SandboxResponse => {
  const user = userOf(call)
  if (call.tenant.state.dialect.licenseDetails === 'refused')
    throw new GraphRefusal(
      403,
      'Authorization_RequestDenied',
      'Insufficient privileges to complete the operation.',
    )
  const skus = call.tenant.state.skus.filter(({ skuId }) => hasSku(user, skuId))
  return ok({
    value: skus.map((sku) => ({
      id: sku.skuId,
      skuId: sku.skuId,
      skuPartNumber: sku.skuPartNumber,
      servicePlans: plansOf(sku),
    })),
  })
}

type Licence = User['assignedLicenses'][number]

function skuOf(tenant: SandboxTenant, skuId: string): Sku {
  const sku = tenant.state.skus.find((one) => one.skuId === skuId)
  if (sku) return sku
  throw badRequest(`License ${skuId} does not correspond to a valid company License.`)
}

const isPlanId = (id: Json): boolean => typeof id === 'string' && isGuidText(id)

function licencesOf(body: JsonObject): { added: Licence[]; removed: string[] } {
  const { addLicenses, removeLicenses } = body
  if (!Array.isArray(addLicenses) || !Array.isArray(removeLicenses))
    throw badRequest("One or more parameters of the operation 'assignLicense' are missing.")
  const added = addLicenses.map((licence) => {
    const { skuId, disabledPlans = [] } = (licence ?? {}) as JsonObject
    if (!Array.isArray(disabledPlans) || !disabledPlans.every(isPlanId))
      throw badRequest("Invalid value specified for property 'disabledPlans'.")
    const plans = disabledPlans.map((id) => String(id).toLowerCase())
    return { skuId: String(skuId).toLowerCase(), disabledPlans: plans, groupId: null }
  })
  return { added, removed: removeLicenses.map((id) => String(id).toLowerCase()) }
}

export function assignLicence(call: SandboxCall): SandboxResponse {
  const { tenant } = call
  const user = userOf(call)
  const { added, removed } = licencesOf(call.body)
  for (const skuId of removed) {
    skuOf(tenant, skuId)
    if (!hasSku(user, skuId)) throw badRequest('User does not have a corresponding license.')
    if (user.assignedLicenses.some((one) => one.skuId === skuId && one.groupId !== null))
      throw badRequest(
        'User license is inherited from a group membership and it cannot be removed directly from the user.',
      )
  }
  for (const { skuId } of added) requireAvailable(tenant, user, skuOf(tenant, skuId))
  const before = user.assignedLicenses
  const touched = new Set([...removed, ...added.map(({ skuId }) => skuId)])
  const after = [...before.filter(({ skuId }) => !touched.has(skuId)), ...added]
  if (JSON.stringify(after.toSorted(bySku)) !== JSON.stringify(before.toSorted(bySku))) {
    const hadMailbox = hasMailboxPlan(tenant, user)
    tenant.change(user, { assignedLicenses: after })
    recordUserEffect(call, 'licences changed', user, {
      added: added.map(({ skuId }) => skuId),
      removed,
    })
    const isLost = hadMailbox && !hasMailboxPlan(tenant, user)
    const change = isLost ? disconnectMailbox(tenant, user) : null
    if (change !== null) recordUserEffect(call, change, user)
    updateMail(call, user)
  }
  return ok(pick(graphUser(user), [...USER.usual, 'assignedLicenses']))
}

const bySku = (a: Licence, b: Licence): number => (a.skuId < b.skuId ? -1 : 1)

function requireAvailable(tenant: SandboxTenant, user: User, sku: Sku): void {
  if (user.usageLocation === null)
    throw badRequest('License assignment cannot be done for user with invalid usage location.')
  if (hasSku(user, sku.skuId) || consumedOf(tenant, sku.skuId) < sku.enabledUnits) return
  throw badRequest(`Subscription with SKU ${sku.skuId} does not have any available licenses.`)
}
