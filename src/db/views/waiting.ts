// What waits for a person at data sources, counted set-based: open reviews by batch and time, failing sources, rows that the last tick left out.
import type { WaitingAtSource } from '../../domain/needs/from-sources.ts'
import type { Queryable } from '../connection/db.ts'

export const WAITING_LISTED_MAX = 500

export interface WaitingScope {
  readonly runbookName?: string | undefined
  readonly batchId?: number | undefined
}

/** Reviews first, by batch; then sources, by runbook. One more than `WAITING_LISTED_MAX` means that there are more. */
export const listWaiting = (
  db: Queryable,
  { runbookName, batchId }: WaitingScope = {},
): Promise<WaitingAtSource[]> =>
  db.query<WaitingAtSource>(
    `select kind, runbook_name, batch_id, count, members_active, since, from_time, to_time, is_whole_wave, has_other_times, error
       from (${REVIEWS} ${batchId === undefined ? `union all ${SOURCES}` : ''}) as a
      order by place, batch_id nulls last, runbook_name, to_time limit $3`,
    [runbookName ?? null, batchId ?? null, WAITING_LISTED_MAX + 1],
  )

/** How much waits, by kind. */
export const countWaiting = (db: Queryable): Promise<{ of: string; count: number }[]> =>
  db.query(
    `select kind as of, sum(count)::int as count from (${REVIEWS} union all ${SOURCES}) as a group by kind order by kind`,
    [null, null],
  )

const REVIEWS = `
  select case r.kind when 'move' then 1 when 'removal' then 2 else 3 end as place,
         case r.kind when 'move' then 'moves' when 'removal' then 'removals' else 'latecomers' end as kind,
         coalesce(b.runbook_name, r.runbook_name) as runbook_name, r.batch_id, r.count,
         b.members_active, r.since,
         case when r.kind = 'move' then b.batch_start_time end as from_time, r.to_time, r.is_whole as is_whole_wave,
         r.kind = 'move' and count(*) over (partition by r.kind, r.batch_id) > 1 as has_other_times, null::text as error
    from (select kind, runbook_name, batch_id, case when kind = 'move' then to_time end as to_time, count(*)::int as count,
                 min(since) as since, bool_or(cause = 'redated') as is_whole
            from reviews
           where dismissed_at is null and ($1::text is null or runbook_name = lower($1)) and ($2::bigint is null or batch_id = $2)
           group by 1, 2, 3, 4) as r
    left join batches b on b.id = r.batch_id`

/** Of automated runbooks. A failed tick reports no rows; the last one that read its source does. */
const SOURCES = `
  select v.place, v.kind, v.name, null::bigint, v.count, null::int, v.since, null::timestamptz, null::timestamptz, false, false,
         v.error
    from runbooks k
    join runbook_automation_settings a on a.runbook_name = lower(k.name) and a.automation_enabled
    left join lateral (select coalesce((t.counts->>'issues')::int, 0) as issues, t.started_at from source_ticks t
                        where t.runbook_name = lower(k.name) and t.row_count is not null order by t.id desc limit 1) as t on true
   cross join lateral (values (4, 'source_failing', k.name, 1, k.last_error_at, k.last_error),
                              (5, 'rows_left_out', k.name, t.issues, t.started_at, null)) as v (place, kind, name, count, since, error)
   where k.is_active and ($1::text is null or lower(k.name) = lower($1)) and v.count > 0
     and (v.place = 5 or v.error is not null)`

/** The number of dead letters by topic, as the last events have it. */
export async function findNotedDeadLetters(db: Queryable): Promise<ReadonlyMap<string, number>> {
  const rows = await db.query<{ topic: string; count: number }>(
    `select distinct on (topic) topic, count
       from (select id, details->>'topic' as topic, (details->>'count')::int as count from events
              where batch_id is null and event in ('dead_letters_waiting', 'dead_letters_decided') order by id desc limit 20) as e
      order by topic, id desc`,
  )
  return new Map(rows.map(({ topic, count }) => [topic, count]))
}
