// The target of a mailbox move: made in one call, never taken over from somebody else, stamped in one write, whatever was there before.
import assert from 'node:assert/strict'
import { describe } from 'node:test'
import type { Seed } from '../../../../sandbox/state.ts'
import type { JsonObject } from '../../../../src/base/text/json.ts'
import { CASES, caseOf } from '../cases.ts'
import type { Setting } from '../setting.ts'
import { fails, story, succeeds, userOf } from '../story.ts'
import { BOX, id, OBRIEN, OBRIEN_DN } from '../tenants.ts'

const KIM = "kim.o'brien@contoso.example"
const { params: NORA } = CASES['New-ExchangeMailUser']!
const NORA_UPN = String(NORA.UserPrincipalName)
const { signal } = new AbortController()

/** What an administrator does by hand. */
const byHand = (s: Setting, path: string, body: JsonObject) =>
  s.tenant.graph.call({ method: 'POST', path, body, signal })

const account = (userPrincipalName: string) => ({
  accountEnabled: true,
  displayName: "Nora O'Hara",
  mailNickname: "nora.o'hara",
  userPrincipalName,
  passwordProfile: { password: 'By-Hand-12345' },
})

const BY_HAND = {
  Name: 'Nora',
  MicrosoftOnlineServicesID: 'nora@contoso.example',
  ExternalEmailAddress: 'nora@fabrikam.example',
  Password: 'By-Hand-12345',
}

const setMailUser = (s: Setting, change: JsonObject) =>
  s.tenant.exchange.run('Set-MailUser', { Identity: OBRIEN, ...change }, { signal })

describe('New-ExchangeMailUser', () => {
  story('refuses an account without mail, which is in the way', async (s) => {
    await byHand(s, '/users', account(NORA_UPN))
    await fails(s, 'New-ExchangeMailUser', NORA, 'Refused', /account without mail.*rename it/)
  })

  story(
    'refuses it as well when Exchange sees it late',
    async (s) => {
      await byHand(s, '/users', account(NORA_UPN))
      await fails(s, 'New-ExchangeMailUser', NORA, 'Refused', /account without mail/)
    },
    { lagSec: 5 },
  )

  story('refuses a mail user created elsewhere, and adopts it with AllowExisting', async (s) => {
    const external = { ExternalEmailAddress: "kim.o'brien@fabrikam.example" }
    const same = { ...NORA, ...external, UserPrincipalName: KIM, PrimarySmtpAddress: KIM }
    await fails(s, 'New-ExchangeMailUser', same, 'Refused', /created elsewhere.*AllowExisting/)
    const adopted = await succeeds(s, 'New-ExchangeMailUser', { ...same, AllowExisting: true })
    assert.partialDeepStrictEqual(adopted, { Id: OBRIEN, Created: false, PasswordSecret: null })
    assert.deepEqual(s.effects(), [])
  })

  for (const [name, params, path] of [
    ['New-ExchangeMailUser', { ...NORA, PrimarySmtpAddress: KIM }, '/users'],
    ['New-EntraUser', CASES['New-EntraUser']!.params, '/users'],
  ] as const)
    story(`${name} leaves alone an account made by hand after a refused creation`, async (s) => {
      const isMailUser = name === 'New-ExchangeMailUser'
      const refused = isMailUser ? params : { ...params, Password: 'weakweakweak' }
      assert.equal((await s.run(name, refused)).status, 'Failure')
      await byHand(s, path, account(NORA_UPN))
      const again = isMailUser ? NORA : { ...params, Password: null }
      await fails(s, name, again, 'Refused', /account without mail|created elsewhere/)
    })

  story('says what may be in the way when a name is taken', (s) =>
    fails(
      s,
      'New-ExchangeMailUser',
      { ...NORA, PrimarySmtpAddress: KIM },
      'Refused',
      /already being used.*is taken \(MailUser: .*choose another name/,
    ),
  )

  story(
    'sets the primary address where New-MailUser ignores it, also after a failure in between',
    async (s) => {
      s.sandbox.setFaults({ script: [{ on: 'Set-MailUser', times: 20, fault: 'error' }] })
      assert.equal((await s.run('New-ExchangeMailUser', NORA)).status, 'Failure')
      assert.deepEqual(s.effects(), ['mail user created'])
      s.sandbox.setFaults({})
      const made = await succeeds(s, 'New-ExchangeMailUser', NORA)
      assert.equal(made.Created, false)
      assert.deepEqual(userOf(s, String(made.Id)).proxyAddresses, ['SMTP:nora@contoso.example'])
      assert.deepEqual(s.effects(), ['mail user created', 'mail user changed'])
    },
    { dialect: { newMailUserPrimary: 'external' } },
  )

  story('keeps the password in the vault and out of the result', async (s) => {
    const made = await succeeds(s, 'New-ExchangeMailUser', NORA)
    const kept = await s.tenant.secrets.get(String(made.PasswordSecret))
    assert.equal(kept.length, 20)
    assert.ok(!JSON.stringify(made).includes(kept))
  })
})

/** Fabrikam's Nora has a guest account in Contoso, with her address. */
const GUEST_NORA = {
  userPrincipalName: 'nora_fabrikam.example#EXT#@contoso.onmicrosoft.com',
  mail: "nora.o'hara@fabrikam.example",
  proxyAddresses: ["SMTP:nora.o'hara@fabrikam.example"],
  userType: 'Guest' as const,
  creationType: 'Invitation' as const,
  recipient: { kind: 'mailUser' as const, externalEmailAddress: "nora.o'hara@fabrikam.example" },
}
const withUser =
  (user: NonNullable<Seed['tenants'][number]['users']>[number]) =>
  ({ tenants: [contoso, ...others], ...rest }: Seed): Seed => ({
    ...rest,
    tenants: [{ ...contoso!, users: [...contoso!.users!, user] }, ...others],
  })

describe('names that are taken', () => {
  const asked = { Names: [NORA_UPN, 'nora@contoso.example', "nora.o'hara@fabrikam.example"] }

  story(
    'a guest of the same person is found beforehand, and is to be converted, not deleted',
    async (s) => {
      const { complete, data } = await succeeds(s, 'Test-ExchangeNamesFree', asked)
      assert.equal(complete, false)
      const { Kinds, Reason } = data as { Kinds: string[]; Reason: string }
      assert.deepEqual(Kinds, ['GuestMailUser'])
      assert.match(Reason, /do not delete it: convert it \(Convert-EntraB2BToInternal\)/)
      await fails(s, 'New-ExchangeMailUser', NORA, 'Refused', /GuestMailUser: .*do not delete it/)
      assert.deepEqual(s.effects(), [], 'the guest and everybody else stay as they are')
    },
    { seeded: withUser(GUEST_NORA) },
  )

  story(
    'a synchronised namesake is changed in Active Directory',
    async (s) => {
      const { data } = await succeeds(s, 'Test-ExchangeNamesFree', asked)
      assert.match((data as { Reason: string }).Reason, /is synchronised: change it in Active/)
    },
    {
      seeded: withUser({
        userPrincipalName: 'other@contoso.example',
        proxyAddresses: ['SMTP:other@contoso.example', 'smtp:nora@contoso.example'],
        attributes: { onPremisesSyncEnabled: true },
        recipient: { kind: 'mailbox' },
      }),
    },
  )

  story(
    'an account without mail is no recipient, and in the way all the same',
    async (s) => {
      const { data } = await succeeds(s, 'Test-ExchangeNamesFree', asked)
      assert.match(
        (data as { Reason: string }).Reason,
        /is taken \(account without mail: .*rename the account/,
      )
    },
    { seeded: withUser({ userPrincipalName: NORA_UPN }) },
  )

  story("the account of an earlier run is in nobody's way", async (s) => {
    await succeeds(s, 'New-ExchangeMailUser', NORA)
    const { complete, data } = await succeeds(s, 'Test-ExchangeNamesFree', asked)
    assert.deepEqual([complete, (data as { Collisions: unknown[] }).Collisions], [true, []])
  })

  story('a deleted mail user keeps its names until it is removed for good', async (s) => {
    const { Id } = await succeeds(s, 'New-ExchangeMailUser', NORA)
    await succeeds(s, 'Remove-EntraUser', { UserId: Id! })
    const { data } = await succeeds(s, 'Test-ExchangeNamesFree', asked)
    assert.match((data as { Reason: string }).Reason, /deleted mail user keeps its names/)
  })
})

const withHolds =
  (at: number, organizationHolds = ['mbx0a1b:2']) =>
  ({ tenants, ...rest }: Seed): Seed => ({
    ...rest,
    tenants: tenants.map((one, n) => (n === at ? { ...one, organizationHolds } : one)),
  })

describe('Remove-ExchangeMailUser', () => {
  const KIM_HERE = { UserId: OBRIEN, UserPrincipalName: KIM }

  story('refuses an account that this worker did not create', (s) =>
    fails(s, 'Remove-ExchangeMailUser', KIM_HERE, 'Refused', /not created by this worker/),
  )

  story('refuses a mailbox', (s) =>
    fails(
      s,
      'Remove-ExchangeMailUser',
      { UserId: BOX, UserPrincipalName: 'box@contoso.example', AllowExisting: true },
      'Refused',
      /has a mailbox, which would be lost/,
    ),
  )

  story('refuses an account with another name', (s) =>
    fails(
      s,
      'Remove-ExchangeMailUser',
      { ...KIM_HERE, UserPrincipalName: 'kim@contoso.example', AllowExisting: true },
      'Refused',
      /is named "kim\.o'brien@contoso\.example"/,
    ),
  )

  story('makes room for a second attempt, which deleting alone does not', async (s) => {
    const first = await succeeds(s, 'New-ExchangeMailUser', NORA)
    const { params } = CASES['Set-ExchangeMoveTarget']!
    const stamp = { ...params, X500Addresses: 'x500:/o=Old/cn=nora' }
    await succeeds(s, 'Set-ExchangeMoveTarget', { ...stamp, Identity: first.Id! })
    await succeeds(s, 'Remove-EntraUser', { UserId: first.Id! })
    await fails(s, 'New-ExchangeMailUser', NORA, 'Refused', /deleted mail user.*Remove-Exchange/)
    await succeeds(s, 'Remove-ExchangeMailUser', {
      UserId: first.Id!,
      UserPrincipalName: NORA_UPN,
    })
    const second = await succeeds(s, 'New-ExchangeMailUser', NORA)
    assert.equal(second.Created, true)
    await succeeds(s, 'Set-ExchangeMoveTarget', { ...stamp, Identity: second.Id! })
  })

  story(
    'purges under a retention policy of the organisation, from which it takes this mail user alone',
    async (s) => {
      const { Id } = await succeeds(s, 'New-ExchangeMailUser', NORA)
      await succeeds(s, 'Remove-ExchangeMailUser', { UserId: Id!, UserPrincipalName: NORA_UPN })
      const [contoso] = s.sandbox.state().tenants
      assert.deepEqual(contoso!.softDeletedMailUsers, [])
      assert.deepEqual(contoso!.organizationHolds, ['mbx0a1b:2'], 'the policy holds all others')
      assert.equal((await succeeds(s, 'New-ExchangeMailUser', NORA)).Created, true)
    },
    { seeded: withHolds(0) },
  )

  story('does not take over an account made by hand afterwards', async (s) => {
    const { Id } = await succeeds(s, 'New-ExchangeMailUser', NORA)
    await succeeds(s, 'Remove-ExchangeMailUser', { UserId: Id!, UserPrincipalName: NORA_UPN })
    await byHand(s, '/users', account(NORA_UPN))
    const { params } = CASES['New-EntraUser']!
    await fails(s, 'New-EntraUser', params, 'Refused', /created elsewhere/)
  })
})

describe('Restore-EntraUser', () => {
  story('brings the mail user back with its addresses', async (s) => {
    const { Id, PrimarySmtpAddress } = await succeeds(s, 'New-ExchangeMailUser', NORA)
    await succeeds(s, 'Remove-EntraUser', { UserId: Id! })
    await succeeds(s, 'Restore-EntraUser', { UserId: Id! })
    const given = { Identity: Id!, NewPrimaryEmail: PrimarySmtpAddress! }
    assert.equal((await succeeds(s, 'Set-ExchangePrimaryEmail', given)).Changed, false)
  })
})

describe('Clear-ExchangePreviousMailbox', () => {
  story('refuses a user who has a mailbox', (s) =>
    fails(s, 'Clear-ExchangePreviousMailbox', { Identity: BOX }, 'Refused', /has a mailbox now/),
  )
})

describe('Get-ExchangeMoveSource', () => {
  story(
    'tells the holds of the organisation apart from those of the mailbox, and sizes that move too',
    async (s) => {
      const read = (Identity: string) => succeeds(s, 'Get-ExchangeMoveSource', { Identity })
      const box = await read('box@contoso.example')
      assert.deepEqual(box.OrganizationHolds, ['mbx0a1b:2'])
      assert.deepEqual([box.RecoverableBytes, box.ArchiveSizeBytes], [0, null])
      assert.ok(!(box.Holds as string[]).includes('mbx0a1b:2'))
    },
    { seeded: withHolds(0, ['mbx2:2', 'mbx0a1b:2', 'grp77:2', 'mbx9:1']) },
  )

  story('reads every x500 address once, with the LegacyExchangeDN first', async (s) => {
    const from = await succeeds({ run: s.runAtSource }, 'Get-ExchangeMoveSource', {
      Identity: "kim.o'brien@fabrikam.example",
    })
    assert.deepEqual(from.X500Addresses, [
      `x500:${OBRIEN_DN}`,
      'x500:/o=Old/cn=kim',
      'X500:/o=Older/cn=kim',
    ])
    assert.partialDeepStrictEqual(from, { ExchangeGuid: id(500), Holds: [], FullAccess: [] })
  })

  story('says where the mailbox of a mail user is', (s) =>
    fails(
      s,
      'Get-ExchangeMoveSource',
      { Identity: KIM },
      'Refused',
      /is a mail user: its mailbox is in another tenant, at kim\.o'brien@fabrikam/,
    ),
  )
})

describe('Set-ExchangeMoveTarget', () => {
  const { params } = CASES['Set-ExchangeMoveTarget']!

  story('stamps everything in one write and keeps what was there', async (s) => {
    const before = [...userOf(s, OBRIEN).proxyAddresses]
    await succeeds(s, 'Set-ExchangeMoveTarget', params)
    const { proxyAddresses, recipient } = userOf(s, OBRIEN)
    assert.deepEqual(proxyAddresses, [
      ...before,
      "smtp:kim.o'brien@contoso.onmicrosoft.com",
      'x500:/o=Old/cn=kim',
      'x500:/o=Older/cn=kim',
    ])
    assert.equal(recipient!.exchangeGuid, params.ExchangeGuid)
    assert.deepEqual(s.effects(), ['mail user changed'])
  })

  story('keeps an address that is already in the delivery domain', async (s) => {
    const has = [...userOf(s, OBRIEN).proxyAddresses, 'smtp:k@contoso.onmicrosoft.com']
    await setMailUser(s, { EmailAddresses: has })
    const stamped = await succeeds(s, 'Set-ExchangeMoveTarget', params)
    assert.equal(stamped.DeliveryAddress, 'k@contoso.onmicrosoft.com')
  })

  story('mends what a partial write left, and does nothing afterwards', async (s) => {
    await setMailUser(s, { ExchangeGuid: params.ExchangeGuid!, ArchiveGuid: params.ArchiveGuid! })
    assert.equal((await succeeds(s, 'Set-ExchangeMoveTarget', params)).Changed, true)
    assert.equal((await succeeds(s, 'Set-ExchangeMoveTarget', params)).Changed, false)
  })

  story(
    'drops addresses of other domains, which block a move',
    async (s) => {
      const { Guid } = (await s.tenant.exchange.run('New-MailUser', BY_HAND, { signal }))[0]!
      const stamp = { ...params, Identity: Guid!, X500Addresses: 'x500:/o=Old/cn=nora' }
      await fails(s, 'Set-ExchangeMoveTarget', stamp, 'Refused', /Set-ExchangePrimaryEmail/)
      const primary = { Identity: Guid!, NewPrimaryEmail: 'nora@contoso.example' }
      await succeeds(s, 'Set-ExchangePrimaryEmail', primary)
      const stamped = await succeeds(s, 'Set-ExchangeMoveTarget', stamp)
      assert.deepEqual(stamped.Dropped, ['smtp:nora@fabrikam.example'])
    },
    { dialect: { newMailUserPrimary: 'external' } },
  )

  story('refuses a delivery domain that the tenant does not have', (s) =>
    fails(
      s,
      'Set-ExchangeMoveTarget',
      { ...params, TargetDeliveryDomain: 'fabrikam.example' },
      'Refused',
      /not an accepted domain.*Use one of: contoso\.example, contoso\.onmicrosoft\.com/,
    ),
  )

  story('refuses a mailbox of its own, and names the way out', (s) =>
    fails(
      s,
      'Set-ExchangeMoveTarget',
      { ...params, Identity: 'box@contoso.example' },
      'Refused',
      /licence too early.*Clear-ExchangePreviousMailbox/,
    ),
  )
})

for (const [name, on] of [
  ['New-ExchangeMailUser', 'New-MailUser'],
  ['New-EntraUser', 'POST /v1.0/users'],
] as const)
  describe(`${name} of a worker that died`, () => {
    const { params } = caseOf(name)
    const upn = String(params.UserPrincipalName)
    const nora = (s: Setting) =>
      s.sandbox.state().tenants[0]!.users.filter((user) => user.userPrincipalName === upn)

    story('before it created leaves alone what is made by hand', async (s) => {
      s.sandbox.setFaults({ script: [{ on, fault: 'drop-before' }] })
      assert.equal((await s.run(name, params)).status, 'Failure', 'its password is in the vault')
      await s.clock.wait(3_600_000)
      const alike = { ...account(upn), displayName: String(params.DisplayName) }
      if (name === 'New-EntraUser') await byHand(s, '/users', alike)
      else {
        const { DisplayName, Alias, ExternalEmailAddress } = params
        const same = {
          Name: upn,
          DisplayName: DisplayName!,
          Alias: Alias!,
          Password: 'By-Hand-12345',
        }
        const addresses = {
          MicrosoftOnlineServicesID: upn,
          ExternalEmailAddress: ExternalEmailAddress!,
        }
        await s.tenant.exchange.run('New-MailUser', { ...same, ...addresses }, { signal })
      }
      await fails(s, name, params, 'Refused', /created elsewhere/)
      const [theirs] = nora(s)
      const removal = { UserId: theirs!.id, UserPrincipalName: upn }
      await fails(s, 'Remove-ExchangeMailUser', removal, 'Refused', /not created by this worker/)
      assert.deepEqual(nora(s), [theirs])
    })

    story('before it created does so at the next run', async (s) => {
      s.sandbox.setFaults({ script: [{ on, fault: 'drop-before' }] })
      assert.equal((await s.run(name, params)).status, 'Failure')
      await s.clock.wait(86_400_000)
      assert.equal((await succeeds(s, name, params)).Created, true)
      const { Created, PasswordSecret } = await succeeds(s, name, params)
      assert.deepEqual([Created, typeof PasswordSecret], [false, 'string'])
      assert.equal(nora(s).length, 1)
    })

    story(
      'before the answer recognises its own account days later',
      async (s) => {
        s.sandbox.setFaults({ script: [{ on, fault: 'drop-after' }] })
        assert.equal((await s.run(name, params)).status, 'Failure', 'it is not visible yet')
        await s.clock.wait(3 * 86_400_000)
        const { Created, PasswordSecret } = await succeeds(s, name, params)
        assert.deepEqual([Created, typeof PasswordSecret], [false, 'string'])
        assert.equal(nora(s).length, 1)
      },
      { lagSec: 600 },
    )
  })

describe('a failure between two writes', () => {
  story(
    'of New-ExchangeMailUser: the next run sets the primary address of its own account',
    async (s) => {
      const fault = { kind: 'error', status: 504 } as const
      s.sandbox.setFaults({ script: [{ on: 'Set-MailUser', times: 99, fault }] })
      assert.equal((await s.run('New-ExchangeMailUser', NORA)).status, 'Failure')
      const nora = () =>
        s.sandbox.state().tenants[0]!.users.filter((one) => one.userPrincipalName === NORA_UPN)
      assert.ok(!nora()[0]!.proxyAddresses.includes(`SMTP:${NORA.PrimarySmtpAddress}`))
      s.sandbox.setFaults({})
      const { Created } = await succeeds(s, 'New-ExchangeMailUser', NORA)
      assert.equal(Created, false)
      assert.equal(nora().length, 1)
      assert.ok(nora()[0]!.proxyAddresses.includes(`SMTP:${NORA.PrimarySmtpAddress}`))
    },
    { dialect: { newMailUserPrimary: 'external' } },
  )

  story('of Set-ExchangeExternalAddress cannot be: it is one write', async (s) => {
    const fault = { kind: 'error', status: 504 } as const
    s.sandbox.setFaults({ script: [{ on: 'Get-Recipient', nth: 2, times: 99, fault }] })
    const change = { Identity: KIM, ExternalEmailAddress: 'kim@partner.example' }
    assert.equal((await s.run('Set-ExchangeExternalAddress', change)).status, 'Failure')
    s.sandbox.setFaults({})
    assert.equal((await succeeds(s, 'Set-ExchangeExternalAddress', change)).Changed, false)
    const { proxyAddresses, recipient } = userOf(s, OBRIEN)
    assert.equal(recipient!.externalEmailAddress, 'kim@partner.example')
    assert.ok(proxyAddresses.includes(`SMTP:${KIM}`), 'the primary address stays')
  })
})
