// The columns of phase_executions, each named once (columns.ts); test/db/state/columns.test.ts compares them with the table.
import { MEMBER_COUNTS, type Phase } from '../../domain/state/facts.ts'
import { STEP_STATUSES } from '../../domain/state/transitions.ts'
import { type ChangedColumn, changedColumns, selected, type TypedColumn } from './columns.ts'
import { COUNTS } from './counters.ts'

/** Of the phase as it was made. */
const FIXED = {
  id: ['id', 'bigint'],
  name: ['phase_name', 'text'],
  index: ['phase_index', 'int'],
  offsetMinutes: ['offset_minutes', 'int'],
  runbookVersion: ['runbook_version', 'int'],
} as const satisfies Partial<Record<keyof Phase, TypedColumn>>

/** Three columns are one property. */
const GATE = ['gate_approvals', 'gate_survives', 'gate_ready_percent'] as const

/** What changes of a phase, besides its counters. */
const CHANGED = {
  status: ['status', 'text'],
  skippedBecause: ['skipped_because', 'text'],
  dueAt: ['due_at', 'timestamptz'],
  dispatchedAt: ['dispatched_at', 'timestamptz'],
  expandedThrough: ['expanded_through', 'bigint'],
  expandedAt: ['expanded_at', 'timestamptz'],
  completedAt: ['completed_at', 'timestamptz'],
  fuseAcknowledged: ['fuse_acknowledged', 'int'],
  gatePassedAt: ['gate_passed_at', 'timestamptz'],
  gateLookAt: ['gate_look_at', 'timestamptz'],
  rampShare: ['ramp_share', 'int'],
  rampThrough: ['ramp_through', 'bigint'],
  soakEndsAt: ['soak_ends_at', 'timestamptz'],
} as const satisfies Record<
  Exclude<keyof Phase, keyof typeof FIXED | 'gate' | 'rampPercents' | 'steps' | 'members'>,
  TypedColumn
>

type Simple = keyof typeof FIXED | keyof typeof CHANGED

/** A phase as it is selected, without its counters. */
export type PhaseLine = Pick<Phase, Simple | 'rampPercents'> & {
  readonly batchId: number
  readonly gateApprovals: number | null
  readonly gateSurvives: number | null
  readonly gateReadyPercent: number | null
}

const SIMPLE = { ...FIXED, ...CHANGED }

export const PHASE_SELECT: string = [
  'batch_id',
  ...selected(SIMPLE),
  ...GATE,
  'to_json(ramp_percents) as ramp_percents',
  COUNTS,
].join(', ')

/** The counters are read separately: see counters.ts. */
export function phaseOf(line: PhaseLine): Omit<Phase, 'steps' | 'members'> {
  const { gateApprovals, gateSurvives, gateReadyPercent: readyPercent, rampPercents } = line
  const gate =
    gateApprovals === null
      ? null
      : { approvals: gateApprovals, survives: gateSurvives ?? 0, readyPercent }
  const own = Object.fromEntries(
    Object.keys(SIMPLE).map((property) => [property, line[property as Simple]]),
  )
  return { ...(own as Pick<Phase, Simple>), gate, rampPercents }
}

/** What the update writes, in the order of its parameters. */
export const CHANGED_PHASE_COLUMNS: readonly ChangedColumn<Phase>[] = [
  ...changedColumns<Phase>(CHANGED),
  ...STEP_STATUSES.map(
    (status): ChangedColumn<Phase> => ({
      column: `steps_${status}`,
      type: 'int',
      pick: ({ steps }) => steps[status],
    }),
  ),
  ...MEMBER_COUNTS.map(
    (name): ChangedColumn<Phase> => ({
      column: `members_${name}`,
      type: 'int',
      pick: ({ members }) => members[name],
    }),
  ),
]

/** Written with every change, and never by it. */
export const UNCHANGED_PHASE_COLUMNS: readonly string[] = [
  'batch_id',
  ...Object.values(FIXED).map(([column]) => column),
  ...GATE,
  'ramp_percents',
]
