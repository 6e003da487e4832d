// Rights and settings of mailboxes as whole stories: what one step did, its undo takes back, and nothing else changes.
import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { fails, story, succeeds, userOf } from '../story.ts'
import { BOX, OBRIEN } from '../tenants.ts'

const KIM = "kim.o'brien@contoso.example"
const BOX_ADDRESS = 'box@contoso.example'

describe('rights on a mailbox', () => {
  story('granting and taking back the result leaves the rights of others', async (setting) => {
    const before = structuredClone(userOf(setting, BOX).recipient)
    const wanted = { Identity: BOX_ADDRESS, FullAccess: KIM, SendAs: KIM, SendOnBehalf: KIM }
    const granted = await succeeds(setting, 'Add-ExchangeMailboxPermission', wanted)
    assert.deepEqual(granted.SendAs, [], 'Kim could send as the mailbox before')
    assert.deepEqual(userOf(setting, BOX).recipient!.fullAccess, ['lead@contoso.example', KIM])
    assert.deepEqual(userOf(setting, BOX).recipient!.sendOnBehalf, ['lead', "kim.o'brien"])
    const { Changed, ...lists } = granted
    await succeeds(setting, 'Remove-ExchangeMailboxPermission', lists)
    assert.deepEqual(userOf(setting, BOX).recipient, before)
  })

  story('the same person is known by any of their names', async (setting) => {
    const byAlias = { Identity: BOX_ADDRESS, SendAs: "kim.o'brien" }
    const { Changed } = await succeeds(setting, 'Add-ExchangeMailboxPermission', byAlias)
    assert.equal(Changed, false)
    assert.deepEqual(setting.effects(), [])
  })

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
