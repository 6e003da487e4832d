// The audit: who did what, from where and why, with the state before and after. `insertAudit` runs in the transaction of its change.
// audit-chain.ts seals and verifies the chain of hashes.
import type { HashedRow } from '../../base/keys/audit-hash.ts'
import type { Json } from '../../base/text/json.ts'
import { arrayParams, jsonText, lineParam } from '../connection/arrays.ts'
import type { Queryable } from '../connection/db.ts'

/** What its change knows of a row: the database numbers it. */
export interface AuditEntry extends Omit<HashedRow, 'id' | 'before' | 'after'> {
  readonly before?: Json | undefined
  readonly after?: Json | undefined
}

export interface AuditRow extends HashedRow {
  readonly isSealed: boolean
}

export const insertAudit = (db: Queryable, entry: AuditEntry): Promise<void> =>
  insertAudits(db, [entry])

/** Keeps the order. */
export async function insertAudits(db: Queryable, entries: readonly AuditEntry[]): Promise<void> {
  await db.query(
    `insert into audit (at, actor, actor_name, action, subject, reason, source, client_app, request_id, before_json, after_json)
     select at, actor, actor_name, action, subject, reason, source, client_app, request_id, before::jsonb, after::jsonb
       from unnest($1::timestamptz[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[],
                   string_to_array($10, E'\\n', ''), string_to_array($11, E'\\n', ''))
       with ordinality
         as e (at, actor, actor_name, action, subject, reason, source, client_app, request_id, before, after, place)
      order by place`,
    [
      ...arrayParams(
        entries,
        ({ at }) => at.toISOString(),
        ({ actor }) => actor,
        ({ actorName }) => actorName,
        ({ action }) => action,
        ({ subject }) => subject,
        ({ reason }) => reason,
        ({ source }) => source,
        ({ clientApp }) => clientApp,
        ({ requestId }) => requestId,
      ),
      lineParam(entries, ({ before }) => jsonText(before)),
      lineParam(entries, ({ after }) => jsonText(after)),
    ],
  )
}

export interface AuditFilter {
  readonly actor?: string | undefined
  readonly action?: string | undefined
  readonly subject?: string | undefined
  /** False: only actions, no reads of personal data. */
  readonly reads?: boolean | undefined
  readonly from?: Date | undefined
  readonly before?: Date | undefined
  /** Only rows older than this one. */
  readonly olderThan?: number | undefined
}

const FILTER = `
  ($1::text is null or actor = $1) and ($2::text is null or action = $2) and ($3::text is null or subject = $3)
  and ($4::timestamptz is null or at >= $4) and ($5::timestamptz is null or at < $5)
  and ($6::boolean or action not like 'read %')`

const filterValues = ({ actor, action, subject, from, before, reads }: AuditFilter): unknown[] => [
  actor ?? null,
  action ?? null,
  subject ?? null,
  from ?? null,
  before ?? null,
  reads ?? true,
]

/** Newest first. */
export function listAudit(db: Queryable, filter: AuditFilter, limit: number): Promise<AuditRow[]> {
  return db.query<AuditRow>(
    `select id, at, actor, actor_name, action, subject, reason, source, client_app,
            request_id, before_json as before, after_json as after, hash is not null as is_sealed
       from audit where ${FILTER} and ($7::bigint is null or id < $7) order by id desc limit $8`,
    [...filterValues(filter), filter.olderThan ?? null, limit],
  )
}

export async function countAudit(
  db: Queryable,
  filter: AuditFilter,
  most: number,
): Promise<number> {
  const [row] = await db.query<{ count: number }>(
    `select count(*)::int as count from (select from audit where ${FILTER} limit $7) as counted`,
    [...filterValues(filter), most],
  )
  return row!.count
}
