// A person who does not exist fails a step at once; a person whom this worker made a moment ago is waited for.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { virtualClock } from '../../../src/base/run/clock.ts'
import { STANDARD_FUNCTIONS } from '../../../src/m365/functions/standard.ts'
import { RecentNames } from '../../../src/worker/jobs/recent-names.ts'
import { CASES } from './cases.ts'
import { within } from './setting.ts'

const GONE = 'nobody@contoso.example'
const GROUP = '6f1d6f0c-0000-4000-8000-0000000000aa'
const MISSING: readonly (readonly [name: string, params: Record<string, string>])[] = [
  ['Set-EntraUserUPN', { UserId: GONE, NewUserPrincipalName: 'new@contoso.example' }],
  ['Add-EntraGroupMember', { GroupId: GROUP, UserId: GONE }],
  ['Remove-EntraUser', { UserId: GROUP }],
  ['Set-ExchangePrimaryEmail', { Identity: GONE, NewPrimaryEmail: 'new@contoso.example' }],
  ['Set-ExchangeMailUserGuids', { Identity: GONE, ExchangeGuid: GROUP }],
  ['Add-ExchangeGroupMember', { GroupIdentity: GONE, MemberIdentity: GONE }],
]

describe('a name that the tenant does not know', () => {
  for (const [name, params] of MISSING)
    it(`fails ${name} at once`, () =>
      within({ hasRunLong: true }, async (s) => {
        const before = s.clock.waitedMs()
        const { status, error } = await s.run(name, params)
        assert.equal(status, 'Failure')
        assert.match(error!.message, /nobody@contoso|no user/i)
        assert.equal(s.clock.waitedMs() - before, 0)
        assert.deepEqual(s.effects(), [])
      }))

  it('is waited for when this worker made the person a moment ago', () =>
    within({ hasRunLong: true, lagSec: 5 }, async (s) => {
      const { params } = CASES['New-EntraUser']!
      const made = await s.run('New-EntraUser', params)
      assert.equal(made.status, 'Success', made.error?.message)
      const before = s.clock.waitedMs()
      const UserId = String(params.UserPrincipalName)
      const renamed = await s.run('Disable-EntraUser', { UserId })
      assert.equal(renamed.status, 'Success', renamed.error?.message)
      const missing = await s.run('Set-ExchangePrimaryEmail', {
        Identity: UserId,
        NewPrimaryEmail: 'new@contoso.example',
      })
      assert.equal(missing.status, 'Failure')
      assert.ok(s.clock.waitedMs() - before >= 14_000, 'Exchange may be behind')
    }))
})

describe('what a function itself has just made', () => {
  const making = STANDARD_FUNCTIONS.filter(({ creates }) => creates).map(({ name }) => name)
  assert.ok(making.includes('New-ExchangeMailUser'))
  for (const name of making)
    it(`is waited for by ${name}, also by a worker that has run for long`, () =>
      within({ hasRunLong: true, lagSec: 5 }, async (s) => {
        const made = await s.run(name, CASES[name]!.params)
        assert.equal(made.status, 'Success', made.error?.message)
      }))
})

describe('recent names', () => {
  const START = new Date('2030-01-01T00:00:00Z')
  it('are those of the last two minutes, in any case, at any depth', async () => {
    const clock = virtualClock(START)
    const recent = new RecentNames(clock)
    assert.equal(recent.has(['anybody']), true, 'the process before may have made it')
    await clock.advance(130_000)
    assert.equal(recent.has(['anybody']), false)
    recent.note({ Id: 'A-1', more: ['Ada@X'] }, 'group')
    assert.equal(recent.has({ UserId: ['ADA@x'] }), true)
    assert.equal(recent.has({ UserId: 'bob@x', count: 1, none: null }), false)
    await clock.advance(130_000)
    assert.equal(recent.has({ UserId: 'ada@x' }), false)
  })
})
