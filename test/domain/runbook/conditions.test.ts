// Conditions of steps: what holds, and what a step that is left out says.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Json } from '../../../src/base/text/json.ts'
import { type StepCondition, unmetCondition } from '../../../src/domain/runbook/conditions.ts'
import { scopeOf } from '../../../src/domain/runbook/template.ts'

const isOneOf = (...values: StepCondition['values']): StepCondition => ({
  variable: 'X',
  test: 'in',
  values,
})
const isNot = (...values: StepCondition['values']): StepCondition => ({
  ...isOneOf(...values),
  test: 'not_in',
})
const PRESENT: StepCondition = { variable: 'X', test: 'present', values: [] }
const ABSENT: StepCondition = { ...PRESENT, test: 'absent' }

/** Undefined: nobody set it. */
const CASES: readonly [condition: StepCondition, value: Json | undefined, unmet: string | null][] =
  [
    [isOneOf('Guest'), ' guest ', null],
    [isOneOf('Guest'), 'Member', 'X must be "Guest"; it is "Member"'],
    [isOneOf('DE', 'AT'), 'at', null],
    [isOneOf('DE', 'AT'), undefined, 'X must be one of "DE", "AT"; it is not set'],
    [isOneOf(true), 'TRUE', null],
    [isOneOf(3), 3, null],
    [isOneOf('b'), ['a', 'B'], null],
    [isOneOf('b'), [], 'X must be "b"; it is not set'],
    [isNot('Guest'), undefined, null],
    [isNot('Guest'), 'GUEST', 'X must not be "Guest"; it is "GUEST"'],
    [isNot('a'), ['a', 'b'], 'X must not be "a"; it is ["a","b"]'],
    [PRESENT, 'a', null],
    [PRESENT, false, null],
    [PRESENT, 0, null],
    ...([null, '', '  ', [], undefined] as const).flatMap(
      (none): [StepCondition, Json | undefined, string | null][] => [
        [PRESENT, none as Json | undefined, 'X must be set; it is not set'],
        [ABSENT, none as Json | undefined, null],
      ],
    ),
    [ABSENT, 'a', 'X must not be set; it is "a"'],
  ]

for (const [condition, value, unmet] of CASES)
  it(`${condition.test} ${condition.values.join(' or ')}: ${JSON.stringify(value)}`, () => {
    const scope = scopeOf([value === undefined ? {} : { x: value }])
    assert.equal(unmetCondition([condition], scope), unmet)
  })

it('all must hold, and the first that does not is named', () => {
  const scope = scopeOf([{ X: 'a', Y: 'b' }])
  assert.equal(
    unmetCondition([isOneOf('a'), { ...isNot('b'), variable: 'Y' }], scope),
    'Y must not be "b"; it is "b"',
  )
  assert.equal(unmetCondition([], scope), null)
})
