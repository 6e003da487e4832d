import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { hintFor, nearest } from '../../../src/base/text/spelling.ts'

const NAMES = ['UserPrincipalName', 'on_failure', 'init', 'max_retries', 'Id']

const CASES: [word: string, found: string | null][] = [
  ['userprincipalname', 'UserPrincipalName'],
  ['user_principal_name', 'UserPrincipalName'],
  ['UserPrincipleName', 'UserPrincipalName'],
  ['onfailure', 'on_failure'],
  ['on_failrue', 'on_failure'],
  ['intt', 'init'],
  ['inti', 'init'],
  ['ID', 'Id'],
  ['max_retires', 'max_retries'],
  ['phases', null],
  ['xyz', null],
  ['', null],
  ['x'.repeat(500), null],
]

describe('the nearest name', () => {
  for (const [word, found] of CASES) {
    it(`to ${JSON.stringify(word.slice(0, 30))} is ${found}`, () => {
      assert.equal(nearest(word, NAMES), found)
    })
  }

  it('is the one with the fewest typos', () => {
    assert.equal(nearest('stepps', ['stops', 'steps']), 'steps')
  })

  it('becomes a hint, or a list when nothing is near', () => {
    assert.equal(hintFor('ini', NAMES, 'Possible'), 'Did you mean "init"?')
    assert.equal(hintFor('zebra', ['a', 'b'], 'Possible'), 'Possible: a, b.')
    assert.equal(hintFor('zebra', [], 'Possible'), '')
  })
})
