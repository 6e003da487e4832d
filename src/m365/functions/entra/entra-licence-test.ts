// Whether the services of a licence are ready. Assigning one returns at once; its plans are provisioned later. Microsoft documents the list of
// licence details as closed to applications; where a tenant refuses it, the plans of the user tell.
import { z } from 'zod'
import type { Json, JsonObject } from '../../../base/text/json.ts'
import { ApiError, pathOf } from '../../../worker/http/api.ts'
import { isNotFound } from '../../client/not-found.ts'
import { defineM365Function } from '../define.ts'
import { textsOf } from '../exchange/exchange-recipient.ts'
import { notThereReason, noUser } from '../failure.ts'
import { anyList, isSameText, listParameter, nameParameter, userId } from '../parameters.ts'
import { onceIfPolled, type ReplicationContext, retryUntilFound } from '../replication.ts'
import { findUser, textOf } from './entra-directory.ts'

const tested = z.object({
  complete: z.boolean(),
  data: z.object({
    Match: z.boolean(),
    UserId: z.string(),
    SkuId: z.array(z.string()),
    Pending: z.array(z.string()).describe('Plans that are not ready, each with its status.'),
    Reason: notThereReason,
  }),
})

const READY = ['Success']
/**
 * Nothing waits for these unless they are named: disabled plans, those that wait for an administrator or for the first sign-in, and those of
 * the company. A licensed E5 user on Microsoft's page shows PendingInput, PendingActivation and PendingProvisioning for good
 * (cross-tenant-mailbox-migration, 2024-10-24).
 */
const SETTLED = [...READY, 'Disabled', 'PendingInput', 'PendingActivation']
/** Provisioned when it is first used, if ever. */
const ON_FIRST_USE = /^MESH_/i
const isSettled = (plan: JsonObject): boolean =>
  SETTLED.includes(textOf(plan.provisioningStatus)) ||
  isSameText(textOf(plan.appliesTo), 'Company') ||
  ON_FIRST_USE.test(textOf(plan.servicePlanName))

export const testEntraLicense = defineM365Function({
  name: 'Test-EntraLicense',
  description:
    'Tests whether a user has licences and their services are provisioned. Unconfirmed: whether an app may read licence details; if not, the plans of the user tell.',
  parameters: z.strictObject({
    UserId: userId,
    SkuId: listParameter(nameParameter).describe(
      'SKU id, or part number such as SPE_E3; one or a list.',
    ),
    Plans: anyList(nameParameter)
      .optional()
      .describe('Names or ids of the plans to wait for, such as EXCHANGE_S_ENTERPRISE; else all.'),
  }),
  result: tested,
  permissions: { graph: ['User.Read.All', 'LicenseAssignment.Read.All'] },
  isIdempotent: true,
  effect: 'reads',
  subject: 'entra',
  undo: null,
  run: async (call): Promise<z.infer<typeof tested>> => {
    const { UserId, SkuId, Plans = [] } = call.params
    const found = await retryUntilFound(onceIfPolled(call), () => licencesOf(call, UserId))
    const named = (sku: string) =>
      found?.find((one) => isNamed(one, ['skuId', 'skuPartNumber'], sku))
    const without = SkuId.filter((sku) => named(sku) === undefined)
    const plans = SkuId.flatMap((sku) => objectsOf(named(sku)?.servicePlans))
    const lacking = Plans.filter((name) => !plans.some((plan) => isPlan(plan, name)))
    const wanted =
      Plans.length === 0 ? plans : plans.filter((plan) => Plans.some((name) => isPlan(plan, name)))
    const isReadyPlan = (plan: JsonObject) => READY.includes(textOf(plan.provisioningStatus))
    const Pending = wanted
      .filter((plan) => !(Plans.length === 0 ? isSettled(plan) : isReadyPlan(plan)))
      .map((plan) => `${textOf(plan.servicePlanName)}: ${textOf(plan.provisioningStatus)}`)
    const Reason =
      found === null
        ? noUser(UserId).message
        : without.length > 0
          ? `"${UserId}" has no licence "${without.join('", "')}". Assign it with Add-EntraUserLicense.`
          : lacking.length > 0
            ? `The licence "${SkuId.join('", "')}" has no plan "${lacking.join('", "')}". Check the names.`
            : null
    const isReady = Reason === null && Pending.length === 0
    return { complete: isReady, data: { Match: isReady, UserId, SkuId, Pending, Reason } }
  },
})

const isNamed = (object: JsonObject, keys: readonly string[], name: string): boolean =>
  keys.some((key) => isSameText(textOf(object[key]), name))

const isPlan = (plan: JsonObject, name: string): boolean =>
  isNamed(plan, ['servicePlanName', 'servicePlanId'], name)

const objectsOf = (value: Json | undefined): JsonObject[] =>
  Array.isArray(value) ? (value as JsonObject[]) : []

/** Null when there is no such user. */
async function licencesOf(caller: ReplicationContext, user: string): Promise<JsonObject[] | null> {
  const { tenant, signal } = caller
  try {
    const path = pathOf`/users/${user}/licenseDetails`
    const { body } = await tenant.graph.call({ method: 'GET', path, signal })
    return objectsOf((body as JsonObject).value)
  } catch (error) {
    if (isNotFound(error)) return null
    if (error instanceof ApiError && error.status === 403) return licencesByPlans(caller, user)
    throw error
  }
}

/** Services that are provisioned before they can be used; nothing shows that of others. */
const PROVISIONED = ['exchange', 'SharePoint', 'MicrosoftCommunicationsOnline']

/** The same from the user's plans and the tenant's products. */
async function licencesByPlans(
  caller: ReplicationContext,
  userName: string,
): Promise<JsonObject[] | null> {
  const { tenant, signal } = caller
  const names = ['id', 'assignedLicenses', 'assignedPlans', 'provisionedPlans']
  const user = await findUser(caller, userName, names)
  if (user === null) return null
  const licences: JsonObject[] = []
  for await (const sku of tenant.graph.list({ path: '/subscribedSkus', signal, units: 3 })) {
    const isThis = (one: JsonObject) => isSameText(textOf(one.skuId), textOf(sku.skuId))
    const licence = objectsOf(user.assignedLicenses).find(isThis)
    if (!licence) continue
    const { skuId = null, skuPartNumber = null } = sku
    const servicePlans = objectsOf(sku.servicePlans).map((plan) => ({
      servicePlanId: plan.servicePlanId ?? null,
      servicePlanName: plan.servicePlanName ?? null,
      appliesTo: plan.appliesTo ?? null,
      provisioningStatus: statusOf(plan, licence, user),
    }))
    licences.push({ skuId, skuPartNumber, servicePlans })
  }
  return licences
}

const PENDING = 'PendingProvisioning'

function statusOf(plan: JsonObject, licence: JsonObject, user: JsonObject): string {
  const id = textOf(plan.servicePlanId)
  if (textsOf(licence.disabledPlans).some((one) => isSameText(one, id))) return 'Disabled'
  const assigned = objectsOf(user.assignedPlans).find(
    (one) =>
      isSameText(textOf(one.servicePlanId), id) && textOf(one.capabilityStatus) === 'Enabled',
  )
  if (!assigned) return PENDING
  const service = textOf(assigned.service)
  const shown = objectsOf(user.provisionedPlans).filter((one) => textOf(one.service) === service)
  if (shown.length === 0) return PROVISIONED.includes(service) ? PENDING : 'Success'
  const open = shown.find((one) => textOf(one.provisioningStatus) !== 'Success')
  return open ? textOf(open.provisioningStatus) : 'Success'
}
