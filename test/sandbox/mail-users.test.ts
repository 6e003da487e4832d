// Mail users made, removed and purged by cmdlet, and what a deleted one is in the way of.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Seed } from '../../sandbox/state.ts'
import {
  assertCmdletFailed,
  id,
  itemsOf,
  type JsonObject,
  openUnderTest,
  type UnderTest,
} from './under-test.ts'

const SEED: Seed = {
  tenants: [
    {
      domains: ['contoso.example'],
      users: [
        {
          id: id(1),
          userPrincipalName: 'ada@contoso.example',
          recipient: { kind: 'mailUser', externalEmailAddress: 'ada@fabrikam.example' },
        },
        { id: id(2), userPrincipalName: 'box@contoso.example', recipient: { kind: 'mailbox' } },
        { id: id(3), userPrincipalName: 'plain@contoso.example' },
      ],
    },
  ],
}

describe('a new mail user', () => {
  const NEW: JsonObject = {
    Name: 'Nora Noll',
    MicrosoftOnlineServicesID: 'nora@contoso.example',
    ExternalEmailAddress: 'nora@fabrikam.example',
    PrimarySmtpAddress: 'nora.noll@contoso.example',
    Password: 'Correct-Horse-7',
  }
  const make = (under: UnderTest, more: JsonObject = {}) =>
    under.exchange('New-MailUser', { ...NEW, ...more })
  const FAST = { timing: { exchangeLagSec: 0, replicationLagSec: 0 } }
  const graph = (under: UnderTest, method: string, path: string) =>
    under.graph(method, `/v1.0${path}`)

  it('is an account and a recipient at once', async () => {
    await using under = await openUnderTest(SEED, FAST)
    const [made] = itemsOf(await make(under))
    assert.deepEqual(made!.EmailAddresses, ['SMTP:nora.noll@contoso.example'])
    assert.equal(made!.ExternalEmailAddress, 'SMTP:nora@fabrikam.example')
    const account = await graph(under, 'GET', '/users/nora@contoso.example')
    assert.equal(account.body.id, made!.ExternalDirectoryObjectId)
    assert.deepEqual(await under.done(), ['mail user created'])
  })

  it('may get its external address as primary address, whatever was given', async () => {
    const [contoso] = SEED.tenants
    const seed = { tenants: [{ ...contoso!, dialect: { newMailUserPrimary: 'external' } }] }
    await using under = await openUnderTest(seed as Seed, FAST)
    const [made] = itemsOf(await make(under))
    assert.deepEqual(made!.EmailAddresses, ['SMTP:nora@fabrikam.example'])
  })

  for (const [name, more, exception] of [
    [
      'at the name of an account without mail',
      { MicrosoftOnlineServicesID: 'plain@contoso.example' },
      'WLCDManagedMemberExistsException',
    ],
    [
      'with an address in use',
      { PrimarySmtpAddress: 'box@contoso.example' },
      'ProxyAddressExistsException',
    ],
    [
      'in a foreign domain',
      { MicrosoftOnlineServicesID: 'nora@fabrikam.example' },
      'UnexpectedDomainException',
    ],
    ['with a weak password', { Password: 'x' }, 'WLCDPasswordInvalidException'],
  ] as const)
    it(`${name} is refused`, async () => {
      await using under = await openUnderTest(SEED)
      assertCmdletFailed(await make(under, more), 400, exception, /./)
      assert.deepEqual(await under.done(), [])
    })

  it('is refused where a deleted one has the names, until both sides have purged it', async () => {
    await using under = await openUnderTest(SEED, FAST)
    const [made] = itemsOf(await make(under))
    const user = String(made!.ExternalDirectoryObjectId)
    await under.exchange('Set-MailUser', { Identity: user, ExchangeGuid: id(900) })
    await graph(under, 'DELETE', `/users/${user}`)
    const again = () => make(under, { ExternalEmailAddress: 'other@fabrikam.example' })
    const purge = () =>
      under.exchange('Remove-MailUser', {
        Identity: 'nora@contoso.example',
        PermanentlyDelete: true,
        Confirm: false,
      })
    assertCmdletFailed(await again(), 400, 'WLCDManagedMemberExistsException', /deleted mail user/)
    assertCmdletFailed(
      await under.exchange('Set-MailUser', { Identity: id(1), ExchangeGuid: id(900) }),
      400,
      'RecipientTaskException',
      /already used by the deleted mail user/,
    )
    assertCmdletFailed(await purge(), 400, 'RecipientTaskException', /AAD user backing it/)
    await graph(under, 'DELETE', `/directory/deletedItems/${user}`)
    const kept = await under.exchange('Get-MailUser', { SoftDeletedMailUser: true })
    assert.deepEqual(
      itemsOf(kept).map(({ ExternalDirectoryObjectId }) => ExternalDirectoryObjectId),
      [''],
    )
    assert.equal((await again()).status, 400)
    assert.equal((await purge()).status, 200)
    assert.equal((await again()).status, 200)
  })

  it('comes back whole when its account is restored', async () => {
    await using under = await openUnderTest(SEED, FAST)
    const [made] = itemsOf(await make(under))
    await under.exchange('Remove-MailUser', { Identity: 'nora@contoso.example', Confirm: false })
    const user = String(made!.ExternalDirectoryObjectId)
    await graph(under, 'POST', `/directory/deletedItems/${user}/restore`)
    const found = itemsOf(
      await under.exchange('Get-MailUser', { Identity: 'nora@contoso.example' }),
    )[0]!
    assert.deepEqual(found.EmailAddresses, made!.EmailAddresses)
    const kept = await under.exchange('Get-MailUser', { SoftDeletedMailUser: true })
    assert.deepEqual(itemsOf(kept), [])
  })
})
