// The counters of phases as something to add to. Several transactions at once may each end some steps of a phase; the database
// adds up what they changed, and tells each of them how the phase stands after it. Whoever adds holds the phase's row until it
// commits, so of those who end a phase's last steps exactly one is told that nothing is open any more.
import type { MemberCounts, Phase, StepCounts } from '../domain/facts.ts'
import { columns } from './columns.ts'
import type { Tx } from './db.ts'

/** The counters of a phase, and how many failures were seen and resumed over. */
export interface Counts {
  readonly fuseAcknowledged: number
  readonly steps: Readonly<StepCounts>
  readonly members: Readonly<MemberCounts>
}

export const copyCounts = ({ fuseAcknowledged, steps, members }: Phase): Counts => ({
  fuseAcknowledged,
  steps: { ...steps },
  members: { ...members },
})

/** The columns, in the order in which `valuesOf` gives their values. */
const COLUMNS = [
  'steps_pending',
  'steps_dispatched',
  'steps_polling',
  'steps_succeeded',
  'steps_failed',
  'steps_poll_timeout',
  'steps_rolled_back',
  'steps_cancelled',
  'steps_skipped',
  'members_total',
  'members_passed',
  'members_failed',
  'members_stopped',
  'members_removed',
]

const valuesOf = ({ steps, members }: Pick<Counts, 'steps' | 'members'>): number[] => [
  steps.pending,
  steps.dispatched,
  steps.polling,
  steps.succeeded,
  steps.failed,
  steps.poll_timeout,
  steps.rolled_back,
  steps.cancelled,
  steps.skipped,
  members.total,
  members.passed,
  members.failed,
  members.stopped,
  members.removed,
]

const ADD = `
  update phase_executions p set expanded_through = greatest(p.expanded_through, c.through),
         ${COLUMNS.map((name, i) => `${name} = p.${name} + c.n${i}`).join(', ')}
    from unnest($1::bigint[], $2::bigint[], ${COLUMNS.map((_, i) => `$${i + 3}::int[]`).join(', ')})
         as c (id, through, ${COLUMNS.map((_, i) => `n${i}`).join(', ')})
   where p.id = c.id and p.id = any($1::bigint[])
  returning p.id, array[${COLUMNS.map((name) => `p.${name}`).join(', ')}]::bigint[] as counts`

/**
 * Adds to each phase what it has now more than `before`, and gives it the counters that this results in. The mark up to which its
 * steps are written moves forward, if this change moved it.
 */
export async function addToCounts(
  tx: Tx,
  phases: readonly Phase[],
  before: ReadonlyMap<number, Counts>,
): Promise<void> {
  if (phases.length === 0) return
  const ordered = [...phases].sort((a, b) => a.id - b.id)
  const added = ordered.map((phase) => {
    const were = valuesOf(before.get(phase.id)!)
    const by = valuesOf(phase).map((value, i) => value - were[i]!)
    return { id: phase.id, through: phase.expandedThrough, by }
  })
  const rows = await tx.query<{ id: number; counts: number[] }>(
    ADD,
    columns(
      added,
      ({ id }) => id,
      ({ through }) => through,
      ...COLUMNS.map(
        (_, i) =>
          ({ by }: { by: readonly number[] }) =>
            by[i]!,
      ),
    ),
  )
  const standing = new Map(rows.map(({ id, counts }) => [id, counts]))
  for (const phase of phases) setCounts(phase, standing.get(phase.id)!)
}

function setCounts({ steps, members }: Phase, counts: readonly number[]): void {
  const [pending, dispatched, polling, succeeded, failed, poll_timeout, ...rest] =
    counts as number[]
  const [rolled_back, cancelled, skipped, total, passed, failedHere, stopped, removed] = rest
  Object.assign(steps, { pending, dispatched, polling, succeeded, failed, poll_timeout })
  Object.assign(steps, { rolled_back, cancelled, skipped })
  Object.assign(members, { total, passed, failed: failedHere, stopped, removed })
}
