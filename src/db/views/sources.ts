// Data sources for lists: one line per active runbook, with its last tick, its next one, and what waits for a person.
import type { Queryable } from '../connection/db.ts'

export interface SourceLine {
  readonly runbookName: string
  readonly runbookVersion: number
  readonly isAutomated: boolean
  /** Null before the first tick, and while automation is off. */
  readonly nextTickAt: Date | null
  readonly lastTick: {
    readonly id: number
    readonly startedAt: Date
    readonly endedAt: Date | null
    readonly outcome: 'running' | 'good' | 'failed' | 'abandoned'
    readonly rowCount: number | null
    readonly error: string | null
  } | null
  readonly lastGoodAt: Date | null
  readonly issueCount: number
  readonly openReviews: number
}

interface SourceRow extends Omit<SourceLine, 'lastTick'> {
  readonly tickId: number | null
  readonly startedAt: Date
  readonly endedAt: Date | null
  readonly outcome: NonNullable<SourceLine['lastTick']>['outcome']
  readonly rowCount: number | null
  readonly error: string | null
}

/** Names after `after`, sorted. */
export async function listSources(
  db: Queryable,
  after: string | null,
  limit: number,
): Promise<SourceLine[]> {
  const rows = await db.query<SourceRow>(
    `select r.name as runbook_name, r.version as runbook_version, coalesce(a.automation_enabled, false) as is_automated,
            case when a.automation_enabled then s.due_at end as next_tick_at, t.id as tick_id, t.started_at,
            t.ended_at, t.outcome, t.row_count, t.error,
            (select g.ended_at from source_ticks g where g.runbook_name = lower(r.name) and g.outcome = 'good'
              order by g.id desc limit 1) as last_good_at,
            (select count(*)::int from source_issues i where i.runbook_name = lower(r.name)) as issue_count,
            (select count(*)::int from reviews v where v.runbook_name = lower(r.name) and v.dismissed_at is null) as open_reviews
       from runbooks r
       left join runbook_automation_settings a on a.runbook_name = lower(r.name)
       left join source_states s on s.runbook_name = lower(r.name)
       left join lateral (select * from source_ticks t where t.runbook_name = lower(r.name) order by t.id desc limit 1) as t on true
      where r.is_active and ($1::text is null or lower(r.name) > $1)
      order by lower(r.name) limit $2`,
    [after, limit],
  )
  return rows.map(({ tickId, startedAt, endedAt, outcome, rowCount, error, ...line }) => ({
    ...line,
    lastTick: tickId === null ? null : { id: tickId, startedAt, endedAt, outcome, rowCount, error },
  }))
}
