// Compares an attribute with an expected value, for Entra and Exchange alike: without case; a list matches when it contains the
// value; an address matches with or without `smtp:`. Null or empty matches an absent or empty attribute. Of several expected values all must
// be there, or none of them when the opposite is tested.
import { z } from 'zod'
import type { Json } from '../../base/text/json.ts'
import { notThereReason } from './failure.ts'
import { expected, isSameText, nameParameter, withoutSmtp } from './parameters.ts'

const expectedAttribute = z.union([
  z.string(),
  z.number(),
  z.boolean(),
  z.null(),
  z.array(z.string()),
])
export type ExpectedAttribute = z.infer<typeof expectedAttribute>

export const matchParameters = {
  AttributeName: nameParameter,
  ExpectedValue: expectedAttribute.describe(
    'Null or empty tests for an attribute without a value. Of a list all must be there, and none of them with Expected false; an empty list is always right.',
  ),
  IsMultiValue: z
    .boolean()
    .default(false)
    .describe('The attribute is a list that must contain the value.'),
  Expected: expected,
}

export const matchResult = <Id extends string>(id: Id) =>
  z.object({
    complete: z.boolean(),
    data: z.object({
      Match: z.boolean(),
      AttributeName: z.string(),
      CurrentValue: z.json(),
      ExpectedValue: expectedAttribute,
      IsMultiValue: z.boolean(),
      Reason: notThereReason,
      ...({ [id]: z.string() } as Record<Id, z.ZodString>),
    }),
  })

interface Expectation {
  readonly ExpectedValue: ExpectedAttribute
  readonly IsMultiValue: boolean
  readonly Expected: boolean
}

/** Whether the attribute is as expected; with several values, whether all are there or none is. */
export function isAsExpected(
  current: Json,
  { ExpectedValue, IsMultiValue, Expected }: Expectation,
): boolean {
  if (Expected) return isMatch(current, ExpectedValue, IsMultiValue)
  const values = Array.isArray(ExpectedValue) ? ExpectedValue : [ExpectedValue]
  const isInList = IsMultiValue || Array.isArray(ExpectedValue)
  return values.every((one) => !isMatch(current, one, isInList))
}

export function isMatch(
  current: Json,
  expectedValue: ExpectedAttribute,
  isMultiValue: boolean,
): boolean {
  if (Array.isArray(expectedValue)) return expectedValue.every((one) => isMatch(current, one, true))
  if (!isMultiValue || !Array.isArray(current)) return isSameValue(current, expectedValue)
  return expectedValue === null || expectedValue === ''
    ? current.length === 0
    : current.some((item) => isSameValue(item, expectedValue))
}

function isSameValue(current: Json, expectedValue: Exclude<ExpectedAttribute, string[]>): boolean {
  if (current === null || current === '') return expectedValue === null || expectedValue === ''
  if (expectedValue === null) return false
  const text = typeof current === 'object' ? JSON.stringify(current) : String(current)
  return (
    isSameText(text, String(expectedValue)) || isSameText(withoutSmtp(text), String(expectedValue))
  )
}

/** The value at a path such as `onPremisesExtensionAttributes.extensionAttribute1`; names match without case. */
export function valueAt(object: Json, path: readonly string[]): Json {
  let value: Json = object
  for (const step of path) {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return null
    const key = Object.keys(value).find((name) => isSameText(name, step))
    value = key === undefined ? null : value[key]!
  }
  return value
}
