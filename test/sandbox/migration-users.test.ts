// One person of a migration batch: added to it, completed, stopped, started and removed alone; what stops a move at once.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { Seed } from '../../sandbox/state.ts'
import type { Json } from '../../src/base/text/json.ts'
import {
  assertCmdletFailed,
  id,
  itemsOf,
  type JsonObject,
  openUnderTest,
  type UnderTest,
} from './under-test.ts'

const MINUTE = 60_000
const QUICK = {
  timing: { mailboxMoveSyncSec: 600, mailboxMoveCompleteSec: 60, tokenLifetimeSec: 36_000 },
}
const LICENCE = [{ skuId: id(300) }]
const SCOPE = id(400)
const local = (person: number) => `p${person}`

type TenantSeed = Seed['tenants'][number]
type Recipient = NonNullable<NonNullable<TenantSeed['users']>[number]['recipient']>

const target = (person: number) => ({
  id: id(person),
  userPrincipalName: `${local(person)}@fabrikam.example`,
  usageLocation: 'US',
  assignedLicenses: LICENCE,
  proxyAddresses: [
    `SMTP:${local(person)}@fabrikam.example`,
    `smtp:${local(person)}@fabrikam.onmicrosoft.com`,
    `x500:/o=Contoso/cn=${person}`,
  ],
  recipient: {
    kind: 'mailUser' as const,
    exchangeGuid: id(900 + person),
    externalEmailAddress: `${local(person)}@contoso.example`,
  },
})

const source = (person: number, more: Partial<Recipient> = {}) => ({
  id: id(100 + person),
  userPrincipalName: `${local(person)}@contoso.example`,
  recipient: {
    kind: 'mailbox' as const,
    exchangeGuid: id(900 + person),
    legacyExchangeDn: `/o=Contoso/cn=${person}`,
    ...more,
  },
})

function seedOf(here: Partial<TenantSeed> = {}, there: Partial<TenantSeed> = {}): Seed {
  const sku = {
    skuId: id(300),
    skuPartNumber: 'MOVE',
    enabledUnits: 9,
    servicePlans: [{ servicePlanId: id(301), servicePlanName: 'CROSS_TENANT_USER_DATA_MIGRATION' }],
  }
  return {
    tenants: [
      {
        domains: ['fabrikam.example', 'fabrikam.onmicrosoft.com'],
        migrationEndpoints: [{ name: 'contoso', remoteTenant: 'contoso.example' }],
        skus: [sku],
        users: [target(1), target(2)],
        ...here,
      },
      { domains: ['contoso.example'], users: [source(1), source(2)], ...there },
    ],
  }
}

const bytes = (...people: readonly number[]): string =>
  Buffer.from(
    `EmailAddress\n${people.map((one) => `${local(one)}@fabrikam.example`).join('\n')}`,
  ).toString('base64')

const newBatch = (under: UnderTest, CSVData: Json = bytes(1), Name = 'wave') =>
  under.exchange('New-MigrationBatch', {
    Name,
    SourceEndpoint: 'contoso',
    CSVData,
    AutoStart: true,
    TargetDeliveryDomain: 'fabrikam.onmicrosoft.com',
  })

const user = (under: UnderTest, verb: string, person: number, more: JsonObject = {}) =>
  under.exchange(`${verb}-MigrationUser`, {
    Identity: `${local(person)}@fabrikam.example`,
    ...more,
  })

const statusOf = async (under: UnderTest, person: number): Promise<unknown> => {
  const all = itemsOf(await under.exchange('Get-MigrationUser', {}))
  return all.find(({ Identity }) => Identity === `${local(person)}@fabrikam.example`)?.Status
}

describe('a migration user', () => {
  it('is added to a running batch and starts with it; known ones stay as they are', async () => {
    await using under = await openUnderTest(seedOf(), QUICK)
    await newBatch(under)
    const add = { Identity: 'wave', AddUsers: true, CSVData: bytes(1, 2) }
    assert.equal((await under.exchange('Set-MigrationBatch', add)).status, 200)
    assert.equal((await under.exchange('Set-MigrationBatch', add)).status, 200)
    await under.clock.advance(20 * MINUTE)
    assert.deepEqual([await statusOf(under, 1), await statusOf(under, 2)], ['Synced', 'Synced'])
    assert.deepEqual(await under.done(), ['migration batch created', 'migration users added'])
  })

  it('completes alone at its own date, and the others stay synced', async () => {
    await using under = await openUnderTest(seedOf(), QUICK)
    await newBatch(under, bytes(1, 2))
    await under.clock.advance(20 * MINUTE)
    const CompleteAfter = under.clock.now().toISOString()
    await user(under, 'Set', 1, { CompleteAfter })
    await user(under, 'Set', 1, { CompleteAfter })
    await under.clock.advance(40 * MINUTE)
    assert.deepEqual([await statusOf(under, 1), await statusOf(under, 2)], ['Completed', 'Synced'])
    assert.deepEqual(await under.done(), [
      'migration batch created',
      'migration user dated',
      'mailbox moved',
    ])
  })

  it('stops, is removed, and starts again alone', async () => {
    await using under = await openUnderTest(seedOf(), QUICK)
    await newBatch(under, bytes(1, 2))
    assertCmdletFailed(
      await user(under, 'Remove', 1),
      400,
      'CannotRemoveMigrationUserException',
      /is Syncing/,
    )
    await user(under, 'Stop', 1)
    await user(under, 'Stop', 2)
    assert.equal(await statusOf(under, 1), 'Stopping')
    assertCmdletFailed(
      await user(under, 'Remove', 1),
      400,
      'CannotRemoveMigrationUserException',
      /is Stopping/,
    )
    assert.equal((await user(under, 'Start', 2)).status, 400)
    await under.clock.advance(3 * MINUTE)
    assert.deepEqual([await statusOf(under, 1), await statusOf(under, 2)], ['Stopped', 'Stopped'])
    assert.equal((await user(under, 'Remove', 1)).status, 200)
    assert.equal(await statusOf(under, 1), 'Removing')
    await user(under, 'Start', 2)
    await under.clock.advance(20 * MINUTE)
    assert.deepEqual([await statusOf(under, 1), await statusOf(under, 2)], [undefined, 'Synced'])
    assert.equal((await user(under, 'Start', 1)).status, 404)
  })

  it('completes in spite of a stop that comes too late', async () => {
    await using under = await openUnderTest(seedOf(), QUICK)
    await newBatch(under)
    await under.clock.advance(20 * MINUTE)
    await user(under, 'Set', 1, { CompleteAfter: under.clock.now().toISOString() })
    await user(under, 'Stop', 1)
    assert.equal(await statusOf(under, 1), 'Completing')
    await under.clock.advance(3 * MINUTE)
    assert.equal(await statusOf(under, 1), 'Completed')
  })

  it('with broken items completes only after an approval', async () => {
    const users = [source(1, { brokenItemCount: 3 })]
    await using under = await openUnderTest(seedOf({}, { users }), QUICK)
    await newBatch(under)
    await under.clock.advance(20 * MINUTE)
    await user(under, 'Set', 1, { CompleteAfter: under.clock.now().toISOString() })
    await under.clock.advance(20 * MINUTE)
    assert.equal(await statusOf(under, 1), 'NeedsApproval')
    await user(under, 'Set', 1, { ApproveSkippedItems: true })
    await under.clock.advance(20 * MINUTE)
    assert.equal(await statusOf(under, 1), 'Completed')
  })

  const BLOCKED: readonly [name: string, seed: Seed, status: string, error: RegExp][] = [
    [
      'on hold',
      seedOf({}, { users: [source(1, { isOnLitigationHold: true })] }),
      'Failed',
      /is on hold/,
    ],
    [
      'out of the scope group',
      seedOf(
        {},
        {
          moveScopeGroupId: SCOPE,
          groups: [{ id: SCOPE, displayName: 'Scope', members: [id(102)] }],
        },
      ),
      'Failed',
      /isn't in the published scope/,
    ],
    [
      'without a licence, where that needs an approval',
      seedOf({
        dialect: { missingLicence: 'needsApproval' },
        users: [{ ...target(1), assignedLicenses: [] }],
      }),
      'NeedsApproval',
      /WithoutLicense/,
    ],
  ]
  for (const [name, seed, status, error] of BLOCKED)
    it(`${name} stops at once with the reason`, async () => {
      await using under = await openUnderTest(seed, QUICK)
      await newBatch(under)
      const [found] = itemsOf(await user(under, 'Get', 1))
      assert.equal(found!.Status, status)
      assert.match(String(found!.ErrorSummary), error)
    })
})

describe('migration batches', () => {
  const typed = (Data: Json) => ({ '@odata.type': '#Exchange.ByteArrayType', Data })

  it('take their list in the form that the tenant understands', async () => {
    for (const [csvData, given, status] of [
      ['any', bytes(1), 200],
      ['any', typed(bytes(1)), 200],
      ['typed', bytes(1), 400],
      ['typed', typed(bytes(1)), 200],
      ['text', bytes(1), 200],
      ['text', typed(bytes(1)), 400],
    ] as const) {
      await using under = await openUnderTest(seedOf({ dialect: { csvData } }))
      assert.equal((await newBatch(under, given)).status, status, csvData)
    }
  })

  it('are at most a hundred in a tenant', async () => {
    const batch = (number: number) => ({
      id: id(2_000 + number),
      name: `b${number}`,
      sourceEndpoint: 'contoso',
      targetDeliveryDomain: 'fabrikam.example',
      createdAt: '2030-01-01T00:00:00.000Z',
      startedAt: null,
      stoppedAt: null,
      completeAfter: null,
      mailboxMoves: [],
    })
    const migrationBatches = Array.from({ length: 99 }, (_, at) => batch(at))
    await using under = await openUnderTest(seedOf({ migrationBatches }))
    assert.equal((await newBatch(under, bytes(1), 'the hundredth')).status, 200)
    assertCmdletFailed(
      await newBatch(under, bytes(2), 'one more'),
      400,
      'MaximumNumberOfBatchesReachedException',
      /maximum number of migration batches is already running/,
    )
  })

  it('change their date', async () => {
    await using under = await openUnderTest(seedOf(), QUICK)
    await newBatch(under)
    const CompleteAfter = '2030-03-05T00:00:00.000Z'
    await under.exchange('Set-MigrationBatch', { Identity: 'wave', CompleteAfter })
    const [found] = itemsOf(await under.exchange('Get-MigrationBatch', { Identity: 'wave' }))
    assert.equal(found!.CompleteAfterUTC, CompleteAfter)
    assert.deepEqual(await under.done(), ['migration batch created', 'migration batch changed'])
  })
})
