// What if: rehearses a running batch twice with one seed, as it is and with a change, and compares when its phases end. Nothing live is
// touched.

import type { Seed } from '../../../sandbox/state.ts'
import type { Db } from '../../db/connection/db.ts'
import type { LivePast, LivePerson } from '../../domain/needs/live-batch.ts'
import {
  changedSlots,
  keptKeys,
  SLOTS_ASSUMED,
  type WhatIf,
  whatIfText,
} from '../../domain/plan/what-if.ts'
import type { Runbook } from '../../domain/runbook/model.ts'
import type { RunbookProblem } from '../../domain/runbook/read.ts'
import { pastOf, rowsOfLive } from './batch-so-far.ts'
import { namedFaults } from './faults.ts'
import { rehearse } from './rehearse.ts'
import type { RehearsalReport } from './report.ts'
import { compareRuns, type WhatIfReport } from './what-if-report.ts'

export interface WhatIfInput {
  readonly yaml: string
  readonly runbook: Runbook
  readonly lint: readonly RunbookProblem[]
  readonly people: readonly LivePerson[]
  readonly past: LivePast
  /** As they are, of every worker of the runbook. */
  readonly workerSlots: Readonly<Record<string, number>>
  readonly change: WhatIf
  /** What is taken for granted about the workers. */
  readonly assumed: readonly string[]
  readonly tenantSeed: Seed | null
  readonly seed: number
  readonly openDatabase: () => Promise<Db>
  readonly onProgress?: (now: Date) => void
}

export async function rehearseWhatIf(input: WhatIfInput): Promise<WhatIfReport> {
  const { people, past, change } = input
  const keys = people.map(({ key }) => key)
  const [slotsBefore, slotsAfter] = [input.workerSlots, changedSlots(change, input.workerSlots)]
  const kept = new Set(keptKeys(change, keys))
  const before = await rehearseOnce(input, people, slotsBefore, [])
  const those = people.filter(({ key }) => kept.has(key))
  const after = await rehearseOnce(input, those, slotsAfter, change.faults)
  const report = compareRuns({
    batchId: past.batchId,
    at: past.at,
    change,
    changeText: whatIfText(change, { keys }),
    before,
    after,
    slotsBefore,
    slotsAfter,
  })
  return { ...report, assumptions: [...input.assumed, ...report.assumptions] }
}

const rehearseOnce = (
  { yaml, runbook, lint, past, tenantSeed, seed, openDatabase, onProgress }: WhatIfInput,
  people: readonly LivePerson[],
  workerSlots: Readonly<Record<string, number>>,
  faults: readonly string[],
): Promise<RehearsalReport> =>
  rehearse({
    yaml,
    runbook,
    lint,
    tenantSeed,
    seed,
    openDatabase,
    workerSlots,
    members: rowsOfLive(past, people),
    past: pastOf(past),
    startAt: null,
    now: new Date(past.at),
    slots: SLOTS_ASSUMED,
    faults: faults.length === 0 ? null : namedFaults(faults.join(',')),
    ...(onProgress && { onProgress }),
  })
