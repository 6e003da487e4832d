// Seeds of faults on Service Bus, one after another until the time is over: test/bus/servicebus/seeded/.
import { realClock } from '../../../../src/base/run/clock.ts'
import { openRenewablePglite } from '../../../kit/renewable-pglite.ts'
import { runOnServiceBus } from '../../servicebus/seeded/run.ts'
import type { ChaosMode } from '../mode.ts'
import type { ChaosOptions, Verdict } from '../world.ts'

const MINUTE_MS = 60_000
const LINES_SHOWN = 40

export const serviceBusSeedsMode: ChaosMode = {
  name: 'servicebus-seeds',
  sabotage:
    'on Service Bus, seeded: links and connections cut, busy servers, lost answers and locks, expired locks, relays, orchestrators and workers that die',
  holds:
    'no job runs twice without a cause, nothing stays at the broker or among the dead letters, all invariants, everything ends',
  defaults: { minutes: 5, members: 4 },
  run: async (options) => {
    const db = await openRenewablePglite()
    try {
      return await runSeeds(options, (seed) => runOnServiceBus(seed, db))
    } finally {
      await db.close()
    }
  },
}

async function runSeeds(
  { seed, minutes, giveUp, say }: ChaosOptions,
  run: (seed: number) => ReturnType<typeof runOnServiceBus>,
): Promise<Verdict> {
  const clock = realClock()
  const endsAt = +clock.now() + minutes * MINUTE_MS
  const sums = { seeds: 0, events: 0, jobs: 0, repeated: 0 }
  const occurred: Record<string, number> = {}
  for (let next = seed; +clock.now() < endsAt && !giveUp?.aborted; next += 1) {
    const { found, log, ...ran } = await run(next)
    sums.seeds += 1
    for (const what of ['events', 'jobs', 'repeated'] as const) sums[what] += ran[what]
    for (const [what, times] of ran.occurred) occurred[what] = (occurred[what] ?? 0) + times
    if (found.length === 0) continue
    say(`seed ${next}: ${found.join('; ')}`)
    const report = [...found, ...log.slice(-LINES_SHOWN)].join('\n')
    return { figures: { ...sums, occurred }, findings: found, report }
  }
  return { figures: { ...sums, occurred }, findings: [], report: '' }
}
