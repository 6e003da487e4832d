// Particulars of the Entra functions: identity checks, safety refusals and ambiguous responses.
import assert from 'node:assert/strict'
import { describe } from 'node:test'
import type { Json } from '../../../src/base/text/json.ts'
import { CASES, type Params } from './cases.ts'
import type { Setting } from './setting.ts'
import { fails, story, succeeds, userOf } from './story.ts'
import { ADA, BOX, GONE, GUEST, LEAD, NEWCOMERS, NOBODY, OBRIEN, OUTSIDER } from './tenants.ts'

const KIM = "kim.o'brien@contoso.example"

describe('New-EntraUser', () => {
  const { params } = CASES['New-EntraUser']!
  const namesake = { ...params, UserPrincipalName: KIM, DisplayName: "Kim O'Brien" }

  story('refuses an account created elsewhere, however similar', (s) =>
    fails(
      s,
      'New-EntraUser',
      { ...namesake, MailNickname: "kim.o'brien" },
      'Refused',
      /belongs to an account created elsewhere .* AllowExisting/,
    ),
  )

  story('adopts it with AllowExisting', async (s) => {
    const made = await succeeds(s, 'New-EntraUser', { ...namesake, AllowExisting: true })
    assert.partialDeepStrictEqual(made, { Id: OBRIEN, Created: false, PasswordSecret: null })
    assert.deepEqual(s.effects(), [])
  })

  story('takes the nickname from the name when none is given', async (s) => {
    const { MailNickname: _, ...rest } = params
    const made = await succeeds(s, 'New-EntraUser', rest)
    assert.equal(made.MailNickname, String(params.UserPrincipalName).split('@')[0])
    assert.equal((await succeeds(s, 'New-EntraUser', rest)).Created, false)
    assert.deepEqual(s.effects(), ['user created'])
  })

  story('keeps the password in the vault and out of the result', async (s) => {
    const made = await succeeds(s, 'New-EntraUser', params)
    const kept = await s.tenant.secrets.get(made.PasswordSecret as string)
    assert.equal(kept.length, 20)
    assert.ok(!JSON.stringify(made).includes(kept))
  })

  story(
    'waits until the new account can be read',
    async (s) => {
      const made = await succeeds(s, 'New-EntraUser', params)
      assert.ok(s.clock.waitedMs() >= 6_000)
      await succeeds(s, 'Disable-EntraUser', { UserId: made.Id! })
    },
    { lagSec: 6 },
  )

  story(
    'succeeds although the account stays invisible for long',
    async (s) => {
      const made = await succeeds(s, 'New-EntraUser', params)
      assert.equal(made.Created, true)
      assert.ok(s.clock.waitedMs() < 60_000)
    },
    { lagSec: 600 },
  )

  story(
    'finds its account after a lost response and replication lag',
    async (s) => {
      s.sandbox.setFaults({ script: [{ on: 'POST /v1.0/users', fault: 'drop-after' }] })
      const made = await succeeds(s, 'New-EntraUser', params)
      assert.deepEqual([made.Created, s.effects()], [true, ['user created']])
    },
    { lagSec: 5 },
  )

  story('refuses a domain that the tenant does not own', (s) =>
    fails(
      s,
      'New-EntraUser',
      { ...params, UserPrincipalName: 'nora@elsewhere.example' },
      'Request_BadRequest',
      /verified domain/i,
    ),
  )
})

describe('Set-EntraUserUPN', () => {
  const rename = { UserId: KIM, NewUserPrincipalName: 'kim.new@contoso.example' }

  story('recognises a renamed user by an address with the old name', async (s) => {
    const first = await succeeds(s, 'Set-EntraUserUPN', rename)
    const second = await succeeds(s, 'Set-EntraUserUPN', rename)
    assert.deepEqual([first.Changed, second.Changed], [true, false])
    assert.deepEqual([first.UserId, second.UserId], [OBRIEN, OBRIEN])
    assert.equal(second.PreviousUserPrincipalName, KIM)
  })

  story('does not mistake another user for the renamed one', (s) =>
    fails(
      s,
      'Set-EntraUserUPN',
      { UserId: 'typo@contoso.example', NewUserPrincipalName: 'lead@contoso.example' },
      'Refused',
      /nothing shows that they are the same person/,
    ),
  )

  story('fails when the name is taken', (s) =>
    fails(
      s,
      'Set-EntraUserUPN',
      { UserId: ADA, NewUserPrincipalName: KIM },
      'Request_BadRequest',
      /already exists/,
    ),
  )
})

describe('hostile ids', () => {
  for (const userId of [
    '../groups',
    `${ADA}/manager`,
    `${ADA}?$select=id`,
    `${ADA}#x`,
    '%2e%2e',
    'a b',
  ])
    story(`${userId} names nobody`, (s) =>
      fails(s, 'Disable-EntraUser', { UserId: userId }, 'NotFound', /has no user/),
    )
})

describe('Remove-EntraUser', () => {
  story('does not delete an account with another name', (s) =>
    fails(
      s,
      'Remove-EntraUser',
      { UserId: ADA, UserPrincipalName: KIM },
      'Refused',
      /is named "ada@contoso.example", not/,
    ),
  )

  story('does nothing for a deleted account', async (s) => {
    const gone = await succeeds(s, 'Remove-EntraUser', { UserId: GONE })
    assert.deepEqual([gone.Changed, s.effects()], [false, []])
  })
})

describe('groups', () => {
  story('a deleted user is not a member', async (s) => {
    const out = await succeeds(s, 'Remove-EntraGroupMember', { GroupId: NEWCOMERS, UserId: GONE })
    assert.equal(out.Changed, false)
  })

  story('removing a member keeps the account', async (s) => {
    await succeeds(s, 'Remove-EntraGroupMember', { GroupId: NEWCOMERS, UserId: LEAD })
    assert.deepEqual(s.effects(), ['member removed'])
    assert.equal(userOf(s, LEAD).deletedDateTime, null)
  })

  story('Microsoft refuses new members of a distribution list', async (s) => {
    const list = s.sandbox.state().tenants[0]!.groups[1]!.id
    const params = { GroupId: list, UserId: ADA }
    await fails(
      s,
      'Add-EntraGroupMember',
      params,
      'Authorization_RequestDenied',
      /distribution list/,
    )
  })
})

describe('tests that expect the opposite', () => {
  const CASES_OF_TESTS: [string, Params, boolean][] = [
    ['Test-EntraGroupMembership', { GroupId: NEWCOMERS, UserId: LEAD }, false],
    ['Test-EntraGroupMembership', { GroupId: NEWCOMERS, UserId: ADA }, true],
    [
      'Test-EntraAttributeMatch',
      { UserId: ADA, AttributeName: 'department', ExpectedValue: 'Sales' },
      true,
    ],
    [
      'Test-ExchangeGroupMembership',
      { GroupIdentity: 'all@contoso.example', MemberIdentity: OBRIEN },
      false,
    ],
    [
      'Test-ExchangeAttributeMatch',
      { Identity: BOX, AttributeName: 'ForwardingSmtpAddress', ExpectedValue: null },
      false,
    ],
  ]
  for (const [name, params, complete] of CASES_OF_TESTS)
    story(`${name} ${JSON.stringify(params)}`, async (s) => {
      const found = await succeeds(s, name, { ...params, Expected: 'false' })
      const usual = await succeeds(s, name, params)
      assert.deepEqual([found.complete, usual.complete], [complete, !complete])
      assert.deepEqual(found.data, usual.data)
    })

  story('distinguish a missing object from an unmet condition', async (s) => {
    const group = { GroupId: NOBODY, UserId: ADA, Expected: false }
    const { complete, data } = await succeeds(s, 'Test-EntraGroupMembership', group)
    assert.equal(complete, false, 'a missing group is not "not a member"')
    assert.match((data as { Reason: string }).Reason, /has no group/)
    const attribute = {
      Identity: KIM,
      AttributeName: 'Nickname',
      ExpectedValue: '',
      Expected: true,
    }
    await fails(s, 'Test-ExchangeAttributeMatch', attribute, 'NotFound', /no attribute "Nickname"/)
    const property = { UserId: ADA, AttributeName: 'nickname', ExpectedValue: '' }
    await fails(s, 'Test-EntraAttributeMatch', property, 'BadRequest', /nickname/)
  })

  story('read nested attributes', async (s) => {
    const AttributeName = 'onPremisesExtensionAttributes.extensionAttribute7'
    const set = { UserId: ADA, AttributeName, Value: 'wave 1' }
    await succeeds(s, 'Set-EntraUserAttribute', set)
    const test = { UserId: ADA, AttributeName, ExpectedValue: 'WAVE 1' }
    assert.equal((await succeeds(s, 'Test-EntraAttributeMatch', test)).complete, true)
  })
})

describe('tests of somebody who is missing', () => {
  const MISSING: readonly [string, Params][] = [
    ['Test-EntraAttributeMatch', { UserId: GONE, AttributeName: 'city', ExpectedValue: 'x' }],
    ['Test-EntraGroupMembership', { GroupId: NOBODY, UserId: GONE }],
    ['Test-ExchangeAttributeMatch', { Identity: GONE, AttributeName: 'Name', ExpectedValue: 'x' }],
    ['Test-ExchangeGroupMembership', { GroupIdentity: GONE, MemberIdentity: GONE }],
    ['Test-MigrationUser', { Identity: 'nobody@contoso.example' }],
  ]
  for (const [name, params] of MISSING)
    story(`${name} answers a poll at once when nobody is there`, async (s) => {
      const polled = await s.run(name, params, true)
      assert.equal(polled.status, 'Success', polled.error?.message)
      assert.equal((polled.result as { complete: boolean }).complete, false)
      assert.equal(s.clock.waitedMs(), 0)
      assert.deepEqual(await succeeds(s, name, params), polled.result)
    })

  story('wait a moment for a new person when the step is not polled', async (s) => {
    const [name, params] = MISSING[0]!
    assert.equal((await succeeds(s, name, params)).complete, false)
    assert.equal(s.clock.waitedMs(), 14_000)
  })
})

describe('Send-Notification by mail', () => {
  for (const status of [429, 503] as const)
    story(`a mail answered ${status} after it was sent is not sent again`, async (s) => {
      const fault = { kind: 'error-after', status } as const
      s.sandbox.setFaults({ script: [{ on: 'POST /v1.0/users/*/sendMail', fault }] })
      const { error } = await s.run('Send-Notification', CASES['Send-Notification']!.params)
      assert.match(error!.message, /may have been done all the same: check in the tenant/)
      assert.equal(error!.effect, 'possible')
      assert.deepEqual(s.effects(), ['mail sent'])
    })
})

describe('Send-SignInDetails', () => {
  const { params } = CASES['Send-SignInDetails']!
  const mailsWith = ({ sandbox }: Setting, text: string) =>
    sandbox.journal.effects.map((one) => JSON.stringify(one)).filter((one) => one.includes(text))

  story('the value is in the mail to the private address, and nowhere else', async (s) => {
    const { status, result } = await s.run('Send-SignInDetails', params)
    assert.equal(status, 'Success')
    assert.doesNotMatch(JSON.stringify(result), /pass-of-kim/)
    const [sent, ...others] = mailsWith(s, 'your pass is pass-of-kim-1.')
    assert.deepEqual(others, [])
    assert.match(sent!, /\["kim@home.example"\]/)
    assert.doesNotMatch(JSON.stringify(s.sandbox.state()), /pass-of-kim/, 'nor in Sent Items')
  })

  story('a secret of somebody else, or of no account, is not sent', async (s) => {
    const others = [{ UserId: ADA }, { Secret: 'matoolkit-hook' }, { UserId: LEAD }]
    for (const one of others)
      await fails(
        s,
        'Send-SignInDetails',
        { ...params, ...one },
        'Refused',
        /no password or access/,
      )
    assert.deepEqual(s.effects(), [])
  })

  story('nothing goes to the account itself, which nobody can open yet', async (s) => {
    const own = { ...params, To: "Kim.O'Brien@contoso.example" }
    await fails(s, 'Send-SignInDetails', own, 'Refused', /before the first sign-in/)
    assert.deepEqual(s.effects(), [])
  })

  story('a new account gets its password, one that others made has none to send', async (s) => {
    const names = {
      DisplayName: 'Zoe',
      UserPrincipalName: 'zoe@contoso.example',
      MailNickname: 'zoe',
    }
    const { Id, PasswordSecret } = await succeeds(s, 'New-EntraUser', names)
    const ofZoe = { ...params, UserId: Id!, Secret: PasswordSecret! }
    assert.equal((await succeeds(s, 'Send-SignInDetails', ofZoe)).Kind, 'password')
    await fails(s, 'Send-SignInDetails', { ...ofZoe, UserId: ADA }, 'Refused', /Nothing was sent/)
  })
})

describe('Send-Message', () => {
  const { params } = CASES['Send-Message']!

  for (const status of [429, 503] as const)
    story(`finds a mail that was answered ${status} after it was sent`, async (s) => {
      const fault = { kind: 'error-after', status } as const
      s.sandbox.setFaults({ script: [{ on: 'POST /v1.0/users/*/sendMail', fault }] })
      assert.equal((await succeeds(s, 'Send-Message', params)).Sent, true)
      assert.equal((await succeeds(s, 'Send-Message', params)).Sent, false)
      assert.deepEqual(s.effects(), ['mail sent'])
    })

  story('fails while nobody knows whether it was sent, and the retry sends it', async (s) => {
    s.sandbox.setFaults({ script: [{ on: 'POST /v1.0/users/*/sendMail', fault: 'error' }] })
    const { error } = await s.run('Send-Message', params)
    assert.match(error!.message, /may have been done all the same/)
    assert.deepEqual(s.effects(), [])
    assert.equal((await succeeds(s, 'Send-Message', params)).Sent, true)
    assert.deepEqual(s.effects(), ['mail sent'])
  })

  story('sends nothing that it could not find again', async (s) => {
    s.sandbox.setFaults({
      script: [{ on: 'GET /v1.0/users/*/mailFolders/*/messages', times: 99, fault: 'error' }],
    })
    const { error } = await s.run('Send-Message', params)
    assert.equal(error!.effect, 'none')
    assert.deepEqual(s.effects(), [])
  })
})

describe('a creation answered 503', () => {
  story(
    'before anything was made is sent again, once the tenant has no such account',
    async (s) => {
      const { params, effects } = CASES['New-EntraUser']!
      s.sandbox.setFaults({ script: [{ on: 'POST /v1.0/users', fault: 'error' }] })
      const made = await succeeds(s, 'New-EntraUser', params)
      assert.equal(made.Created, true)
      assert.deepEqual(s.effects(), effects)
    },
  )

  story('again and again ends as unknown, not as an endless attempt', async (s) => {
    const { params } = CASES['New-EntraUser']!
    const script = [{ on: 'POST /v1.0/users', times: 99, fault: 'error' }] as const
    s.sandbox.setFaults({ script: [...script] })
    const { error } = await s.run('New-EntraUser', params)
    assert.match(error!.message, /503 .* may have been done/)
    assert.deepEqual(s.effects(), [])
  })
})

describe('guests', () => {
  story('an invitation requires the mail address of the account', (s) =>
    fails(
      s,
      'New-EntraB2BInvitation',
      { UserId: ADA, InvitedUserEmailAddress: 'ada@fabrikam.example' },
      'Refused',
      /That of ".*" is empty.*Set-EntraUserAttribute with mail/,
    ),
  )

  story('a guest who accepted is not invited again', async (s) => {
    const given = { UserId: GUEST, InvitedUserEmailAddress: 'EVE@fabrikam.example' }
    const invited = await succeeds(s, 'New-EntraB2BInvitation', given)
    assert.partialDeepStrictEqual(invited, { Status: 'Completed', Changed: false })
  })

  for (const status of [429, 503] as const)
    story(`an invitation answered ${status} after it was sent is not sent again`, async (s) => {
      const fault = { kind: 'error-after', status } as const
      s.sandbox.setFaults({ script: [{ on: 'POST /v1.0/invitations', fault }] })
      const case_ = CASES['New-EntraB2BInvitation']!
      const invited = await succeeds(s, 'New-EntraB2BInvitation', case_.params)
      assert.equal(invited.Changed, true)
      assert.deepEqual(s.effects(), case_.effects)
    })

  story('an invitation with a lost response is found', async (s) => {
    s.sandbox.setFaults({ script: [{ on: 'POST /v1.0/invitations', fault: 'drop-after' }] })
    const { params } = CASES['New-EntraB2BInvitation']!
    const invited = await succeeds(s, 'New-EntraB2BInvitation', params)
    assert.partialDeepStrictEqual(invited, { Changed: true, InviteRedeemUrl: null })
    assert.equal(userOf(s, OUTSIDER).externalUserState, 'PendingAcceptance')
  })

  story('leaves an internal user with the right name alone and reports no password', async (s) => {
    const given = { UserId: ADA, NewUserPrincipalName: 'ada@contoso.example' }
    const converted = await succeeds(s, 'Convert-EntraB2BToInternal', given)
    assert.partialDeepStrictEqual(converted, { Changed: false, PasswordSecret: null })
  })

  story('refuses an internal user with another name', (s) =>
    fails(
      s,
      'Convert-EntraB2BToInternal',
      { UserId: ADA, NewUserPrincipalName: 'other@contoso.example' },
      'Refused',
      /is already an internal user, named "ada@contoso.example"/,
    ),
  )

  story('stores the password of a converted guest only in the vault', async (s) => {
    const { params } = CASES['Convert-EntraB2BToInternal']!
    const { sandbox } = s
    sandbox.setFaults({ script: [{ on: 'POST /beta/*', fault: 'drop-after' }] })
    const converted = await succeeds(s, 'Convert-EntraB2BToInternal', params)
    const kept = await s.tenant.secrets.get(converted.PasswordSecret as string)
    assert.equal(converted.Changed, true)
    assert.ok(!JSON.stringify([converted, sandbox.journal.effects]).includes(kept))
  })
})

describe('attributes in the form that Graph wants', () => {
  const set = (s: Setting, AttributeName: string, Value: Json) =>
    succeeds(s, 'Set-EntraUserAttribute', { UserId: ADA, AttributeName, Value })

  story('lists take one value or several, and are emptied', async (s) => {
    assert.deepEqual((await set(s, 'businessPhones', '+49 1')).Value, ['+49 1'])
    assert.equal((await set(s, 'businessPhones', ['+49 1'])).Changed, false)
    assert.deepEqual((await set(s, 'otherMails', ['a@x.example', 'b@x.example'])).Changed, true)
    assert.deepEqual((await set(s, 'otherMails', '')).Value, [])
    assert.deepEqual(userOf(s, ADA).attributes.otherMails, [])
  })

  story('a date equals the same moment with its time', async (s) => {
    await set(s, 'employeeHireDate', '2030-01-01T00:00:00Z')
    assert.equal((await set(s, 'employeeHireDate', '2030-01-01')).Changed, false)
  })

  story('a usage location is not cleared', (s) =>
    fails(
      s,
      'Set-EntraUserAttribute',
      { UserId: OBRIEN, AttributeName: 'usageLocation', Value: null },
      'Refused',
      /cannot be cleared/,
    ),
  )

  story('showInAddressList is not written: Microsoft says not to', (s) =>
    fails(
      s,
      'Set-EntraUserAttribute',
      { UserId: ADA, AttributeName: 'showInAddressList', Value: true },
      'UnfitParameters',
      /not an attribute this function writes/,
    ),
  )

  story('a manager is removed with an empty value', async (s) => {
    await succeeds(s, 'Set-EntraUserManager', { UserId: ADA, ManagerId: LEAD })
    const off = { UserId: ADA, ManagerId: '' }
    const removed = await succeeds(s, 'Set-EntraUserManager', off)
    assert.partialDeepStrictEqual(removed, { PreviousManagerId: LEAD, Changed: true })
    assert.equal((await succeeds(s, 'Set-EntraUserManager', off)).Changed, false)
    assert.equal(userOf(s, ADA).managerId, null)
  })

  story('a licence of a group names the group instead of failing in Graph', (s) =>
    fails(
      s,
      'Remove-EntraUserLicense',
      { UserId: LEAD, SkuId: 'AAD_PREMIUM' },
      'Refused',
      /from the group 0{8}-.*100.*Remove-EntraGroupMember/,
    ),
  )
})
