// Events for people, with the names of their members, phases and steps. Lists follow an index from the newest or oldest; the feed
// reads all events in id order.
import type { EventRecord } from '../../domain/state/event-record.ts'
import { Conditions } from '../connection/conditions.ts'
import type { Queryable } from '../connection/db.ts'

export type EventEntity = EventRecord['entity']

export interface EventLine {
  readonly id: number
  readonly at: Date
  readonly batchId: number | null
  readonly entity: EventEntity
  readonly event: string
  readonly fromStatus: string | null
  readonly toStatus: string | null
  readonly memberId: number | null
  readonly memberKey: string | null
  readonly phaseName: string | null
  readonly stepId: number | null
  readonly stepName: string | null
  readonly attempt: number | null
  readonly jobId: string | null
  readonly actor: string
  readonly because: string
}

const LINE = `e.id, e.at, e.batch_id, e.entity, e.event, e.from_status, e.to_status,
  e.batch_member_id as member_id, m.member_key, p.phase_name, e.step_id,
  s.step_name, e.attempt, e.job_id, e.actor, left(e.because, 2000) as because`

const NAMES = `left join batch_members m on m.id = e.batch_member_id
       left join step_executions s on s.id = e.step_id
       left join phase_executions p on p.id = coalesce(e.phase_id, s.phase_execution_id)`

export interface EventFilter {
  readonly batchId?: number | undefined
  readonly memberId?: number | undefined
  readonly entities?: readonly string[] | undefined
  readonly after?: number | undefined
  readonly before?: number | undefined
  /** Inclusive. */
  readonly upTo?: number | undefined
}

const COURSE = ['batch', 'phase']

function conditionsOf({
  batchId,
  memberId,
  entities,
  after,
  before,
  upTo,
}: EventFilter): Conditions {
  const where = new Conditions()
  if (batchId !== undefined) where.and('e.batch_id = ?', batchId)
  if (memberId !== undefined) where.and('e.batch_member_id = ?', memberId)
  if (entities !== undefined) where.and('e.entity = any(?::text[])', [...entities])
  if (entities?.every((entity) => COURSE.includes(entity)))
    where.and(`e.entity in ('batch', 'phase')`)
  if (after !== undefined) where.and('e.id > ?', after)
  if (before !== undefined) where.and('e.id < ?', before)
  if (upTo !== undefined) where.and('e.id <= ?', upTo)
  return where
}

export function listEvents(
  db: Queryable,
  filter: EventFilter,
  sort: 'newest' | 'oldest',
  limit: number,
): Promise<EventLine[]> {
  const where = conditionsOf(filter)
  const order = sort === 'newest' ? 'desc' : 'asc'
  return db.query<EventLine>(
    `select ${LINE}
       from (select * from events e where ${where.text} order by e.id ${order} limit ${where.add(limit)}) as e
       ${NAMES} order by e.id ${order}`,
    where.values,
  )
}

export async function countEvents(
  db: Queryable,
  filter: EventFilter,
  most: number,
): Promise<number> {
  const where = conditionsOf(filter)
  const [row] = await db.query<{ count: number }>(
    `select count(*)::int as count from (select from events e where ${where.text} limit ${where.add(most)}) as counted`,
    where.values,
  )
  return row!.count
}

/** Transaction ids: all before `oldest` have ended, those from `next` on have not begun. */
export interface Horizon {
  readonly oldest: number
  readonly next: number
}

/** Which events a listener wants. */
export type EventSelection = Pick<EventFilter, 'batchId' | 'memberId' | 'entities'>

export interface FeedPage {
  /** All ids after the last one, in order; null when none is missing up to `lastId`. */
  readonly ids: number[] | null
  readonly lastId: number
  /** Those of them that a selection wants. */
  readonly events: EventLine[]
  readonly horizon: Horizon
}

/**
 * The next events after this id, of which only those that a selection wants are read whole, and which transactions may still commit
 * lower ids. At full rate 20,000 events a second pass by: with the names of each an idle wall would pay for all of them.
 */
export async function readFeed(
  db: Queryable,
  after: number,
  limit: number,
  selections: readonly EventSelection[],
): Promise<FeedPage> {
  const rows = await db.query<
    EventLine & { oldest: number; ids: number[] | null; lastId: number | null; id: number | null }
  >(
    `with fresh as materialized (
       select id, batch_id, batch_member_id, entity from events where id > $1 order by id limit $2)
     select h.*, ${LINE}
       from (select pg_snapshot_xmin(pg_current_snapshot())::text::bigint as oldest, max(id) as last_id,
                    case when count(*) < max(id) - $1 then json_agg(id order by id) end as ids from fresh) as h
       left join (select w.* from fresh f join events w on w.id = f.id
                   where exists (select from unnest($3::bigint[], $4::bigint[], $5::text[]) as s (batch_id, member_id, entities)
                                  where (s.batch_id is null or s.batch_id = f.batch_id)
                                    and (s.member_id is null or s.member_id = f.batch_member_id)
                                    and (s.entities is null or f.entity = any(string_to_array(s.entities, ','))))) as e on true
       ${NAMES} order by e.id`,
    [
      after,
      limit,
      selections.map(({ batchId }) => batchId ?? null),
      selections.map(({ memberId }) => memberId ?? null),
      selections.map(({ entities }) => entities?.join(',') ?? null),
    ],
  )
  const { oldest, ids, lastId } = rows[0]!
  const events = rows
    .filter(({ id }) => id !== null)
    .map(({ oldest, ids, lastId, ...line }) => line)
  const next = ids === null ? oldest : await nextTransaction(db)
  return { ids, lastId: lastId ?? after, events, horizon: { oldest, next } }
}

/**
 * The number of a new transaction: every one that has begun has a lower one. The snapshot's own end does not do: it is the last number
 * that has ended, plus one, and transactions above it run. Taken for the next number, it cost a live listener some of its events.
 */
async function nextTransaction(db: Queryable): Promise<number> {
  const [row] = await db.query<{ next: number }>(
    'select pg_current_xact_id()::text::bigint as next',
  )
  return row!.next
}

/** Lowest first. */
export async function listNewestIds(db: Queryable, most: number): Promise<number[]> {
  const rows = await db.query<{ id: number }>('select id from events order by id desc limit $1', [
    most,
  ])
  return rows.map(({ id }) => id).reverse()
}
