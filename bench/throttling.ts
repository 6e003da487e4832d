// How long 2,000 people take when Exchange bears few calls at once: with a fixed concurrency of 4 and of 32, and with the governor. All
// time is virtual and all answers are the sandbox's, so the figures do not depend on the machine.
import { CONCURRENCIES, runThrottled } from '../test/worker/http/throttled-run.ts'
import { type Bench, round } from './bench.ts'

const PEOPLE = 2_000
const BORNE = [8, 16, 64]

export const throttlingBench: Bench = {
  name: 'throttling',
  about: `virtual time of ${PEOPLE} people under Exchange's limit, by concurrency`,
  run: async (tell) => {
    const figures: Record<string, number> = {}
    for (const bears of BORNE) {
      for (const concurrency of CONCURRENCIES) {
        const ran = await runThrottled(PEOPLE, { bears, concurrency })
        const { sec, throttled, failed } = ran
        tell(
          `Exchange bears ${bears}, ${concurrency}: ${round(sec)} s, ${throttled} calls throttled, ${failed} people failed`,
        )
        figures[`${bears} ${concurrency} sec`] = round(sec)
        figures[`${bears} ${concurrency} throttled`] = throttled
        figures[`${bears} ${concurrency} failed`] = failed
      }
    }
    return figures
  },
}
