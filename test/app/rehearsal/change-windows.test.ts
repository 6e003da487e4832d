// A rehearsal honours the runbook's change windows: people are through only after the window has opened.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { guidOf } from '../../../src/sandbox/identity.ts'
import { example, rehearseText } from './rehearsing.ts'

const ROWS = `RemediationId,Action,GroupId,UserId,ShouldBeMember
1,Add-EntraGroupMember,${guidOf('g')},${guidOf('u1')},true`
const WINDOWS = 'windows: { time_zone: UTC, hours: [{ days: [thu], from: "03:00", to: "05:00" }] }'

it('waits for the opening, and the report shows when phases really end', async () => {
  // It begins on a Tuesday, and its members start at once.
  const report = await rehearseText(`${example('group-membership.yaml')}\n${WINDOWS}\n`, ROWS)
  assert.equal(report.members.migrated, 1)
  const [first] = report.timeline
  assert.match(first!.startedAt!, /^2030-01-01T00/)
  assert.match(first!.endedAt!, /^2030-01-03T03:0/)
})
