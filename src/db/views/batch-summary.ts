// A batch's pace, failures and waits, for operators.

import { type BatchPace, PACE_PARTS, PACE_WINDOW_MS } from '../../domain/forecast/pace.ts'
import type { Failure } from '../../domain/needs/failures.ts'
import type { PhaseWaiter, WaitGroup } from '../../domain/needs/stuck.ts'
import { idsParam } from '../connection/arrays.ts'
import type { Queryable } from '../connection/db.ts'
import { FAILED_STEPS, PASSED_STEPS } from '../connection/status-lists.ts'

/** Of each batch; fewer with more than a hundred batches, so that a look costs what it costs with a hundred. */
const [EVENTS_MIN, EVENTS_MAX, EVENTS_OF_ALL] = [400, 2_000, 200_000]
const COMMON_EVENTS_LOOKED_AT = 500

/** The pace of each batch, by its id. */
export type Paces = ReadonlyMap<number, BatchPace>

/** Steps passed in the last minutes, among a bounded number of each batch's last events and of those that concern all batches. */
export async function loadPaces(
  db: Queryable,
  batchIds: readonly number[],
  now: Date,
): Promise<Paces> {
  if (batchIds.length === 0) return new Map()
  const since = new Date(+now - PACE_WINDOW_MS)
  const each = Math.floor(EVENTS_OF_ALL / batchIds.length)
  const events = Math.max(EVENTS_MIN, Math.min(EVENTS_MAX, each))
  const rows = await db.query<PaceRow>(
    `with common as materialized (
            select max(at) as at
              from (select * from events where batch_id is null order by id desc limit $4) as e
             where at >= $2 and entity in ('system', 'runbook') and event = 'resumed')
     select b.id as batch_id, p.passed, p.parts, p.restarted_at, p.read_since
       from unnest($1::bigint[]) as b (id) cross join common c cross join lateral (
         with own as (select entity, event, to_status, phase_id, at
                        from (select * from events where batch_id = b.id order by id desc limit $3) as e where at >= $2),
              span as (select greatest(c.at, max(at) filter (where (entity, event) in (('batch', 'resumed'), ('phase', 'reopen'))))
                                as restarted_at, case when count(at) = $3 then min(at) end as read_since from own),
              read as (select *, greatest($2::timestamptz, restarted_at, read_since) as read_from from span),
              passed as (select least($6::int - 1, floor(date_part('epoch', o.at - r.read_from) * r.parts_a_sec)) as part, count(*) as n
                           from (select *, $6::int / greatest(date_part('epoch', $5::timestamptz - read_from), 1) as parts_a_sec
                                   from read) as r join own o on o.at >= coalesce(r.restarted_at, o.at)
                          where o.entity = 'step' and o.phase_id is not null and o.to_status in ${PASSED_STEPS}
                          group by 1)
         select coalesce((select sum(n) from passed), 0)::int as passed, (select jsonb_object_agg(part, n) from passed) as parts,
                restarted_at, read_since from span) as p`,
    [idsParam(batchIds), since, events, COMMON_EVENTS_LOOKED_AT, now, PACE_PARTS],
  )
  return new Map(
    rows.map(({ batchId, parts, ...pace }) => {
      const all = Array.from({ length: PACE_PARTS }, (_, part) => parts?.[part] ?? 0)
      return [batchId, { ...pace, parts: all }]
    }),
  )
}

interface PaceRow extends Omit<BatchPace, 'parts'> {
  readonly batchId: number
  /** By their number; those without a step are left out. */
  readonly parts: Readonly<Record<number, number>> | null
}

/** Failed steps after `after`, in id order. What failed for somebody who was taken back since is nobody's failure. */
export function listFailures(
  db: Queryable,
  batchId: number,
  after: number,
  limit: number,
): Promise<Failure[]> {
  return db.query<Failure>(
    `select s.id as step_id, s.kind, s.batch_member_id as member_id, p.phase_name, s.step_name,
            s.error_message as message, s.completed_at as at
       from step_executions s left join phase_executions p on p.id = s.phase_execution_id
      where s.batch_id = $1 and s.error_message is not null and s.id > $2
        and s.status in ${FAILED_STEPS}
        and (s.kind <> 'phase' or not exists (select from step_executions u
              where u.batch_member_id = s.batch_member_id and u.kind = 'phase' and u.status = 'undone'))
      order by s.id limit $3`,
    [batchId, after, limit],
  )
}

/** Waits counted per worker and kind: counting 98,000 took 46 ms, and a thousand tell as much. */
const WAITS_LOOKED_AT = 1_000

/** Workers with such waits. Skips through the index from worker to worker. */
const walk = (name: string, kind: string): string => `${name} (id) as (
       (select worker_id from waits where ${kind} order by worker_id limit 1)
       union all
       select (select w.worker_id from waits w where w.${kind} and w.worker_id > a.id order by w.worker_id limit 1)
         from ${name} a where a.id is not null)`

/**
 * What the batch's steps wait for, by worker: the head of each queue, longest wait first (compensation before phases). Overdue waits
 * stay, so they reach the head. Slots have their own index, in the order they are handed out.
 */
export function listWaitGroups(db: Queryable, batchId: number, now: Date): Promise<WaitGroup[]> {
  const first = (kind: string, order: string) => `
        select count(*)::int as count, min(since) as since, count(*) filter (where wake_at <= $2)::int as overdue,
               min(wake_at) as wake_at, min(step_id) as step_id
          from (select since, wake_at, step_id from waits w
                 where w.worker_id = a.id and ${kind} and w.batch_id = $1 order by ${order} limit $3) as first`
  return db.query<WaitGroup>(
    `with recursive ${walk('wanted', `kind = 'slot'`)}, ${walk('awaited', `kind <> 'slot'`)}, groups as (
       select a.id, 'slot' as kind, g.*
         from wanted a cross join lateral (${first(`w.kind = 'slot'`, 'w.priority, w.since, w.step_id')}) as g
       union all
       select a.id, k.kind, g.*
         from awaited a cross join (values ('job'), ('retry'), ('poll')) as k (kind)
        cross join lateral (${first(`w.kind = k.kind and w.kind <> 'slot'`, 'w.since, w.step_id')}) as g)
     select id as worker_id, kind, count, count < $3 as is_count_exact, since, overdue, wake_at, step_id
       from groups where count > 0 order by id, kind`,
    [batchId, now, WAITS_LOOKED_AT],
  )
}

/** Phases with steps that wait for these workers, by the head of each queue, or that belong to these members. */
export function listPhaseWaiters(
  db: Queryable,
  batchId: number,
  workerIds: readonly string[],
  memberIds: readonly number[],
): Promise<PhaseWaiter[]> {
  const first = (kind: string, order: string) =>
    `(select o.step_id, o.worker_id, o.kind from waits o
       where o.worker_id = k.id and ${kind} and o.batch_id = $1 order by ${order} limit $4)`
  return db.query<PhaseWaiter>(
    `select distinct s.phase_execution_id as phase_id, w.worker_id, w.kind = 'job' as is_sent, null::bigint as member_id
       from unnest($2::text[]) as k (id)
      cross join lateral (${first(`o.kind = 'slot'`, 'o.priority, o.since, o.step_id')}
                          union all ${first(`o.kind = 'job' and o.kind <> 'slot'`, 'o.since, o.step_id')}) as w
       join step_executions s on s.id = w.step_id
      where s.phase_execution_id is not null
     union all
     select distinct s.phase_execution_id, null, false, w.batch_member_id
       from waits w join step_executions s on s.id = w.step_id
      where w.batch_id = $1 and w.batch_member_id = any($3::bigint[]) and w.kind <> 'job' and s.phase_execution_id is not null
      order by 1, 2, 3, 4`,
    [batchId, [...workerIds], idsParam(memberIds), WAITS_LOOKED_AT],
  )
}
