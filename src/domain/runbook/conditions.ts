// `when` of a step: conditions over the data and outputs of its member. All must hold, or the step is left out, which says why. A value
// that nobody set is absent; texts are compared without case and blanks at the ends; a list matches by one of its entries.
import type { Json } from '../../base/text/json.ts'
import { foldKey } from '../state/member-key.ts'
import { insertedText, type Scope } from './template.ts'

export const CONDITION_TESTS = ['is', 'is_not', 'in', 'not_in', 'present'] as const
export type ConditionTest = (typeof CONDITION_TESTS)[number]

/** What a value is compared with. */
export type Comparable = string | number | boolean

export interface StepCondition {
  readonly variable: string
  /** `present: false` is `absent`. */
  readonly test: Exclude<ConditionTest, 'is' | 'is_not'> | 'absent'
  /** One for `is` and `is_not`; empty for presence. */
  readonly values: readonly Comparable[]
}

/** Why the step is left out: the first condition that does not hold. Null: all hold. */
export function unmetCondition(when: readonly StepCondition[], scope: Scope): string | null {
  for (const condition of when) {
    const value = scope.lookup(condition.variable) ?? null
    if (!holds(condition, value)) return `${conditionText(condition)}; it is ${valueText(value)}`
  }
  return null
}

function holds({ test, values }: StepCondition, value: Json): boolean {
  switch (test) {
    case 'present':
      return isPresent(value)
    case 'absent':
      return !isPresent(value)
    case 'in':
      return matches(value, values)
    case 'not_in':
      return !matches(value, values)
  }
}

const isPresent = (value: Json): boolean =>
  value !== null && !(typeof value === 'string' && value.trim() === '') && !isEmptyList(value)

const isEmptyList = (value: Json): boolean => Array.isArray(value) && value.length === 0

function matches(value: Json, values: readonly Comparable[]): boolean {
  const known = new Set(values.map((one) => foldKey(String(one))))
  const own = Array.isArray(value) ? value : [value]
  return own.some((one) => known.has(foldKey(insertedText(one))))
}

export const whenText = (when: readonly StepCondition[]): string =>
  when.map(conditionText).join(', ')

function conditionText({ variable, test, values }: StepCondition): string {
  const list = values.map((one) => JSON.stringify(one)).join(', ')
  switch (test) {
    case 'present':
      return `${variable} must be set`
    case 'absent':
      return `${variable} must not be set`
    case 'in':
      return `${variable} must be ${values.length > 1 ? `one of ${list}` : list}`
    case 'not_in':
      return `${variable} must not be ${values.length > 1 ? `one of ${list}` : list}`
  }
}

const VALUE_CHARS_MAX = 60

function valueText(value: Json): string {
  if (!isPresent(value)) return 'not set'
  const text = JSON.stringify(value)
  return text.length > VALUE_CHARS_MAX ? `${text.slice(0, VALUE_CHARS_MAX)}…` : text
}
