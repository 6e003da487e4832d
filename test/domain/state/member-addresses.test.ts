// Which addresses are found in keys, data and outputs.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Json } from '../../../src/base/text/json.ts'
import {
  addressesIn,
  identitiesIn,
  identityIn,
  soleAddress,
} from '../../../src/domain/state/member-addresses.ts'

const ADA = 'ada@contoso.com'

const CASES: readonly [what: string, value: Json, found: string[]][] = [
  ['an address', ADA, [ADA]],
  ['in any case, with blanks', '  Ada@Contoso.COM ', [ADA]],
  ['with its protocol', ['SMTP:Ada@contoso.com', 'smtp:a.l@contoso.com'], [ADA, 'a.l@contoso.com']],
  ['in a sentence', "Moved 'ada@contoso.com' to <Ada@fabrikam.com>.", [ADA, 'ada@fabrikam.com']],
  ['with an apostrophe', "o'brien@contoso.com", ["o'brien@contoso.com"]],
  ['in a list of texts', 'ada@contoso.com; bob@contoso.com', [ADA, 'bob@contoso.com']],
  ['deep inside, once', { mail: { all: [ADA, ADA.toUpperCase()] } }, [ADA]],
  ['not a sign alone', ['@', 'ada@', '@contoso.com', 'a @ b', "'@'"], []],
  ['no other value', [1, null, true, 'ada', { ada: 'contoso.com' }], []],
  ['nothing longer than an address', `${'a'.repeat(400)}@contoso.com`, []],
]

for (const [what, value, found] of CASES) {
  it(`addresses: ${what}`, () => {
    assert.deepEqual(addressesIn(value), found)
  })
}

it('takes the addresses of a person, not those of a whole group', () => {
  const group = Array.from({ length: 1_000 }, (_, n) => `user${n}@contoso.com`)
  assert.deepEqual(addressesIn(group), group.slice(0, 200))
  assert.deepEqual(addressesIn(group.join(' ')), group.slice(0, 200))
})

const ID = '0b9d7c55-1e2f-4f6a-8d3b-7c6a5e4d3b21'

it('finds a person by object ids too, and tells a name that is one person everywhere from any other', () => {
  assert.deepEqual(identitiesIn({ Id: ID.toUpperCase(), Note: `see ${ID}`, Mail: ADA }), [ADA, ID])
  const names = [
    `SMTP:${ADA}`,
    ID.toUpperCase(),
    'ada',
    `${ADA} and more`,
    'x500:/o=A/cn=ada',
    null,
  ]
  assert.deepEqual(names.map(identityIn), [ADA, ID, null, null, null, null])
})

it('knows a text that is about one address', () => {
  assert.equal(soleAddress('smtp:Ada@contoso.com'), ADA)
  assert.equal(soleAddress('ada@contoso.com bob@contoso.com'), undefined)
  assert.equal(soleAddress('ada'), undefined)
})

it('takes time in proportion to the text', () => {
  const long = `${'a'.repeat(2_000_000)} ${"'.".repeat(100_000)}@ ${ADA}`
  assert.deepEqual(addressesIn(long), [ADA])
})
