// Both ways to Exchange. A program of ours stands for `pwsh`, with a stand-in of Microsoft's module; test/proof/powershell has a real one.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, it } from 'node:test'
import { type Clock, realClock } from '../../../src/base/run/clock.ts'
import { leapingClock } from '../functions/setting.ts'
import {
  certificateOf,
  childrenNow,
  exchangeContract,
  own,
  unknown,
  type Way,
  within,
} from './exchange-contract.ts'

const PWSH = join(import.meta.dirname, '../../fixtures/powershell/pwsh.mjs')
/** Waits are this much shorter. */
const HASTE = 20
const SLOW_SEC = 3_599

const real = realClock()
const hasty = () => ({
  ...real,
  wait: (ms: number, signal?: AbortSignal) => real.wait(ms / HASTE, signal),
})

const REST: Way = { name: 'REST', env: {}, clock: leapingClock }
const POWERSHELL: Way = {
  name: 'PowerShell',
  env: { MATOOLKIT_EXCHANGE_URL: 'powershell', MATOOLKIT_PWSH: PWSH },
  clock: hasty,
}

for (const way of [REST, POWERSHELL])
  describe(`Exchange by ${way.name}`, { timeout: 60_000 }, () => exchangeContract(way))

describe('Microsoft’s module behind the worker', { timeout: 60_000 }, () => {
  it('gets a new process when its own dies, and a change that may be repeated is repeated', async () => {
    // The sandbox waits while it has the cmdlet: that is when its process dies.
    const wait: Clock['wait'] = (ms, signal) => {
      if (ms === SLOW_SEC * 1_000) for (const pid of childrenNow()) process.kill(pid, 'SIGKILL')
      return hasty().wait(ms, signal)
    }
    const clock = () => ({ ...real, wait })
    await within({ ...POWERSHELL, clock }, async ({ run, sandbox, refusal, effects }) => {
      const slow = { kind: 'slow', delaySec: SLOW_SEC } as const
      sandbox.setFaults({
        script: [
          { on: 'Set-MailUser', fault: slow },
          { on: 'Add-DistributionGroupMember', fault: slow },
        ],
      })
      const Identity = "kim.o'brien@contoso.example"
      await run('Set-MailUser', { Identity, ExternalEmailAddress: 'kim@fabrikam.example' })
      assert.equal(effects().length, 1, effects().join('\n'))
      const member = { Identity: 'scope@contoso.example', Member: 'person1@contoso.example' }
      const error = await refusal('Add-DistributionGroupMember', member)
      assert.deepEqual([error.isOutcomeUnknown, error.attempts], [true, 1])
      assert.match(error.message, /PowerShell ended by SIGKILL/)
    })
  })

  it('connects once more when a connection fails: nothing can have been done yet', async () => {
    await within(POWERSHELL, async ({ run, sandbox, effects }) => {
      const ofModule = 'POST /contoso.onmicrosoft.com/oauth2/v2.0/token'
      sandbox.setFaults({
        script: [
          { on: 'Add-DistributionGroupMember', fault: 'expired-token' },
          { on: ofModule, times: 2, fault: { kind: 'error', status: 503 } },
        ],
      })
      const member = { Identity: 'scope@contoso.example', Member: 'person1@contoso.example' }
      const given = { ...member, BypassSecurityGroupManagerCheck: true }
      await run('Add-DistributionGroupMember', given)
      assert.deepEqual(effects(), ['member added'])
    })
  })

  it('shows neither token nor key in what it says', async () => {
    await within(POWERSHELL, async ({ sandbox, refusal }) => {
      const fault = { kind: 'error', status: 503 } as const
      sandbox.setFaults({ script: [{ on: 'Add-DistributionGroupMember', fault }] })
      const { message } = await refusal('Add-DistributionGroupMember', {
        Identity: 'x',
        Member: 'y',
      })
      assert.match(message, /503 .*said \[redacted\]/)
    })
    // The worker's own two tokens come first; then the app knows the certificate no longer.
    let asked = 0
    const refused = within(POWERSHELL, async () => assert.fail('it signed in'), {
      candidates: async () => [await certificateOf(++asked > 2 ? unknown : own)],
    })
    // The stand-in repeats the key.
    await assert.rejects(refused, ({ message }: Error) =>
      /AADSTS\d+.* with \[redacted\]/.test(message),
    )
  })

  it('that is missing is told at the start, not by the first job', async () => {
    const without = { ...POWERSHELL, env: { ...POWERSHELL.env, MATOOLKIT_PWSH: 'no-such-program' } }
    await assert.rejects(
      within(without, async () => assert.fail('it signed in')),
      {
        name: 'SignInFault',
        kind: 'sign_in',
        message: /through PowerShell, as MATOOLKIT_EXCHANGE_URL says: PowerShell is not installed/,
      },
    )
  })
})
