// Names of the tenant that people leave become names of the one that they move to, or are not used at all.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import {
  type KnownPerson,
  mapPeople,
  personMapOf,
  waitingFor,
} from '../../../src/domain/decide/person-map.ts'

const id = (n: number) => `00000000-0000-4000-8000-00000000000${n}`
const people = {
  workerId: 'contoso',
  source: ['{{Upn}}', '{{Addresses}}', '{{SourceId}}'],
  target: '{{AccountId}}',
}
const known = (n: number, name: string, more: Partial<KnownPerson> = {}): KnownPerson => ({
  memberId: n,
  status: 'active',
  data: { Upn: `${name}@old.example`, SourceId: id(n) },
  outputs: { AccountId: id(n + 4), Addresses: [`SMTP:${name}.x@old.example`, `x500:/cn=${name}`] },
  people,
  ...more,
})
const ADA = known(1, 'ada')
const BEN = known(2, 'ben')
const mapped = (value: Parameters<typeof mapPeople>[0], ...found: KnownPerson[]) =>
  mapPeople(value, personMapOf(found, 'Contoso'))

describe('people of the other tenant', () => {
  it('are known by every address, sign-in name and object id, and by their new name', () => {
    for (const name of ['ADA@old.example', 'ada.x@old.example', id(1), id(5)])
      assert.deepEqual(mapped(name, ADA, BEN), { value: id(5), waiting: [] }, name)
    assert.deepEqual(mapped(['ada@old.example', id(1), 'ben@old.example'], ADA, BEN).value, [
      id(5),
      id(6),
    ])
  })

  it('are never found by an alias, a system entry or a name that nobody has', () => {
    const strangers = ['ada', 'S-1-5-21-1', 'NT AUTHORITY\\SELF', 'eve@old.example']
    assert.deepEqual(mapped(strangers, ADA), { value: [], waiting: strangers })
    for (const one of strangers) assert.equal(mapped(one, ADA).value, undefined, one)
    assert.deepEqual(mapped(null, ADA), { value: null, waiting: [] })
  })

  const NOT_THERE: readonly [what: string, found: KnownPerson[]][] = [
    ['have no account yet', [{ ...ADA, outputs: {} }]],
    ['failed, and may have been rolled back', [{ ...ADA, status: 'failed' }]],
    ['were removed', [{ ...ADA, status: 'removed' }]],
    ['move to another tenant', [{ ...ADA, people: { ...people, workerId: 'litware' } }]],
    ['have two accounts', [ADA, { ...ADA, memberId: 9, outputs: { AccountId: id(9) } }]],
    ['have an account that is no address or id', [{ ...ADA, outputs: { AccountId: 'ada' } }]],
    ['stand only in the lists of others', [{ ...BEN, outputs: { SendAs: ['ada@old.example'] } }]],
  ]
  for (const [what, found] of NOT_THERE)
    it(`wait while they ${what}`, () => {
      assert.deepEqual(mapped(['ada@old.example'], ...found), {
        value: [],
        waiting: ['ada@old.example'],
      })
    })

  it('who named somebody before they had an account are found by that person', () => {
    const names = new Set(['ben@old.example', 'ben.x@old.example'])
    const owner = known(1, 'ada', {
      outputs: { AccountId: id(5), SendAs: ['smtp:Ben.X@old.example'] },
    })
    const of = (variable: string, ...found: KnownPerson[]) =>
      waitingFor(2, names, variable, personMapOf(found, 'contoso'))
    assert.deepEqual(of('SendAs', owner, BEN), [id(5)])
    assert.deepEqual(of('SendOnBehalf', owner), [])
    assert.deepEqual(of('SendAs', { ...owner, status: 'removed' }), [])
    assert.deepEqual(of('SendAs', { ...owner, memberId: 2 }), [], 'nobody waits for themselves')
  })
})
