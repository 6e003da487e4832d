// Freezes (SIGSTOP, SIGCONT): single processes, half of them, and now and then all at once, for less than a lease and for more.
// A thawed process believes that no time has passed, so it acts on leases that others have taken over.
import { seeded } from '../../../kit/seeded.ts'
import type { Harm } from '../faults.ts'
import { harmMode } from '../mode.ts'

const PAUSE_MIN_MS = 500
const PAUSE_MAX_MS = 2_500
const BEYOND_LEASE_MS = 3_000
const ALL_EVERY = 6

const freezeAtRandom: Harm = async ({ fleet, clock, leaseMs }, seed, over) => {
  const pick = seeded(seed)
  const lasting: Promise<void>[] = []
  for (let turn = 1; !over.aborted; turn++) {
    await clock.wait(PAUSE_MIN_MS + pick(PAUSE_MAX_MS), over)
    if (over.aborted) break
    const atWork = [...fleet.atWork('orchestrator'), ...fleet.atWork('worker')]
    const share = turn % ALL_EVERY === 0 ? 1 : 1 + pick(3)
    const chosen = atWork.filter((_, at) => (at + turn) % share === 0)
    const ms = pick(2) === 0 ? 300 + pick(leaseMs) : leaseMs + 300 + pick(BEYOND_LEASE_MS)
    lasting.push(...chosen.map((name) => fleet.freeze(name, ms)))
    // Everybody is frozen: nothing else can happen until they thaw.
    if (share === 1) await Promise.all(lasting)
  }
  await Promise.all(lasting)
}

export const freeze = harmMode(
  'freeze',
  'processes stopped and continued (SIGSTOP, SIGCONT), one, some or all, often longer than a lease',
  freezeAtRandom,
  { minutes: 2, members: 200 },
)
