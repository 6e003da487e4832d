// Rights and settings of mailboxes as whole stories: what one step did, its undo takes back, and nothing else changes.
import assert from 'node:assert/strict'
import { describe } from 'node:test'
import type { Seed } from '../../../../sandbox/state.ts'
import { fails, story, succeeds, userOf } from '../story.ts'
import { BOX, LEAD, OBRIEN, SOURCE } from '../tenants.ts'

const KIM = "kim.o'brien@contoso.example"
const BOX_ADDRESS = 'box@contoso.example'

const LEAD_THERE = 'lead@fabrikam.example'
const ORPHAN = 'S-1-5-21-1004336348-1177238915-682003330-512'

/** Each tenant has a mailbox with the alias "lead", of two people. In Fabrikam's one Kim's delegate, and entries of nobody. */
function withNamesakes({ tenants: [contoso, fabrikam], ...rest }: Seed): Seed {
  const delegations = {
    fullAccess: [ORPHAN, 'EURPR01\\Discovery Management'],
    sendAs: [LEAD_THERE],
    sendOnBehalf: ['lead'],
  }
  const here = contoso!.users!.map((user) =>
    user.id === LEAD ? { ...user, recipient: { kind: 'mailbox' as const } } : user,
  )
  const there = fabrikam!.users!.map((user) =>
    user.id === SOURCE ? { ...user, recipient: { ...user.recipient!, ...delegations } } : user,
  )
  const lead = { userPrincipalName: LEAD_THERE, recipient: { kind: 'mailbox' as const } }
  return {
    ...rest,
    tenants: [
      { ...contoso!, users: here },
      { ...fabrikam!, users: [...there, lead] },
    ],
  }
}

describe('rights on a mailbox', () => {
  story('granting and taking back the result leaves the rights of others', async (setting) => {
    const before = structuredClone(userOf(setting, BOX).recipient)
    const wanted = { Identity: BOX_ADDRESS, FullAccess: KIM, SendAs: KIM, SendOnBehalf: KIM }
    const granted = await succeeds(setting, 'Add-ExchangeMailboxPermission', wanted)
    assert.deepEqual(granted.SendAs, [], 'Kim could send as the mailbox before')
    assert.deepEqual(userOf(setting, BOX).recipient!.fullAccess, ['lead@contoso.example', KIM])
    assert.deepEqual(userOf(setting, BOX).recipient!.sendOnBehalf, ['lead', "kim.o'brien"])
    const { Changed, NotYet, ...lists } = granted
    await succeeds(setting, 'Remove-ExchangeMailboxPermission', lists)
    assert.deepEqual(userOf(setting, BOX).recipient, before)
  })

  story('the same person is known by any of their addresses', async (setting) => {
    const bySecond = { Identity: BOX_ADDRESS, SendAs: 'kim@contoso.example' }
    const { Changed } = await succeeds(setting, 'Add-ExchangeMailboxPermission', bySecond)
    assert.equal(Changed, false)
    assert.deepEqual(setting.effects(), [])
  })

  story('a stranger with the alias of a delegate in the other tenant gets no right', async (s) => {
    const before = structuredClone(userOf(s, BOX).recipient)
    for (const right of ['FullAccess', 'SendAs', 'SendOnBehalf'])
      await fails(
        s,
        'Add-ExchangeMailboxPermission',
        { Identity: BOX_ADDRESS, [right]: ["kim.o'brien"] },
        'UnfitParameters',
        /may be a stranger in the other/,
      )
    assert.deepEqual(userOf(s, BOX).recipient, before)
    assert.deepEqual(s.effects(), [])
  })

  story(
    'delegates are read as addresses, which are refused where nobody has them',
    async (s) => {
      const { SendOnBehalf, SendAs, FullAccess, LeftOut } = await succeeds(
        { run: s.runAtSource },
        'Get-ExchangeMoveSource',
        { Identity: "kim.o'brien@fabrikam.example" },
      )
      assert.deepEqual([SendOnBehalf, SendAs, FullAccess], [[LEAD_THERE], [LEAD_THERE], []])
      assert.deepEqual(LeftOut, [ORPHAN, 'EURPR01\\Discovery Management'])
      const stranger = structuredClone(userOf(s, LEAD))
      const given = { Identity: BOX_ADDRESS, SendOnBehalf: SendOnBehalf!, SendAs: SendAs! }
      await fails(s, 'Add-ExchangeMailboxPermission', given, 'NotFound', /no recipient "lead@fab/)
      assert.deepEqual(userOf(s, BOX).recipient!.sendOnBehalf, ['lead'], 'as it was before')
      assert.deepEqual(userOf(s, LEAD), stranger)
    },
    { seeded: withNamesakes },
  )

  story(
    'one person gets one right on several mailboxes; those not here yet are named',
    async (s) => {
      const kim = "kim.o'brien@contoso.example"
      const given = { Identity: [BOX_ADDRESS, kim, 'gone@contoso.example'], FullAccess: [kim] }
      const done = await succeeds(s, 'Add-ExchangeMailboxPermission', given)
      assert.deepEqual([done.Identity, done.NotYet], [[BOX_ADDRESS], [kim, 'gone@contoso.example']])
      const again = await succeeds(s, 'Add-ExchangeMailboxPermission', given)
      assert.deepEqual([again.Identity, again.Changed], [[], false])
      const two = { ...given, SendAs: [kim] }
      await fails(s, 'Add-ExchangeMailboxPermission', two, 'Refused', /one right of one person/)
      await succeeds(s, 'Add-ExchangeMailboxPermission', { Identity: [], FullAccess: [kim] })
      assert.equal(s.effects().length, 1)
    },
  )

  story('a calendar gets its former right back', async (setting) => {
    const right = { Identity: BOX_ADDRESS, User: KIM }
    await succeeds(setting, 'Set-ExchangeCalendarPermission', { ...right, AccessRight: 'Editor' })
    await succeeds(setting, 'Set-ExchangeCalendarPermission', { ...right, AccessRight: 'Reviewer' })
    assert.deepEqual(userOf(setting, BOX).recipient!.calendarRights, [
      { userId: OBRIEN, right: 'Reviewer' },
    ])
  })
})

describe('settings of a mailbox', () => {
  story(
    'a mail user gets the hold for migration, which ends only on the mailbox',
    async (setting) => {
      const hold = 'Set-ExchangeLitigationHold'
      assert.equal((await succeeds(setting, hold, { Identity: KIM })).Changed, true)
      assert.equal(userOf(setting, OBRIEN).recipient!.isOnLitigationHold, true)
      const end = { Identity: KIM, Enabled: false }
      await fails(setting, hold, end, 'Refused', /ends on the mailbox, after the move/)
    },
  )

  story('replies go off and their texts stay for the next time', async (setting) => {
    const on = { Identity: BOX_ADDRESS, InternalMessage: 'Moved.', ExternalMessage: '<b>Moved</b>' }
    await succeeds(setting, 'Set-ExchangeAutoReply', on)
    const off = { Identity: BOX_ADDRESS, State: 'Disabled' }
    const { PreviousState } = await succeeds(setting, 'Set-ExchangeAutoReply', off)
    assert.equal(PreviousState, 'Enabled')
    const { autoReply } = userOf(setting, BOX).recipient!
    assert.equal(autoReply.state, 'Disabled')
    assert.match(autoReply.external, /<b>Moved<\/b>/)
  })
})
