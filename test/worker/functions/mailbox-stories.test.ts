// Rights and settings of mailboxes as whole stories: what one step did, its undo takes back, and nothing else changes.
import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { story, succeeds, userOf } from './story.ts'
import { BOX, OBRIEN } from './tenants.ts'

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
    const { Changed: _, ...lists } = granted
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
