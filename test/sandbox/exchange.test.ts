// Exchange: recipients and lists by cmdlet, over the REST endpoint of Microsoft's PowerShell module.
import assert from 'node:assert/strict'
import { request } from 'node:http'
import { describe, it } from 'node:test'
import { NO_GUID } from '../../sandbox/identity.ts'
import type { Seed } from '../../sandbox/state.ts'
import {
  assertCmdletFailed,
  EXCHANGE,
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
          displayName: 'Ada Adler',
          proxyAddresses: ['SMTP:ada@contoso.example', 'smtp:a.adler@contoso.example'],
          recipient: { kind: 'mailUser', externalEmailAddress: 'ada@fabrikam.example' },
        },
        { id: id(2), userPrincipalName: 'box@contoso.example', recipient: { kind: 'mailbox' } },
        { id: id(3), userPrincipalName: 'plain@contoso.example' },
        {
          id: id(4),
          userPrincipalName: 'guest@contoso.example',
          mail: 'guest@fabrikam.example',
          userType: 'Guest',
        },
        { id: id(5), userPrincipalName: 'ben@contoso.example', mail: 'ben@fabrikam.example' },
      ],
      groups: [
        {
          id: id(10),
          displayName: 'News',
          kind: 'distribution',
          mail: 'news@contoso.example',
          members: [id(1), id(2), id(3)],
        },
        { id: id(11), displayName: 'Security' },
      ],
    },
  ],
}

const readMailUser = async (under: UnderTest, identity = id(1)): Promise<JsonObject> =>
  itemsOf(await under.exchange('Get-MailUser', { Identity: identity }))[0]!
const change = (add: readonly string[], remove: readonly string[] = []) => ({
  '@odata.type': '#Exchange.GenericHashTable',
  ...(add.length > 0 ? { Add: [...add] } : {}),
  ...(remove.length > 0 ? { Remove: [...remove] } : {}),
})
const setAddresses = (under: UnderTest, EmailAddresses: JsonObject | string[]) =>
  under.exchange('Set-MailUser', { Identity: id(1), EmailAddresses: EmailAddresses as never })

describe('finding a recipient', () => {
  it('accepts id, UPN, address, alias, name and GUID, without case', async () => {
    await using under = await openUnderTest(SEED)
    const { Guid } = await readMailUser(under)
    assert.notEqual(Guid, id(1))
    const names = [
      id(1),
      'ADA@contoso.example',
      'a.adler@contoso.example',
      'ada',
      'Ada Adler',
      String(Guid),
    ]
    for (const name of names)
      assert.equal((await readMailUser(under, name)).ExternalDirectoryObjectId, id(1))
  })

  it('returns type annotations and only selected properties', async () => {
    await using under = await openUnderTest(SEED)
    const whole = await readMailUser(under)
    assert.equal(whole['ExchangeGuid@odata.type'], '#Guid')
    assert.equal(whole.ExchangeGuid, NO_GUID)
    assert.equal(whole.ExternalEmailAddress, 'SMTP:ada@fabrikam.example')
    const query = '?$select=alias,EmailAddresses,NoSuchProperty'
    const [part] = itemsOf(await under.exchange('Get-MailUser', { Identity: id(1) }, { query }))
    assert.deepEqual(Object.keys(part!), ['Alias', 'EmailAddresses@odata.type', 'EmailAddresses'])
  })

  it('distinguishes mail users, mailboxes and plain users', async () => {
    await using under = await openUnderTest(SEED)
    const kinds = async (cmdlet: string) =>
      itemsOf(await under.exchange(cmdlet)).map(
        ({ ExternalDirectoryObjectId }) => ExternalDirectoryObjectId,
      )
    assert.deepEqual(await kinds('Get-MailUser'), [id(1), id(4)])
    assert.deepEqual(await kinds('Get-Mailbox'), [id(2)])
    assert.deepEqual(await kinds('Get-Recipient'), [id(1), id(2), id(4)])
    for (const [cmdlet, Identity] of [
      ['Get-MailUser', id(2)],
      ['Get-Mailbox', id(1)],
      ['Get-Recipient', id(3)],
      // An address in `mail` makes nobody a recipient.
      ['Get-Recipient', id(5)],
      ['Get-User', 'nobody'],
    ] as const)
      assertCmdletFailed(
        await under.exchange(cmdlet, { Identity }),
        404,
        'ManagementObjectNotFoundException',
        new RegExp(`object '${Identity}' couldn't be found on 'contoso.example'`),
      )
  })

  it('pages when the same body is posted to the next link', async () => {
    await using under = await openUnderTest(SEED)
    const headers = { prefer: 'odata.maxpagesize=2' }
    const first = await under.exchange('Get-Recipient', {}, { headers })
    assert.equal(itemsOf(first).length, 2)
    const link = new URL(String(first.body['@odata.nextLink']))
    const second = await under.exchange('Get-Recipient', {}, { headers, query: link.search })
    assert.equal(itemsOf(second).length, 1)
    assert.equal(second.body['@odata.nextLink'], undefined)
  })
})

describe('changing a mail user', () => {
  it('stamps both GUIDs at once and warns when nothing changes', async () => {
    await using under = await openUnderTest(SEED)
    const stamp = { Identity: id(1), ExchangeGuid: id(900), ArchiveGuid: id(901) }
    const first = await under.exchange('Set-MailUser', stamp)
    assert.deepEqual(
      [first.status, first.body.value, first.body['@adminapi.warnings']],
      [200, [], []],
    )
    const second = await under.exchange('Set-MailUser', stamp)
    assert.match(
      String((second.body['@adminapi.warnings'] as string[])[0]),
      /no settings of 'ada' have been modified/,
    )
    const { ExchangeGuid, ArchiveGuid } = await readMailUser(under)
    assert.deepEqual([ExchangeGuid, ArchiveGuid], [id(900), id(901)])
    assert.deepEqual(await under.done(), ['mail user changed'])
  })

  const ADDRESSES: readonly [
    name: string,
    given: JsonObject | string[],
    after: readonly string[],
  ][] = [
    [
      'an alias is added',
      change(['smtp:ada2@contoso.example']),
      ['SMTP:ada@contoso.example', 'smtp:a.adler@contoso.example', 'smtp:ada2@contoso.example'],
    ],
    [
      'an address of another type is added',
      change(['x500:/o=Fabrikam/cn=ada']),
      ['SMTP:ada@contoso.example', 'smtp:a.adler@contoso.example', 'x500:/o=Fabrikam/cn=ada'],
    ],
    [
      'a new primary demotes the old one',
      change(['SMTP:ada2@contoso.example']),
      ['smtp:ada@contoso.example', 'smtp:a.adler@contoso.example', 'SMTP:ada2@contoso.example'],
    ],
    [
      'an alias becomes the primary',
      change(['SMTP:a.adler@contoso.example']),
      ['smtp:ada@contoso.example', 'SMTP:a.adler@contoso.example'],
    ],
    [
      'the primary added as an alias stays the primary',
      change(['smtp:ADA@contoso.example']),
      ['SMTP:ada@contoso.example', 'smtp:a.adler@contoso.example'],
    ],
    [
      'an alias is removed',
      change([], ['smtp:A.Adler@contoso.example']),
      ['SMTP:ada@contoso.example'],
    ],
    [
      'a missing alias is removed',
      change([], ['smtp:x@contoso.example']),
      ['SMTP:ada@contoso.example', 'smtp:a.adler@contoso.example'],
    ],
    [
      'the whole list is given',
      ['SMTP:a.adler@contoso.example', 'ada@contoso.example'],
      ['SMTP:a.adler@contoso.example', 'smtp:ada@contoso.example'],
    ],
  ]
  for (const [name, given, after] of ADDRESSES) {
    it(`addresses: ${name}`, async () => {
      await using under = await openUnderTest(SEED)
      const reply = await setAddresses(under, given)
      assert.equal(reply.status, 200, reply.text)
      assert.deepEqual((await readMailUser(under)).EmailAddresses, after)
      const graph = await under.graph('GET', `/v1.0/users/${id(1)}?$select=proxyAddresses`)
      assert.deepEqual(graph.body.proxyAddresses, after)
    })
  }

  const WRONG: readonly [
    name: string,
    given: JsonObject | string[],
    exception: string,
    message: RegExp,
  ][] = [
    [
      'of a foreign domain',
      change(['smtp:ada@fabrikam.example']),
      'NotAcceptedDomainException',
      /not an accepted domain/,
    ],
    [
      'of another user',
      change(['smtp:box@contoso.example']),
      'ProxyAddressExistsException',
      /"smtp:box@contoso.example" is already being used .* of "box"/,
    ],
    [
      'of a group',
      change(['smtp:news@contoso.example']),
      'ProxyAddressExistsException',
      /another object/,
    ],
    ['without a primary', ['smtp:ada@contoso.example'], 'DataValidationException', /no primary/],
    [
      'with two primaries',
      ['SMTP:ada@contoso.example', 'SMTP:a.adler@contoso.example'],
      'DataValidationException',
      /multiple primary/,
    ],
    [
      'without a type',
      { Add: ['smtp:x@contoso.example'] },
      'ParameterBindingException',
      /EmailAddresses/,
    ],
  ]
  for (const [name, given, exception, message] of WRONG) {
    it(`addresses ${name} are refused`, async () => {
      await using under = await openUnderTest(SEED)
      assertCmdletFailed(await setAddresses(under, given), 400, exception, message)
      assert.deepEqual(await under.done(), [])
    })
  }

  it('a new external address keeps a primary address of this tenant', async () => {
    await using under = await openUnderTest(SEED)
    await under.exchange('Set-MailUser', {
      Identity: id(1),
      ExternalEmailAddress: 'new@fabrikam.example',
    })
    const { PrimarySmtpAddress, ExternalEmailAddress } = await readMailUser(under)
    assert.deepEqual(
      [PrimarySmtpAddress, ExternalEmailAddress],
      ['ada@contoso.example', 'SMTP:new@fabrikam.example'],
    )
  })

  it('a new external address replaces the old one as primary', async () => {
    await using under = await openUnderTest(SEED)
    await under.exchange('Set-MailUser', {
      Identity: id(4),
      ExternalEmailAddress: 'new@fabrikam.example',
    })
    assert.deepEqual((await readMailUser(under, id(4))).EmailAddresses, [
      'SMTP:new@fabrikam.example',
    ])
  })

  it('refuses unknown parameters and unfit values', async () => {
    await using under = await openUnderTest(SEED)
    const wrong: JsonObject[] = [
      { PrimarySmtpAddress: 'x@contoso.example' },
      { ExchangeGuid: 'x' },
      { HiddenFromAddressListsEnabled: 'yes' },
    ]
    for (const parameters of wrong)
      assertCmdletFailed(
        await under.exchange('Set-MailUser', { Identity: id(1), ...parameters }),
        400,
        'ParameterBindingException',
        new RegExp(Object.keys(parameters)[0]!),
      )
    assertCmdletFailed(
      await under.exchange('Set-MailUser', { Identity: '' }),
      400,
      'ParameterBindingException',
      /Identity/,
    )
  })
})

describe('a mailbox', () => {
  it('tells its size, its holds and who may use it', async () => {
    const [contoso] = SEED.tenants
    const box = {
      ...contoso!.users![1]!,
      recipient: {
        kind: 'mailbox',
        sizeBytes: 2 ** 30,
        itemCount: 7,
        isOnLitigationHold: true,
        inPlaceHolds: ['UniH1'],
        fullAccess: ['ada@contoso.example'],
        sendAs: ['plain@contoso.example'],
        sendOnBehalf: ['ada'],
      },
    }
    const seed = { tenants: [{ ...contoso!, users: [box] }] } as Seed
    await using under = await openUnderTest(seed)
    const first = async (cmdlet: string) =>
      itemsOf(await under.exchange(cmdlet, { Identity: 'box' }))
    assert.partialDeepStrictEqual(await first('Get-MailboxStatistics'), [
      { TotalItemSize: '1.000 GB (1,073,741,824 bytes)', ItemCount: 7 },
    ])
    assert.partialDeepStrictEqual(await first('Get-Mailbox'), [
      { LitigationHoldEnabled: true, InPlaceHolds: ['UniH1'], GrantSendOnBehalfTo: ['ada'] },
    ])
    const users = (await first('Get-MailboxPermission')).map(({ User }) => User)
    assert.deepEqual(users, ['NT AUTHORITY\\SELF', 'ada@contoso.example'])
    const trustees = (await first('Get-RecipientPermission')).map(({ Trustee }) => Trustee)
    assert.deepEqual(trustees, ['NT AUTHORITY\\SELF', 'plain@contoso.example'])
  })

  it('starts and stops forwarding', async () => {
    await using under = await openUnderTest(SEED)
    const forward = {
      Identity: id(2),
      ForwardingSmtpAddress: 'box@fabrikam.example',
      DeliverToMailboxAndForward: true,
    }
    assert.equal((await under.exchange('Set-Mailbox', forward)).status, 200)
    const read = async () => itemsOf(await under.exchange('Get-Mailbox', { Identity: id(2) }))[0]!
    assert.equal((await read()).ForwardingSmtpAddress, 'smtp:box@fabrikam.example')
    await under.exchange('Set-Mailbox', {
      Identity: id(2),
      ForwardingSmtpAddress: null,
      DeliverToMailboxAndForward: false,
    })
    assert.equal((await read()).ForwardingSmtpAddress, null)
    assert.equal((await read()).DeliverToMailboxAndForward, false)
    assert.equal(
      (await under.exchange('Set-MailUser', { Identity: id(2), ExchangeGuid: id(9) })).status,
      404,
    )
    assert.deepEqual(await under.done(), ['mailbox changed', 'mailbox changed'])
  })

  it('can be hidden', async () => {
    await using under = await openUnderTest(SEED)
    await under.exchange('Set-Mailbox', { Identity: id(2), HiddenFromAddressListsEnabled: true })
    const [mailbox] = itemsOf(await under.exchange('Get-Mailbox', { Identity: id(2) }))
    assert.equal(mailbox!.HiddenFromAddressListsEnabled, true)
  })
})

describe('a distribution list', () => {
  it('lists its members, plain users included, up to 1,000 by default', async () => {
    await using under = await openUnderTest(SEED)
    const members = async (more: JsonObject) =>
      itemsOf(
        await under.exchange('Get-DistributionGroupMember', {
          Identity: 'news@contoso.example',
          ...more,
        }),
      )
    assert.deepEqual(
      (await members({ ResultSize: 'Unlimited' })).map(({ Alias }) => Alias),
      ['ada', 'box', 'plain'],
    )
    assert.equal((await members({ ResultSize: 2 })).length, 2)
    assert.equal(
      (await under.exchange('Get-DistributionGroupMember', { Identity: 'Security' })).status,
      404,
    )
    assert.equal(itemsOf(await under.exchange('Get-DistributionGroup')).length, 1)
    assert.equal(
      itemsOf(await under.exchange('Get-DistributionGroup', { Identity: 'News' }))[0]!
        .PrimarySmtpAddress,
      'news@contoso.example',
    )
  })

  it('adds and removes members', async () => {
    await using under = await openUnderTest(SEED)
    const unowned = { Identity: 'News', Member: 'guest@contoso.example' }
    for (const cmdlet of ['Add-DistributionGroupMember', 'Remove-DistributionGroupMember'])
      assertCmdletFailed(
        await under.exchange(cmdlet, unowned),
        400,
        'OperationRequiresGroupManagerException',
        /only be performed by a manager of the group/,
      )
    const both = { ...unowned, BypassSecurityGroupManagerCheck: true }
    assert.equal((await under.exchange('Add-DistributionGroupMember', both)).status, 200)
    assertCmdletFailed(
      await under.exchange('Add-DistributionGroupMember', both),
      400,
      'MemberAlreadyExistsException',
      /already a member/,
    )
    assert.equal((await under.exchange('Remove-DistributionGroupMember', both)).status, 200)
    assertCmdletFailed(
      await under.exchange('Remove-DistributionGroupMember', both),
      400,
      'MemberNotFoundException',
      /isn't a member/,
    )
    assert.deepEqual(await under.done(), ['member added', 'member removed'])
  })
})

it('an unknown cmdlet returns bytes that are not JSON', async () => {
  await using under = await openUnderTest(SEED)
  const token = await under.token(EXCHANGE)
  const tenant = under.sandbox.state().tenants[0]!.id
  const { promise, resolve, reject } = Promise.withResolvers<{
    status?: number
    encoding?: string
    bytes: Buffer
  }>()
  const url = `${under.sandbox.url}/adminapi/beta/${tenant}/InvokeCommand`
  const sent = request(
    url,
    { method: 'POST', headers: { authorization: `Bearer ${token}` } },
    async (incoming) => {
      const parts: Buffer[] = []
      for await (const part of incoming) parts.push(part as Buffer)
      resolve({
        status: incoming.statusCode!,
        encoding: incoming.headers['content-encoding']!,
        bytes: Buffer.concat(parts),
      })
    },
  )
  sent.on('error', reject)
  sent.end(JSON.stringify({ CmdletInput: { CmdletName: 'Enable-MailUser', Parameters: {} } }))
  const { status, encoding, bytes } = await promise
  assert.deepEqual([status, encoding], [403, 'gzip'])
  assert.ok(bytes.every((byte) => byte === 0))
})

it('returns the organisation and its accepted domains', async () => {
  await using under = await openUnderTest(SEED)
  const [domain] = itemsOf(await under.exchange('Get-AcceptedDomain'))
  assert.deepEqual([domain!.DomainName, domain!.Default], ['contoso.example', true])
  const [organization] = itemsOf(await under.exchange('Get-OrganizationConfig'))
  assert.equal(organization!.Name, 'contoso.example')
})
