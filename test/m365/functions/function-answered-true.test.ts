// The documents of the earlier system say that nine functions answer with a Boolean: its orchestrator still gets one, ours the details.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { STANDARD_FUNCTIONS } from '../../../src/m365/functions/standard.ts'
import { CASES } from './cases.ts'
import { within } from './setting.ts'

const BOOLEAN = [
  'Add-EntraGroupMember',
  'Add-ExchangeSecondaryEmail',
  'Convert-EntraB2BToInternal',
  'New-EntraB2BInvitation',
  'Remove-EntraGroupMember',
  'Set-EntraUserUPN',
  'Set-ExchangeExternalAddress',
  'Set-ExchangeMailUserGuids',
  'Set-ExchangePrimaryEmail',
]

describe('functions that answered true', () => {
  it('are the nine of the documents', () => {
    const found = STANDARD_FUNCTIONS.filter(({ answeredTrue }) => answeredTrue)
    assert.deepEqual(found.map(({ name }) => name).sort(), BOOLEAN)
  })
  for (const name of BOOLEAN)
    it(`${name} answers the earlier orchestrator with true, and ours with what it changed`, () =>
      within({}, async (s) => {
        const { params } = CASES[name]!
        const earlier = await s.runForEarlier(name, params)
        assert.equal(earlier.status, 'Success', earlier.error?.message)
        assert.deepEqual([earlier.result, earlier.resultType], [true, 'Boolean'])
        assert.equal((await s.run(name, params)).resultType, 'Object')
      }))
  it('and any other answers both alike', () =>
    within({}, async (s) => {
      const { params } = CASES['New-EntraUser']!
      assert.equal((await s.runForEarlier('New-EntraUser', params)).resultType, 'Object')
    }))
})
