// Facts of a batch for the tests of the forecast: phases that run, come or have ended, relative to now.

import type { ForecastFacts } from '../../../src/domain/forecast/forecast.ts'
import { type Phase, UNBEGUN } from '../../../src/domain/state/facts.ts'
import { type Hold, NO_HOLDS } from '../../../src/domain/state/holds.ts'

export const NOW = new Date('2026-03-02T20:00:00Z')
export const ago = (minutes: number) => new Date(+NOW - minutes * 60_000)
export const inMin = (minutes: number) => ago(-minutes)

const STEPS = {
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
const ID = { a: 1, b: 2, c: 3 } as const
export const phase = (
  name: keyof typeof ID,
  status: Phase['status'],
  more: Partial<Phase> = {},
): Phase => ({
  ...UNBEGUN,
  id: ID[name],
  name,
  index: ID[name],
  offsetMinutes: 0,
  runbookVersion: 1,
  dueAt: null,
  status,
  steps: STEPS,
  members: { total: 0, passed: 0, failed: 0, stopped: 0, removed: 0 },
  ...more,
})
/** Running, at ten steps a minute, of 100 members with a step each. */
export const running = (
  name: keyof typeof ID,
  open: number,
  ended: number,
  more: Partial<Phase> = {},
) =>
  phase(name, 'dispatched', {
    dispatchedAt: ago(Math.max(1, ended) / 10),
    expandedAt: ago(Math.max(1, ended) / 10),
    steps: { ...STEPS, pending: open, succeeded: ended },
    members: { total: 100, passed: ended > 0 ? 1 : 0, failed: 0, stopped: 0, removed: 0 },
    ...more,
  })
export const coming = (name: keyof typeof ID, dueInMin: number, more: Partial<Phase> = {}) =>
  phase(name, 'pending', { dueAt: inMin(dueInMin), ...more })
export const ended = (name: keyof typeof ID, from: number, to: number, steps: number) =>
  phase(name, 'completed', {
    dispatchedAt: ago(from),
    expandedAt: ago(from),
    completedAt: ago(to),
    steps: { ...STEPS, succeeded: steps },
  })

export const batch: ForecastFacts['batch'] = {
  id: 7,
  status: 'active',
  isManual: false,
  heldAt: null,
  heldBy: null,
  heldReason: null,
  endedAt: null,
  membersActive: 10,
  windowClosedAt: null,
  windowOpensAt: null,
  batchStartTime: null,
}
export const hold = (scope: Hold['scope'], target: string): Hold => ({
  scope,
  target,
  batchId: scope === 'member' ? 7 : null,
  heldAt: ago(5),
  heldBy: 'op',
  memberId: scope === 'member' ? Number(target) : null,
  reason: 'wait',
  memberKey: scope === 'member' ? 'ann' : null,
})
export const EVEN = { variation: 0, samples: 15, sampleMs: 60_000 }
export const pace = (stepsPerMin: number) => ({ stepsPerMin, overSec: 720 })
/** Since then it ran, for those that a rehearsal is compared with. */
export const LONG = { dispatchedAt: ago(20), expandedAt: ago(20) }
/** 100 members took 30 minutes with 10 slots, 20 of them in the slots. */
export const REHEARSED = {
  at: new Date('2026-02-20T10:00:00Z'),
  slots: 10,
  phases: [{ name: 'a', members: 100, worstSec: 1_800, slotSec: 1_200 }],
}
export const facts = (more: Partial<ForecastFacts>): ForecastFacts => ({
  batch,
  holds: NO_HOLDS,
  phases: [],
  workerIds: new Set(['w1']),
  stepsPerMember: () => 2,
  soakMs: () => 0,
  slots: () => 10,
  pace: pace(10),
  spread: EVEN,
  rehearsed: null,
  windowAt: null,
  misses: new Map(),
  now: NOW,
  ...more,
})
