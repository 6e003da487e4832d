// OneDrives that move to another tenant, from the worker of the source.
import assert from 'node:assert/strict'
import { describe } from 'node:test'
import { fails, story, succeeds } from '../story.ts'

const KIM = "kim.o'brien@contoso.example"
const ROUTE = {
  SourceUserPrincipalName: KIM,
  TargetUserPrincipalName: "kim.o'brien@fabrikam.example",
  TargetOrganizationHost: 'https://fabrikam-my.sharepoint.com',
}
const WHO = { SourceUserPrincipalName: KIM }
const HOUR_MS = 3_600_000

describe('a OneDrive move', () => {
  story('waits, runs and arrives; a poll sees it, and then nothing stops it', async (setting) => {
    await succeeds(setting, 'Start-OneDriveMove', ROUTE)
    const statusAfter = async (ms: number) => {
      await setting.clock.wait(ms)
      const { complete, data } = await succeeds(setting, 'Test-OneDriveMove', WHO)
      return [complete, (data as { Status: string }).Status]
    }
    assert.deepEqual(await statusAfter(0), [false, 'notStarted'])
    assert.deepEqual(await statusAfter(HOUR_MS / 4), [false, 'inProgress'])
    await fails(setting, 'Stop-OneDriveMove', WHO, 'Refused', /is inProgress and cannot be stopped/)
    assert.deepEqual(await statusAfter(2 * HOUR_MS), [true, 'completed'])
    await fails(setting, 'Stop-OneDriveMove', WHO, 'Refused', /is completed and cannot be stopped/)
    const again = await succeeds(setting, 'Start-OneDriveMove', ROUTE)
    assert.equal(again.Changed, false)
    assert.deepEqual(setting.effects(), ['OneDrive move made', 'OneDrive moved'])
  })

  story('that was stopped is made again by a second attempt', async (setting) => {
    await succeeds(setting, 'Start-OneDriveMove', ROUTE)
    await succeeds(setting, 'Stop-OneDriveMove', WHO)
    await fails(setting, 'Test-OneDriveMove', WHO, 'Refused', /is cancelled: .* Start-OneDriveMove/)
    const again = await succeeds(setting, 'Start-OneDriveMove', ROUTE)
    assert.deepEqual([again.Status, again.Changed], ['notStarted', true])
  })

  story('takes another time while it waits, and no other target', async (setting) => {
    await succeeds(setting, 'Start-OneDriveMove', ROUTE)
    const later = { ...ROUTE, PreferredStartDateTime: '2030-04-01T20:00:00Z' }
    assert.equal((await succeeds(setting, 'Start-OneDriveMove', later)).Changed, true)
    assert.equal((await succeeds(setting, 'Start-OneDriveMove', later)).Changed, false)
    const elsewhere = { ...ROUTE, TargetUserPrincipalName: 'kim@elsewhere.example' }
    await fails(setting, 'Start-OneDriveMove', elsewhere, 'Refused', /goes to "kim\.o'brien@fab/)
    assert.deepEqual(setting.effects(), ['OneDrive move made', 'OneDrive move changed'])
  })

  story('of somebody else is not stopped by the undo of ours', async (setting) => {
    await succeeds(setting, 'Start-OneDriveMove', ROUTE)
    const ours = { ...WHO, TargetUserPrincipalName: 'kim@elsewhere.example' }
    assert.equal((await succeeds(setting, 'Stop-OneDriveMove', ours)).Changed, false)
    assert.deepEqual(setting.effects(), ['OneDrive move made'])
  })

  story(
    'to no one is told before it starts, and fails its poll with the reason',
    async (setting) => {
      const lost = { ...ROUTE, TargetUserPrincipalName: 'nobody@fabrikam.example' }
      const { complete, data } = await succeeds(setting, 'Test-OneDriveMoveReadiness', lost)
      assert.equal(complete, false)
      assert.match((data as { Reason: string }).Reason, /"nobody@fabrikam\.example" does not exist/)
      await succeeds(setting, 'Start-OneDriveMove', lost)
      await setting.clock.wait(3 * HOUR_MS)
      await fails(setting, 'Test-OneDriveMove', WHO, 'Refused', /is failed: .*does not exist/)
    },
  )
})
