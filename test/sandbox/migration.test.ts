// Mailbox moves between two tenants, with the clock.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { MAILBOX_MOVE_PLAN } from '../../sandbox/skus.ts'
import { DEFAULT_CLIENT_ID, type Seed } from '../../sandbox/state.ts'
import type { Json } from '../../src/base/text/json.ts'
import {
  assertCmdletFailed,
  EXCHANGE,
  GRAPH,
  id,
  itemsOf,
  type JsonObject,
  openUnderTest,
  type UnderTest,
} from './under-test.ts'

const DN = '/o=ExchangeLabs/cn=Recipients/cn=ada'
const MAILBOX = id(900)
const E3 = '6fd2c87f-b296-42f0-b197-1e91e994b900'

const SEED = {
  tenants: [
    {
      id: id(70),
      domains: ['fabrikam.example', 'fabrikam.onmicrosoft.com'],
      migrationEndpoints: [{ name: 'contoso', remoteTenant: 'contoso.example' }],
      users: [
        {
          id: id(1),
          userPrincipalName: 'ada@fabrikam.example',
          usageLocation: 'US',
          proxyAddresses: [
            'SMTP:ada@fabrikam.example',
            'smtp:ada.a@fabrikam.onmicrosoft.com',
            `x500:${DN}`,
            'x500:/o=Old/cn=ada',
          ],
          recipient: {
            kind: 'mailUser',
            exchangeGuid: MAILBOX,
            externalEmailAddress: 'ada@contoso.example',
          },
        },
        { id: id(2), userPrincipalName: 'box@fabrikam.example', recipient: { kind: 'mailbox' } },
      ],
    },
    {
      id: id(71),
      domains: ['contoso.example', 'contoso.onmicrosoft.com'],
      users: [
        {
          id: id(11),
          userPrincipalName: 'ada@contoso.example',
          usageLocation: 'US',
          proxyAddresses: ['SMTP:ada@contoso.example', 'x500:/o=Old/cn=ada'],
          recipient: { kind: 'mailbox', exchangeGuid: MAILBOX, legacyExchangeDn: DN },
        },
      ],
    },
  ],
} as const satisfies Seed

const csv = (...addresses: readonly string[]): Json => ({
  '@odata.type': '#Exchange.ByteArrayType',
  Data: Buffer.from(`EmailAddress\r\n${addresses.join('\r\n')}\r\n`).toString('base64'),
})

const newBatch = (under: UnderTest, more: JsonObject = {}) =>
  under.exchange('New-MigrationBatch', {
    Name: 'wave 1',
    SourceEndpoint: 'contoso',
    TargetDeliveryDomain: 'fabrikam.onmicrosoft.com',
    CSVData: csv('ada@fabrikam.example'),
    AutoStart: true,
    ...more,
  })

/** Assigns the mailbox move licence. */
async function license(under: UnderTest, user: number, tenant: number): Promise<void> {
  const asking = { tenant: id(tenant) }
  const skus = itemsOf(await under.graph('GET', '/v1.0/subscribedSkus', undefined, asking))
  const { skuId } = skus.find(({ skuPartNumber }) => skuPartNumber === MAILBOX_MOVE_PLAN)!
  const body = { addLicenses: [{ skuId: skuId! }], removeLicenses: [] }
  const reply = await under.graph('POST', `/v1.0/users/${id(user)}/assignLicense`, body, asking)
  assert.equal(reply.status, 200, reply.text)
}

const moveOf = async (under: UnderTest, address = 'ada@fabrikam.example', token?: string) => {
  const asking = token === undefined ? {} : { token }
  const found = itemsOf(await under.exchange('Get-MigrationUser', { Identity: address }, asking))
  return found.find(({ Identity }) => Identity === address)
}
const statusOf = async (under: UnderTest) => (await moveOf(under))!.Status
const batchOf = async (under: UnderTest) =>
  itemsOf(await under.exchange('Get-MigrationBatch', { Identity: 'wave 1' }))[0]!

const MINUTE = 60_000
/** The usual `mailboxMoveStopSec`. */
const STOPPED_AFTER = 3 * MINUTE
const QUICK = { timing: { mailboxMoveSyncSec: 600, mailboxMoveCompleteSec: 60 } }

describe('a mailbox move', () => {
  it('syncs, waits for completion, and changes both sides', async () => {
    await using under = await openUnderTest(SEED, QUICK)
    await license(under, 1, 70)
    const [batch] = itemsOf(await newBatch(under))
    assert.deepEqual([batch!.Identity, batch!.Status, batch!.TotalCount], ['wave 1', 'Syncing', 1])
    await under.clock.advance(15 * MINUTE)
    assert.equal(await statusOf(under), 'Synced')
    assert.equal((await batchOf(under)).Status, 'Synced')
    await under.clock.advance(20 * MINUTE)
    assert.equal(await statusOf(under), 'Synced')
    assert.equal(
      (await under.exchange('Complete-MigrationBatch', { Identity: 'wave 1' })).status,
      200,
    )
    assert.equal(await statusOf(under), 'Completing')
    await under.clock.advance(MINUTE)
    assert.equal(await statusOf(under), 'Completed')
    assert.equal((await batchOf(under)).FinalizedCount, 1)
    const [here] = itemsOf(await under.exchange('Get-Mailbox', { Identity: id(1) }))
    assert.equal(here!.ExchangeGuid, MAILBOX)
    const [there] = itemsOf(
      await under.exchange('Get-MailUser', { Identity: id(11) }, { tenant: id(71) }),
    )
    assert.equal(there!.ExternalEmailAddress, 'SMTP:ada.a@fabrikam.onmicrosoft.com')
    assert.deepEqual((await under.done()).slice(1), [
      'migration batch created',
      'migration batch completed',
      'mailbox moved',
    ])
  })

  it('leaves 30 days for a licence with Exchange, then the mailbox is gone', async () => {
    const DAY = 86_400_000
    for (const isLicensed of [false, true]) {
      await using under = await openUnderTest(SEED, QUICK)
      await license(under, 1, 70)
      await newBatch(under, { CompleteAfter: '2020-01-01T00:00:00Z' })
      await under.clock.advance(29 * DAY)
      const mailbox = async () => {
        const token = await under.token(EXCHANGE)
        return under.exchange('Get-Mailbox', { Identity: id(1) }, { token })
      }
      assert.equal((await mailbox()).status, 200)
      const body = { addLicenses: [{ skuId: E3 }], removeLicenses: [] }
      const path = `/v1.0/users/${id(1)}/assignLicense`
      const asking = { token: await under.token(GRAPH) }
      if (isLicensed) assert.equal((await under.graph('POST', path, body, asking)).status, 200)
      await under.clock.advance(2 * DAY)
      assert.equal((await mailbox()).status, isLicensed ? 200 : 404)
      const gone = (await under.done()).filter((what) => what === 'mailbox disconnected')
      assert.equal(gone.length, isLicensed ? 0 : 1)
    }
  })

  it('completes at its set time, whenever it is read', async () => {
    await using under = await openUnderTest(SEED, QUICK)
    await license(under, 11, 71)
    await newBatch(under, { CompleteAfter: '2030-03-03T20:00:00Z' })
    await under.clock.advance(7 * 86_400_000)
    const token = await under.token(EXCHANGE)
    assert.equal((await moveOf(under, 'ada@fabrikam.example', token))!.Status, 'Completed')
    const moved = (await under.effects()).find(({ what }) => what === 'mailbox moved')
    assert.deepEqual(
      [moved!.at, moved!.clientId, moved!.requestId],
      ['2030-03-03T20:01:00.000Z', null, null],
    )
  })

  it('completes as soon as it is synced with AutoComplete', async () => {
    await using under = await openUnderTest(SEED, QUICK)
    await license(under, 1, 70)
    await newBatch(under, { AutoComplete: true })
    await under.clock.advance(16 * MINUTE)
    assert.equal(await statusOf(under), 'Completed')
  })

  it('stops and starts again', async () => {
    await using under = await openUnderTest(SEED, QUICK)
    await license(under, 1, 70)
    await newBatch(under, { AutoStart: false })
    assert.equal((await batchOf(under)).Status, 'Created')
    assert.equal(
      (await under.exchange('Complete-MigrationBatch', { Identity: 'wave 1' })).status,
      400,
    )
    await under.exchange('Start-MigrationBatch', { Identity: 'wave 1' })
    assertCmdletFailed(
      await under.exchange('Remove-MigrationBatch', { Identity: 'wave 1' }),
      400,
      'CannotRemoveMigrationBatchException',
      /running/,
    )
    await under.exchange('Stop-MigrationBatch', { Identity: 'wave 1' })
    await under.exchange('Stop-MigrationBatch', { Identity: 'wave 1' })
    assert.deepEqual(
      [await statusOf(under), (await batchOf(under)).Status],
      ['Stopping', 'Stopping'],
    )
    assertCmdletFailed(
      await under.exchange('Start-MigrationBatch', { Identity: 'wave 1' }),
      400,
      'MigrationBatchCannotBeChangedException',
      /is Stopping/,
    )
    await under.clock.advance(STOPPED_AFTER)
    assert.deepEqual([await statusOf(under), (await batchOf(under)).Status], ['Stopped', 'Stopped'])
    await under.exchange('Start-MigrationBatch', { Identity: 'wave 1' })
    await under.clock.advance(15 * MINUTE)
    assert.equal(await statusOf(under), 'Synced')
    assert.equal(
      (await under.exchange('Remove-MigrationBatch', { Identity: 'wave 1', Confirm: false }))
        .status,
      200,
    )
    assert.deepEqual(
      [await statusOf(under), (await batchOf(under)).Status],
      ['Removing', 'Removing'],
    )
    await under.clock.advance(STOPPED_AFTER)
    assert.equal(itemsOf(await under.exchange('Get-MigrationBatch')).length, 0)
  })
})

describe('a mailbox move is refused', () => {
  type UserSeed = NonNullable<Seed['tenants'][number]['users']>[number]
  const ADA: UserSeed = SEED.tenants[0].users[0]
  const CASES: readonly [name: string, change: Partial<UserSeed>, error: RegExp][] = [
    ['without a mailbox move licence', {}, /^CrossTenantMigrationWithoutLicensePermanentException/],
    ['without an ExchangeGuid', { recipient: { kind: 'mailUser' } }, /has no ExchangeGuid/],
    [
      'with an ExchangeGuid unknown at the source',
      { recipient: { kind: 'mailUser', exchangeGuid: id(901) } },
      /^CannotFindSourceMailboxPermanentException/,
    ],
    [
      'without the address of the source’s LegacyExchangeDN',
      { proxyAddresses: ['SMTP:ada@fabrikam.example', 'x500:/o=Old/cn=ada'] },
      /lacks the address "x500:\/o=ExchangeLabs/,
    ],
    [
      'without the source’s other x500 addresses',
      { proxyAddresses: ['SMTP:ada@fabrikam.example', `x500:${DN}`] },
      /lacks the address "x500:\/o=Old/,
    ],
    [
      'without an address in the delivery domain',
      { proxyAddresses: ['SMTP:ada@fabrikam.example', `x500:${DN}`, 'x500:/o=Old/cn=ada'] },
      /doesn't have an smtp proxy matching 'fabrikam.onmicrosoft.com'/,
    ],
    [
      'with an address of a foreign domain',
      { proxyAddresses: ['SMTP:ada@contoso.example'] },
      /^NotAcceptedDomainException/,
    ],
    [
      'with an external address that is not the source’s',
      {
        recipient: {
          kind: 'mailUser',
          exchangeGuid: MAILBOX,
          externalEmailAddress: 'x@contoso.example',
        },
      },
      /^ExternalEmailAddressMismatch/,
    ],
    [
      'for a user with a mailbox',
      { recipient: { kind: 'mailbox' } },
      /already has a primary mailbox/,
    ],
    [
      'for a user with another former mailbox',
      { previousMailboxGuid: id(902) },
      /PermanentlyClearPreviousMailboxInfo/,
    ],
  ]
  for (const [name, change, error] of CASES) {
    it(name, async () => {
      const users = [{ ...ADA, ...change }, SEED.tenants[0].users[1]]
      await using under = await openUnderTest({
        tenants: [{ ...SEED.tenants[0], users }, SEED.tenants[1]],
      })
      assert.equal((await newBatch(under)).status, 200)
      const move = await moveOf(under)
      assert.equal(move!.Status, 'Failed')
      assert.match(String(move!.ErrorSummary), error)
      assert.equal((await batchOf(under)).Status, 'Failed')
    })
  }

  it('for a mailbox that is larger than any here may be', async () => {
    const [target, source] = SEED.tenants
    const [from] = source.users
    const users = [{ ...from, recipient: { ...from.recipient, sizeBytes: 101 * 1024 ** 3 } }]
    await using under = await openUnderTest({ tenants: [target, { ...source, users }] })
    await newBatch(under)
    assert.match(String((await moveOf(under))!.ErrorSummary), /101\.00 GB exceeds target quota 100/)
  })

  it('for an unknown user, and continues when restarted after a repair', async () => {
    await using under = await openUnderTest(SEED, QUICK)
    await newBatch(under, { CSVData: csv('ada@fabrikam.example', 'nobody@fabrikam.example') })
    assert.match(
      String((await moveOf(under, 'nobody@fabrikam.example'))!.ErrorSummary),
      /couldn't be found/,
    )
    await license(under, 1, 70)
    await under.exchange('Start-MigrationBatch', { Identity: 'wave 1' })
    assert.equal(await statusOf(under), 'Syncing')
    await under.clock.advance(15 * MINUTE)
    assert.equal((await batchOf(under)).Status, 'SyncedwithErrors')
  })

  it('at completion too, when it is no longer ready', async () => {
    await using under = await openUnderTest(SEED, QUICK)
    await license(under, 1, 70)
    await newBatch(under, { CompleteAfter: '2030-03-01T12:00:00Z' })
    await under.clock.advance(30 * MINUTE)
    await under.exchange('Set-MailUser', { Identity: id(1), ExchangeGuid: id(901) })
    await under.clock.advance(300 * MINUTE)
    const token = await under.token(EXCHANGE)
    assert.equal((await moveOf(under, 'ada@fabrikam.example', token))!.Status, 'Failed')
    const graph = await under.token(GRAPH, id(71))
    assert.equal(
      (await under.graph('GET', `/v1.0/users/${id(11)}`, undefined, { token: graph })).status,
      200,
    )
  })
})

describe('a migration batch', () => {
  const WRONG: readonly [name: string, more: JsonObject, status: number, exception: string][] = [
    [
      'an unknown endpoint',
      { SourceEndpoint: 'elsewhere' },
      404,
      'ManagementObjectNotFoundException',
    ],
    [
      'a delivery domain of another tenant',
      { TargetDeliveryDomain: 'contoso.example' },
      400,
      'TargetDeliveryDomainNotAcceptedException',
    ],
    [
      'a list without the column',
      {
        CSVData: {
          '@odata.type': '#Exchange.ByteArrayType',
          Data: Buffer.from('Mail\r\nx\r\n').toString('base64'),
        },
      },
      400,
      'CsvValidationException',
    ],
    [
      'too many addresses',
      { CSVData: csv(...Array.from({ length: 2_001 }, (_, at) => `u${at}@fabrikam.example`)) },
      400,
      'CsvValidationException',
    ],
    ['invalid bytes', { CSVData: 'not base64' }, 400, 'ParameterBindingException'],
    ['an invalid time', { CompleteAfter: 'soon' }, 400, 'ParameterBindingException'],
  ]
  for (const [name, more, status, exception] of WRONG) {
    it(`with ${name} is refused`, async () => {
      await using under = await openUnderTest(SEED)
      assertCmdletFailed(await newBatch(under, more), status, exception, /./)
      assert.deepEqual(await under.done(), [])
    })
  }

  it('has a unique name, and a user is in one batch only', async () => {
    await using under = await openUnderTest(SEED)
    await newBatch(under)
    assertCmdletFailed(
      await newBatch(under),
      400,
      'MigrationBatchAlreadyExistsException',
      /"wave 1" already exists/,
    )
    assertCmdletFailed(
      await newBatch(under, { Name: 'wave 2' }),
      400,
      'UserAlreadyBeingMigratedException',
      /ada@fabrikam.example/,
    )
  })

  it('accepts bytes as numbers', async () => {
    await using under = await openUnderTest(SEED)
    const Data = [...Buffer.from('EmailAddress\nada@fabrikam.example\n')]
    assert.equal(
      (await newBatch(under, { CSVData: { '@odata.type': '#Exchange.ByteArrayType', Data } }))
        .status,
      200,
    )
  })

  it('unknown, returns all batches or is not found; an unknown user returns all users', async () => {
    const [target, source] = SEED.tenants
    const seed = { tenants: [{ ...target, dialect: { notFound: '400' } }, source] } as Seed
    {
      await using other = await openUnderTest(seed)
      const found = await other.exchange('Get-MigrationBatch', { Identity: 'wave 9' })
      assert.equal(found.status, 400)
    }
    await using under = await openUnderTest(SEED)
    await newBatch(under)
    const all = itemsOf(await under.exchange('Get-MigrationBatch', { Identity: 'wave 9' }))
    assert.deepEqual(
      all.map(({ Name }) => Name),
      ['wave 1'],
    )
    const users = itemsOf(
      await under.exchange('Get-MigrationUser', { Identity: 'nobody@fabrikam.example' }),
    )
    assert.deepEqual(
      users.map(({ Identity }) => Identity),
      ['ada@fabrikam.example'],
    )
    assert.equal(
      itemsOf(await under.exchange('Get-MigrationUser', { BatchId: 'wave 9' })).length,
      0,
    )
  })

  it('has endpoints that can be read', async () => {
    await using under = await openUnderTest(SEED)
    const [endpoint] = itemsOf(
      await under.exchange('Get-MigrationEndpoint', { Identity: 'contoso' }),
    )
    assert.equal(endpoint!.RemoteTenant, 'contoso.example')
    assert.equal((await under.exchange('Get-MigrationEndpoint', { Identity: 'x' })).status, 404)
  })
})

describe('the organisation relationships of a mailbox move', () => {
  const inbound = { name: 'From Contoso', domainNames: [id(71)], moveCapability: 'Inbound' }
  const outbound = { name: 'To Fabrikam', domainNames: [id(70)], moveCapability: 'RemoteOutbound' }
  const app = { applicationId: DEFAULT_CLIENT_ID }
  const seedWith = (atTarget: readonly object[], atSource: readonly object[]) => {
    const [target, source] = SEED.tenants
    return {
      tenants: [
        { ...target, organizationRelationships: atTarget },
        { ...source, organizationRelationships: atSource },
      ],
    } as unknown as Seed
  }
  const outcomeOf = async (seed: Seed) => {
    await using under = await openUnderTest(seed, QUICK)
    await license(under, 1, 70)
    await newBatch(under)
    const test = await under.exchange('Test-MigrationServerAvailability', { Endpoint: 'contoso' })
    return [(await moveOf(under))!.Status, itemsOf(test)[0]!.Result]
  }

  it('allow it on both sides, with the app at the source', async () => {
    const fitting = seedWith([inbound], [{ ...outbound, ...app }])
    assert.deepEqual(await outcomeOf(fitting), ['Syncing', 'Success'])
  })

  it('refuse it when one is missing, disabled, the wrong way round, for another tenant or without an app', async () => {
    const whole = { ...outbound, ...app }
    const otherApp = { ...outbound, applicationId: id(9) }
    for (const [atTarget, atSource] of [
      [[], [whole]],
      [[inbound], [otherApp]],
      [[inbound], []],
      [[{ ...inbound, isMoveEnabled: false }], [whole]],
      [[{ ...inbound, isEnabled: false }], [whole]],
      [[{ ...inbound, moveCapability: 'Outbound' }], [whole]],
      [[{ ...inbound, domainNames: [id(99)] }], [whole]],
      [[inbound], [outbound]],
    ] as const)
      assert.deepEqual(await outcomeOf(seedWith(atTarget, atSource)), ['Failed', 'Failed'])
  })
})
