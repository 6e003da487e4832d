// Readiness for a mailbox move: every gap of a person in one answer, each with its remedy, and none that the move itself does not ask for.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { MAILBOX_MOVE_PLAN } from '../../../../sandbox/skus.ts'
import {
  targetGaps,
  type WantedMove,
} from '../../../../src/m365/functions/moves/move-readiness-gaps.ts'
import type { Params } from '../cases.ts'
import type { Setting, WithinOptions } from '../setting.ts'
import { story, succeeds, userOf } from '../story.ts'
import { ARCHIVE_GUID, BOX, FORMER, id, MAILBOX_GUID, NEWCOMERS, OBRIEN } from '../tenants.ts'

const KIM = "kim.o'brien@contoso.example"
const TEST = 'Test-ExchangeMoveReadiness'
const { signal } = new AbortController()

interface Answer {
  readonly complete: boolean
  readonly data: {
    readonly Ready: boolean
    readonly Moved: boolean
    readonly Gaps: readonly { readonly Gap: string; readonly Remedy: string }[]
    readonly Warnings: readonly string[]
    readonly Untested: string | null
    readonly Reason: string | null
  }
}

const askedOf = (s: Setting, params: Params) =>
  succeeds(s, TEST, params) as unknown as Promise<Answer>

/** What the source worker reads, as a runbook passes it on. */
async function readSource(s: Setting): Promise<Params> {
  const { result } = await s.runAtSource('Get-ExchangeMoveSource', {
    Identity: "kim.o'brien@fabrikam.example",
  })
  const { ExchangeGuid, ArchiveGuid, X500Addresses, EmailAddresses, Holds, SizeBytes } =
    result as Params
  return {
    Identity: KIM,
    TargetDeliveryDomain: 'contoso.onmicrosoft.com',
    ExchangeGuid: ExchangeGuid!,
    ArchiveGuid: ArchiveGuid!,
    X500Addresses: X500Addresses!,
    SourceAddresses: EmailAddresses!,
    Holds: Holds!,
    SizeBytes: SizeBytes!,
    SourceEndpoint: 'fabrikam',
  }
}

/** As the example runbook prepares a person. */
async function prepare(s: Setting, params: Params): Promise<void> {
  const { Identity, ExchangeGuid, X500Addresses, TargetDeliveryDomain } = params
  await succeeds(s, 'Set-ExchangeMoveTarget', {
    Identity: Identity!,
    ExchangeGuid: ExchangeGuid!,
    X500Addresses: X500Addresses!,
    TargetDeliveryDomain: TargetDeliveryDomain!,
  })
  await succeeds(s, 'Add-EntraUserLicense', { UserId: OBRIEN, SkuId: MAILBOX_MOVE_PLAN })
}

/** Each gap is one of the expected and the other way round. */
function assertGaps({ complete, data }: Answer, expected: readonly (readonly [RegExp, RegExp])[]) {
  assert.equal(data.Gaps.length, expected.length, JSON.stringify(data.Gaps, null, 2))
  for (const [gap, remedy] of expected) {
    const found = data.Gaps.find((one) => gap.test(one.Gap))
    assert.ok(found, `${gap} in ${JSON.stringify(data.Gaps)}`)
    assert.match(found.Remedy, remedy)
    assert.match(data.Reason!, gap)
  }
  assert.deepEqual([complete, data.Ready, data.Moved], [false, false, false])
}

const withTenant =
  (at: number, change: object): NonNullable<WithinOptions['seeded']> =>
  ({ tenants }) => ({
    tenants: tenants.map((one, index) => (index === at ? { ...one, ...change } : one)),
  })

/** Kim's mailbox in Fabrikam, whose policy holds everyone. */
const withLargeArchive: WithinOptions['seeded'] = (seed) => {
  const users = seed.tenants[1]!.users!.map((user) =>
    user.userPrincipalName.startsWith("kim.o'brien@")
      ? {
          ...user,
          recipient: {
            ...user.recipient!,
            archiveGuid: ARCHIVE_GUID,
            archiveSizeBytes: 101 * 1024 ** 3,
            recoverableBytes: 31 * 1024 ** 3,
            auxiliaryArchives: 13,
          },
        }
      : user,
  )
  return withTenant(1, { users, organizationHolds: ['mbx0a1b:2'] })(seed)
}

const withFormerMailbox: WithinOptions['seeded'] = (seed) => {
  const users = seed.tenants[0]!.users!.map((user) =>
    user.id === OBRIEN ? { ...user, previousMailboxGuid: id(510) } : user,
  )
  return withTenant(0, { users })(seed)
}

describe(TEST, () => {
  story('names all gaps of an unprepared person at once and changes nothing', async (s) => {
    const params = { ...(await readSource(s)), Holds: ['UniH1'], ArchiveGuid: ARCHIVE_GUID }
    const answer = await askedOf(s, params)
    assertGaps(answer, [
      [/ArchiveGuid is not set/, /Set-ExchangeMoveTarget/],
      [/x500 addresses.*cn=kim.*cn=kim/i, /Set-ExchangeMoveTarget/],
      [/No address is in the delivery domain/, /Set-ExchangeMoveTarget/],
      [/licence Cross Tenant User Data Migration is missing/, /Add-EntraUserLicense/],
      [/on hold \(UniH1\)/, /Release the holds/],
    ])
    assert.deepEqual(s.effects(), [])
    const polled = await s.run(TEST, params, true)
    assert.equal(polled.error?.type, 'Refused', 'no poll sees the end of a hold')
    assert.match(
      polled.error!.message,
      /ArchiveGuid is not set.*on hold \(UniH1\).*Release the holds/,
    )
    const withoutHold = await s.run(TEST, { ...params, Holds: [] }, true)
    assert.partialDeepStrictEqual(withoutHold, { status: 'Success', result: { complete: false } })
    assert.deepEqual(s.effects(), [])
  })

  story('is complete once the person is prepared, and the move then works', async (s) => {
    const params = await readSource(s)
    await prepare(s, params)
    const { complete, data } = await askedOf(s, params)
    assert.deepEqual([complete, data.Ready, data.Gaps, data.Reason], [true, true, [], null])
    const batch = { SourceEndpoint: 'fabrikam', TargetDeliveryDomain: 'contoso.onmicrosoft.com' }
    await succeeds(s, 'New-MigrationBatch', { Name: 'w', ...batch, EmailAddresses: KIM })
    const moves = s.sandbox.state().tenants[0]!.migrationBatches.find(({ name }) => name === 'w')
    assert.equal(moves!.mailboxMoves[0]!.error, null)
  })

  story('says so when the mailbox is here already, whatever else is given', async (s) => {
    const { exchangeGuid } = userOf(s, BOX).recipient!
    const asked = { ...(await readSource(s)), Identity: 'box@contoso.example', Holds: ['UniH1'] }
    const { complete, data } = await askedOf(s, { ...asked, ExchangeGuid: exchangeGuid! })
    assert.deepEqual([complete, data.Ready, data.Moved], [true, true, true])
  })

  story('names a mailbox of its own', async (s) => {
    const asked = { ...(await readSource(s)), Identity: 'box@contoso.example' }
    assertGaps(await askedOf(s, asked), [
      [/has a mailbox of its own/, /Remove-EntraUserLicense.*Clear-ExchangePreviousMailbox/],
    ])
  })
})

describe(`${TEST}, when the question is at fault`, () => {
  for (const connectionTest of ['refused', 'empty'] as const)
    story(
      `a connection test that is ${connectionTest} makes nobody unready`,
      async (s) => {
        const params = await readSource(s)
        await prepare(s, params)
        const { complete, data } = await askedOf(s, params)
        assert.deepEqual([complete, data.Gaps], [true, []])
        assert.match(data.Untested!, /was not tested: .*Test-MigrationServerAvailability/)
      },
      { dialect: { connectionTest } },
    )
})

describe(`${TEST}, one gap at a time`, () => {
  story(
    'names the scope group, which only Exchange can read from here',
    async (s) => {
      const params = await readSource(s)
      await prepare(s, params)
      const { SourceEndpoint, ...without } = params
      assertGaps(await askedOf(s, params), [[/published scope/, /MailboxMovePublishedScopes/]])
      assert.equal((await askedOf(s, without)).complete, true, 'not asked without an endpoint')
      assertGaps(await askedOf(s, { ...params, SourceEndpoint: 'nowhere' }), [
        [/'nowhere' couldn't be found/, /doctor tenant/],
      ])
    },
    { seeded: withTenant(1, { moveScopeGroupId: NEWCOMERS }) },
  )

  story('accepts the licence of the source, and refuses one whose plan is disabled', async (s) => {
    const params = await readSource(s)
    await prepare(s, params)
    const [sku] = s.sandbox
      .state()
      .tenants[0]!.skus.filter(({ skuPartNumber }) => skuPartNumber === MAILBOX_MOVE_PLAN)
    const DisabledPlans = sku!.servicePlans.map(({ servicePlanId }) => servicePlanId)
    const licence = { UserId: OBRIEN, SkuId: MAILBOX_MOVE_PLAN, DisabledPlans }
    await succeeds(s, 'Add-EntraUserLicense', licence)
    assertGaps(await askedOf(s, params), [[/licence/, /Add-EntraUserLicense/]])
    const atSource = await askedOf(s, { ...params, IsLicensedAtSource: true })
    assert.equal(atSource.complete, true)
  })

  story('names an archive too many and a wrong external address', async (s) => {
    const params = await readSource(s)
    await prepare(s, params)
    const set = { Identity: OBRIEN, ExchangeGuid: MAILBOX_GUID, ArchiveGuid: ARCHIVE_GUID }
    const other = { ...set, ExternalEmailAddress: 'kim@partner.example' }
    await s.tenant.exchange.run('Set-MailUser', other, { signal })
    assertGaps(await askedOf(s, { ...params, SourceEndpoint: null }), [
      [/ExchangeGuid is 0{8}.*501; the source mailbox has/, /Set-ExchangeMoveTarget/],
      [/source mailbox has no archive/, /Get-ExchangeMoveSource/],
      [/"kim@partner\.example", which is no address/, /Set-ExchangeExternalAddress/],
    ])
  })

  story(
    'names a former mailbox even when the right GUID is stamped',
    async (s) => {
      const params = await readSource(s)
      await prepare(s, params)
      assertGaps(await askedOf(s, params), [[/had a mailbox here/, /Clear-ExchangePreviousMailb/]])
    },
    { seeded: withFormerMailbox },
  )

  story(
    'stops a person for 13 auxiliary archives, as the move does, and only warns of what no document settles',
    async (s) => {
      const source = await s.runAtSource('Get-ExchangeMoveSource', {
        Identity: "kim.o'brien@fabrikam.example",
      })
      const read = source.result as Params
      assert.equal(read.AuxiliaryArchives, 13)
      const {
        ArchiveGuid,
        AuxiliaryArchives,
        ArchiveSizeBytes,
        RecoverableBytes,
        OrganizationHolds,
      } = read
      const large = { AuxiliaryArchives, ArchiveSizeBytes, RecoverableBytes, OrganizationHolds }
      const params = { ...(await readSource(s)), ...(large as Params) }
      await prepare(s, params)
      await s.tenant.exchange.run(
        'Set-MailUser',
        { Identity: KIM, ArchiveGuid: ArchiveGuid! },
        { signal },
      )
      const answer = await askedOf(s, params)
      assertGaps(answer, [
        [/has 13 auxiliary archives; Microsoft moves at most 12/, /Leave this person out/],
      ])
      assert.equal(
        (await s.run(TEST, params, true)).error?.type,
        'Refused',
        'a poll would wait in vain',
      )
      assert.deepEqual(
        answer.data.Warnings.map((one) => /^[^.(]+?(?= \(|:|, and|\.)/.exec(one)![0]),
        [
          'Policies of the source organisation hold the mailbox',
          'The recoverable items have more than 30 GB',
          'The archive has more than 100 GB',
          'The archive expands by itself',
        ],
      )
      const batch = { SourceEndpoint: 'fabrikam', TargetDeliveryDomain: 'contoso.onmicrosoft.com' }
      await succeeds(s, 'New-MigrationBatch', { Name: 'w', ...batch, EmailAddresses: KIM })
      const moves = s.sandbox.state().tenants[0]!.migrationBatches.find(({ name }) => name === 'w')
      assert.match(moves!.mailboxMoves[0]!.error!, /13 auxiliary archives/)
      const ready = await askedOf(s, { ...params, AuxiliaryArchives: 12 })
      assert.deepEqual([ready.complete, ready.data.Warnings.length], [true, 4])
    },
    { seeded: withLargeArchive },
  )

  story('waits for an account without mail, without occupying the worker', async (s) => {
    const params = await readSource(s)
    const { status, result } = await s.run(TEST, { ...params, Identity: FORMER }, true)
    assert.equal(status, 'Success')
    assertGaps(result as unknown as Answer, [[/has no recipient/, /New-ExchangeMailUser/]])
    assert.equal(s.clock.waitedMs(), 0, 'the next poll looks again')
  })

  story('fails, instead of calling it a gap, when it may not read', async (s) => {
    s.sandbox.setFaults({ script: [{ on: 'Get-AcceptedDomain', times: 20, fault: 'error' }] })
    assert.equal((await s.run(TEST, await readSource(s))).status, 'Failure')
  })
})

describe('gaps by size', () => {
  const GB = 1024 ** 3
  const wanted = (sizeGb: number): WantedMove => ({
    identity: 'kim',
    exchangeGuid: id(1),
    archiveGuid: null,
    x500: [],
    deliveryDomain: 'a.example',
    sourceAddresses: [],
    holds: [],
    organizationHolds: [],
    isLicensedAtSource: true,
    sizeBytes: sizeGb * GB,
    archiveSizeBytes: null,
    recoverableBytes: null,
    auxiliaryArchives: null,
  })
  const facts = (plans: readonly string[], recipientType = 'MailUser') => ({
    recipient: {
      kind: 'MailUser' as const,
      guid: id(2),
      identity: 'kim',
      objectId: id(3),
      addresses: ['SMTP:kim@a.example'],
      primary: 'kim@a.example',
      external: 'kim@b.example',
      exchangeGuid: id(1),
      archiveGuid: '',
    },
    recipientType,
    hadMailbox: false,
    acceptedDomains: ['a.example'],
    plans,
  })
  const gaps = (sizeGb: number, ...plans: string[]) =>
    targetGaps(wanted(sizeGb), facts(plans)).map(({ Gap }) => Gap)

  it('compare the mailbox with what its licence allows, and with the largest before any licence', () => {
    assert.deepEqual(gaps(60, 'EXCHANGE_S_ENTERPRISE', 'EXCHANGE_S_STANDARD'), [])
    assert.deepEqual(gaps(60), [])
    assert.match(gaps(60, 'EXCHANGE_S_STANDARD')[0]!, /has 60\.0 GB; the mailbox here may have 50/)
    assert.match(gaps(3, 'EXCHANGE_S_DESKLESS')[0]!, /may have 2 GB/)
    assert.match(gaps(101)[0]!, /may have 100 GB/)
  })

  it('say that a guest is no target', () => {
    const [gap] = targetGaps(wanted(1), facts([], 'GuestMailUser'))
    assert.match(gap!.Gap, /is a guest/)
  })
})
