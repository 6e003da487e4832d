// The columns of phase_executions, each named once: the select that loads a phase and the update that writes it are made from here. The
// compiler asks for a property of `Phase` that is missing; test/db/state/phase-columns.test.ts compares them with the table.
import { MEMBER_COUNTS, type Phase } from '../../domain/state/facts.ts'
import { STEP_STATUSES } from '../../domain/state/transitions.ts'
import { timeParam } from '../connection/arrays.ts'
import { COUNTS } from './counters.ts'

type SqlType = 'text' | 'int' | 'bigint' | 'timestamptz'
/** A column's name and type. */
type Column = readonly [name: string, type: SqlType]

/** Of the phase as it was made. */
const FIXED = {
  id: ['id', 'bigint'],
  name: ['phase_name', 'text'],
  index: ['phase_index', 'int'],
  offsetMinutes: ['offset_minutes', 'int'],
  runbookVersion: ['runbook_version', 'int'],
} as const satisfies Partial<Record<keyof Phase, Column>>

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
  Column
>

type Simple = keyof typeof FIXED | keyof typeof CHANGED

/** A phase as it is selected, without its counters. */
export type PhaseLine = Pick<Phase, Simple | 'rampPercents'> & {
  readonly batchId: number
  readonly gateApprovals: number | null
  readonly gateSurvives: number | null
  readonly gateReadyPercent: number | null
}

const simple = Object.entries({ ...FIXED, ...CHANGED }) as [Simple, Column][]

export const PHASE_SELECT: string = [
  'batch_id',
  ...simple.map(([property, [column]]) => `${column} as "${property}"`),
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
  const own = Object.fromEntries(simple.map(([property]) => [property, line[property]]))
  return { ...(own as Pick<Phase, Simple>), gate, rampPercents }
}

interface ChangedColumn {
  readonly column: string
  readonly type: SqlType
  readonly pick: (phase: Phase) => string | number | null
}

const changed = (Object.entries(CHANGED) as [keyof typeof CHANGED, Column][]).map(
  ([property, [column, type]]): ChangedColumn => ({
    column,
    type,
    pick: (phase) => {
      const value = phase[property]
      return value instanceof Date ? timeParam(value) : value
    },
  }),
)

/** What the update writes, in the order of its parameters. */
export const CHANGED_PHASE_COLUMNS: readonly ChangedColumn[] = [
  ...changed,
  ...STEP_STATUSES.map(
    (status): ChangedColumn => ({
      column: `steps_${status}`,
      type: 'int',
      pick: ({ steps }) => steps[status],
    }),
  ),
  ...MEMBER_COUNTS.map(
    (name): ChangedColumn => ({
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
  // Written by the forecast, not by a decision.
  'forecast_miss',
]
