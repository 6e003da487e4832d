// How many licences a wave needs and how many are free. Asked for each person before a gate: the person has the licence or not, and the
// tenant says how many are left. The gate adds up the answers of the whole batch (src/domain/decide/gate.ts).
import { z } from 'zod'
import type { JsonObject } from '../../../base/text/json.ts'
import { defineM365Function } from '../define.ts'
import { isSameText, listParameter, nameParameter, userId } from '../parameters.ts'
import { findUser, textOf } from './entra-directory.ts'
import { listTenantSkus, noSku } from './entra-licence.ts'

const counted = z.object({
  UserId: z.string(),
  Licenses: z.array(
    z.object({
      SkuId: z.string(),
      SkuPartNumber: z.string(),
      IsHeld: z.boolean().describe('The user has it already, directly or through a group.'),
      Free: z.int().describe('Units of the tenant that are enabled and not assigned.'),
    }),
  ),
})

export const getEntraLicenseCount = defineM365Function({
  name: 'Get-EntraLicenseCount',
  description:
    'Counts the free licences of a tenant, and whether a user has them. A later gate compares the people who need one with what is free. Unconfirmed: whether units in warning can still be assigned; they do not count as free.',
  parameters: z.strictObject({
    UserId: userId,
    SkuId: listParameter(nameParameter).describe(
      'SKU id, or part number such as SPE_E3; one or a list.',
    ),
  }),
  result: counted,
  permissions: { graph: ['User.Read.All', 'LicenseAssignment.Read.All'] },
  isIdempotent: true,
  effect: 'reads',
  subject: 'entra',
  countsSupply: {
    noun: 'licences',
    list: 'Licenses',
    id: 'SkuId',
    name: 'SkuPartNumber',
    free: 'Free',
    isHeld: 'IsHeld',
  },
  undo: null,
  run: async (call): Promise<z.infer<typeof counted>> => {
    const { UserId, SkuId } = call.params
    const skus = await listTenantSkus(call)
    const named = SkuId.map((name) => {
      const sku = skus.find((one) => isNamed(one, name))
      if (!sku) throw noSku(name, skus)
      return sku
    })
    const user = await findUser(call, UserId, ['id', 'assignedLicenses'])
    const assigned = (user?.assignedLicenses ?? []) as JsonObject[]
    const Licenses = [...new Set(named)].map((sku) => ({
      SkuId: textOf(sku.skuId),
      SkuPartNumber: textOf(sku.skuPartNumber),
      IsHeld: assigned.some(({ skuId }) => isSameText(textOf(skuId), textOf(sku.skuId))),
      Free: freeOf(sku),
    }))
    return { UserId, Licenses }
  },
})

const isNamed = ({ skuId, skuPartNumber }: JsonObject, name: string): boolean =>
  isSameText(textOf(skuId), name) || isSameText(textOf(skuPartNumber), name)

/** `prepaidUnits.enabled` less `consumedUnits`: units that are suspended or locked out cannot be assigned (learn.microsoft.com/graph/api/resources/licenseunitsdetail). */
function freeOf({ prepaidUnits, consumedUnits }: JsonObject): number {
  const { enabled } = (prepaidUnits ?? {}) as JsonObject
  return Math.max(0, Number(enabled ?? 0) - Number(consumedUnits ?? 0))
}
