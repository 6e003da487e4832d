// A user's licences, by SKU id or part number such as SPE_E3. A licence with Exchange creates a mailbox: before a mailbox move,
// stamp the ExchangeGuid (Set-ExchangeMailUserGuids), or Exchange creates an empty mailbox instead.

import { z } from 'zod'
import type { Json, JsonObject } from '../../../base/text/json.ts'
import type { LedgerEffect } from '../../../domain/state/effects.ts'
import { ApiError, pathOf } from '../../../worker/http/api.ts'
import { defineM365Function, type M365Call } from '../define.ts'
import { FunctionRefused, NotFound } from '../failure.ts'
import { by, type Fields, never, whenChanged } from '../inverse.ts'
import {
  anyList,
  isGuid,
  isSameText,
  listParameter,
  nameParameter,
  objectId,
  optional,
  userId,
} from '../parameters.ts'
import type { ReplicationContext } from '../replication.ts'
import { NO_CLEARING } from './entra-attribute.ts'
import { changeUser, readUser, textOf } from './entra-directory.ts'

const skus = anyList(nameParameter).describe(
  'SKU id, or part number such as SPE_E3; one or a list. An empty list does nothing.',
)
const LICENSED = ['id', 'assignedLicenses', 'licenseAssignmentStates', 'usageLocation']
const SKUS_UNITS = 3
/** The right to assign does not include the right to list what the tenant has (subscribedSku-list). */
const LICENSING = ['LicenseAssignment.ReadWrite.All', 'LicenseAssignment.Read.All']

const licensed = z.object({
  UserId: z.string(),
  SkuId: z.array(z.string()).describe('The licences that were given or taken away.'),
  Previous: z
    .array(z.object({ SkuId: z.string(), DisabledPlans: z.array(z.string()) }))
    .describe('Licences of before whose plans were changed or that were taken away.'),
  UsageLocationSet: z.boolean().describe('The user had no usage location before.'),
  Changed: z.boolean(),
})
type Licensed = z.infer<typeof licensed>
const UNCHANGED = { SkuId: [], Previous: [], UsageLocationSet: false, Changed: false }

const newLicences = z
  .strictObject({
    UserId: userId,
    SkuId: skus,
    DisabledPlans: optional(listParameter(objectId)).describe(
      'Ids of the service plans to disable. Only with one licence.',
    ),
    UsageLocation: optional(
      z.string().regex(/^[A-Z]{2}$/, 'is not a country code such as US'),
    ).describe('Country code to set when the user has none; licences require one.'),
  })
  .refine(({ SkuId, DisabledPlans }) => DisabledPlans === null || SkuId.length === 1, {
    error: 'names plans of one licence: give one SkuId with it',
    path: ['DisabledPlans'],
  })
type NewLicences = z.infer<typeof newLicences>

interface LicenceBefore {
  readonly SkuId: string
  readonly DisabledPlans: readonly string[]
}
const plansOf = ({ DisabledPlans }: LicenceBefore): JsonObject =>
  DisabledPlans.length > 0 ? { DisabledPlans: [...DisabledPlans] } : {}

/** New licences go; one whose plans were changed gets its plans back. */
function licencesGiven(_: Fields, result: Fields): LedgerEffect {
  const { UserId, SkuId, UsageLocationSet } = result
  const changed = result.Previous as readonly LicenceBefore[]
  const [only] = changed
  const notes = [UsageLocationSet && NO_CLEARING]
  const before = { licences: changed as unknown as Json }
  if (SkuId.length === 0 && only && changed.length === 1) {
    const plans = { UserId, SkuId: [only.SkuId], ...plansOf(only) }
    return by({ target: UserId, before, run: 'Add-EntraUserLicense', with: plans })
  }
  if (SkuId.length === 0) return never(UserId, 'The plans of several licences were changed.')
  if (changed.length > 0)
    notes.push(`The plans of ${changed.map((one) => one.SkuId).join(', ')} stay as they were set.`)
  const keeps = notes.filter(Boolean).join(' ')
  return by({
    target: UserId,
    before,
    run: 'Remove-EntraUserLicense',
    with: { UserId, SkuId },
    keeps,
  })
}

function licencesTaken(_: Fields, result: Fields): LedgerEffect {
  const { UserId, SkuId } = result
  const before = result.Previous as readonly LicenceBefore[]
  const withPlans = before.filter(({ DisabledPlans }) => DisabledPlans.length > 0)
  const names = withPlans.map((one) => one.SkuId).join(', ')
  const isLost = before.length > 1 && names !== ''
  const plans = isLost ? ` The disabled plans of ${names} come back enabled.` : ''
  return by({
    target: UserId,
    before: { licences: before as unknown as Json },
    run: 'Add-EntraUserLicense',
    with: { UserId, SkuId, ...(before.length === 1 ? plansOf(before[0]!) : {}) },
    keeps: `Microsoft deletes the data of a licence after 30 days.${plans}`,
  })
}

export const addEntraUserLicense = defineM365Function({
  name: 'Add-EntraUserLicense',
  description: 'Assigns licences to a user, all or none. Those with the same plans stay unchanged.',
  parameters: newLicences,
  result: licensed,
  permissions: { graph: [...LICENSING, 'User.ReadWrite.All'] },
  isIdempotent: true,
  effect: 'changes',
  subject: 'entra',
  comesAfter: {
    functions: ['Set-ExchangeMoveTarget', 'Set-ExchangeMailUserGuids'],
    because:
      'Exchange creates a new, empty mailbox before the ExchangeGuid is set, and the old one can no longer move. Move the licence behind that step.',
    // The licence of the move has no mailbox.
    unless: { parameter: 'SkuId', startsWith: 'CROSS_TENANT_' },
  },
  undo: 'Remove-EntraUserLicense with the SkuId of the result.',
  undoneBy: ['Remove-EntraUserLicense'],
  effectOf: whenChanged(licencesGiven),
  run: async (call: M365Call<NewLicences>): Promise<Licensed> => {
    const plans = call.params.DisabledPlans ?? []
    const wanted = await skuIdsOf(call, call.params.SkuId)
    const user = await readUser(call, call.params.UserId, LICENSED)
    const id = textOf(user.id)
    const assigned = licencesOf(user)
    const due = wanted.filter((sku) => {
      const known = assigned.find(({ skuId }) => isSameText(skuId, sku))
      return !(known && isSameSet(known.disabledPlans, plans))
    })
    if (due.length === 0) return { ...UNCHANGED, UserId: id }
    const isUnlocated = !user.usageLocation
    if (isUnlocated) await locate(call, id)
    await assign(call, id, { addLicenses: due.map((skuId) => ({ skuId, disabledPlans: plans })) })
    // One that was there with other plans is not new: an undo must not take it away.
    const isNew = (sku: string) => !assigned.some(({ skuId }) => isSameText(skuId, sku))
    return {
      UserId: id,
      SkuId: due.filter(isNew),
      Previous: previousOf(assigned, due),
      UsageLocationSet: isUnlocated,
      Changed: true,
    }
  },
})

async function locate(call: M365Call<NewLicences>, id: string): Promise<void> {
  const { UserId, UsageLocation } = call.params
  if (UsageLocation === null)
    throw new FunctionRefused(
      `"${UserId}" has no usage location, which a licence requires. Set the parameter UsageLocation, such as US.`,
    )
  await changeUser(call, id, { usageLocation: UsageLocation })
}

export const removeEntraUserLicense = defineM365Function({
  name: 'Remove-EntraUserLicense',
  description:
    'Removes licences from a user, all or none. Microsoft deletes their data, such as a mailbox, after 30 days.',
  parameters: z.strictObject({ UserId: userId, SkuId: skus }),
  result: licensed,
  permissions: { graph: [...LICENSING, 'User.Read.All'] },
  isIdempotent: true,
  effect: 'changes',
  subject: 'entra',
  undo: 'Add-EntraUserLicense with the SkuId of the result.',
  undoneBy: ['Add-EntraUserLicense'],
  effectOf: whenChanged(licencesTaken),
  run: async (call): Promise<Licensed> => {
    const wanted = await skuIdsOf(call, call.params.SkuId)
    const user = await readUser(call, call.params.UserId, LICENSED)
    const id = textOf(user.id)
    const assigned = licencesOf(user)
    const due = wanted.filter((sku) => assigned.some(({ skuId }) => isSameText(skuId, sku)))
    for (const sku of due) {
      const group = groupGiving(user, sku)
      if (group !== null)
        throw new FunctionRefused(
          `"${call.params.UserId}" has the licence ${sku} from the group ${group}, and only that can take it away: Remove-EntraGroupMember.`,
        )
    }
    if (due.length > 0) await removeLicences(call, id, due)
    const Previous = previousOf(assigned, due)
    return { ...UNCHANGED, UserId: id, SkuId: due, Previous, Changed: due.length > 0 }
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

async function removeLicences(
  caller: ReplicationContext,
  id: string,
  skuIds: readonly string[],
): Promise<void> {
  try {
    await assign(caller, id, { removeLicenses: [...skuIds] })
  } catch (error) {
    // They were there a moment ago: the first response was lost, and the second says that they are gone.
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

/** Each once, by id. The tenant is asked only about part numbers. */
async function skuIdsOf(caller: ReplicationContext, given: readonly string[]): Promise<string[]> {
  const names = given.filter((one) => !isGuid(one))
  if (names.length === 0) return [...new Set(given)]
  const skus = await listTenantSkus(caller)
  const idOf = (name: string) => {
    const sku = skus.find(({ skuPartNumber }) => isSameText(textOf(skuPartNumber), name))
    return sku && textOf(sku.skuId)
  }
  const missing = names.find((name) => idOf(name) === undefined)
  if (missing !== undefined) throw noSku(missing, skus)
  return [...new Set(given.map((one) => idOf(one) ?? one))]
}

/** The products of the tenant. */
export async function listTenantSkus({
  tenant,
  signal,
}: ReplicationContext): Promise<JsonObject[]> {
  const skus: JsonObject[] = []
  for await (const one of tenant.graph.list({ path: '/subscribedSkus', signal, units: SKUS_UNITS }))
    skus.push(one)
  return skus
}

export function noSku(name: string, skus: readonly JsonObject[]): NotFound {
  const names = skus.map(({ skuPartNumber }) => textOf(skuPartNumber)).sort()
  return new NotFound(
    `The tenant has no licence "${name}". Use one of: ${names.join(', ') || '(none)'}.`,
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

const previousOf = (assigned: readonly Licence[], due: readonly string[]) =>
  assigned
    .filter(({ skuId }) => due.some((one) => isSameText(one, skuId)))
    .map(({ skuId, disabledPlans }) => ({ SkuId: skuId, DisabledPlans: [...disabledPlans] }))

const isSameSet = (one: readonly string[], other: readonly string[]): boolean =>
  one.length === other.length && one.every((id) => other.some((each) => isSameText(each, id)))
