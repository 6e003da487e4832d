// The columns of batches that a decision reads, each named once (columns.ts); test/db/state/columns.test.ts compares them with the table.
import type { Batch } from '../../domain/state/facts.ts'
import { type ChangedColumn, changedColumns, selected, type TypedColumn } from './columns.ts'
import { batchCounters } from './counters.ts'

/** Of the batch as it was made; a purge erases, and no decision does. */
const FIXED = {
  id: ['id', 'bigint'],
  runbookName: ['runbook_name', 'text'],
  isManual: ['is_manual', 'bool'],
  erasedAt: ['erased_at', 'timestamptz'],
} as const satisfies Partial<Record<keyof Batch, TypedColumn>>

const CHANGED = {
  status: ['status', 'text'],
  runbookVersion: ['runbook_version', 'int'],
  startTime: ['batch_start_time', 'timestamptz'],
  failedInInit: ['failed_in_init', 'bool'],
  currentPhase: ['current_phase', 'text'],
  initDispatchedAt: ['init_dispatched_at', 'timestamptz'],
  activatedAt: ['activated_at', 'timestamptz'],
  endedAt: ['ended_at', 'timestamptz'],
  heldAt: ['held_at', 'timestamptz'],
  heldBy: ['held_by', 'text'],
  heldReason: ['held_reason', 'text'],
  windowClosedAt: ['window_closed_at', 'timestamptz'],
  windowOpensAt: ['window_opens_at', 'timestamptz'],
  windowOverrideUntil: ['window_override_until', 'timestamptz'],
  windowOverrideBy: ['window_override_by', 'text'],
  windowOverrideReason: ['window_override_reason', 'text'],
  outputs: ['outputs_json', 'jsonb'],
} as const satisfies Record<
  Exclude<keyof Batch, keyof typeof FIXED | OfOthers | (typeof batchCounters)[number][0]>,
  TypedColumn
>

/** Read from other tables. */
type OfOthers = 'activeVersion' | 'epoch'

export const BATCH_SELECT: string = [
  ...selected({ ...FIXED, ...CHANGED }),
  ...batchCounters.map(([, column]) => column),
].join(', ')

/** What the update writes, in the order of its parameters. */
export const CHANGED_BATCH_COLUMNS: readonly ChangedColumn<Batch>[] = [
  ...changedColumns<Batch>(CHANGED),
  ...batchCounters.map(
    ([property, column]): ChangedColumn<Batch> => ({
      column,
      type: 'int',
      pick: (batch) => batch[property],
    }),
  ),
]

/** Written with every change, and never by it. */
export const UNCHANGED_BATCH_COLUMNS: readonly string[] = Object.values(FIXED).map(
  ([column]) => column,
)
