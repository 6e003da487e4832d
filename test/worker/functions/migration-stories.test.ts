// Mailbox moves: one batch for a wave, completed person by person by a step of ours; what waits for a person is told at once.
import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { CASES, type Params } from './cases.ts'
import type { Setting } from './setting.ts'
import { fails, prepareMove as prepare, story, succeeds, userOf } from './story.ts'
import { OBRIEN } from './tenants.ts'

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
