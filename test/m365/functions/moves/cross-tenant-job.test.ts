// Microsoft's own migration job, from its validation to the cut-over that nothing of ours holds up.
import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { CASES, type Params } from '../cases.ts'
import type { Setting } from '../setting.ts'
import { fails, prepareMove, story, succeeds, userOf } from '../story.ts'
import { ADA, OBRIEN } from '../tenants.ts'

const { params: WAVE } = CASES['New-CrossTenantMigrationJob']!
const HOUR_MS = 3_600_000
const TO_THE_DATE_MS = 16 * 24 * HOUR_MS

async function validated(s: Setting, more: Params = {}): Promise<Params> {
  const { JobId } = await succeeds(s, 'New-CrossTenantMigrationJob', { ...WAVE, ...more })
  await s.clock.wait(HOUR_MS)
  return { JobId: JobId! }
}

const test = (s: Setting, job: Params, more: Params = {}) =>
  succeeds(s, 'Test-CrossTenantMigrationJob', { ...job, ...more })

describe("Microsoft's own migration job", () => {
  story('is validated, started by a step of ours, and cuts over at its date', async (s) => {
    await prepareMove(s)
    const job = await validated(s)
    assert.equal((await test(s, job, { WaitFor: 'Validated' })).complete, true)
    await s.clock.wait(24 * HOUR_MS)
    assert.equal(userOf(s, OBRIEN).recipient!.kind, 'mailUser', 'nothing starts unasked')
    await succeeds(s, 'Start-CrossTenantMigrationJob', job)
    await s.clock.wait(10 * 24 * HOUR_MS)
    assert.equal((await test(s, job)).complete, false)
    assert.equal(userOf(s, OBRIEN).recipient!.kind, 'mailUser', 'the date is not reached')
    await s.clock.wait(10 * 24 * HOUR_MS)
    const { complete, data } = await test(s, job, { UserId: OBRIEN })
    assert.equal(complete, true)
    assert.equal((data as { Services: Params }).Services.Exchange, 'completed')
    assert.equal(userOf(s, OBRIEN).recipient!.kind, 'mailbox')
    await fails(s, 'Stop-CrossTenantMigrationJob', job, 'Refused', /Microsoft no longer cancels it/)
    assert.equal((await succeeds(s, 'Start-CrossTenantMigrationJob', job)).Changed, false)
  })

  story('stops before its date, and a second attempt needs another name', async (s) => {
    await prepareMove(s)
    const job = await validated(s)
    await succeeds(s, 'Start-CrossTenantMigrationJob', job)
    await succeeds(s, 'Stop-CrossTenantMigrationJob', job)
    await s.clock.wait(2 * TO_THE_DATE_MS)
    assert.equal(userOf(s, OBRIEN).recipient!.kind, 'mailUser')
    await fails(
      s,
      'Test-CrossTenantMigrationJob',
      job,
      'Refused',
      /is cancelled\. It was cancelled/,
    )
    const again = { ...WAVE, CompleteAfter: '2030-05-01T20:00:00Z' }
    await fails(s, 'New-CrossTenantMigrationJob', again, 'Refused', /a name is used only once/)
    await succeeds(s, 'New-CrossTenantMigrationJob', { ...again, Name: 'wave 1, again' })
  })

  story('loses one person and keeps the others', async (s) => {
    await prepareMove(s)
    const job = await validated(s, { UserIds: [OBRIEN, ADA], Workloads: 'ODSP' })
    const out = { ...job, UserId: ADA }
    assert.equal((await succeeds(s, 'Stop-CrossTenantMigrationJob', out)).Changed, true)
    assert.equal((await succeeds(s, 'Stop-CrossTenantMigrationJob', out)).Changed, false)
    await succeeds(s, 'Start-CrossTenantMigrationJob', job)
    await s.clock.wait(2 * TO_THE_DATE_MS)
    assert.equal((await test(s, job)).complete, true)
    await fails(s, 'Test-CrossTenantMigrationJob', out, 'Refused', /ODSP is cancelled/)
  })
})

describe("a job of Microsoft's that cannot start", () => {
  story('says what is missing, and is validated again once that is there', async (s) => {
    await prepareMove(s, false)
    const job = await validated(s)
    const wait = { ...job, WaitFor: 'Validated' }
    await fails(s, 'Test-CrossTenantMigrationJob', wait, 'Refused', /No license was found/)
    await fails(s, 'Start-CrossTenantMigrationJob', job, 'Refused', /validateFailed, not validateP/)
    await prepareMove(s)
    const again = await succeeds(s, 'New-CrossTenantMigrationJob', WAVE)
    assert.deepEqual([again.Created, again.Changed], [false, true])
    await s.clock.wait(HOUR_MS)
    assert.equal((await test(s, job, { WaitFor: 'Validated' })).complete, true)
  })

  story('was validated more than seven days ago', async (s) => {
    await prepareMove(s)
    const job = await validated(s)
    await s.clock.wait(8 * 24 * HOUR_MS)
    await fails(s, 'Start-CrossTenantMigrationJob', job, 'Refused', /more than seven days ago/)
    assert.equal(userOf(s, OBRIEN).recipient!.kind, 'mailUser')
  })

  story('takes another date while it waits', async (s) => {
    await validated(s)
    const later = { ...WAVE, CompleteAfter: '2030-04-01T20:00:00Z' }
    assert.equal((await succeeds(s, 'New-CrossTenantMigrationJob', later)).Changed, true)
    const [, made] = s.sandbox.state().tenants[0]!.crossTenantJobs
    assert.equal(made!.completeAfter, '2030-04-01T20:00:00.000Z')
  })
})
