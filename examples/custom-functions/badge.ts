// Two functions of your own, to begin with: one that does something and one that waits for something. Copy this file into the
// folder that MATOOLKIT_FUNCTIONS_FOLDER names. docs/custom-functions.md explains every part.
import type { MakeFunctions } from '../../src/worker/custom-functions.ts'

// Imports of types cost nothing at run time; everything else comes in the kit, so the file may lie anywhere.
const make: MakeFunctions = ({ defineFunction, pathOf, z }) => {
  const userId = z.string().min(1).describe('The object id or the user principal name.')

  const setBadgeNumber = defineFunction({
    name: 'Set-BadgeNumber',
    description: 'Writes the number of a badge into extensionAttribute7 of a user.',
    parameters: z.strictObject({ UserId: userId, Number: z.int().min(1) }),
    result: z.boolean(),
    permissions: { graph: ['User.ReadWrite.All'] },
    isIdempotent: true,
    undo: 'Set-BadgeNumber with the number from before.',
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
    description: 'Is complete when the badge of a user was printed: for a step with `poll`.',
    parameters: z.strictObject({ UserId: userId }),
    result: z.object({ complete: z.boolean(), data: z.object({ PrintedAt: z.string() }) }),
    permissions: { graph: ['User.Read.All'] },
    isIdempotent: true,
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
