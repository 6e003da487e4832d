// What is particular to a function: whom it takes for whom, what it refuses for safety's sake, and what it makes of answers that
// could mean two things.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, it } from 'node:test'
import type { Json } from '../../../src/domain/json.ts'
import { CASES, type Params } from './cases.ts'
import { type Setting, type WithinOptions, within } from './setting.ts'
import { ADA, BOX, GONE, GUEST, id, LEAD, NEWCOMERS, NOBODY, OBRIEN, OUTSIDER } from './tenants.ts'

const KIM = "kim.o'brien@contoso.example"

async function succeeds({ run }: Setting, name: string, params: Params): Promise<Params> {
  const { status, result, error } = await run(name, params)
  assert.equal(status, 'Success', error?.message)
  return result as Record<string, Json>
}

async function fails(setting: Setting, name: string, params: Params, type: string, says: RegExp) {
  const before = setting.effects().length
  const { error } = await setting.run(name, params)
  assert.equal(error?.type, type, JSON.stringify(error))
  assert.match(error.message, says)
  assert.equal(setting.effects().length, before, 'nothing was changed')
}

const userOf = ({ sandbox }: Setting, userId: string) =>
  sandbox.state().tenants[0]!.users.find((user) => user.id === userId)!

function story(
  title: string,
  tell: (setting: Setting) => Promise<void>,
  options: WithinOptions = {},
) {
  it(title, () => within(options, tell))
}

describe('New-EntraUser', () => {
  const { params } = CASES['New-EntraUser']!
  const namesake = { ...params, UserPrincipalName: KIM, DisplayName: "Kim O'Brien" }

  story(
    'refuses an account that was not made here, however much it looks like the one wanted',
    (s) =>
      fails(
        s,
        'New-EntraUser',
        { ...namesake, MailNickname: "kim.o'brien" },
        'Refused',
        /belongs to an account that was not made here .* AllowExisting/,
      ),
  )

  story('takes it when it is told to', async (s) => {
    const made = await succeeds(s, 'New-EntraUser', { ...namesake, AllowExisting: true })
    assert.partialDeepStrictEqual(made, { Id: OBRIEN, Created: false, PasswordSecret: null })
    assert.deepEqual(s.effects(), [])
  })

  story('keeps the password in the vault and out of the answer', async (s) => {
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
    'succeeds also when the account cannot be read for long',
    async (s) => {
      const made = await succeeds(s, 'New-EntraUser', params)
      assert.equal(made.Created, true)
      assert.ok(s.clock.waitedMs() < 60_000)
    },
    { lagSec: 600 },
  )

  story(
    'finds what it made when its answer was lost and the directory lags behind',
    async (s) => {
      s.sandbox.setFaults({ script: [{ on: 'POST /v1.0/users', fault: 'drop-after' }] })
      const made = await succeeds(s, 'New-EntraUser', params)
      assert.deepEqual([made.Created, s.effects()], [true, ['user created']])
    },
    { lagSec: 5 },
  )

  story('says no when the name of a domain is not the tenant’s', (s) =>
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

  story('finds whom it has renamed by an address that still bears the old name', async (s) => {
    const first = await succeeds(s, 'Set-EntraUserUPN', rename)
    const second = await succeeds(s, 'Set-EntraUserUPN', rename)
    assert.deepEqual([first.Changed, second.Changed], [true, false])
    assert.deepEqual([first.UserId, second.UserId], [OBRIEN, OBRIEN])
    assert.equal(second.PreviousUserPrincipalName, KIM)
  })

  story('does not take somebody else for whom it was to rename', (s) =>
    fails(
      s,
      'Set-EntraUserUPN',
      { UserId: 'typo@contoso.example', NewUserPrincipalName: 'lead@contoso.example' },
      'Refused',
      /nothing says that they are the same person/,
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

describe('ids that are more than they seem', () => {
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
  story('deletes nobody who bears another name than expected', (s) =>
    fails(
      s,
      'Remove-EntraUser',
      { UserId: ADA, UserPrincipalName: KIM },
      'Refused',
      /is "ada@contoso.example" and not/,
    ),
  )

  story('has nothing to do for whom somebody deleted before', async (s) => {
    const gone = await succeeds(s, 'Remove-EntraUser', { UserId: GONE })
    assert.deepEqual([gone.Changed, s.effects()], [false, []])
  })
})

describe('groups', () => {
  story('a deleted user is no member any more', async (s) => {
    const out = await succeeds(s, 'Remove-EntraGroupMember', { GroupId: NEWCOMERS, UserId: GONE })
    assert.equal(out.Changed, false)
  })

  story('taking somebody out leaves the account alone', async (s) => {
    await succeeds(s, 'Remove-EntraGroupMember', { GroupId: NEWCOMERS, UserId: LEAD })
    assert.deepEqual(s.effects(), ['member removed'])
    assert.equal(userOf(s, LEAD).deletedDateTime, null)
  })

  story(
    'a new member of a list that Exchange owns is refused as Microsoft refuses it',
    async (s) => {
      const list = s.sandbox.state().tenants[0]!.groups[1]!.id
      const params = { GroupId: list, UserId: ADA }
      await fails(
        s,
        'Add-EntraGroupMember',
        params,
        'Authorization_RequestDenied',
        /distribution list/,
      )
    },
  )
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

  story('do not take what does not exist for what is not so', async (s) => {
    const group = { GroupId: NOBODY, UserId: ADA, Expected: false }
    await fails(s, 'Test-EntraGroupMembership', group, 'NotFound', /has no group/)
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

  story('look into attributes that hold others', async (s) => {
    const AttributeName = 'onPremisesExtensionAttributes.extensionAttribute7'
    const set = { UserId: ADA, AttributeName, Value: 'wave 1' }
    await succeeds(s, 'Set-EntraUserAttribute', set)
    const test = { UserId: ADA, AttributeName, ExpectedValue: 'WAVE 1' }
    assert.equal((await succeeds(s, 'Test-EntraAttributeMatch', test)).complete, true)
  })
})

describe('guests', () => {
  story('an invitation needs the address on the account', (s) =>
    fails(
      s,
      'New-EntraB2BInvitation',
      { UserId: ADA, InvitedUserEmailAddress: 'ada@fabrikam.example' },
      'Refused',
      /mail address of ".*" is empty.*Set-EntraUserAttribute with mail/,
    ),
  )

  story('who has accepted is not invited again', async (s) => {
    const given = { UserId: GUEST, InvitedUserEmailAddress: 'EVE@fabrikam.example' }
    const invited = await succeeds(s, 'New-EntraB2BInvitation', given)
    assert.partialDeepStrictEqual(invited, { Status: 'Completed', Changed: false })
  })

  story('who was invited and lost is found', async (s) => {
    s.sandbox.setFaults({ script: [{ on: 'POST /v1.0/invitations', fault: 'drop-after' }] })
    const { params } = CASES['New-EntraB2BInvitation']!
    const invited = await succeeds(s, 'New-EntraB2BInvitation', params)
    assert.partialDeepStrictEqual(invited, { Changed: true, InviteRedeemUrl: null })
    assert.equal(userOf(s, OUTSIDER).externalUserState, 'PendingAcceptance')
  })

  story(
    'an internal user of the wanted name is left alone, and no password is said to be set',
    async (s) => {
      const given = { UserId: ADA, NewUserPrincipalName: 'ada@contoso.example' }
      const converted = await succeeds(s, 'Convert-EntraB2BToInternal', given)
      assert.partialDeepStrictEqual(converted, { Changed: false, PasswordSecret: null })
    },
  )

  story('an internal user of another name is refused', (s) =>
    fails(
      s,
      'Convert-EntraB2BToInternal',
      { UserId: ADA, NewUserPrincipalName: 'other@contoso.example' },
      'Refused',
      /is an internal user already, named "ada@contoso.example"/,
    ),
  )

  story('the password of a converted guest is in the vault only', async (s) => {
    const { params } = CASES['Convert-EntraB2BToInternal']!
    const { sandbox } = s
    sandbox.setFaults({ script: [{ on: 'POST /beta/*', fault: 'drop-after' }] })
    const converted = await succeeds(s, 'Convert-EntraB2BToInternal', params)
    const kept = await s.tenant.secrets.get(converted.PasswordSecret as string)
    assert.equal(converted.Changed, true)
    assert.ok(!JSON.stringify([converted, sandbox.journal.effects]).includes(kept))
  })
})

describe('licences', () => {
  story('none is assigned to somebody without a country, unless one is given', (s) =>
    fails(
      s,
      'Add-EntraUserLicense',
      { UserId: ADA, SkuId: 'AAD_PREMIUM', UsageLocation: '' },
      'Refused',
      /has no usage location.*Give UsageLocation/,
    ),
  )

  story('another choice of plans is another licence', async (s) => {
    const plan = '5dbe027f-2339-4123-9542-606e4d348a72'
    const given = { UserId: BOX, SkuId: 'ENTERPRISEPACK', DisabledPlans: plan }
    const first = await succeeds(s, 'Add-EntraUserLicense', given)
    const second = await succeeds(s, 'Add-EntraUserLicense', { ...given, DisabledPlans: [plan] })
    assert.deepEqual([first.Changed, second.Changed], [true, false])
    assert.deepEqual(userOf(s, BOX).assignedLicenses[0]!.disabledPlans, [plan])
  })
})

describe('addresses', () => {
  story('other kinds than SMTP keep their name', async (s) => {
    const given = { Identity: KIM, EmailAddress: 'X500:/o=Old/cn=Kim' }
    assert.equal((await succeeds(s, 'Add-ExchangeSecondaryEmail', given)).Changed, true)
    assert.equal((await succeeds(s, 'Add-ExchangeSecondaryEmail', given)).Changed, false)
    const kept = userOf(s, OBRIEN).proxyAddresses.filter((one) => /^x500:/i.test(one))
    assert.equal(kept.length, 2)
  })

  story('of a mailbox are changed like those of a mail user', async (s) => {
    const given = { Identity: 'box@contoso.example', NewPrimaryEmail: 'SMTP:post@contoso.example' }
    await succeeds(s, 'Set-ExchangePrimaryEmail', given)
    assert.deepEqual(userOf(s, BOX).proxyAddresses, [
      'SMTP:post@contoso.example',
      'smtp:box@contoso.example',
    ])
  })

  story('the primary one is not removed', (s) =>
    fails(
      s,
      'Remove-ExchangeSecondaryEmail',
      { Identity: KIM, EmailAddress: KIM.toUpperCase() },
      'Refused',
      /is the primary address .* Set-ExchangePrimaryEmail/,
    ),
  )

  story('one that somebody else has is refused as Exchange refuses it', (s) =>
    fails(
      s,
      'Add-ExchangeSecondaryEmail',
      { Identity: KIM, EmailAddress: 'box@contoso.example' },
      'ProxyAddressExistsException',
      /ProxyAddressExistsException.*already being used/,
    ),
  )

  story('where mail goes to does not become the primary address', async (s) => {
    const toOld = { Identity: KIM, ExternalEmailAddress: 'kim@partner.example' }
    await succeeds(s, 'Set-ExchangeExternalAddress', toOld)
    assert.ok(userOf(s, OBRIEN).proxyAddresses.includes(`SMTP:${KIM}`))
  })

  story('a mailbox has no external address', (s) =>
    fails(
      s,
      'Set-ExchangeExternalAddress',
      { Identity: 'box@contoso.example', ExternalEmailAddress: 'x@partner.example' },
      'Refused',
      /is a mailbox .* Set-ExchangeForwarding/,
    ),
  )

  story(
    'a recipient that Exchange hears of a little later is waited for',
    async (s) => {
      await succeeds(s, 'Set-EntraUserAttribute', {
        ...{ UserId: ADA, AttributeName: 'mail', Value: 'ada@fabrikam.example' },
      })
      const given = { Identity: ADA, ExchangeGuid: id(600), ArchiveGuid: null }
      assert.equal((await succeeds(s, 'Set-ExchangeMailUserGuids', given)).Changed, true)
    },
    { lagSec: 10 },
  )
})

describe('mailboxes', () => {
  story('a mailbox that came too early is not stamped over', (s) =>
    fails(
      s,
      'Set-ExchangeMailUserGuids',
      { Identity: 'box@contoso.example', ExchangeGuid: id(600) },
      'Refused',
      /has a mailbox already.*licence too early/,
    ),
  )

  story('forwarding is taken away again', async (s) => {
    const { params } = CASES['Set-ExchangeForwarding']!
    await succeeds(s, 'Set-ExchangeForwarding', params)
    const off = { Identity: BOX, ForwardingSmtpAddress: '' }
    const ended = await succeeds(s, 'Set-ExchangeForwarding', off)
    assert.partialDeepStrictEqual(ended, { ForwardingSmtpAddress: null, Changed: true })
    assert.equal(userOf(s, BOX).recipient!.forwardingSmtpAddress, null)
    assert.equal(userOf(s, BOX).recipient!.deliverToMailboxAndForward, false)
  })

  story('a move that cannot be made fails with its reason', async (s) => {
    await succeeds(s, 'New-MigrationBatch', CASES['New-MigrationBatch']!.params)
    const asked = { Identity: KIM }
    await fails(s, 'Test-MigrationUser', asked, 'MigrationStopped', /is Failed: .*WithoutLicense/)
  })

  story('a move is copied, then completed', async (s) => {
    const license = { UserId: KIM, SkuId: 'CROSS_TENANT_USER_DATA_MIGRATION' }
    await succeeds(s, 'Add-EntraUserLicense', license)
    await succeeds(s, 'New-MigrationBatch', CASES['New-MigrationBatch']!.params)
    const copied = { Identity: KIM, WaitFor: 'Synced' }
    assert.equal((await succeeds(s, 'Test-MigrationUser', copied)).complete, false)
    await s.clock.wait(2 * 3_600_000)
    assert.equal((await succeeds(s, 'Test-MigrationUser', copied)).complete, true)
    assert.equal((await succeeds(s, 'Test-MigrationUser', { Identity: KIM })).complete, false)
    await s.clock.wait(30 * 86_400_000)
    assert.equal((await succeeds(s, 'Test-MigrationUser', { Identity: KIM })).complete, true)
    assert.equal(userOf(s, OBRIEN).recipient!.kind, 'mailbox')
  })
})

describe('Send-Notification by webhook', () => {
  const params = { Subject: 'It begins', Body: 'Tomorrow' }

  it('posts to a host that the worker may call', async () => {
    const got: string[] = []
    const server = createServer((request, response) => {
      request.on('data', (part) => got.push(String(part)))
      request.on('end', () => response.writeHead(204).end())
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const host = `127.0.0.1:${(server.address() as AddressInfo).port}`
    await within({ env: { MATOOLKIT_WEBHOOK_HOSTS: host } }, async (s) => {
      const sent = await succeeds(s, 'Send-Notification', {
        ...params,
        WebhookUrl: `http://${host}/hook`,
      })
      assert.deepEqual(sent, { Channel: 'webhook', Recipients: 1, Status: 204 })
    })
    server.close()
    assert.partialDeepStrictEqual(JSON.parse(got.join('')), {
      subject: 'It begins',
      body: 'Tomorrow',
    })
  })

  for (const WebhookUrl of [
    'https://elsewhere.example/hook',
    'http://169.254.169.254/metadata/identity',
    'https://hooks.example@elsewhere.example/',
    'https://hooks.example.elsewhere.example/',
  ])
    story(
      `does not call ${WebhookUrl}`,
      (s) =>
        fails(s, 'Send-Notification', { ...params, WebhookUrl }, 'HostNotAllowed', /is not called/),
      { env: { MATOOLKIT_WEBHOOK_HOSTS: 'hooks.example' } },
    )

  story('is given one way to send, and all that the way needs', async (s) => {
    const both = { ...CASES['Send-Notification']!.params, WebhookUrl: 'https://hooks.example/' }
    await fails(
      s,
      'Send-Notification',
      both,
      'UnfitParameters',
      /either To and From.*or WebhookUrl/,
    )
    await fails(s, 'Send-Notification', params, 'UnfitParameters', /either To and From/)
    const half = { ...params, To: KIM }
    await fails(s, 'Send-Notification', half, 'UnfitParameters', /both To and From/)
  })
})
