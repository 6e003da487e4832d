// Runs people through one Graph and two Exchange calls each, by slots, against a sandbox whose Exchange bears only so many calls at
// once; every call takes a second of the virtual clock. Used by the test and the bench of the governor.

import { openSandbox } from '../../../sandbox/sandbox.ts'
import { defaultSeed } from '../../../sandbox/seed.ts'
import { DEFAULT_SECRET } from '../../../sandbox/state.ts'
import { tokenEndpointsOf } from '../../../src/base/sign-in/clouds.ts'
import { makeTokens } from '../../../src/base/sign-in/token.ts'
import { connectTenant } from '../../../src/m365/client/connect.ts'
import type { M365Tenant } from '../../../src/m365/client/tenant.ts'
import { drivenClock } from '../../kit/scripted-service.ts'
import { configFor, memorySecrets } from '../../m365/functions/setting.ts'

export const CONCURRENCIES = ['fixed 4', 'fixed 32', 'governor'] as const

interface ThrottledRun {
  /** Virtual seconds from the first call to the last answer. */
  readonly sec: number
  /** Requests that were answered with 429. */
  readonly throttled: number
  /** People whose call was given up after all attempts. */
  readonly failed: number
}

interface RunOptions {
  /** Concurrent calls that Exchange bears. */
  readonly bears: number
  readonly concurrency: (typeof CONCURRENCIES)[number]
}

export async function runThrottled(
  people: number,
  { bears, concurrency }: RunOptions,
): Promise<ThrottledRun> {
  const clock = drivenClock()
  const quotas = { exchangeConcurrency: bears, callSec: 1, retryAfterSec: 10 }
  const sandbox = await openSandbox({ clock, seed: defaultSeed() })
  const slots = concurrency === 'fixed 4' ? 4 : 32
  const config = configFor(sandbox.url, sandbox.state().tenants[0]!.id, {
    MATOOLKIT_EXCHANGE_PARALLELISM: String(slots),
  })
  const tenant = connectTenant({
    config,
    clock,
    secrets: memorySecrets(),
    credential: { secret: DEFAULT_SECRET },
    tokens: makeTokens(clock, tokenEndpointsOf(config)),
    random: () => 0.5,
    isAdaptive: concurrency === 'governor',
  })
  try {
    await tenant.signIn()
    sandbox.setFaults({ quotas })
    const beganMs = +clock.now()
    let left = people
    let failed = 0
    const slot = async () => {
      while (left-- > 0) await migrate(tenant).catch(() => failed++)
    }
    await clock.drive(Array.from({ length: slots }, slot), () => tenant.throttles())
    const throttled = tenant.throttles().reduce((sum, state) => sum + state.throttled, 0)
    return { sec: (+clock.now() - beganMs) / 1_000, throttled, failed }
  } finally {
    await sandbox.close()
  }
}

async function migrate({ graph, exchange }: M365Tenant): Promise<void> {
  const { signal } = new AbortController()
  await graph.call({ method: 'GET', path: '/users', query: { $top: '1' }, signal })
  for (const cmdlet of ['Get-Mailbox', 'Get-MailUser'])
    await exchange.run(cmdlet, { ResultSize: 1 }, { signal })
}
