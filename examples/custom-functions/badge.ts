// Two custom functions to start from: one that changes something and one that waits for something. Copy this file into the
// folder set in MATOOLKIT_FUNCTIONS_FOLDER. docs/custom-functions.md explains every part.
import type { M365Kit } from '../../src/m365/package.ts'
import type { MakeFunctions } from '../../src/worker/functions/custom-functions.ts'

// Type imports vanish at run time; everything else comes from the kit, so the file may live anywhere.
const make: MakeFunctions<M365Kit> = ({ defineFunction, pathOf, z }) => {
  const userId = z.string().min(1).describe('Object id or user principal name.')

  const setBadgeNumber = defineFunction({
    name: 'Set-BadgeNumber',
    description: 'Writes a badge number to extensionAttribute7 of a user.',
    parameters: z.strictObject({ UserId: userId, Number: z.int().min(1) }),
    result: z.boolean(),
    permissions: { graph: ['User.ReadWrite.All'] },
    isIdempotent: true,
    effect: 'changes',
    subject: 'badges',
    undo: 'Set-BadgeNumber with the previous number.',
    undoneBy: ['Set-BadgeNumber'],
    run: async ({ params, tenant, signal }) => {
      await tenant.graph.call({
        method: 'PATCH',
        path: pathOf`/users/${params.UserId}`,
        body: { onPremisesExtensionAttributes: { extensionAttribute7: String(params.Number) } },
        signal,
      })
      return true
    },
  })

  const testBadgePrinted = defineFunction({
    name: 'Test-BadgePrinted',
    description: 'Tests whether the badge of a user is printed, for a step with `poll`.',
    parameters: z.strictObject({ UserId: userId }),
    result: z.object({ complete: z.boolean(), data: z.object({ PrintedAt: z.string() }) }),
    permissions: { graph: ['User.Read.All'] },
    isIdempotent: true,
    effect: 'reads',
    subject: 'badges',
    undo: null,
    run: async ({ params, tenant, signal }) => {
      const { body } = await tenant.graph.call({
        method: 'GET',
        path: pathOf`/users/${params.UserId}`,
        query: { $select: 'onPremisesExtensionAttributes' },
        signal,
      })
      const read = z
        .object({ onPremisesExtensionAttributes: z.object({ extensionAttribute8: z.string() }) })
        .safeParse(body)
      const PrintedAt = read.data?.onPremisesExtensionAttributes.extensionAttribute8 ?? ''
      return { complete: PrintedAt !== '', data: { PrintedAt } }
    },
  })

  return [setBadgeNumber, testBadgePrinted]
}

export default make
