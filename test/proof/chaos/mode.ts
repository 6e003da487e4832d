// A mode of the chaos runs: one named sabotage, and what must hold in spite of it. A mode decides by itself what it starts; most
// take the usual fleet and bring only their own harm.
import type { Harm } from './faults.ts'
import { type ChaosOptions, runChaos, type Verdict } from './world.ts'

export interface ChaosMode {
  readonly name: string
  /** What is broken, for the help and docs/reliability.md. */
  readonly sabotage: string
  /** What the run checks at the end: each miss is a finding, and a finding is exit code 1. */
  readonly holds: string
  /** With these it ends well within its limits on two cores that others use too. */
  readonly defaults: { readonly minutes: number; readonly members: number }
  run(options: ChaosOptions): Promise<Verdict>
}

/** What every run of the usual fleet checks. */
const FLEET_HOLDS =
  'every acknowledged command and result is stored, no job repeats without a cause, order, all invariants, everything ends'

/** The usual fleet, batch after batch, with this harm until the time is over. */
export const harmMode = (
  name: string,
  sabotage: string,
  harm: Harm,
  defaults: ChaosMode['defaults'],
): ChaosMode => ({
  name,
  sabotage,
  holds: FLEET_HOLDS,
  defaults,
  run: (options) => runChaos({ ...options, mode: name }, harm),
})
