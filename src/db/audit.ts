// The audit: who asked for what, from where and why, with what was there before and after. `insertAudit` belongs to the
// transaction of the change it speaks of. Sealing and checking the chain of hashes is audit-chain.ts.
import type { Json } from '../domain/json.ts'
import { jsonText } from './columns.ts'
import type { Queryable } from './db.ts'

export interface AuditEntry {
  readonly at: Date
  /** Never reassigned: tenant and object id, or the local user. */
  readonly actor: string
  /** How the actor is called today. */
  readonly actorName: string
  readonly action: string
  readonly subject: string
  readonly reason: string | null
  /** The address the request came from. */
  readonly source: string | null
  readonly clientApp: string | null
  readonly requestId: string | null
  readonly before?: Json | undefined
  readonly after?: Json | undefined
}

export interface AuditRow extends AuditEntry {
  readonly id: number
  readonly before: Json
  readonly after: Json
  readonly isSealed: boolean
}

export async function insertAudit(db: Queryable, entry: AuditEntry): Promise<void> {
  await db.query(
    `insert into audit (at, actor, actor_name, action, subject, reason, source, client_app, request_id, before_json, after_json)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10::jsonb, $11::jsonb)`,
    [
      entry.at,
      entry.actor,
      entry.actorName,
      entry.action,
      entry.subject,
      entry.reason,
      entry.source,
      entry.clientApp,
      entry.requestId,
      jsonText(entry.before),
      jsonText(entry.after),
    ],
  )
}

export interface AuditFilter {
  readonly actor?: string | undefined
  readonly action?: string | undefined
  readonly subject?: string | undefined
  readonly from?: Date | undefined
  readonly before?: Date | undefined
  /** Only rows older than this one. */
  readonly olderThan?: number | undefined
}

const FILTER = `
  ($1::text is null or actor = $1) and ($2::text is null or action = $2) and ($3::text is null or subject = $3)
  and ($4::timestamptz is null or at >= $4) and ($5::timestamptz is null or at < $5)`

const filterValues = ({ actor, action, subject, from, before }: AuditFilter): unknown[] => [
  actor ?? null,
  action ?? null,
  subject ?? null,
  from ?? null,
  before ?? null,
]

/** Newest first. */
export function listAudit(db: Queryable, filter: AuditFilter, limit: number): Promise<AuditRow[]> {
  return db.query<AuditRow>(
    `select id, at, actor, actor_name as "actorName", action, subject, reason, source, client_app as "clientApp",
            request_id as "requestId", before_json as before, after_json as after, hash is not null as "isSealed"
       from audit where ${FILTER} and ($6::bigint is null or id < $6) order by id desc limit $7`,
    [...filterValues(filter), filter.olderThan ?? null, limit],
  )
}

export async function countAudit(
  db: Queryable,
  filter: AuditFilter,
  most: number,
): Promise<number> {
  const [row] = await db.query<{ count: number }>(
    `select count(*)::int as count from (select from audit where ${FILTER} limit $6) as counted`,
    [...filterValues(filter), most],
  )
  return row!.count
}
