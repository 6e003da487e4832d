// Phases and progress as literals, for the tests of the demonstration.

import type { Progress } from '../../../src/domain/forecast/progress.ts'
import { type Phase, UNBEGUN } from '../../../src/domain/state/facts.ts'

export const T0 = new Date('2030-03-01T20:00:00Z')
export const at = (minutes: number): Date => new Date(+T0 + minutes * 60_000)

const NO_STEPS = {
  pending: 0,
  dispatched: 0,
  polling: 0,
  succeeded: 0,
  failed: 0,
  poll_timeout: 0,
  rolled_back: 0,
  undone: 0,
  cancelled: 0,
  skipped: 0,
}
const NO_MEMBERS = { total: 0, passed: 0, failed: 0, stopped: 0, removed: 0 }

type PhaseWords = Partial<Omit<Phase, 'steps' | 'members'>> & {
  readonly steps?: Partial<Phase['steps']>
  readonly members?: Partial<Phase['members']>
}

export function phase({ steps, members, ...rest }: PhaseWords = {}): Phase {
  const started = rest.status === undefined || rest.status === 'pending' ? null : T0
  return {
    ...UNBEGUN,
    id: 1,
    name: 'cutover',
    index: 0,
    offsetMinutes: 0,
    runbookVersion: 1,
    dueAt: T0,
    status: 'pending',
    dispatchedAt: started,
    expandedAt: started,
    ...rest,
    steps: { ...NO_STEPS, ...steps },
    members: { ...NO_MEMBERS, ...members },
  }
}

export function progress(
  phases: readonly Phase[],
  batch: Partial<Progress['batch']> = {},
  ends: Progress['ends'] = new Map(),
): Progress {
  return {
    phases,
    ends,
    batch: {
      id: 1,
      runbookName: 'full-migration',
      status: 'active',
      startTime: T0,
      heldReason: null,
      membersActive: 200,
      membersFailed: 0,
      membersRemoved: 0,
      ...batch,
    },
  }
}
