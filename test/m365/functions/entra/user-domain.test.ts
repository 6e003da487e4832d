// Guests who are new, and the night on which a domain leaves a tenant.
import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { meaningOf } from '../../../../src/m365/meanings/meaning-of.ts'
import type { Params } from '../cases.ts'
import type { WithinOptions } from '../setting.ts'
import { fails, story, succeeds, userOf } from '../story.ts'
import { ADA, BOX, GUEST, OBRIEN } from '../tenants.ts'

const NORA = 'nora@fabrikam.example'

describe('a new guest', () => {
  story('accepts after a while, which a poll sees', async (setting) => {
    const { UserId } = await succeeds(setting, 'New-EntraGuest', { InvitedUserEmailAddress: NORA })
    const wait = { UserId: UserId! }
    const before = await succeeds(setting, 'Test-EntraInvitationRedeemed', wait)
    assert.equal(before.complete, false)
    await setting.clock.wait(1_800_000)
    const after = await succeeds(setting, 'Test-EntraInvitationRedeemed', wait)
    assert.equal(after.complete, true)
  })

  story(
    'who was there before is returned, not invited, and stays after a rollback',
    async (setting) => {
      const given = { InvitedUserEmailAddress: 'EVE@fabrikam.example' }
      const made = await succeeds(setting, 'New-EntraGuest', given)
      assert.deepEqual([made.UserId, made.Created, made.CreatedUserId], [GUEST, false, null])
      const undone = await succeeds(setting, 'Remove-EntraUser', { UserId: made.CreatedUserId! })
      assert.deepEqual(undone, { UserId: null, Changed: false })
      assert.deepEqual(setting.effects(), [])
    },
  )

  story('is removed by the rollback of the run that made it', async (setting) => {
    const made = await succeeds(setting, 'New-EntraGuest', { InvitedUserEmailAddress: NORA })
    await succeeds(setting, 'Remove-EntraUser', { UserId: made.CreatedUserId! })
    assert.notEqual(userOf(setting, String(made.UserId)).deletedDateTime, null)
  })

  story('cannot have an address of the tenant itself', (setting) =>
    fails(
      setting,
      'New-EntraGuest',
      { InvitedUserEmailAddress: 'new@contoso.example' },
      'BadRequest',
      /Invitee is in inviter tenant/,
    ),
  )
})

const DOMAIN = 'contoso.example'

describe('a domain that leaves the tenant', () => {
  story('is gone from a person, and comes back with everything it had', async (setting) => {
    const before = userOf(setting, OBRIEN)
    const given = { UserId: OBRIEN, Domain: DOMAIN }
    const gone = await succeeds(setting, 'Remove-UserDomain', given)
    const without = userOf(setting, OBRIEN)
    assert.equal(without.userPrincipalName, "kim.o'brien@contoso.onmicrosoft.com")
    assert.equal(without.mail, "kim.o'brien@contoso.onmicrosoft.com")
    assert.ok(without.proxyAddresses.every((one) => !one.endsWith(DOMAIN)))
    assert.ok(
      without.proxyAddresses.some((one) => one.startsWith('x500:')),
      'old mail finds it',
    )
    await succeeds(setting, 'Restore-UserDomain', {
      UserId: OBRIEN,
      UserPrincipalName: gone.PreviousUserPrincipalName!,
      PrimarySmtpAddress: gone.PreviousPrimarySmtpAddress!,
      Mail: gone.PreviousMail!,
      EmailAddresses: gone.Removed!,
    })
    const after = userOf(setting, OBRIEN)
    assert.equal(after.userPrincipalName, before.userPrincipalName)
    assert.equal(after.mail, before.mail)
    for (const address of before.proxyAddresses) assert.ok(after.proxyAddresses.includes(address))
  })

  story('undoes nothing where nothing was done', async (setting) => {
    const given = { UserId: OBRIEN, Domain: 'fabrikam.net' }
    const { Changed, ...kept } = await succeeds(setting, 'Remove-UserDomain', given)
    assert.equal(Changed, false)
    const undone = await succeeds(setting, 'Restore-UserDomain', {
      UserId: OBRIEN,
      UserPrincipalName: kept.PreviousUserPrincipalName!,
      PrimarySmtpAddress: kept.PreviousPrimarySmtpAddress!,
      Mail: kept.PreviousMail!,
      EmailAddresses: kept.Removed!,
    })
    assert.equal(undone.Changed, false)
    assert.deepEqual(setting.effects(), [])
  })

  story('says which names of an account without Exchange no app can remove', async (setting) => {
    await succeeds(setting, 'Set-EntraUserAttribute', {
      UserId: ADA,
      AttributeName: 'mail',
      Value: 'ada.a@contoso.example',
    })
    const gone = await succeeds(setting, 'Remove-UserDomain', { UserId: ADA, Domain: DOMAIN })
    assert.equal(gone.PreviousMail, 'ada.a@contoso.example')
    assert.deepEqual(gone.Left, ['smtp:ada.a@contoso.example'])
    assert.equal(userOf(setting, ADA).mail, 'ada.a@contoso.onmicrosoft.com')
  })

  story(
    'keeps a mailbox reachable: its write has the new primary address in it',
    async (setting) => {
      const gone = await succeeds(setting, 'Remove-UserDomain', { UserId: BOX, Domain: DOMAIN })
      assert.equal(gone.PrimarySmtpAddress, 'box@contoso.onmicrosoft.com')
      assert.deepEqual(setting.effects(), ['user changed', 'mailbox changed'])
    },
  )
})

describe('a domain that cannot leave yet', () => {
  story('stays with a person whose external address is in it', (setting) =>
    fails(
      setting,
      'Remove-UserDomain',
      { UserId: OBRIEN, Domain: 'fabrikam.example' },
      'Refused',
      /Set another one first: Set-ExchangeExternalAddress/,
    ),
  )

  story(
    'is listed with who is left, and only with type and id without the rights',
    async (setting) => {
      await succeeds(setting, 'Remove-UserDomain', { UserId: OBRIEN, Domain: DOMAIN })
      const { References, Count } = await succeeds(setting, 'Get-DomainReferences', {
        Domain: DOMAIN,
      })
      assert.equal(Count, 7)
      assert.ok(!JSON.stringify(References).includes(OBRIEN))
    },
  )

  story(
    'is counted even where the app may not read names',
    async (setting) => {
      const { References, Count } = await succeeds(setting, 'Get-DomainReferences', {
        Domain: DOMAIN,
        Limit: 1,
      })
      assert.equal(Count, 8)
      assert.deepEqual(References, [{ Type: 'user', Id: ADA, Name: null }])
    },
    { permissions: { graph: ['Domain.Read.All'] } },
  )
})

/** More than two pages. */
const crowded: WithinOptions = {
  seeded: ({ tenants: [contoso, fabrikam] }) => ({
    tenants: [
      {
        ...contoso!,
        domains: [...contoso!.domains, 'crowd.example'],
        users: Array.from({ length: 250 }, (_, at) => ({
          userPrincipalName: `p${at}@crowd.example`,
        })),
      },
      fabrikam!,
    ],
  }),
}

describe('a domain of many people', () => {
  story(
    'is counted over all pages, and lists only as many as asked',
    async (setting) => {
      const given = { Domain: 'crowd.example', Limit: 3 }
      const before = setting.sandbox.journal.requestsMade
      const { Count, ByType, References } = await succeeds(setting, 'Get-DomainReferences', given)
      assert.deepEqual([Count, ByType], [250, { user: 250 }])
      assert.equal((References as unknown[]).length, 3)
      assert.equal(setting.sandbox.journal.requestsMade - before, 3)
    },
    crowded,
  )
})

const federated: WithinOptions = {
  seeded: ({ tenants: [contoso, fabrikam] }) => ({
    tenants: [
      {
        ...contoso!,
        domains: [...contoso!.domains, 'adfs.example', 'okta.example'],
        federatedDomains: ['adfs.example', 'okta.example'],
      },
      fabrikam!,
    ],
  }),
}

describe('a federated domain', () => {
  const nora = { DisplayName: 'Nora', UserPrincipalName: 'nora@adfs.example', MailNickname: 'nora' }

  story(
    'takes a new account only with its id at the identity provider',
    async (setting) => {
      const says = /SourceAnchor is a required property/
      const { error } = await setting.run('New-EntraUser', nora)
      assert.match(error!.message, says)
      assert.equal(meaningOf(error!.message)?.id, 'graph-domain-federated')
      assert.deepEqual(setting.effects(), [])
      const made = await succeeds(setting, 'New-EntraUser', {
        ...nora,
        OnPremisesImmutableId: 'aGVsbG8=',
      })
      const { attributes } = userOf(setting, String(made.Id))
      assert.equal(attributes.onPremisesImmutableId, 'aGVsbG8=')
    },
    federated,
  )

  story(
    'takes a renamed account only with that id, and none from another federated domain',
    async (setting) => {
      const rename = (name: string, more: Params = {}) =>
        setting.run('Set-EntraUserUPN', { UserId: ADA, NewUserPrincipalName: name, ...more })
      assert.match((await rename('ada@adfs.example')).error!.message, /SourceAnchor/)
      const anchored = await rename('ada@adfs.example', { OnPremisesImmutableId: 'YWRh' })
      assert.equal(anchored.status, 'Success')
      const { error } = await rename('ada@okta.example')
      assert.equal(meaningOf(error!.message)?.id, 'graph-domain-federated-both')
      assert.equal((await rename('ada@contoso.onmicrosoft.com')).status, 'Success')
      assert.equal((await rename('ada@okta.example')).status, 'Success')
    },
    federated,
  )
})
