// Whether an attribute has a value, the same for Entra and Exchange: without regard to upper and lower case; a list matches when it
// holds the value; an address matches with or without `smtp:` before it. Wanting nothing matches what is absent or empty.
import { z } from 'zod'
import type { Json } from '../../domain/json.ts'
import { expected, isSameText, nameParameter, withoutSmtp } from './parameters.ts'

export const matchParameters = {
  AttributeName: nameParameter,
  ExpectedValue: z
    .union([z.string(), z.number(), z.boolean(), z.null()])
    .describe('Null or empty asks for an attribute without value.'),
  IsMultiValue: z
    .boolean()
    .default(false)
    .describe('The attribute is a list that must hold the value.'),
  Expected: expected,
}

export const matchResult = <Id extends string>(id: Id) =>
  z.object({
    complete: z.boolean(),
    data: z.object({
      Match: z.boolean(),
      AttributeName: z.string(),
      CurrentValue: z.json(),
      ExpectedValue: z.union([z.string(), z.number(), z.boolean(), z.null()]),
      IsMultiValue: z.boolean(),
      ...({ [id]: z.string() } as Record<Id, z.ZodString>),
    }),
  })

export type ExpectedAttribute = string | number | boolean | null

export function isMatch(current: Json, wanted: ExpectedAttribute, isMultiValue: boolean): boolean {
  if (!isMultiValue || !Array.isArray(current)) return isOne(current, wanted)
  return wanted === null || wanted === ''
    ? current.length === 0
    : current.some((one) => isOne(one, wanted))
}

function isOne(current: Json, wanted: ExpectedAttribute): boolean {
  if (current === null || current === '') return wanted === null || wanted === ''
  if (wanted === null) return false
  const text = typeof current === 'object' ? JSON.stringify(current) : String(current)
  return isSameText(text, String(wanted)) || isSameText(withoutSmtp(text), String(wanted))
}

/** The value at a dotted path such as `onPremisesExtensionAttributes.extensionAttribute1`; names without regard to case. */
export function valueAt(object: Json, path: readonly string[]): Json {
  let value: Json = object
  for (const step of path) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return null
    const key = Object.keys(value).find((one) => isSameText(one, step))
    value = key === undefined ? null : value[key]!
  }
  return value
}
