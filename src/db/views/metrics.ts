// Workload metrics, from stored counters and small tables; steps are never counted.
import type { Queryable } from '../connection/db.ts'
import { UNFINISHED_BATCHES } from '../connection/status-lists.ts'
import { BATCH_IS_FREE } from '../state/holds.ts'
import { countWaiting } from './waiting.ts'

export interface Figure {
  readonly help: string
  readonly label: string
  readonly values: readonly { readonly of: string; readonly count: number }[]
}
export type WorkFigures = Readonly<Record<string, Figure>>

/** Seconds from a time to `$1`, never negative. */
const sinceSql = (time: string): string =>
  `round(greatest(0, extract(epoch from $1::timestamptz - ${time}))::numeric, 1)::float8`

/** Waits of batches on hold are not late: they continue when the hold ends. */
const LATE = `
  select 'phase' as of, ${sinceSql('coalesce(min(p.due_at), $1)')} as count
    from phase_executions p join batches b on b.id = p.batch_id
   where p.status = 'pending' and p.due_at <= $1 and b.status = 'active' and ${BATCH_IS_FREE}
   union all
  select k.kind, ${sinceSql('coalesce(min(w.wake_at), $1)')}
    from (values ('retry'), ('poll'), ('job')) as k (kind)
    left join (waits w join batches b on b.id = w.batch_id and ${BATCH_IS_FREE}) on w.kind = k.kind and w.wake_at <= $1
   group by k.kind order by 1`

const TICK_AGES = `
  select a.runbook_name as of, ${sinceSql('coalesce(t.at, a.enabled_at)')} as count
    from runbook_automation_settings a
    left join lateral (select max(ended_at) as at from source_ticks t
                        where t.runbook_name = a.runbook_name and t.outcome = 'good') as t on true
   where a.automation_enabled order by 1`

const TICK_DURATIONS = `
  select a.runbook_name as of, round(extract(epoch from t.ended_at - t.started_at), 3)::float8 as count
    from runbook_automation_settings a
   cross join lateral (select started_at, ended_at from source_ticks t
                        where t.runbook_name = a.runbook_name and t.ended_at is not null order by t.id desc limit 1) as t
   where a.automation_enabled order by 1`

const counted = (db: Queryable, sql: string, values: readonly unknown[] = []) =>
  db.query<Figure['values'][number]>(sql, values)

export const loadWorkFigures = async (db: Queryable, now: Date): Promise<WorkFigures> => ({
  ...(await loadWork(db)),
  ...(await loadTrouble(db, now)),
})

async function loadWork(db: Queryable): Promise<WorkFigures> {
  return {
    batches: {
      help: 'Batches by status.',
      label: 'status',
      values: await counted(
        db,
        'select status as of, count(*)::int as count from batches group by status order by status',
      ),
    },
    members_of_unfinished_batches: {
      help: 'Members of unfinished batches by status.',
      label: 'status',
      values: await counted(
        db,
        `select v.of, coalesce(v.count, 0)::int as count
           from (select sum(members_active) as active, sum(members_failed) as failed, sum(members_removed) as removed
                   from batches where status in ${UNFINISHED_BATCHES}) as b
          cross join lateral (values ('active', b.active), ('failed', b.failed), ('removed', b.removed)) as v (of, count)`,
      ),
    },
    steps_waiting: {
      help: 'Steps by what they wait for: a slot, their job, a retry, a poll.',
      label: 'kind',
      values: await counted(
        db,
        'select kind as of, count(*)::int as count from waits group by kind order by kind',
      ),
    },
  }
}

/** What stands still, is late, or waits for people. */
async function loadTrouble(db: Queryable, now: Date): Promise<WorkFigures> {
  return {
    held: {
      help: 'Holds that are set, by scope.',
      label: 'scope',
      values: await counted(
        db,
        `select scope as of, count(*)::int as count from holds group by scope
          union all
         select 'batch', count(*)::int from batches where held_at is not null and status in ${UNFINISHED_BATCHES}
          order by 1`,
      ),
    },
    late_seconds: {
      help: 'How late the latest due phase, retry, poll or deadline is that nothing stops.',
      label: 'timer',
      values: await counted(db, LATE, [now]),
    },
    tick_age_seconds: {
      help: 'Age of the last good tick of each automated runbook.',
      label: 'runbook',
      values: await counted(db, TICK_AGES, [now]),
    },
    tick_seconds: {
      help: 'How long the last tick of each automated runbook took.',
      label: 'runbook',
      values: await counted(db, TICK_DURATIONS),
    },
    waiting_for_people: {
      help: 'Reviews, failing sources and rows left out that wait for a person, by kind.',
      label: 'kind',
      values: await countWaiting(db),
    },
  }
}
