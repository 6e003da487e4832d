// A user's licences, by SKU id or part number such as SPE_E3. A licence with Exchange creates a mailbox: before a mailbox move,
// stamp the ExchangeGuid (Set-ExchangeMailUserGuids), or Exchange creates an empty mailbox instead.
import { z } from 'zod'
import type { Json, JsonObject } from '../../domain/json.ts'
import { defineFunction } from '../catalogue.ts'
import { ApiError, pathOf } from '../m365/api.ts'
import { changeUser, readUser, textOf } from './entra-directory.ts'
import { FunctionRefused, NotFound } from './failure.ts'
import {
  isGuid,
  isSameText,
  listParameter,
  nameParameter,
  objectId,
  optional,
  userId,
} from './parameters.ts'
import type { ReplicationContext } from './replication.ts'

const sku = nameParameter.describe('SKU id, or part number such as SPE_E3.')
const LICENSED = ['id', 'assignedLicenses', 'licenseAssignmentStates', 'usageLocation']
const SKUS_UNITS = 3
/** The right to assign does not include the right to list what the tenant has (subscribedSku-list). */
const LICENSING = ['LicenseAssignment.ReadWrite.All', 'LicenseAssignment.Read.All']

const licensed = z.object({ UserId: z.string(), SkuId: z.string(), Changed: z.boolean() })
type Licensed = z.infer<typeof licensed>

export const addEntraUserLicense = defineFunction({
  name: 'Add-EntraUserLicense',
  description: 'Assigns a licence to a user. Leaves one with the same plans unchanged.',
  parameters: z.strictObject({
    UserId: userId,
    SkuId: sku,
    DisabledPlans: optional(listParameter(objectId)).describe(
      'Ids of the service plans to disable.',
    ),
    UsageLocation: optional(
      z.string().regex(/^[A-Z]{2}$/, 'is not a country code such as US'),
    ).describe('Country code to set when the user has none; licences require one.'),
  }),
  result: licensed,
  permissions: { graph: [...LICENSING, 'User.ReadWrite.All'] },
  isIdempotent: true,
  undo: 'Remove-EntraUserLicense, if Changed is true.',
  run: async (call): Promise<Licensed> => {
    const { UserId, UsageLocation, DisabledPlans } = call.params
    const SkuId = await skuIdOf(call, call.params.SkuId)
    const user = await readUser(call, UserId, LICENSED)
    const id = textOf(user.id)
    const plans = DisabledPlans ?? []
    const assigned = licencesOf(user).find(({ skuId }) => isSameText(skuId, SkuId))
    if (assigned && isSameSet(assigned.disabledPlans, plans))
      return { UserId: id, SkuId, Changed: false }
    if (!user.usageLocation) {
      if (UsageLocation === null) {
        throw new FunctionRefused(
          `"${UserId}" has no usage location, which a licence requires. Set the parameter UsageLocation, such as US.`,
        )
      }
      await changeUser(call, id, { usageLocation: UsageLocation })
    }
    await assign(call, id, { addLicenses: [{ skuId: SkuId, disabledPlans: plans }] })
    return { UserId: id, SkuId, Changed: true }
  },
})

export const removeEntraUserLicense = defineFunction({
  name: 'Remove-EntraUserLicense',
  description:
    'Removes a licence from a user. Microsoft deletes its data, such as a mailbox, after 30 days.',
  parameters: z.strictObject({ UserId: userId, SkuId: sku }),
  result: licensed,
  permissions: { graph: [...LICENSING, 'User.Read.All'] },
  isIdempotent: true,
  undo: 'Add-EntraUserLicense, if Changed is true.',
  run: async (call): Promise<Licensed> => {
    const SkuId = await skuIdOf(call, call.params.SkuId)
    const user = await readUser(call, call.params.UserId, LICENSED)
    const id = textOf(user.id)
    const isAssigned = licencesOf(user).some(({ skuId }) => isSameText(skuId, SkuId))
    const group = isAssigned ? groupGiving(user, SkuId) : null
    if (group !== null)
      throw new FunctionRefused(
        `"${call.params.UserId}" has the licence from the group ${group}, and only that can take it away: Remove-EntraGroupMember.`,
      )
    if (isAssigned) await removeLicence(call, id, SkuId)
    return { UserId: id, SkuId, Changed: isAssigned }
  },
})

/** The group a licence comes from; null when it is assigned directly, also. */
function groupGiving(
  { licenseAssignmentStates: states }: JsonObject,
  skuId: string,
): string | null {
  const ways = (Array.isArray(states) ? (states as JsonObject[]) : []).filter((one) =>
    isSameText(textOf(one.skuId), skuId),
  )
  const groups = ways.map(({ assignedByGroup }) => textOf(assignedByGroup))
  return groups.includes('') ? null : (groups[0] ?? null)
}

async function removeLicence(caller: ReplicationContext, id: string, skuId: string): Promise<void> {
  try {
    await assign(caller, id, { removeLicenses: [skuId] })
  } catch (error) {
    // The licence was there a moment ago: the first response was lost, and the second says that it is gone.
    if (
      !(error instanceof ApiError && /does not have a corresponding license/i.test(error.message))
    )
      throw error
  }
}

/** Graph requires both lists, even if empty. Repeating the call changes nothing. */
async function assign(
  { tenant, signal }: ReplicationContext,
  id: string,
  change: { readonly [key in 'addLicenses' | 'removeLicenses']?: Json[] },
): Promise<void> {
  await tenant.graph.call({
    method: 'POST',
    path: pathOf`/users/${id}/assignLicense`,
    body: { addLicenses: [], removeLicenses: [], ...change },
    isIdempotent: true,
    signal,
  })
}

async function skuIdOf({ tenant, signal }: ReplicationContext, given: string): Promise<string> {
  if (isGuid(given)) return given
  const partNumbers: string[] = []
  const path = '/subscribedSkus'
  for await (const subscribed of tenant.graph.list({ path, signal, units: SKUS_UNITS })) {
    const partNumber = textOf(subscribed.skuPartNumber)
    if (isSameText(partNumber, given)) return textOf(subscribed.skuId)
    partNumbers.push(partNumber)
  }
  throw new NotFound(
    `The tenant has no licence "${given}". Use one of: ${partNumbers.sort().join(', ') || '(none)'}.`,
  )
}

interface Licence {
  readonly skuId: string
  readonly disabledPlans: readonly string[]
}

function licencesOf(user: JsonObject): Licence[] {
  const assigned = Array.isArray(user.assignedLicenses) ? user.assignedLicenses : []
  return (assigned as JsonObject[]).map(({ skuId, disabledPlans }) => ({
    skuId: textOf(skuId),
    disabledPlans: Array.isArray(disabledPlans) ? disabledPlans.map(textOf) : [],
  }))
}

const isSameSet = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length && one.every((id) => other.some((each) => isSameText(each, id)))
