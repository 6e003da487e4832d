// A rehearsal honours the change windows of runbook and system: people are through only after the window has opened, and the report says
// how long each phase waited.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { guidOf } from '../../../sandbox/identity.ts'
import { resultText } from '../../../src/app/rehearsal/report.ts'
import type { ChangeWindows } from '../../../src/domain/windows/change-windows.ts'
import { example, rehearseText } from './rehearsing.ts'

const ROWS = `RemediationId,Action,GroupId,UserId,ShouldBeMember
1,Add-EntraGroupMember,${guidOf('g')},${guidOf('u1')},true`
const WINDOWS = 'windows: { time_zone: UTC, hours: [{ days: [thu], from: "03:00", to: "05:00" }] }'

it('waits for the opening, and the report shows when phases really end', async () => {
  // It begins on a Tuesday, and its members start at once.
  const report = await rehearseText(`${example('group-membership.yaml')}\n${WINDOWS}\n`, ROWS)
  assert.equal(report.members.done, 1)
  const [first] = report.timeline
  assert.match(first!.startedAt!, /^2030-01-01T00/)
  assert.match(first!.endedAt!, /^2030-01-03T03:0/)
  // From the first second of Tuesday to three o'clock on Thursday.
  const waited = 51 * 3_600
  assert.ok(first!.windowWaitSec > waited - 60 && first!.windowWaitSec <= waited)
  assert.equal(report.windowWaitSec, first!.windowWaitSec)
  assert.match(resultText(first!), /, waited 2d 3h for the change window$/)
  assert.ok(report.warnings.some((text) => / of batch 1 waited 2d 3h for/.test(text)))
})

it("waits for the system's windows too, and loses no time without windows", async () => {
  const windows: ChangeWindows = {
    timeZone: 'UTC',
    hours: [{ days: ['tue'], fromMin: 6 * 60, toMin: 8 * 60 }],
    freezes: [],
  }
  const yaml = example('group-membership.yaml')
  const report = await rehearseText(yaml, ROWS, { windows })
  const [first] = report.timeline
  assert.match(first!.endedAt!, /^2030-01-01T06:0/)
  assert.match(resultText(first!), /waited 6h for the change window/)
  assert.ok(report.assumptions.some((text) => /system's change windows/.test(text)))
  const free = await rehearseText(yaml, ROWS)
  assert.equal(free.windowWaitSec, 0)
  assert.doesNotMatch(resultText(free.timeline[0]!), /window/)
  assert.deepEqual(
    free.warnings.filter((text) => text.includes('window')),
    [],
  )
})
