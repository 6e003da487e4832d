// The table of what a new version does to a phase, computed by the function that decides it.
import { type PhaseSummary, planUpgrade } from '../src/domain/decide/version-upgrade.ts'
import { readRunbook } from '../src/domain/runbook/read.ts'
import { markdownTable } from './docs.ts'

const PUBLISHED_AT = new Date('2026-03-02T08:00:00Z')
const HOUR_MS = 3_600_000
const { runbook: WITH_PHASE } = readRunbook(`name: wave
data_source: { type: csv, path: x.csv, primary_key: Upn, batch_time_column: When }
phases: [{ name: prepare, offset: T-0, steps: [{ name: do, worker_id: w1, function: Do }] }]
`)
const WITHOUT_PHASE = { ...WITH_PHASE!, phases: [] }

/** Every state of a phase, as the table names it. */
const STATES: readonly (readonly [
  string,
  Pick<PhaseSummary, 'status' | 'skippedBecause'> | null,
])[] = [
  ['new in the version', null],
  ['pending', { status: 'pending', skippedBecause: null }],
  ['dispatched', { status: 'dispatched', skippedBecause: null }],
  ['completed', { status: 'completed', skippedBecause: null }],
  ['failed', { status: 'failed', skippedBecause: null }],
  ['skipped as empty', { status: 'skipped', skippedBecause: 'empty' }],
  ['skipped as overdue', { status: 'skipped', skippedBecause: 'overdue' }],
]

function outcomeOf(
  state: (typeof STATES)[number][1],
  { isPast, isRemoved = false }: { isPast: boolean; isRemoved?: boolean },
  overdueBehavior: 'ignore' | 'rerun',
): string {
  const dueAt = new Date(+PUBLISHED_AT + (isPast ? -HOUR_MS : HOUR_MS))
  const guards = { gate: null, rampPercents: null, dispatchedAt: null }
  const row = { name: 'prepare', index: 0, offsetMinutes: 0, runbookVersion: 1, dueAt, ...guards }
  const batch = { status: 'active', isManual: false, startTime: dueAt } as const
  const { phases } = planUpgrade(
    batch,
    state ? [{ ...row, ...state }] : [],
    isRemoved ? WITHOUT_PHASE : WITH_PHASE!,
    { version: 2, publishedAt: PUBLISHED_AT, publishedBy: '', overdueBehavior, rerunInit: false },
  )
  return phases[0]?.outcome.replace('_', ' ') ?? '–'
}

/** One row per state of a phase; columns for its time and the publisher's options. */
export function renderPhaseOutcomes(): string {
  const rows = STATES.map(([words, state]) => [
    words,
    outcomeOf(state, { isPast: false }, 'ignore'),
    outcomeOf(state, { isPast: true }, 'ignore'),
    outcomeOf(state, { isPast: false }, 'rerun'),
    outcomeOf(state, { isPast: true }, 'rerun'),
    outcomeOf(state, { isPast: true, isRemoved: true }, 'ignore'),
  ])
  const header = ['The phase is', '`ignore`, to come', '`ignore`, past', '`rerun`, to come']
  return markdownTable([...header, '`rerun`, past', 'not in the version'], rows)
}
