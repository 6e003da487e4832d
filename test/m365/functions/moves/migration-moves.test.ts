// Mailbox moves: one batch for a wave, completed person by person by a step of ours; what waits for a person is told at once.
import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { CASES, type Params } from '../cases.ts'
import type { Setting, WithinOptions } from '../setting.ts'
import { fails, prepareMove as prepare, story, succeeds, userOf } from '../story.ts'
import { OBRIEN } from '../tenants.ts'

const KIM = "kim.o'brien@contoso.example"
const WAVE: Params = { ...CASES['Add-MigrationUser']!.params, BatchName: 'wave 1' }
const { signal } = new AbortController()
const HOUR_MS = 3_600_000

const batches = (s: Setting) => s.sandbox.state().tenants[0]!.migrationBatches
const test = (s: Setting, WaitFor = 'Completed') =>
  succeeds(s, 'Test-MigrationUser', { Identity: KIM, WaitFor })

describe('the cut-over', () => {
  story('is our own step: copied mailboxes wait for it, however long', async (s) => {
    await prepare(s)
    await succeeds(s, 'Add-MigrationUser', WAVE)
    await fails(s, 'Complete-MigrationUser', { Identity: KIM }, 'Refused', /is Syncing: not copied/)
    await s.clock.wait(60 * 24 * HOUR_MS)
    assert.equal((await test(s, 'Synced')).complete, true)
    assert.equal((await test(s)).complete, false)
    assert.equal(userOf(s, OBRIEN).recipient!.kind, 'mailUser')
    await succeeds(s, 'Complete-MigrationUser', { Identity: KIM })
    await s.clock.wait(HOUR_MS)
    assert.equal((await test(s)).complete, true)
    assert.equal(userOf(s, OBRIEN).recipient!.kind, 'mailbox')
    const again = await succeeds(s, 'Complete-MigrationUser', { Identity: KIM })
    assert.deepEqual([again.Status, again.Changed], ['Completed', false])
    await fails(s, 'Stop-MigrationUser', { Identity: KIM }, 'Refused', /is completed/)
  })

  story('changes its date where one was given to Exchange', async (s) => {
    const { params } = CASES['New-MigrationBatch']!
    await succeeds(s, 'New-MigrationBatch', params)
    const later = { ...params, CompleteAfter: '2030-04-01T00:00:00Z' }
    const moved = await succeeds(s, 'New-MigrationBatch', later)
    assert.deepEqual([moved.Created, moved.Changed], [false, true])
    assert.equal(batches(s).at(-1)!.completeAfter, '2030-04-01T00:00:00.000Z')
    assert.equal((await succeeds(s, 'New-MigrationBatch', later)).Changed, false)
  })
})

describe('Remove-MigrationUser', () => {
  const withArchives: WithinOptions['seeded'] = ({ tenants: [contoso, fabrikam] }) => ({
    tenants: [
      contoso!,
      {
        ...fabrikam!,
        users: fabrikam!.users!.map((user) =>
          user.userPrincipalName.startsWith("kim.o'brien@")
            ? { ...user, recipient: { ...user.recipient!, auxiliaryArchives: 2 } }
            : user,
        ),
      },
    ],
  })

  story(
    'takes the auxiliary archives of the person along, and no one else, so that a second attempt works',
    async (s) => {
      await prepare(s)
      const neighbour = 'lead@contoso.example'
      await succeeds(s, 'Add-MigrationUser', WAVE)
      await succeeds(s, 'Add-MigrationUser', { ...WAVE, Identity: neighbour })
      await s.clock.wait(60 * 24 * HOUR_MS)
      const all = { Identity: KIM, IncludeAssociatedUsers: true }
      const shown = await s.tenant.exchange.run('Get-MigrationUser', all, { signal })
      assert.equal(shown.length, 3)
      await succeeds(s, 'Remove-MigrationUser', { Identity: KIM })
      const again = { ...WAVE, BatchName: 'wave 2' }
      assert.equal((await succeeds(s, 'Add-MigrationUser', again)).Changed, true)
      const wave = batches(s).find(({ name }) => name === 'wave 1')!
      assert.deepEqual(
        wave.mailboxMoves.map(({ address }) => address),
        [neighbour],
      )
    },
    { seeded: withArchives },
  )
})

describe('Add-MigrationUser', () => {
  story('creates the batch of a wave once, without a date, and adds the others', async (s) => {
    await succeeds(s, 'Add-MigrationUser', WAVE)
    await succeeds(s, 'Add-MigrationUser', { ...WAVE, Identity: 'lead@contoso.example' })
    const wave = batches(s).find(({ name }) => name === 'wave 1')!
    assert.deepEqual([wave.mailboxMoves.length, wave.completeAfter], [2, null])
    assert.deepEqual(s.effects(), ['migration batch created', 'migration users added'])
  })

  story('adds to a batch that another worker creates at the same moment', async (s) => {
    const people = ['lead@contoso.example', 'max@contoso.example', 'ada@contoso.example', KIM]
    const all = people.map((Identity) => s.run('Add-MigrationUser', { ...WAVE, Identity }))
    const statuses = (await Promise.all(all)).map(({ status }) => status)
    assert.deepEqual(statuses, ['Success', 'Success', 'Success', 'Success'])
    const created = s.effects().filter((what) => what === 'migration batch created')
    assert.equal(created.length, 1)
    assert.equal(batches(s).at(-1)!.mailboxMoves.length, 4)
  })

  for (const csvData of ['typed', 'text'] as const)
    story(
      `finds the form of the list that the tenant understands: ${csvData}`,
      async (s) => {
        await succeeds(s, 'Add-MigrationUser', WAVE)
        await succeeds(s, 'Add-MigrationUser', { ...WAVE, Identity: 'lead@contoso.example' })
        assert.equal(batches(s).at(-1)!.mailboxMoves.length, 2)
      },
      { dialect: { csvData } },
    )

  story('leaves a person in another batch alone', async (s) => {
    await succeeds(s, 'Add-MigrationUser', WAVE)
    const other = { ...WAVE, BatchName: 'wave 2' }
    await fails(s, 'Add-MigrationUser', other, 'Refused', /in migration batch "wave 1" already/)
  })

  story('starts only the new person of a stopped batch', async (s) => {
    await prepare(s)
    await succeeds(s, 'Add-MigrationUser', { ...WAVE, Identity: 'lead@contoso.example' })
    await s.tenant.exchange.run('Stop-MigrationBatch', { Identity: 'wave 1' }, { signal })
    await succeeds(s, 'Add-MigrationUser', WAVE)
    const moves = batches(s).at(-1)!.mailboxMoves
    assert.deepEqual(
      moves.map(({ status }) => status),
      ['Failed', 'Syncing'],
    )
  })
})

const SLOW = { stopSec: 300 }
const MINUTE_MS = 60_000
const statusOf = (s: Setting, batch = -1) => batches(s).at(batch)?.mailboxMoves[0]?.status
/** As a polled step: the states it reports until it is complete, a minute apart. */
async function poll(s: Setting, name: string, params: Params): Promise<unknown[]> {
  const seen: unknown[] = []
  for (let polls = 0; polls < 20; polls++) {
    const { status, result, error } = await s.run(name, params, true)
    assert.equal(status, 'Success', error?.message)
    const { complete, Reason } = result as Params
    seen.push(statusOf(s))
    if (complete) return seen
    assert.match(String(Reason), / is (Stopping|Removing); Exchange needs minutes/)
    await s.clock.wait(MINUTE_MS)
  }
  return seen
}
const distinct = (list: readonly unknown[]) => [...new Set(list)]

describe('a tenant that takes minutes to stop and remove', () => {
  story(
    'is stopped when it says so, and starts again when it has stopped',
    async (s) => {
      await prepare(s)
      await succeeds(s, 'Add-MigrationUser', WAVE)
      await s.clock.wait(3 * HOUR_MS)
      assert.equal((await test(s, 'Synced')).complete, true)
      const stop = await succeeds(s, 'Stop-MigrationUser', { Identity: KIM })
      assert.deepEqual([stop.Status, stop.Changed, stop.complete], ['Stopping', true, false])
      const start = await succeeds(s, 'Start-MigrationUser', { Identity: KIM })
      assert.deepEqual([start.Changed, start.complete], [false, false], 'not before it has stopped')
      assert.deepEqual(distinct(await poll(s, 'Stop-MigrationUser', { Identity: KIM })), [
        'Stopping',
        'Stopped',
      ])
      await fails(s, 'Complete-MigrationUser', { Identity: KIM }, 'MigrationStopped', /is Stopped/)
      assert.equal((await succeeds(s, 'Start-MigrationUser', { Identity: KIM })).Changed, true)
      assert.equal(statusOf(s), 'Syncing')
      const stops = s.effects().filter((what) => what === 'migration user stopped')
      assert.equal(stops.length, 1)
    },
    SLOW,
  )

  story(
    'is removed while it stops, and a second attempt waits until it is gone',
    async (s) => {
      await prepare(s)
      await succeeds(s, 'Add-MigrationUser', WAVE)
      await succeeds(s, 'Stop-MigrationUser', { Identity: KIM })
      const removed = poll(s, 'Remove-MigrationUser', { Identity: KIM })
      assert.deepEqual(distinct(await removed), ['Stopping', 'Removing', undefined])
      await succeeds(s, 'Add-MigrationUser', WAVE)
      assert.equal(statusOf(s), 'Syncing')
      const last = await s.run('Remove-MigrationUser', { Identity: KIM }, true)
      assert.equal((last.result as Params).complete, false)
      await s.clock.wait(5 * MINUTE_MS)
      await s.run('Remove-MigrationUser', { Identity: KIM }, true)
      await fails(s, 'Add-MigrationUser', WAVE, 'Refused', /still being removed .* Retry the step/)
    },
    SLOW,
  )
})

describe('a tenant that takes minutes, or is faster than a stop', () => {
  story(
    'a batch is gone when it says so, and its name is free only then',
    async (s) => {
      const { params } = CASES['New-MigrationBatch']!
      await prepare(s)
      await succeeds(s, 'New-MigrationBatch', params)
      const name = { Name: params.Name! }
      const first = await succeeds(s, 'Remove-MigrationBatch', name)
      assert.deepEqual([first.Changed, first.complete], [true, false])
      await s.clock.wait(5 * MINUTE_MS)
      assert.equal((await succeeds(s, 'Remove-MigrationBatch', name)).complete, false)
      await fails(s, 'New-MigrationBatch', params, 'Refused', /still being removed/)
      await s.clock.wait(5 * MINUTE_MS)
      assert.deepEqual(
        [(await succeeds(s, 'Remove-MigrationBatch', name)).complete, batches(s).length],
        [true, 1],
      )
      assert.equal((await succeeds(s, 'New-MigrationBatch', params)).Created, true)
    },
    SLOW,
  )

  story(
    'a stop that comes too late says that the mailbox is here',
    async (s) => {
      await prepare(s)
      await succeeds(s, 'Add-MigrationUser', WAVE)
      await s.clock.wait(3 * HOUR_MS)
      await succeeds(s, 'Complete-MigrationUser', { Identity: KIM })
      await s.clock.wait(9 * MINUTE_MS)
      const asked = await s.run('Stop-MigrationUser', { Identity: KIM }, true)
      assert.deepEqual((asked.result as Params).complete, false, 'completing still')
      await s.clock.wait(5 * MINUTE_MS)
      assert.equal((await test(s)).complete, true)
      await fails(s, 'Stop-MigrationUser', { Identity: KIM }, 'Refused', /the mailbox is here/)
    },
    SLOW,
  )
})

describe('a mailbox move that waits for a person', () => {
  story(
    'is told at once: a licence that Exchange wants approved',
    async (s) => {
      await prepare(s, false)
      await succeeds(s, 'Add-MigrationUser', WAVE)
      const asked = { Identity: KIM, WaitFor: 'Synced' }
      const says = /is NeedsApproval: .*assign the licence.*Start-MigrationUser/
      await fails(s, 'Test-MigrationUser', asked, 'MigrationStopped', says)
      await fails(s, 'Complete-MigrationUser', { Identity: KIM }, 'MigrationStopped', says)
      const license = { UserId: KIM, SkuId: 'CROSS_TENANT_USER_DATA_MIGRATION' }
      await succeeds(s, 'Add-EntraUserLicense', license)
      assert.equal((await succeeds(s, 'Start-MigrationUser', { Identity: KIM })).Changed, true)
      assert.equal((await test(s, 'Synced')).complete, false)
    },
    { dialect: { missingLicence: 'needsApproval' } },
  )

  story('is told at once: a target that is not prepared', async (s) => {
    await succeeds(s, 'Add-MigrationUser', WAVE)
    await fails(
      s,
      'Test-MigrationUser',
      { Identity: KIM },
      'MigrationStopped',
      /is Failed: .*Prepare the target \(Set-ExchangeMoveTarget\)/,
    )
  })
})

describe('a tenant that says "busy" to New-MigrationBatch', () => {
  const { params } = CASES['New-MigrationBatch']!
  const batchesOf = ({ sandbox }: Setting) =>
    sandbox.state().tenants[0]!.migrationBatches.filter(({ name }) => name === params.Name)
  const usersOf = (s: Setting) => batchesOf(s).flatMap(({ mailboxMoves }) => mailboxMoves)

  for (const status of [429, 503] as const) {
    story(`after it made the batch (${status}): it is found, and there is one`, async (s) => {
      const fault = { kind: 'error-after', status } as const
      s.sandbox.setFaults({ script: [{ on: 'New-MigrationBatch', fault }] })
      const made = await succeeds(s, 'New-MigrationBatch', params)
      assert.deepEqual([made.Created, made.Changed], [true, true])
      assert.deepEqual([batchesOf(s).length, usersOf(s).length], [1, 1])
      assert.equal(s.effects().filter((what) => what === 'migration batch created').length, 1)
    })
  }

  story('before it made anything: the creation is sent again', async (s) => {
    s.sandbox.setFaults({ script: [{ on: 'New-MigrationBatch', fault: 'error' }] })
    assert.equal((await succeeds(s, 'New-MigrationBatch', params)).Created, true)
    assert.deepEqual([batchesOf(s).length, usersOf(s).length], [1, 1])
  })

  story('again and again: the outcome is unknown, and no attempt is endless', async (s) => {
    const script = [{ on: 'New-MigrationBatch', times: 99, fault: 'error' as const }]
    s.sandbox.setFaults({ script })
    const { error } = await s.run('New-MigrationBatch', params)
    assert.match(error!.message, /503 .* may have been done/)
    assert.deepEqual(batchesOf(s), [])
  })

  story('while another job makes the batch: nobody is left out of it', async (s) => {
    const others = String(params.EmailAddresses as string[] | string).split(',')
    const add = (Identity: string) =>
      s.run('Add-MigrationUser', {
        Identity,
        BatchName: params.Name!,
        SourceEndpoint: params.SourceEndpoint!,
        TargetDeliveryDomain: params.TargetDeliveryDomain!,
      })
    // The second creation is refused as busy before it did anything; then the first one's batch is there.
    s.sandbox.setFaults({ script: [{ on: 'New-MigrationBatch', nth: 2, fault: 'error' }] })
    const answers = await Promise.all([add(others[0]!), add('lead@contoso.example')])
    for (const { status, error } of answers) assert.equal(status, 'Success', error?.message)
    assert.equal(batchesOf(s).length, 1)
    const added = usersOf(s).map(({ address }) => address)
    assert.deepEqual(added.sort(), [others[0]!, 'lead@contoso.example'].sort())
  })
})
