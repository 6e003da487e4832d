// What a tenant guards beyond permissions: people with admin roles, forwarding to others, managers.
import assert from 'node:assert/strict'
import { describe } from 'node:test'
import type { Seed } from '../../../sandbox/state.ts'
import { remedyText } from '../../../src/domain/needs/remedy.ts'
import { meaningOf } from '../../../src/m365/meanings/meaning-of.ts'
import type { Params } from './cases.ts'
import type { WithinOptions } from './setting.ts'
import { fails, story, succeeds, userOf } from './story.ts'
import { ADA, LEAD } from './tenants.ts'

const contosoWith =
  (change: (contoso: Seed['tenants'][number]) => object): NonNullable<WithinOptions['seeded']> =>
  ({ tenants: [contoso, fabrikam] }) => ({
    tenants: [{ ...contoso!, ...change(contoso!) }, fabrikam!],
  })

const adaIs = (role: string) =>
  contosoWith(({ users }) => ({
    users: users!.map((user) => (user.id === ADA ? { ...user, directoryRoles: [role] } : user)),
  }))

const GUARDED: readonly [name: string, params: Params][] = [
  ['Enable-EntraUser', { UserId: ADA }],
  ['Set-EntraUserUPN', { UserId: ADA, NewUserPrincipalName: 'ada.king@contoso.example' }],
  ['Set-EntraUserAttribute', { UserId: ADA, AttributeName: 'mobilePhone', Value: '+49 1' }],
  ['Reset-EntraPassword', { UserId: ADA }],
  ['Remove-EntraUser', { UserId: ADA }],
]

describe('a person with an admin role', () => {
  for (const [name, params] of GUARDED)
    story(
      `is not changed by an app without a higher one: ${name}`,
      async (s) => {
        const says = /Insufficient privileges/
        await fails(s, name, params, 'Authorization_RequestDenied', says)
        const { error } = await s.run(name, params)
        const meaning = meaningOf(error!.message)
        assert.equal(meaning?.id, 'graph-permission-missing')
        assert.match(remedyText(meaning), /Privileged Authentication Administrator/)
      },
      { seeded: adaIs('Global Administrator') },
    )

  story(
    'is changed where nothing guarded is written, or the role is a lesser one',
    async (s) => {
      const department = { UserId: ADA, AttributeName: 'department', Value: 'Sales' }
      await succeeds(s, 'Set-EntraUserAttribute', department)
      for (const [name, params] of GUARDED) await succeeds(s, name, params)
    },
    { seeded: adaIs('Helpdesk Administrator') },
  )

  story(
    'stays guarded in a group to which roles can be assigned',
    (s) =>
      fails(
        s,
        'Enable-EntraUser',
        { UserId: ADA },
        'Authorization_RequestDenied',
        /Insufficient privileges/,
      ),
    {
      seeded: contosoWith(({ groups }) => ({
        groups: [
          ...groups!,
          { displayName: 'Operators', isAssignableToRole: true as const, members: [ADA] },
        ],
      })),
    },
  )
})

describe('forwarding to others', () => {
  const BOX = 'box@contoso.example'
  const to = (address: string | null): Params => ({
    Identity: BOX,
    ForwardingSmtpAddress: address,
  })
  const boxOf = (s: Parameters<typeof userOf>[0]) =>
    s.sandbox.state().tenants[0]!.users.find(({ userPrincipalName }) => userPrincipalName === BOX)!
  const withMode = (autoForwardingMode: 'On' | 'Off') => ({
    seeded: contosoWith(() => ({ autoForwardingMode })),
  })
  const OUTSIDE = 'ada@fabrikam.example'

  story(
    'is refused where every mail would bounce; within the tenant it is not',
    async (s) => {
      const says = /bounce with 550 5\.7\.520.*Set-HostedOutboundSpamFilterPolicy/
      await fails(s, 'Set-ExchangeForwarding', to(OUTSIDE), 'Refused', says)
      assert.equal(boxOf(s).recipient!.forwardingSmtpAddress, null)
      const inside = await succeeds(s, 'Set-ExchangeForwarding', to('lead@contoso.example'))
      assert.equal(inside.External, 'Inside')
      assert.equal((await succeeds(s, 'Set-ExchangeForwarding', to(null))).External, 'NotChecked')
    },
    withMode('Off'),
  )

  story(
    'is allowed by a policy that says so',
    async (s) => {
      const set = await succeeds(s, 'Set-ExchangeForwarding', to(OUTSIDE))
      assert.deepEqual([set.External, set.Changed], ['Allowed', true])
      const again = await succeeds(s, 'Set-ExchangeForwarding', to(OUTSIDE))
      assert.deepEqual([again.External, again.Changed], ['NotChecked', false])
    },
    withMode('On'),
  )

  story('is unknown where the policy says Automatic', async (s) => {
    assert.equal((await succeeds(s, 'Set-ExchangeForwarding', to(OUTSIDE))).External, 'Unknown')
  })

  story(
    'is unknown to an app that may not read the policies',
    async (s) => {
      assert.equal((await succeeds(s, 'Set-ExchangeForwarding', to(OUTSIDE))).External, 'Unknown')
    },
    {
      ...withMode('Off'),
      permissions: { exchange: ['Exchange.ManageAsApp', 'Exchange Recipient Administrator'] },
    },
  )
})

describe('a manager that apps may not read', () => {
  story(
    'is set without a look, and removed',
    async (s) => {
      const set = await succeeds(s, 'Set-EntraUserManager', { UserId: ADA, ManagerId: LEAD })
      assert.deepEqual([set.PreviousManagerId, set.Changed], [null, true])
      assert.equal(userOf(s, ADA).managerId, LEAD)
      await succeeds(s, 'Set-EntraUserManager', { UserId: ADA, ManagerId: null })
      assert.equal(userOf(s, ADA).managerId, null)
    },
    { dialect: { manager: 'refused' } },
  )
})
