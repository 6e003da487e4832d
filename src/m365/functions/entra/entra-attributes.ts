// Several attributes of a user in one request: one write for a person instead of one for each attribute.

import { z } from 'zod'
import type { Json, JsonObject } from '../../../base/text/json.ts'
import { IF_STILL } from '../../../domain/state/effects.ts'
import { valueAt } from '../attribute-match.ts'
import { defineM365Function } from '../define.ts'
import { by, never, whenChanged } from '../inverse.ts'
import { userId } from '../parameters.ts'
import { ifStill, requireStill } from '../undo-guard.ts'
import {
  attributeName,
  attributeValue,
  isSameAttribute,
  NO_CLEARING,
  valueFor,
} from './entra-attribute.ts'
import { changeUser, readUser, textOf } from './entra-directory.ts'

const set = z.object({
  UserId: z.string(),
  Previous: z
    .record(z.string(), z.json())
    .describe('The values before, of the attributes that were changed.'),
  Changed: z.boolean(),
})

export const setEntraUserAttributes = defineM365Function({
  name: 'Set-EntraUserAttributes',
  description:
    'Sets or clears several attributes of a user in one request; attributes that are not named stay. Rules as for Set-EntraUserAttribute.',
  parameters: z.strictObject({
    UserId: userId,
    Attributes: z
      .record(attributeName, attributeValue)
      .refine((given) => Object.keys(given).length > 0, 'names no attribute')
      .describe(
        'Names and values, such as department, businessPhones (a list) or onPremisesExtensionAttributes.extensionAttribute1. Null or empty clears.',
      ),
    IfStill: ifStill,
  }),
  result: set,
  permissions: { graph: ['User.ReadWrite.All'] },
  isIdempotent: true,
  isSensitive: true,
  effect: 'changes',
  subject: 'entra',
  undo: 'Set-EntraUserAttributes with Previous as its Attributes.',
  undoneBy: ['Set-EntraUserAttributes'],
  effectOf: whenChanged((params, { UserId, Previous }) => {
    const { usageLocation, ...others } = Previous as Record<string, Json>
    const before = usageLocation === null ? others : (Previous as JsonObject)
    const names = Object.keys(before)
    if (names.length === 0) return never(UserId, NO_CLEARING)
    const set = names.map((name) => [name, valueFor(name, params.Attributes[name])])
    return by({
      target: UserId,
      before,
      run: 'Set-EntraUserAttributes',
      with: { UserId, Attributes: before, [IF_STILL]: Object.fromEntries(set) },
      keeps: usageLocation === null && NO_CLEARING,
    })
  }),
  run: async (call): Promise<z.infer<typeof set>> => {
    const wanted = Object.entries(call.params.Attributes).map(([name, value]) => ({
      name,
      path: name.split('.'),
      value: valueFor(name, value),
    }))
    const roots = [...new Set(wanted.map(({ path }) => path[0]!))]
    const user = await readUser(call, call.params.UserId, ['id', ...roots])
    const id = textOf(user.id)
    const previous: Record<string, Json> = {}
    let change: JsonObject = {}
    for (const { name, path, value } of wanted) {
      const before = valueAt(user, path)
      if (isSameAttribute(name, before, value)) continue
      previous[name] = before
      change = { ...change, ...changeOf(change, path, value) }
    }
    const isChange = Object.keys(change).length > 0
    for (const [name, before] of Object.entries(previous)) {
      const still = call.params.IfStill
      if (still === undefined || !(name in still)) continue
      const isSame = (one: Json, other: Json) => isSameAttribute(name, other, one)
      requireStill({ [name]: still[name]! }, { [name]: before }, id, isSame)
    }
    if (isChange) await changeUser(call, id, change)
    return { UserId: id, Previous: previous, Changed: isChange }
  },
})

/** Extension attributes are sent together, under their parent. */
function changeOf(soFar: JsonObject, [root, leaf]: readonly string[], value: Json): JsonObject {
  if (leaf === undefined) return { [root!]: value }
  return { [root!]: { ...((soFar[root!] ?? {}) as JsonObject), [leaf]: value } }
}
