// People over all waves: who is in which state, and who has still to be cut over. One statement for a hundred waves.
import type { Json } from '../../base/text/json.ts'
import { PERSON_STATES, type PersonState, type Wave } from '../../domain/state/person-state.ts'
import { idsParam } from '../connection/arrays.ts'
import type { Queryable } from '../connection/db.ts'
import { type BatchStates, FACT_SQL, memberState } from './person-states.ts'

/** Member `m` has still to be cut over. Who failed after the cut-over has been. */
const isNotCutOver = (wave: Wave): string =>
  `m.status <> 'removed' and not ${FACT_SQL.isCutOver(wave)}
   and not (m.status = 'active' and ${FACT_SQL.isThrough(wave)})`

/** People who failed in one wave and are in a later one of the runbook are listed there. */
export const IS_NOT_LATER = `not exists (select from batch_members n join batches l on l.id = n.batch_id join batches b on b.id = m.batch_id
  where n.key_folded = m.key_folded and n.id > m.id and n.status <> 'removed' and l.runbook_name = b.runbook_name)`

const MAY_BE_NOT_CUT_OVER = PERSON_STATES.filter(
  (state) => !['cut_over', 'done', 'removed'].includes(state),
)

export interface PeopleFilter {
  readonly ids?: readonly number[] | undefined
  readonly state?: readonly PersonState[] | undefined
  /** True: only those who have still to be cut over, each once. */
  readonly isNotCutOver?: boolean | undefined
}

export interface WavePerson {
  readonly id: number
  readonly batchId: number
}

/** People of these waves after one of them, wave by wave in the order of their ids. Waves without any are not read. */
export async function listPeople(
  db: Queryable,
  waves: readonly ({ readonly id: number } & BatchStates)[],
  { ids, state, isNotCutOver: isToCome = false }: PeopleFilter,
  after: WavePerson | null,
  limit: number,
): Promise<WavePerson[]> {
  const wanted = (state ?? PERSON_STATES).filter(
    (one) => !isToCome || MAY_BE_NOT_CUT_OVER.includes(one),
  )
  const parts = waves
    .filter(({ states }) => wanted.some((one) => states[one] > 0))
    .map(({ id, wave }) => {
      const conditions = [
        `m.batch_id = ${id}`,
        ...(ids === undefined ? [] : ['m.id = any($3::bigint[])']),
        ...(after?.batchId === id ? [`m.id > ${after.id}`] : []),
        ...(state === undefined ? [] : [`${memberState(wave)} = any($1::text[])`]),
        ...(isToCome ? [isNotCutOver(wave), IS_NOT_LATER] : []),
      ]
      return `(select m.id, m.batch_id from batch_members m where ${conditions.join(' and ')} order by m.id limit $2)`
    })
  if (parts.length === 0) return []
  return db.query<WavePerson>(
    `select id, batch_id from (${parts.join(' union all ')}) as p
      where ($1::text[] is null or true) and ($3::bigint[] is null or true) order by batch_id, id limit $2`,
    [state ?? null, limit, ids === undefined ? null : idsParam(ids)],
  )
}

/** The rows of the data source of these people. */
export async function loadPeopleData(
  db: Queryable,
  ids: readonly number[],
): Promise<ReadonlyMap<number, Readonly<Record<string, Json>>>> {
  const rows = await db.query<{ id: number; data: Readonly<Record<string, Json>> }>(
    'select id, data_json as data from batch_members where id = any($1::bigint[])',
    [idsParam(ids)],
  )
  return new Map(rows.map(({ id, data }) => [id, data]))
}
