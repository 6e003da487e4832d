// What an evidence pack reads: every row about a batch, a page at a time. No transaction spans the pages, because the embedded database
// would do nothing else meanwhile; the fingerprint of the batch (retention.ts) tells afterwards whether it has changed.
import type { Json } from '../../base/text/json.ts'
import { idsParam } from '../connection/arrays.ts'
import type { Queryable } from '../connection/db.ts'
import type { ChainHead } from './audit-sealing.ts'

const ROWS_PER_PAGE = 1_000

interface NumberedRow {
  readonly id: number
  readonly row: Json
}

export interface EvidenceTable {
  readonly name: string
  pages(): AsyncGenerator<readonly Json[]>
}

/** Columns that only the machinery needs. */
const INTERNAL: Readonly<Record<string, string>> = { messages: `- 'lease_token' - 'leased_until'` }

/** Tables with an id, by the rows of this batch. `$1` is the batch. */
const BY_ID: readonly (readonly [name: string, table: string, isOfBatch: string])[] = [
  ['members', 'batch_members', 't.batch_id = $1'],
  ['phases', 'phase_executions', 't.batch_id = $1'],
  ['steps', 'step_executions', 't.batch_id = $1'],
  ['events', 'events', 't.batch_id = $1'],
  ['approvals', 'gate_decisions', 't.batch_id = $1'],
  ['member-messages', 'sent_messages', 't.batch_id = $1'],
  ['reviews', 'reviews', 't.batch_id = $1'],
  ['bulk-actions', 'bulk_actions', 't.batch_id = $1'],
  ['conditions', 'notification_conditions', 't.batch_id = $1'],
  [
    'messages',
    'notifications',
    `t.items @> jsonb_build_array(jsonb_build_object('batchId', $1::bigint))`,
  ],
]

/** Rows of a table that belong to rows of another: `$1` are their ids. */
const BELONGING: readonly (readonly [name: string, of: string, sql: string])[] = [
  [
    'addresses',
    'batch_members',
    'select to_jsonb(t) as row from member_addresses t where member_id = any($1::bigint[]) order by member_id, address',
  ],
  [
    'attempts',
    'step_executions',
    'select to_jsonb(t) as row from attempts t where step_id = any($1::bigint[]) order by step_id, attempt, poll',
  ],
  [
    'bulk-action-members',
    'bulk_actions',
    'select to_jsonb(t) as row from bulk_action_members t where action_id = any($1::bigint[]) order by action_id, member_id',
  ],
]

export function evidenceTables(db: Queryable, batchId: number): EvidenceTable[] {
  return [
    ...BY_ID.map(([name, table, isOfBatch]) => ({
      name,
      pages: async function* () {
        for await (const rows of pagesById(db, table, isOfBatch, batchId, INTERNAL[name] ?? ''))
          yield rows.map(({ row }) => row)
      },
    })),
    ...BELONGING.map(([name, table, sql]) => ({
      name,
      pages: async function* () {
        for await (const rows of pagesById(db, table, 't.batch_id = $1', batchId))
          yield* rowsOf(db, sql, [idsParam(rows.map(({ id }) => id))])
      },
    })),
    {
      name: 'source-times',
      pages: () =>
        rowsOf(
          db,
          'select to_jsonb(t) as row from batch_source_times t where batch_id = $1 order by source_time',
          [batchId],
        ),
    },
    {
      name: 'holds',
      pages: () =>
        rowsOf(
          db,
          `select to_jsonb(h) as row from holds h
            where h.batch_id = $1 or h.scope = 'system'
               or (h.scope = 'runbook' and h.target = (select lower(runbook_name) from batches where id = $1))
            order by h.scope, h.target`,
          [batchId],
        ),
    },
  ]
}

async function* pagesById(
  db: Queryable,
  table: string,
  isOfBatch: string,
  batchId: number,
  without = '',
): AsyncGenerator<NumberedRow[]> {
  for (let after = 0; ; ) {
    const rows = await db.query<NumberedRow>(
      `select t.id, to_jsonb(t) ${without} as row from ${table} t where ${isOfBatch} and t.id > $2
        order by t.id limit ${ROWS_PER_PAGE}`,
      [batchId, after],
    )
    if (rows.length > 0) yield rows
    if (rows.length < ROWS_PER_PAGE) return
    after = rows.at(-1)!.id
  }
}

async function* rowsOf(
  db: Queryable,
  sql: string,
  values: readonly unknown[],
): AsyncGenerator<readonly Json[]> {
  const rows = await db.query<{ row: Json }>(sql, [...values])
  yield rows.map(({ row }) => row)
}

export async function findBatchRow(db: Queryable, batchId: number): Promise<Json> {
  const [found] = await db.query<{ row: Json }>(
    'select to_jsonb(b) as row from batches b where id = $1',
    [batchId],
  )
  return found?.row ?? null
}

export interface UsedVersion {
  readonly name: string
  readonly version: number
  readonly publishedBy: string
  readonly publishedAt: Date
  readonly yamlContent: string
}

/** The versions of the runbook that the batch has run by. */
export const listUsedVersions = (db: Queryable, batchId: number): Promise<UsedVersion[]> =>
  db.query<UsedVersion>(
    `select r.name, r.version, r.published_by, r.created_at as published_at, r.yaml_content
       from runbooks r join batches b on lower(r.name) = lower(b.runbook_name)
      where b.id = $1 and (r.version = b.runbook_version
             or exists (select from phase_executions p where p.batch_id = b.id and p.runbook_version = r.version)
             or exists (select from step_executions s where s.batch_id = b.id and s.runbook_version = r.version))
      order by r.version`,
    [batchId],
  )

/** The newest rehearsal of the runbook that has a report. Rehearsals of running batches are none. */
export async function findLastRehearsal(db: Queryable, runbookName: string): Promise<Json> {
  const [found] = await db.query<{ row: Json }>(
    `select to_jsonb(r) as row from rehearsals r
      where lower(runbook_name) = lower($1) and batch_id is null and status = 'completed' order by id desc limit 1`,
    [runbookName],
  )
  return found?.row ?? null
}

/** The last sealed row from before the time, on which the next one builds; null when the chain begins later. */
export async function findSealBefore(db: Queryable, at: Date): Promise<ChainHead | null> {
  const [row] = await db.query<ChainHead>(
    `select seal_number as sealed, hash from audit
      where seal_number < (select min(seal_number) from audit where at >= $1)
      order by seal_number desc limit 1`,
    [at],
  )
  return row ?? null
}

/** Functions that workers of the batch's steps run instead of the built-in ones, as these workers announced them last. */
export const listOverrides = (db: Queryable, batchId: number): Promise<Json[]> =>
  db
    .query<{ row: Json }>(
      `select jsonb_build_object('workerId', w.worker_id, 'version', w.version, 'announcedAt', w.last_seen_at,
                'functions', jsonb_agg(f -> 'name' order by f ->> 'name')) as row
         from workers w cross join jsonb_array_elements(w.functions_json) as f
        where f @> '{"facts": {"overrides": true}}'
          and w.worker_id in (select s.worker_id from step_executions s where s.batch_id = $1)
        group by w.worker_id order by w.worker_id`,
      [batchId],
    )
    .then((rows) => rows.map(({ row }) => row))
