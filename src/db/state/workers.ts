// Workers that announced themselves, or that the configuration names because they never will.
import {
  meanAfter,
  type PaceFacts,
  paceAfter,
  type SeenOfWorker,
} from '../../domain/decide/pace.ts'
import type { AnnouncedThrottle } from '../../domain/messages/messages.ts'
import type { FunctionCatalogue } from '../../domain/runbook/read.ts'
import type { Db, Queryable, Tx } from '../connection/db.ts'

interface AnnouncedFacts extends FunctionCatalogue {
  readonly workerId: string
}

export interface JobLimitFacts extends PaceFacts {
  /** Its own limit; null when it has none. */
  readonly maxOutstanding: number | null
  /** The batch that was served last; 0 for none. */
  readonly lastServed: number
}

const JOB_LIMIT_FACTS = `slots, job_ms, pace_json as pace, max_outstanding, last_served_batch_id as last_served`

/** Locks the worker's row: transactions that need a free slot queue here. Null for an unknown worker. */
export async function lockWorker(tx: Tx, workerId: string): Promise<JobLimitFacts | null> {
  const rows = await tx.query<JobLimitFacts>(
    `select ${JOB_LIMIT_FACTS} from workers where worker_id = $1 for update`,
    [workerId],
  )
  return rows[0] ?? null
}

/** Null for an unknown worker. */
export async function findJobLimitFacts(
  db: Queryable,
  workerId: string,
): Promise<JobLimitFacts | null> {
  const rows = await db.query<JobLimitFacts>(
    `select ${JOB_LIMIT_FACTS} from workers where worker_id = $1`,
    [workerId],
  )
  return rows[0] ?? null
}

/** Slots of each worker for each of the batches that it works on now; null when it has not announced them. */
export async function listWorkerShares(
  db: Queryable,
  workerIds: readonly string[],
): Promise<ReadonlyMap<string, number | null>> {
  const rows = await db.query<{ id: string; share: number | null }>(
    `select w.worker_id as id, w.slots::float8 / greatest(1, b.count) as share
       from workers w cross join lateral (
         select count(distinct batch_id)::int as count from waits o where o.worker_id = w.worker_id and o.kind = 'job') as b
      where w.worker_id = any($1::text[])`,
    [workerIds],
  )
  return new Map(rows.map(({ id, share }) => [id, share]))
}

export interface NewResults extends SeenOfWorker {
  readonly workerId: string
  readonly meanMs: number
}

type Paced = Pick<JobLimitFacts, 'slots' | 'jobMs' | 'maxOutstanding' | 'pace'>

/** Adds results to what is known of the workers' pace. A row that another transaction has locked is left out: the next results count as well. */
export async function notePaces(
  db: Db,
  seen: readonly NewResults[],
  limitOf: (worker: Paced) => number,
  nowMs: number,
): Promise<readonly { readonly before: Paced; readonly after: Paced }[]> {
  return db.transaction(async (tx) => {
    const rows = await tx.query<JobLimitFacts & { id: string }>(
      `select worker_id as id, ${JOB_LIMIT_FACTS} from workers where worker_id = any($1::text[]) order by worker_id for update skip locked`,
      [seen.map(({ workerId }) => workerId)],
    )
    const changed = rows.map((before) => {
      const results = seen.find(({ workerId }) => workerId === before.id)!
      const jobMs = meanAfter(before.jobMs, results.jobs, results.meanMs)
      const pace = paceAfter(before, results, limitOf(before), nowMs)
      return { before, after: { ...before, jobMs, pace } }
    })
    if (changed.length > 0)
      await tx.query(
        `update workers w set job_ms = c.ms, pace_json = c.pace::jsonb
           from unnest($1::text[], $2::float8[], $3::text[]) as c (id, ms, pace) where w.worker_id = c.id`,
        [
          changed.map(({ after }) => after.id),
          changed.map(({ after }) => after.jobMs),
          changed.map(({ after }) => JSON.stringify(after.pace)),
        ],
      )
    return changed
  })
}

export async function recordServed(tx: Tx, workerId: string, batchId: number): Promise<void> {
  await tx.query('update workers set last_served_batch_id = $2 where worker_id = $1', [
    workerId,
    batchId,
  ])
}

/** Workers that announced themselves or are configured, sorted. */
export async function listWorkerIds(db: Queryable): Promise<string[]> {
  const rows = await db.query<{ id: string }>(
    'select worker_id as id from workers order by worker_id',
  )
  return rows.map(({ id }) => id)
}

export async function listAnnouncedWorkers(db: Queryable): Promise<string[]> {
  const rows = await db.query<{ id: string }>(
    'select worker_id as id from workers where first_seen_at is not null order by worker_id',
  )
  return rows.map(({ id }) => id)
}

/** It announced itself, is configured, or steps wait for it. */
export async function isWorkerKnown(db: Queryable, workerId: string): Promise<boolean> {
  const rows = await db.query(
    `select from workers where worker_id = $1
     union all
     select from waits where worker_id = $1 and kind = 'slot' limit 1`,
    [workerId],
  )
  return rows.length > 0
}

/** Makes exactly these workers configured. A worker that is taken off the list and never announced itself is unknown again. */
export async function configureWorkers(db: Queryable, workerIds: readonly string[]): Promise<void> {
  await db.query(
    `with forgotten as (
       delete from workers where is_configured and first_seen_at is null and worker_id <> all ($1::text[])),
     unlisted as (
       update workers set is_configured = false
        where is_configured and first_seen_at is not null and worker_id <> all ($1::text[]))
     insert into workers (worker_id, is_configured) select id, true from unnest($1::text[]) as w (id) order by id
     on conflict (worker_id) do update set is_configured = true where not workers.is_configured`,
    [workerIds],
  )
}

/** What each worker announced; null functions for one that is configured and never announced itself. */
export async function listCatalogues(
  db: Queryable,
  {
    after = null,
    limit = null,
    workerId = null,
  }: { after?: string | null; limit?: number | null; workerId?: string | null } = {},
): Promise<(FunctionCatalogue & { readonly workerId: string })[]> {
  return db.query(
    `select worker_id, case when last_seen_at is not null then functions_json end as functions
       from workers where ($1::text is null or worker_id > $1) and ($3::text is null or worker_id = $3)
      order by worker_id limit $2`,
    [after, limit, workerId],
  )
}

/** Of each worker that announced functions. */
export const listFunctionHashes = (
  db: Queryable,
): Promise<readonly { readonly id: string; readonly hash: string }[]> =>
  db.query(
    'select worker_id as id, functions_hash as hash from workers where functions_hash is not null',
  )

/** What these workers announced about their functions, without the schemas. */
export const listAnnouncedFacts = (
  db: Queryable,
  workerIds: readonly string[],
): Promise<readonly (AnnouncedFacts & { readonly hash: string })[]> =>
  db.query(
    `select worker_id, functions_hash as hash,
            coalesce((select jsonb_agg(jsonb_build_object('name', f -> 'name', 'facts', f -> 'facts')) from jsonb_array_elements(functions_json) as f), '[]') as functions
       from workers where worker_id = any($1::text[])`,
    [workerIds],
  )

/** For a clock that skips ahead: the workers were there in between. */
export async function noteWorkersSeen(db: Queryable, now: Date): Promise<void> {
  await db.query('update workers set last_seen_at = $1 where last_seen_at < $1', [now])
}

/** Before the time jumps forward: who announced itself in the last minutes is not missed after the jump. */
export async function keepWorkersSeen(db: Queryable, jumpMs: number, now: Date): Promise<void> {
  await db.query(
    `update workers set last_seen_at = $1 where last_seen_at between $2::timestamptz - interval '3 minutes' and $2`,
    [new Date(+now + jumpMs), now],
  )
}

export interface Hello {
  readonly workerId: string
  readonly version: string | null
  readonly slots: number | null
  readonly functions: unknown
  readonly throttles?: readonly AnnouncedThrottle[]
}

/** Stores the announcement. True for a new worker. */
export async function recordWorker(tx: Tx, hello: Hello, now: Date): Promise<boolean> {
  const rows = await tx.query<{ isNew: boolean }>(
    `insert into workers (worker_id, version, slots, functions_json, functions_hash, throttles_json, first_seen_at, last_seen_at)
     values ($1, $2, $3, $4::jsonb, md5($4::text), $6::jsonb, $5, $5)
     on conflict (worker_id) do update
        set version = excluded.version, slots = excluded.slots, functions_json = excluded.functions_json,
            functions_hash = excluded.functions_hash, throttles_json = excluded.throttles_json,
            first_seen_at = coalesce(workers.first_seen_at, excluded.first_seen_at),
            last_seen_at = greatest(workers.last_seen_at, excluded.last_seen_at)
     returning first_seen_at = $5 as is_new`,
    [
      hello.workerId,
      hello.version,
      hello.slots,
      JSON.stringify(hello.functions),
      now,
      JSON.stringify(hello.throttles ?? []),
    ],
  )
  return rows[0]!.isNew
}
