// Figures of how much work there is, for whoever watches the whole: stored counters and small tables, never a count of steps.
import type { Queryable } from '../db.ts'

export interface Figure {
  readonly help: string
  readonly label: string
  readonly values: readonly { readonly of: string; readonly count: number }[]
}
export type WorkFigures = Readonly<Record<string, Figure>>

/** Whether the tables of the bus answer. */
export async function isBusThere(db: Queryable): Promise<boolean> {
  const [row] = await db.query('select exists (select from bundles) as any')
  return row !== undefined
}

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
                   from batches where status in ('detected', 'init_dispatched', 'active')) as b
          cross join lateral (values ('active', b.active), ('failed', b.failed), ('removed', b.removed)) as v (of, count)`,
      ),
    },
    steps_waiting: {
      help: 'Steps by what they wait for: a slot, their job, a retry, a poll.',
      label: 'what',
      values: await counted(
        db,
        'select what as of, count(*)::int as count from waits group by what order by what',
      ),
    },
    messages: {
      help: 'Messages on the bus by topic.',
      label: 'topic',
      values: await counted(
        db,
        'select topic as of, sum(size)::int as count from bundles group by topic order by topic',
      ),
    },
    dead_letters: {
      help: 'Dead letters that wait for a person, by topic.',
      label: 'topic',
      values: await counted(
        db,
        `select topic as of, count(*)::int as count from dead_letters
          where replayed_at is null and discarded_at is null group by topic order by topic`,
      ),
    },
  }
}
