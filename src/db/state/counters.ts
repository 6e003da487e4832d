// The counters of phases and batches. Everything that reads, writes, adds to or recounts them is made from the lists here.
// Several transactions may end steps of one phase at once: each adds its difference and reads the sums. The one that adds locks the
// phase's row until it commits, so exactly one transaction sees the phase reach zero open steps.
import {
  type Batch,
  MEMBER_COUNTS,
  type MemberCounts,
  type Phase,
  type StepCounts,
} from '../../domain/state/facts.ts'
import { STEP_STATUSES, type StepStatus } from '../../domain/state/transitions.ts'
import { arrayParams } from '../connection/arrays.ts'
import type { Tx } from '../connection/db.ts'

type CounterColumn = `steps_${StepStatus}` | `members_${(typeof MEMBER_COUNTS)[number]}`

/** In the order in which `countersOf` gives their values. */
export const PHASE_COUNTERS: readonly CounterColumn[] = [
  ...STEP_STATUSES.map((status) => `steps_${status}` as const),
  ...MEMBER_COUNTS.map((name) => `members_${name}` as const),
]

/** Columns of batches, by the property that holds each. */
const BATCH_COUNTERS = {
  membersActive: 'members_active',
  membersFailed: 'members_failed',
  membersRemoved: 'members_removed',
  initOpen: 'init_open',
  rollbackOpen: 'rollback_open',
  removalOpen: 'removal_open',
  undoOpen: 'undo_open',
} as const satisfies { readonly [Property in keyof Batch]?: string }
export const batchCounters = Object.entries(BATCH_COUNTERS) as [
  keyof typeof BATCH_COUNTERS,
  string,
][]

/** The counters of a phase, and the failures that an operator acknowledged. */
export interface PhaseCounters {
  readonly fuseAcknowledged: number
  readonly steps: Readonly<StepCounts>
  readonly members: Readonly<MemberCounts>
}

export const copyCounters = ({ fuseAcknowledged, steps, members }: Phase): PhaseCounters => ({
  fuseAcknowledged,
  steps: { ...steps },
  members: { ...members },
})

const countersOf = ({ steps, members }: Pick<PhaseCounters, 'steps' | 'members'>): number[] => [
  ...STEP_STATUSES.map((status) => steps[status]),
  ...MEMBER_COUNTS.map((name) => members[name]),
]

/** Selects the counters of a phase in their order. */
export const COUNTS = `array[${PHASE_COUNTERS.join(', ')}]::bigint[] as counts`

const pick = <Name extends string>(names: readonly Name[], counts: readonly number[]) =>
  Object.fromEntries(names.map((name, i) => [name, counts[i]])) as Record<Name, number>

export const phaseCounts = (
  counts: readonly number[],
): { steps: StepCounts; members: MemberCounts } => ({
  steps: pick(STEP_STATUSES, counts),
  members: pick(MEMBER_COUNTS, counts.slice(STEP_STATUSES.length)),
})

const ADD = `
  update phase_executions p set expanded_through = greatest(p.expanded_through, c.through),
         ${PHASE_COUNTERS.map((name, i) => `${name} = p.${name} + c.n${i}`).join(', ')}
    from unnest($1::bigint[], $2::bigint[], ${PHASE_COUNTERS.map((_, i) => `$${i + 3}::int[]`).join(', ')})
         as c (id, through, ${PHASE_COUNTERS.map((_, i) => `n${i}`).join(', ')})
   where p.id = c.id and p.id = any($1::bigint[])
  returning p.id, array[${PHASE_COUNTERS.map((name) => `p.${name}`).join(', ')}]::bigint[] as counts`

const LOCK_IN_ORDER =
  'select from phase_executions where id = any($1::bigint[]) order by id for no key update'

/**
 * Adds to each phase its difference to `before`, and gives it the sums. expanded_through only moves forward. Several phases are locked
 * in the order of their ids first: the update itself promises no order, and transactions over the same batches would deadlock.
 */
export async function addToCounters(
  tx: Tx,
  phases: readonly Phase[],
  before: ReadonlyMap<number, PhaseCounters>,
): Promise<void> {
  if (phases.length === 0) return
  const ordered = [...phases].sort((a, b) => a.id - b.id)
  const differences = ordered.map((phase) => {
    const were = countersOf(before.get(phase.id)!)
    const by = countersOf(phase).map((value, i) => value - were[i]!)
    return { id: phase.id, through: phase.expandedThrough, by }
  })
  const values = arrayParams(
    differences,
    ({ id }) => id,
    ({ through }) => through,
    ...PHASE_COUNTERS.map(
      (_, i) =>
        ({ by }: { by: readonly number[] }) =>
          by[i]!,
    ),
  )
  // Sent together: the server runs them in order.
  const [, rows] = await Promise.all([
    phases.length > 1 && tx.query(LOCK_IN_ORDER, [values[0]]),
    tx.query<{ id: number; counts: number[] }>(ADD, values),
  ])
  const sums = new Map(rows.map(({ id, counts }) => [id, counts]))
  for (const phase of phases) setCounters(phase, sums.get(phase.id)!)
}

function setCounters({ steps, members }: Phase, values: readonly number[]): void {
  STEP_STATUSES.forEach((status, i) => {
    steps[status] = values[i]!
  })
  MEMBER_COUNTS.forEach((name, i) => {
    members[name] = values[STEP_STATUSES.length + i]!
  })
}
