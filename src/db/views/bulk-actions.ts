// Changes of many members for lists, and what has become of each member since.
import type { Json } from '../../base/text/json.ts'
import type { PersonState, Wave } from '../../domain/state/person-state.ts'
import { Conditions } from '../connection/conditions.ts'
import type { Queryable } from '../connection/db.ts'
import { memberState } from './person-states.ts'

export interface BulkActionLine {
  readonly id: number
  readonly batchId: number
  readonly action: string
  readonly startedBy: string
  readonly startedAt: Date
  readonly progressAt: Date
  readonly endedAt: Date | null
  readonly reason: string
  readonly selection: Json
  readonly options: Json
  readonly selectedCount: number
  readonly doneCount: number
  readonly refusedCount: number
}

const LINE = `id, batch_id, action, started_by, started_at, progress_at,
  ended_at, reason, selection_json as selection, options_json as options, selected_count,
  done_count, refused_count`

export interface BulkActionFilter {
  readonly batchId?: number | undefined
  readonly action?: string | undefined
}

function conditionsOf({ batchId, action }: BulkActionFilter): Conditions {
  const where = new Conditions()
  if (batchId !== undefined) where.and('batch_id = ?', batchId)
  if (action !== undefined) where.and('action = ?', action)
  return where
}

/** Newest first, before this id. */
export function listBulkActions(
  db: Queryable,
  filter: BulkActionFilter,
  before: number | null,
  limit: number,
): Promise<BulkActionLine[]> {
  const where = conditionsOf(filter)
  if (before !== null) where.and('id < ?', before)
  return db.query<BulkActionLine>(
    `select ${LINE} from bulk_actions where ${where.text} order by id desc limit ${where.add(limit)}`,
    where.values,
  )
}

export async function countBulkActions(db: Queryable, filter: BulkActionFilter): Promise<number> {
  const where = conditionsOf(filter)
  const [row] = await db.query<{ count: number }>(
    `select count(*)::int as count from bulk_actions where ${where.text}`,
    where.values,
  )
  return row!.count
}

export async function findBulkAction(db: Queryable, id: number): Promise<BulkActionLine | null> {
  const rows = await db.query<BulkActionLine>(`select ${LINE} from bulk_actions where id = $1`, [
    id,
  ])
  return rows[0] ?? null
}

/** The member `m` failed after the action `a` began. */
const FAILED_AGAIN = `(m.status = 'failed' and m.failed_at >= a.started_at)`

const OF_ACTION = `bulk_action_members x join bulk_actions a on a.id = x.action_id join batch_members m on m.id = x.member_id`

interface StatesNow {
  readonly state: PersonState
  readonly count: number
  readonly failedAgain: number
  readonly held: number
  /** With a step that is not decided. */
  readonly open: number
}

/** The changed members by what they are now. */
export function countStatesNow(db: Queryable, actionId: number, wave: Wave): Promise<StatesNow[]> {
  return db.query<StatesNow>(
    `select o.state, count(*)::int as count, count(*) filter (where o.again)::int as failed_again,
            count(*) filter (where o.held)::int as held, count(*) filter (where o.open)::int as open
       from (select ${memberState(wave)} as state, ${FAILED_AGAIN} as again,
                    exists (select from waits w where w.batch_id = m.batch_id and w.batch_member_id = m.id) as open,
                    exists (select from holds h where h.scope = 'member' and h.member_id = m.id) as held
               from ${OF_ACTION} where x.action_id = $1 and x.refusal is null) as o
      group by o.state`,
    [actionId],
  )
}

export interface ActionMember {
  readonly memberId: number
  readonly refusal: string | null
  readonly failedAgain: boolean
}

export interface ActionMemberFilter {
  readonly result?: 'done' | 'refused' | undefined
  readonly state?: readonly PersonState[] | undefined
  readonly wave: Wave
}

function membersOf(actionId: number, { result, state, wave }: ActionMemberFilter): Conditions {
  const where = new Conditions(actionId).and('x.action_id = $1')
  if (result !== undefined) where.and('(x.refusal is null) = ?', result === 'done')
  if (state !== undefined) where.and(`(${memberState(wave)}) = any(?::text[])`, [...state])
  return where
}

/** In the order of their ids. */
export function listActionMembers(
  db: Queryable,
  actionId: number,
  filter: ActionMemberFilter,
  after: number,
  limit: number,
): Promise<ActionMember[]> {
  const where = membersOf(actionId, filter).and('x.member_id > ?', after)
  return db.query<ActionMember>(
    `select x.member_id, x.refusal, ${FAILED_AGAIN} as failed_again
       from ${OF_ACTION} where ${where.text} order by x.member_id limit ${where.add(limit)}`,
    where.values,
  )
}

/** Counts up to `most`. */
export async function countActionMembers(
  db: Queryable,
  actionId: number,
  filter: ActionMemberFilter,
  most: number,
): Promise<number> {
  const where = membersOf(actionId, filter)
  const [row] = await db.query<{ count: number }>(
    `select count(*)::int as count from (select from ${OF_ACTION} where ${where.text} limit ${where.add(most)}) as x`,
    where.values,
  )
  return row!.count
}
