// External users: invitation, acceptance, conversion.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Seed } from '../../sandbox/state.ts'
import {
  assertRefused,
  id,
  itemsOf,
  openUnderTest,
  PASSWORD,
  type UnderTest,
} from './under-test.ts'

const SEED: Seed = {
  tenants: [
    {
      domains: ['contoso.example', 'contoso.onmicrosoft.com'],
      users: [
        { id: id(1), userPrincipalName: 'ada@contoso.example', mail: 'ada@fabrikam.example' },
        { id: id(2), userPrincipalName: 'ben@contoso.example' },
      ],
    },
  ],
}

const invite = (under: UnderTest, email: string, more: object = {}) =>
  under.graph('POST', '/v1.0/invitations', {
    invitedUserEmailAddress: email,
    inviteRedirectUrl: 'https://myapps.microsoft.com',
    sendInvitationMessage: true,
    ...more,
  })

const convert = (under: UnderTest, user: string, more: object = {}) =>
  under.graph('POST', `/beta/users/${user}/convertExternalToInternalMemberUser`, {
    userPrincipalName: 'guest@contoso.example',
    passwordProfile: PASSWORD,
    ...more,
  })

describe('an invitation', () => {
  it('of an existing user keeps id and type and is accepted after a while', async () => {
    await using under = await openUnderTest(SEED)
    const invited = await invite(under, 'ada@fabrikam.example', { invitedUser: { id: id(1) } })
    assert.deepEqual([invited.status, invited.body.status], [201, 'PendingAcceptance'])
    assert.deepEqual(invited.body.invitedUser, {
      id: id(1),
      userPrincipalName: 'ada@contoso.example',
    })
    assert.match(
      String(invited.body.inviteRedeemUrl),
      /^https:\/\/login\.microsoftonline\.com\/redeem/,
    )
    const read = async () =>
      (await under.graph('GET', `/v1.0/users/${id(1)}?$select=externalUserState,userType`)).body
    assert.deepEqual(await read(), { externalUserState: 'PendingAcceptance', userType: 'Member' })
    await under.clock.advance(1_800_000)
    assert.deepEqual(await read(), { externalUserState: 'Accepted', userType: 'Member' })
    assert.deepEqual(await under.done(), ['invitation sent', 'invitation accepted'])
  })

  it('of an existing user requires their own mail address', async () => {
    await using under = await openUnderTest(SEED)
    assertRefused(
      await invite(under, 'other@fabrikam.example', { invitedUser: { id: id(1) } }),
      400,
      'BadRequest',
      /does not match/,
    )
    assertRefused(
      await invite(under, 'ben@fabrikam.example', { invitedUser: { id: id(2) } }),
      400,
      'BadRequest',
      /does not match/,
    )
    assert.equal(
      (await invite(under, 'x@fabrikam.example', { invitedUser: { id: id(9) } })).status,
      404,
    )
  })

  it('of a new person creates a guest, who is a mail user in Exchange', async () => {
    await using under = await openUnderTest(SEED, {
      timing: { replicationLagSec: 0, exchangeLagSec: 0 },
    })
    const invited = await invite(under, 'eve@fabrikam.example', { invitedUserDisplayName: 'Eve' })
    const guest = String((invited.body.invitedUser as { id: string }).id)
    const read = await under.graph(
      'GET',
      `/v1.0/users/${guest}?$select=userPrincipalName,userType,creationType,displayName`,
    )
    assert.deepEqual(read.body, {
      userPrincipalName: 'eve_fabrikam.example#EXT#@contoso.onmicrosoft.com',
      userType: 'Guest',
      creationType: 'Invitation',
      displayName: 'Eve',
    })
    const byUpn = `/v1.0/users/${encodeURIComponent('eve_fabrikam.example#EXT#@contoso.onmicrosoft.com')}`
    assert.equal((await under.graph('GET', byUpn)).status, 200)
    const [recipient] = itemsOf(
      await under.exchange('Get-MailUser', { Identity: 'eve@fabrikam.example' }),
    )
    assert.deepEqual(
      [recipient!.RecipientTypeDetails, recipient!.ExternalEmailAddress],
      ['GuestMailUser', 'SMTP:eve@fabrikam.example'],
    )
    assert.equal((await invite(under, 'eve@fabrikam.example')).status, 201)
    assert.deepEqual(await under.done(), [
      'user created',
      'invitation sent',
      'mail user created',
      'invitation sent',
    ])
    await under.clock.advance(1_800_000)
    const accepted = await invite(under, 'eve@fabrikam.example')
    assert.equal(accepted.body.status, 'Completed')
  })

  for (const [email, message] of [
    ['ada@contoso.example', /in inviter tenant/],
    ['ada@fabrikam.example', /already exists in the directory as object ID/],
    ['a!b@fabrikam.example', /not valid/],
    ['.ab@fabrikam.example', /not valid/],
  ] as const) {
    it(`for ${email} is refused`, async () => {
      await using under = await openUnderTest(SEED)
      assertRefused(await invite(under, email), 400, 'BadRequest', message)
    })
  }

  it('requires a redirect URL', async () => {
    await using under = await openUnderTest(SEED)
    assert.equal(
      (await invite(under, 'eve@fabrikam.example', { inviteRedirectUrl: '' })).status,
      400,
    )
  })
})

describe('a conversion', () => {
  const external = { ...SEED.tenants[0]!.users![0]!, externalUserState: 'Accepted' } as const
  const seed: Seed = {
    tenants: [{ ...SEED.tenants[0]!, users: [external, SEED.tenants[0]!.users![1]!] }],
  }

  it('makes an external user internal once; another invitation is 412', async () => {
    await using under = await openUnderTest(seed)
    const converted = await convert(under, id(1), { mail: 'ada.new@contoso.example' })
    assert.equal(converted.status, 200)
    assert.deepEqual(converted.body, {
      displayName: 'ada',
      userPrincipalName: 'guest@contoso.example',
      mail: 'ada.new@contoso.example',
      convertedToInternalUserDateTime: '2030-03-01T08:00:00.000Z',
    })
    assertRefused(await convert(under, id(1)), 400, 'Request_BadRequest', /already internal/)
    const again = await invite(under, 'ada.new@contoso.example', { invitedUser: { id: id(1) } })
    assert.equal(again.status, 412)
    assert.deepEqual(await under.done(), ['user converted'])
  })

  for (const [name, more, message] of [
    ['an unverified domain', { userPrincipalName: 'a@fabrikam.example' }, /verified domain names/],
    ['no name', { userPrincipalName: '' }, /userPrincipalName is empty/],
    ['an empty mail address', { mail: '' }, /mail is empty/],
    ['no password', { passwordProfile: null }, /password complexity/],
    [
      'a name in use',
      { userPrincipalName: 'ben@contoso.example' },
      /userPrincipalName already exists/,
    ],
  ] as const) {
    it(`is refused with ${name}`, async () => {
      await using under = await openUnderTest(seed)
      assertRefused(await convert(under, id(1), more), 400, 'Request_BadRequest', message)
      assert.deepEqual(await under.done(), [])
    })
  }

  it('of an internal user is refused', async () => {
    await using under = await openUnderTest(seed)
    assertRefused(await convert(under, id(2)), 400, 'Request_BadRequest', /already internal/)
  })

  it('exists in beta only', async () => {
    await using under = await openUnderTest(seed)
    const path = `/v1.0/users/${id(1)}/convertExternalToInternalMemberUser`
    assertRefused(
      await under.graph('POST', path, {}),
      400,
      'BadRequest',
      /Resource not found for the segment 'convertExternalToInternalMemberUser'/,
    )
  })
})
