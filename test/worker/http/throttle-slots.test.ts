// Throttling across eight slots: a 429 for one of them stops all calls to that API, and to that API only. The sandbox records
// when each request arrives.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { drivenClock } from '../../kit/scripted-service.ts'
import { withinOn } from '../../m365/functions/setting.ts'
import { ADA } from '../../m365/functions/tenants.ts'

const SLOTS = 8
const RETRY_AFTER_SEC = 5

describe('eight slots at one gate', () => {
  it('send nothing to Graph for 5 s after a 429 with Retry-After 5, and keep calling Exchange', () =>
    withinOn(drivenClock(), {}, async ({ sandbox, tenant, clock, run }) => {
      const fault = { kind: 'throttle', retryAfterSec: RETRY_AFTER_SEC } as const
      sandbox.setFaults({ script: [{ on: 'PATCH /v1.0/users/*', fault }] })
      const firstRequest = sandbox.journal.requestsMade
      const beganMs = +clock.now()
      const jobs = Array.from({ length: SLOTS }, async (_, slot) => {
        // Each starts a little later, so that some are about to send when the gate closes.
        await clock.wait(slot * 500)
        return slot % 4 === 3
          ? run('Test-ExchangeGroupMembership', {
              GroupIdentity: 'all@contoso.example',
              MemberIdentity: 'kim@contoso.example',
            })
          : run('Set-EntraUserAttribute', {
              UserId: ADA,
              AttributeName: 'jobTitle',
              Value: `title ${slot}`,
            })
      })
      const answers = await clock.drive(jobs, () => tenant.throttles())
      for (const answer of answers) {
        assert.equal(answer.status, 'fulfilled')
        assert.equal(answer.value.status, 'Success', answer.value.error?.message)
      }
      const requests = sandbox.journal.requests.filter(({ number }) => number > firstRequest)
      const secOf = (at: string) => (Date.parse(at) - beganMs) / 1_000
      const refusedAt = secOf(requests.find(({ status }) => status === 429)!.at)
      const during = requests.filter(
        ({ at }) => secOf(at) > refusedAt && secOf(at) < refusedAt + RETRY_AFTER_SEC,
      )
      assert.deepEqual(
        during.map(({ cmdlet }) => cmdlet),
        ['Get-DistributionGroupMember', 'Get-DistributionGroupMember'],
      )
      assert.ok(requests.some(({ at, cmdlet }) => cmdlet === null && secOf(at) > RETRY_AFTER_SEC))
    }))
})
