// New passwords and access passes: the value reaches the vault and nothing else, and resetting a password makes no account ours.
import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { fails, story, succeeds, userOf } from '../story.ts'
import { OBRIEN } from '../tenants.ts'

const KIM = "kim.o'brien@contoso.example"

describe('signing in on the first day', () => {
  story('a reset password is set, kept in the vault and not in the result', async (setting) => {
    const { PasswordSecret } = await succeeds(setting, 'Reset-EntraPassword', { UserId: KIM })
    const value = await setting.tenant.secrets.get(String(PasswordSecret))
    assert.equal(value.length, 20)
    assert.notEqual(PasswordSecret, value)
    assert.notEqual(userOf(setting, OBRIEN).passwordHash, null)
  })

  story('an account whose password was reset is still somebody else’s', async (setting) => {
    await succeeds(setting, 'Reset-EntraPassword', { UserId: KIM })
    const account = { UserId: OBRIEN, UserPrincipalName: KIM }
    await fails(setting, 'Remove-ExchangeMailUser', account, 'Refused', /was not created by this/)
    assert.equal(userOf(setting, OBRIEN).deletedDateTime, null)
  })

  story('a second access pass replaces the first in the vault', async (setting) => {
    const person = { UserId: OBRIEN }
    const first = await succeeds(setting, 'New-EntraTemporaryAccessPass', person)
    const before = await setting.tenant.secrets.get(String(first.AccessPassSecret))
    const second = await succeeds(setting, 'New-EntraTemporaryAccessPass', person)
    assert.equal(second.AccessPassSecret, first.AccessPassSecret)
    assert.notEqual(await setting.tenant.secrets.get(String(first.AccessPassSecret)), before)
    assert.ok(!JSON.stringify([first, second]).includes(before))
  })
})
