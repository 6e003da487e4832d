// Which values match, and reading nested attributes.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Json } from '../../../src/base/text/json.ts'
import {
  type ExpectedAttribute,
  isAsExpected,
  isMatch,
  valueAt,
} from '../../../src/m365/functions/attribute-match.ts'

describe('a match', () => {
  const CASES: [
    current: Json,
    expectedValue: ExpectedAttribute,
    isMultiValue: boolean,
    isMatching: boolean,
  ][] = [
    ['Sales', 'sales', false, true],
    ['Sales', 'Sale', false, false],
    [true, 'true', false, true],
    [5, '5', false, true],
    [5, 5, false, true],
    [null, null, false, true],
    [null, '', false, true],
    ['', null, false, true],
    [null, 'x', false, false],
    ['x', null, false, false],
    ['SMTP:kim@contoso.example', 'kim@contoso.example', false, true],
    ['x500:/o=A', '/o=A', false, false],
    [['a', 'b'], 'B', true, true],
    [['a', 'b'], 'c', true, false],
    [['smtp:a@b'], 'a@b', true, true],
    [['smtp:a@b'], 'SMTP:A@B', true, true],
    [[], null, true, true],
    [['a'], '', true, false],
    [null, 'a', true, false],
    ['a', 'a', true, true],
    [['a', 'b'], 'a', false, false],
    [['smtp:a@b', 'x500:/o=A'], ['a@b', 'X500:/o=a'], false, true],
    [['a'], ['a', 'b'], true, false],
    [['a'], [], true, true],
    [null, ['a'], true, false],
  ]
  for (const [current, expectedValue, isMultiValue, isMatching] of CASES) {
    const list = isMultiValue ? ' in a list' : ''
    it(`${JSON.stringify(current)} is ${isMatching ? '' : 'not '}${JSON.stringify(expectedValue)}${list}`, () => {
      assert.equal(isMatch(current, expectedValue, isMultiValue), isMatching)
    })
  }
})

describe('the opposite of a list', () => {
  const isGone = (current: Json, ...ExpectedValue: string[]) =>
    isAsExpected(current, { ExpectedValue, IsMultiValue: true, Expected: false })

  it('holds when none of its values is there', () => {
    assert.equal(isGone(['c'], 'a', 'b'), true)
    assert.equal(isGone(['b'], 'a', 'b'), false, 'one is left')
    assert.equal(isGone(['a']), true, 'there is nothing to be gone')
  })
})

describe('the value at a path', () => {
  const user = {
    Department: 'Sales',
    onPremisesExtensionAttributes: { extensionAttribute1: 'x' },
    list: ['a'],
  }
  const CASES: [path: string, value: Json][] = [
    ['department', 'Sales'],
    ['onpremisesextensionattributes.EXTENSIONATTRIBUTE1', 'x'],
    ['onPremisesExtensionAttributes.extensionAttribute2', null],
    ['nothing', null],
    ['department.more', null],
    ['list.0', null],
    ['__proto__', null],
    ['constructor', null],
  ]
  for (const [path, value] of CASES)
    it(path, () => assert.deepEqual(valueAt(user, path.split('.')), value))
})
