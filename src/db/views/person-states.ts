// Where people stand, in SQL: the facts that domain/state/person-state.ts names, put together by its rules. Counts come from the counters
// of the phases; only where these cannot tell are people read.

import type { Phase } from '../../domain/state/facts.ts'
import {
  type ActiveCounts,
  activeCounts,
  type BegunPhase,
  type Fact,
  hasRun,
  noStates,
  type PersonState,
  RULES,
  type StateCounts,
  type Wave,
  waveOf,
} from '../../domain/state/person-state.ts'
import type { BatchStatus } from '../../domain/state/transitions.ts'
import { idsParam } from '../connection/arrays.ts'
import type { Queryable } from '../connection/db.ts'
import { FAILED_STEPS, PASSED_STEPS } from '../connection/status-lists.ts'
import { loadPhasesOf } from '../state/facts.ts'

const stepOf = (which: string): string =>
  `exists (select from step_executions s where s.kind = 'phase' and s.batch_member_id = m.id and ${which})`

/** Ids of our own rows, never text from outside. */
const idList = (ids: readonly number[]): string => `array[${ids.join(', ')}]::bigint[]`

const all = (conditions: readonly string[]): string =>
  conditions.length === 0 ? 'true' : `(${conditions.join(' and ')})`

const hasSteps = ({ id, isWritten, rampThrough }: BegunPhase): string => {
  const isInShare = isWritten || rampThrough === null ? 'true' : `m.id <= ${rampThrough}`
  return `(${isInShare} and ${stepOf(`s.phase_execution_id = ${id}`)})`
}

const isIn = (phase: BegunPhase): string => (phase.isWritten ? 'true' : hasSteps(phase))

const hasPassed = (phases: readonly BegunPhase[]): string => {
  const ids = idList(phases.map(({ id }) => id))
  const isOpen = stepOf(`s.phase_execution_id = any(${ids}) and s.status not in ${PASSED_STEPS}`)
  return all([...phases.map(hasSteps), `not ${isOpen}`])
}

const UNDO = `from step_executions s where s.kind = 'undo' and s.batch_member_id = m.id`
/** Where member `m` takes no part any more: an undo did it, and neither it nor a step that stays has failed. */
export const IS_TAKEN_BACK = `(exists (select ${UNDO}) and not exists (select ${UNDO} and s.status in ${FAILED_STEPS})
  and (${stepOf(`s.status = 'undone'`)} or not ${stepOf(`s.status in ${FAILED_STEPS}`)}))`
const IS_ROLLED_BACK = `(not ${stepOf(`s.status in ('failed', 'poll_timeout')`)} and not exists (select ${UNDO} and s.status in ${FAILED_STEPS}))`

/** Each fact about member `m`. */
export const FACT_SQL: Readonly<Record<Fact, (wave: Wave) => string>> = {
  isRemoved: () => `m.status = 'removed'`,
  hasFailed: () => `m.status = 'failed'`,
  isTakenBack: () => IS_TAKEN_BACK,
  isRolledBack: () => IS_ROLLED_BACK,
  isThrough: (wave) => (hasRun(wave) ? hasPassed(wave.begun) : 'false'),
  isCutOver: ({ cutOver }) => (cutOver === null ? 'false' : hasPassed([cutOver])),
  isStopped: ({ isStopped }) => String(isStopped),
  hasBegunCutOver: ({ begunCutOver }) => `(${['false', ...begunCutOver.map(isIn)].join(' or ')})`,
  hasBegun: ({ hasBegun }) => String(hasBegun),
}

/** The state of member `m` of this wave. */
export function memberState(wave: Wave): string {
  const rules = RULES.map(([state, facts]) => {
    const holds = all(facts.map((fact) => FACT_SQL[fact](wave)))
    return `when ${holds} then '${state}'`
  })
  return `case ${rules.join(' ')} end`
}

/** When member `m` passed the cut-over phase; null before. */
export const cutOverAt = ({ cutOver }: Wave): string =>
  cutOver === null
    ? 'null::timestamptz'
    : `(select max(s.completed_at) from step_executions s
         where s.kind = 'phase' and s.batch_member_id = m.id and s.phase_execution_id = ${cutOver.id})`

export interface CountedBatch {
  readonly id: number
  readonly status: BatchStatus
  readonly membersActive: number
  readonly membersFailed: number
  readonly membersRemoved: number
}

export interface BatchStates {
  readonly phases: readonly Phase[]
  readonly wave: Wave
  /** How many people are in each state. They add up to the membership. */
  readonly states: StateCounts
}

/** Adds to each batch where its people stand. One statement, and one each where counters cannot tell or something was rolled back. */
export async function withStates<B extends CountedBatch>(
  db: Queryable,
  batches: readonly B[],
): Promise<(B & BatchStates)[]> {
  const phasesOf = await loadPhasesOf(
    db,
    batches.map(({ id }) => id),
  )
  const known = batches.map((batch) => {
    const phases = phasesOf.get(batch.id) ?? []
    const active = activeCounts(batch.status, phases, {
      active: batch.membersActive,
      removed: batch.membersRemoved,
    })
    return { batch, phases, active, wave: waveOf(batch.status, phases) }
  })
  const read = await readActive(
    db,
    known
      .filter(({ active }) => active === null)
      .map(({ batch, wave }) => ({ id: batch.id, wave })),
  )
  const back = await readBack(
    db,
    known
      .filter(({ phases }) =>
        phases.some(({ steps }) => steps.rolled_back + steps.undone + steps.cancelled > 0),
      )
      .map(({ batch }) => batch.id),
  )
  return known.map(({ batch, phases, active, wave }) => {
    const states = {
      ...noStates(),
      ...(active ?? read.get(batch.id)),
      ...failedOf(batch.membersFailed, back.get(batch.id) ?? NONE_BACK),
      removed: batch.membersRemoved,
    }
    return { ...batch, phases, wave, states }
  })
}

async function readActive(
  db: Queryable,
  waves: readonly { readonly id: number; readonly wave: Wave }[],
): Promise<ReadonlyMap<number, Partial<ActiveCounts>>> {
  const counts = new Map<number, Partial<Record<PersonState, number>>>()
  if (waves.length === 0) return counts
  const parts = waves.map(
    ({ id, wave }) => `select m.batch_id, ${memberState(wave)} as state, count(*)::int as count
      from batch_members m where m.batch_id = ${id} and m.status = 'active' group by 1, 2`,
  )
  const rows = await db.query<{ batchId: number; state: PersonState; count: number }>(
    parts.join(' union all '),
    [],
  )
  for (const { batchId, state, count } of rows)
    counts.set(batchId, { ...counts.get(batchId), [state]: count })
  return counts
}

interface Back {
  readonly rolledBack: number
  readonly takenBack: number
}
const NONE_BACK: Back = { rolledBack: 0, takenBack: 0 }

const failedOf = (failed: number, { rolledBack, takenBack }: Back) => ({
  failed: failed - rolledBack - takenBack,
  rolled_back: rolledBack,
  taken_back: takenBack,
})

/** Of the people who do not take part any more: whom a rollback or an undo has taken back. */
async function readBack(
  db: Queryable,
  batchIds: readonly number[],
): Promise<ReadonlyMap<number, Back>> {
  if (batchIds.length === 0) return new Map()
  const rows = await db.query<Back & { batchId: number }>(
    `select batch_id, count(*) filter (where taken)::int as taken_back,
            count(*) filter (where rolled and not taken)::int as rolled_back
       from (select m.batch_id, ${IS_TAKEN_BACK} as taken, ${IS_ROLLED_BACK} as rolled from batch_members m
              where m.batch_id = any($1::bigint[]) and m.status = 'failed') as m
      group by 1`,
    [idsParam(batchIds)],
  )
  return new Map(rows.map(({ batchId, ...back }) => [batchId, back]))
}
