// Runbooks for lists: one line per name, with its automation and its unfinished batches.
import { Conditions, contains } from '../connection/conditions.ts'
import type { Queryable } from '../connection/db.ts'
import { UNFINISHED_BATCHES } from '../connection/status-lists.ts'

export interface RunbookLine {
  readonly id: number
  readonly name: string
  readonly version: number
  readonly isActive: boolean
  readonly overdueBehavior: 'ignore' | 'rerun'
  readonly rerunInit: boolean
  readonly publishedAt: Date
  readonly publishedBy: string
  readonly lastError: string | null
  readonly lastErrorAt: Date | null
  readonly isAutomationEnabled: boolean
  readonly unfinishedBatches: number
}

export interface RunbookFilter {
  /** Part of the name. */
  readonly search?: string | undefined
  /** Includes names without an active version, by their newest. */
  readonly withInactive?: boolean | undefined
}

const LINE = `r.id, r.name, r.version, r.is_active, r.overdue_behavior, r.rerun_init,
  r.created_at as published_at, r.published_by, r.last_error, r.last_error_at,
  coalesce(s.automation_enabled, false) as is_automation_enabled,
  (select count(*)::int from batches b
    where b.runbook_name = lower(r.name) and b.status in ${UNFINISHED_BATCHES}) as unfinished_batches`

const isShown = ({ withInactive }: RunbookFilter): string =>
  withInactive
    ? `not exists (select from runbooks n where lower(n.name) = lower(r.name) and (n.is_active, n.version) > (r.is_active, r.version))`
    : 'r.is_active'

function conditionsOf(filter: RunbookFilter): Conditions {
  const where = new Conditions().and(isShown(filter))
  if (filter.search !== undefined)
    where.and('lower(r.name) like ?', contains(filter.search.toLowerCase()))
  return where
}

/** Names after `after`, sorted. */
export function listRunbooks(
  db: Queryable,
  filter: RunbookFilter,
  after: string | null,
  limit: number,
): Promise<RunbookLine[]> {
  const where = conditionsOf(filter)
  if (after !== null) where.and('lower(r.name) > ?', after)
  return db.query<RunbookLine>(
    `select ${LINE} from runbooks r left join runbook_automation_settings s on s.runbook_name = lower(r.name)
      where ${where.text} order by lower(r.name) limit ${where.add(limit)}`,
    where.values,
  )
}

export async function countRunbooks(db: Queryable, filter: RunbookFilter): Promise<number> {
  const where = conditionsOf(filter)
  const [row] = await db.query<{ count: number }>(
    `select count(*)::int as count from runbooks r where ${where.text}`,
    where.values,
  )
  return row!.count
}

/** One version with its text; the active one by default. */
export async function findRunbookLine(
  db: Queryable,
  name: string,
  version: number | null,
): Promise<(RunbookLine & { readonly yamlContent: string }) | null> {
  const where = new Conditions().and('lower(r.name) = lower(?)', name)
  if (version === null) where.and('r.is_active')
  else where.and('r.version = ?', version)
  const rows = await db.query<RunbookLine & { yamlContent: string }>(
    `select ${LINE}, r.yaml_content
       from runbooks r left join runbook_automation_settings s on s.runbook_name = lower(r.name) where ${where.text}`,
    where.values,
  )
  return rows[0] ?? null
}

/** Versions before `before`, newest first. */
export function listVersions(
  db: Queryable,
  name: string,
  before: number | null,
  limit: number,
): Promise<RunbookLine[]> {
  const where = new Conditions().and('lower(r.name) = lower(?)', name)
  if (before !== null) where.and('r.version < ?::bigint', before)
  return db.query<RunbookLine>(
    `select ${LINE} from runbooks r left join runbook_automation_settings s on s.runbook_name = lower(r.name)
      where ${where.text} order by r.version desc limit ${where.add(limit)}`,
    where.values,
  )
}
