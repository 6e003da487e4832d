// A running batch: rehearsed once, or twice with one seed, as it is and with a change, to compare when its phases end. Nothing live is touched.

import type { LivePast, LivePerson } from '../../domain/needs/live-batch.ts'
import {
  changedSlots,
  keptKeys,
  SLOTS_ASSUMED,
  type WhatIf,
  whatIfText,
} from '../../domain/plan/what-if.ts'
import { pastOf, rowsOfLive } from './batch-so-far.ts'
import { namedFaults } from './faults.ts'
import { type RehearsalInput, rehearse } from './rehearse.ts'
import type { RehearsalReport } from './report.ts'
import { compareRuns, type WhatIfReport } from './what-if-report.ts'

type Shared = 'yaml' | 'runbook' | 'lint' | 'tenantSeed' | 'seed' | 'openDatabase' | 'onProgress'

export interface WhatIfInput extends Pick<RehearsalInput, Shared | 'windows' | 'notifications'> {
  readonly people: readonly LivePerson[]
  readonly past: LivePast
  /** As they are, of every worker of the runbook. */
  readonly workerSlots: Readonly<Record<string, number>>
  readonly change: WhatIf
  /** What is taken for granted about the workers. */
  readonly assumed: readonly string[]
}

/** Once, with the change if there is one. Every worker has as many slots. */
export function rehearseLive(input: WhatIfInput, slots: number): Promise<RehearsalReport> {
  return rehearseOnce(input, keptOf(input), { slots }, input.change.faults)
}

export async function rehearseWhatIf(input: WhatIfInput): Promise<WhatIfReport> {
  const { people, past, change } = input
  const [slotsBefore, slotsAfter] = [input.workerSlots, changedSlots(change, input.workerSlots)]
  const before = await rehearseOnce(input, people, { workerSlots: slotsBefore }, [])
  const changed = { workerSlots: slotsAfter }
  const after = await rehearseOnce(input, keptOf(input), changed, change.faults)
  const report = compareRuns({
    batchId: past.batchId,
    at: past.at,
    change,
    changeText: whatIfText(change, { keys: people.map(({ key }) => key) }),
    before,
    after,
    slotsBefore,
    slotsAfter,
  })
  return { ...report, assumptions: [...input.assumed, ...report.assumptions] }
}

function keptOf({ people, change }: WhatIfInput): LivePerson[] {
  const keys = people.map(({ key }) => key)
  const kept = new Set(keptKeys(change, keys))
  return people.filter(({ key }) => kept.has(key))
}

const rehearseOnce = (
  { past, workerSlots: _asTheyAre, ...shared }: WhatIfInput,
  members: readonly LivePerson[],
  slots: Partial<Pick<RehearsalInput, 'slots' | 'workerSlots'>>,
  faults: readonly string[],
): Promise<RehearsalReport> =>
  rehearse({
    slots: SLOTS_ASSUMED,
    ...shared,
    ...slots,
    members: rowsOfLive(past, members),
    past: pastOf(past),
    startAt: null,
    now: new Date(past.at),
    faults: faults.length === 0 ? null : namedFaults(faults.join(',')),
  })
