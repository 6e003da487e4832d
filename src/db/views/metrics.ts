// Workload metrics, from stored counters and small tables; steps are never counted.
import type { Queryable } from '../db.ts'
import { UNFINISHED_BATCHES } from '../status-lists.ts'

export interface Figure {
  readonly help: string
  readonly label: string
  readonly values: readonly { readonly of: string; readonly count: number }[]
}
export type WorkFigures = Readonly<Record<string, Figure>>

const counted = (db: Queryable, sql: string) => db.query<Figure['values'][number]>(sql)

export async function loadWorkFigures(db: Queryable): Promise<WorkFigures> {
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
