// The table of what a new version does to a phase, asked of the very function that decides it.
import { type PhaseSummary, planUpgrade } from '../src/domain/decide/version-upgrade.ts'
import { readRunbook } from '../src/domain/runbook/read.ts'
import { markdownTable } from './docs.ts'

const PUBLISHED_AT = new Date('2026-03-02T08:00:00Z')
const HOUR_MS = 3_600_000
const { runbook: HAS_IT } = readRunbook(`name: wave
data_source: { type: csv, path: x.csv, primary_key: Upn, batch_time_column: When }
phases: [{ name: prepare, offset: T-0, steps: [{ name: do, worker_id: w1, function: Do }] }]
`)
const HAS_IT_NOT = { ...HAS_IT!, phases: [] }

/** How a phase can stand, in the words of the table. */
const STATES: readonly (readonly [
  string,
  Pick<PhaseSummary, 'status' | 'skippedBecause'> | null,
])[] = [
  ['not there: the version adds it', null],
  ['pending', { status: 'pending', skippedBecause: null }],
  ['dispatched', { status: 'dispatched', skippedBecause: null }],
  ['completed', { status: 'completed', skippedBecause: null }],
  ['failed', { status: 'failed', skippedBecause: null }],
  ['skipped, nobody was there', { status: 'skipped', skippedBecause: 'empty' }],
  ['skipped, overdue', { status: 'skipped', skippedBecause: 'overdue' }],
]

function fate(
  state: (typeof STATES)[number][1],
  { isPast, isGone = false }: { isPast: boolean; isGone?: boolean },
  overdueBehavior: 'ignore' | 'rerun',
): string {
  const dueAt = new Date(+PUBLISHED_AT + (isPast ? -HOUR_MS : HOUR_MS))
  const row = { name: 'prepare', index: 0, offsetMinutes: 0, runbookVersion: 1, dueAt }
  const batch = { status: 'active', isManual: false, startTime: dueAt } as const
  const { phases } = planUpgrade(
    batch,
    state ? [{ ...row, ...state }] : [],
    isGone ? HAS_IT_NOT : HAS_IT!,
    { version: 2, publishedAt: PUBLISHED_AT, publishedBy: '', overdueBehavior, rerunInit: false },
  )
  return phases[0]?.fate.replace('_', ' ') ?? '–'
}

/** A row for each way a phase can stand; columns for its time and the publisher's decision. */
export function renderFates(): string {
  const rows = STATES.map(([words, state]) => [
    words,
    fate(state, { isPast: false }, 'ignore'),
    fate(state, { isPast: true }, 'ignore'),
    fate(state, { isPast: false }, 'rerun'),
    fate(state, { isPast: true }, 'rerun'),
    fate(state, { isPast: true, isGone: true }, 'ignore'),
  ])
  const header = ['The phase is', '`ignore`, to come', '`ignore`, past', '`rerun`, to come']
  return markdownTable([...header, '`rerun`, past', 'gone from the version'], rows)
}
