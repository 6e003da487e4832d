// Reads waits by time (what is due) and by worker (what may be sent, which jobs are unsettled).
import type { AwaitedJob } from '../../domain/decide/lost-job.ts'
import { arrayParams, idsParam, timeParam } from '../connection/arrays.ts'
import type { Queryable } from '../connection/db.ts'
import { BATCH_IS_FREE, MEMBER_IS_FREE, WAIT_IS_FREE } from './holds.ts'
import type { JobLimitFacts } from './workers.ts'

export interface DueWait {
  readonly stepId: number
  readonly batchId: number
  readonly memberId: number | null
}

/** Due retries and polls. Held ones stay. */
export async function listDueWaits(db: Queryable, now: Date, limit: number): Promise<DueWait[]> {
  return db.query<DueWait>(
    `select w.step_id, w.batch_id, w.batch_member_id as member_id
       from waits w join batches b on b.id = w.batch_id
      where w.wake_at <= $1 and w.kind <> 'job' and ${WAIT_IS_FREE}
      order by w.wake_at limit $2`,
    [now, limit],
  )
}

export interface DueJob extends Omit<OutstandingJob, 'workerId'>, AwaitedJob {}

/** Jobs without a result for so long that the bus must be asked. Those of a held batch too. */
export async function listDueJobs(db: Queryable, now: Date, limit: number): Promise<DueJob[]> {
  return db.query<DueJob>(
    `select w.step_id, w.batch_id, w.batch_member_id as member_id, w.job_id,
            s.timeout_sec, s.deadline_at, k.last_seen_at as worker_seen_at
       from waits w join step_executions s on s.id = w.step_id left join workers k on k.worker_id = w.worker_id
      where w.wake_at <= $1 and w.kind = 'job'
      order by w.wake_at limit $2`,
    [now, limit],
  )
}

/** Waits on for these jobs and returns how many. A job that another transaction settles just now is left to it. */
export async function extendJobWaits(
  db: Queryable,
  jobs: readonly { readonly stepId: number; readonly jobId: string; readonly until: Date }[],
): Promise<number> {
  const rows = await db.query(
    `with free as (
       select w.step_id, c.until from unnest($1::bigint[], $2::text[], $3::timestamptz[]) as c (step_id, job_id, until)
         join waits w on w.step_id = c.step_id and w.kind = 'job' and w.job_id = c.job_id
          for update of w skip locked)
     update waits w set wake_at = free.until from free where w.step_id = free.step_id returning 1`,
    arrayParams(
      jobs,
      ({ stepId }) => stepId,
      ({ jobId }) => jobId,
      ({ until }) => timeParam(until),
    ),
  )
  return rows.length
}

export interface OutstandingJob extends DueWait {
  readonly jobId: string
  readonly workerId: string
}

export interface JobFilter {
  readonly memberIds?: readonly number[]
  readonly workerId?: string
  /** Only jobs that may change a tenant. */
  readonly mayChange?: true
}

/** Unsettled jobs of the batch, or of some members, or for one worker. Each half uses one of the unique indexes on jobs. */
export async function listOutstandingJobs(
  db: Queryable,
  batchId: number,
  { memberIds, workerId, mayChange }: JobFilter = {},
): Promise<OutstandingJob[]> {
  const job = 'step_id, batch_id, batch_member_id as member_id, job_id, worker_id'
  return db.query<OutstandingJob>(
    `select ${job} from waits
      where batch_id = $1 and kind = 'job' and batch_member_id is not null
        and ($2::bigint[] is null or batch_member_id = any($2::bigint[])) and ($3::text is null or worker_id = $3)
        and ($4::bool is null or changes_tenant)
     union all
     select ${job} from waits
      where batch_id = $1 and kind = 'job' and batch_member_id is null and $2::bigint[] is null
        and ($3::text is null or worker_id = $3) and ($4::bool is null or changes_tenant)
     order by step_id`,
    [batchId, memberIds ?? null, workerId ?? null, mayChange ?? null],
  )
}

/** Ids of the worker's unsettled jobs that a hold covers, or whose steps are cancelled: none of them should start. */
export async function listStoppedJobs(
  db: Queryable,
  workerId: string,
  limit: number,
): Promise<string[]> {
  const rows = await db.query<{ id: string }>(
    `select w.job_id as id from waits w join batches b on b.id = w.batch_id join step_executions s on s.id = w.step_id
      where w.kind = 'job' and w.worker_id = $1 and (s.status = 'cancelled' or not ${WAIT_IS_FREE})
      order by w.step_id limit $2`,
    [workerId, limit],
  )
  return rows.map(({ id }) => id)
}

/** Workers with steps that wait for a slot, held or not. Skips through the index from worker to worker. */
export async function listWorkersWithQueue(db: Queryable): Promise<string[]> {
  const rows = await db.query<{ id: string }>(
    `with recursive wanted (id) as (
       (select worker_id from waits where kind = 'slot' order by worker_id limit 1)
       union all
       select (select w.worker_id from waits w where w.kind = 'slot' and w.worker_id > wanted.id order by w.worker_id limit 1)
         from wanted where wanted.id is not null)
     select id from wanted where id is not null`,
  )
  return rows.map(({ id }) => id)
}

/**
 * Batches with steps that may be sent once the worker has a free slot. None for a held worker; of a batch outside its change windows
 * only if a step waits that changes nothing.
 */
export async function listBatchesWaiting(db: Queryable, workerId: string): Promise<number[]> {
  const rows = await db.query<{ id: number }>(
    `with recursive waiting (id) as (
       (select batch_id from waits where worker_id = $1 and kind = 'slot' order by batch_id limit 1)
       union all
       select (select w.batch_id from waits w
                where w.worker_id = $1 and w.kind = 'slot' and w.batch_id > waiting.id order by w.batch_id limit 1)
         from waiting where waiting.id is not null)
     select b.id from waiting join batches b on b.id = waiting.id
      where ${BATCH_IS_FREE} and not exists (select from holds h where h.scope = 'worker' and h.target = $1)
        and (not exists (select from holds h where h.scope = 'member' and h.batch_id = b.id)
             or exists (select from waits w
                         where w.worker_id = $1 and w.kind = 'slot' and w.batch_id = b.id and ${MEMBER_IS_FREE}))
        and (b.window_closed_at is null
             or exists (select from waits w
                         where w.worker_id = $1 and w.kind = 'slot' and w.batch_id = b.id and not w.changes_tenant))
      order by b.id`,
    [workerId],
  )
  return rows.map(({ id }) => id)
}

/**
 * Batches that wait for the worker, up to `most`, those after `batchId` first: earlier ones have had their turn, and the index is full
 * of their deleted rows. Listing all 300 took 3 ms, in every transaction.
 */
export async function listRivals(
  db: Queryable,
  workerId: string,
  batchId: number,
  most: number,
): Promise<number[]> {
  const next = (than: string) =>
    `select w.batch_id from waits w where w.worker_id = $1 and w.kind = 'slot' and w.batch_id > ${than} order by w.batch_id limit 1`
  const rows = await db.query<{ id: number }>(
    `with recursive later (id) as (
       (${next('$2')}) union all select (${next('later.id')}) from later where later.id is not null),
     earlier (id) as (
       (${next('0')}) union all select (${next('earlier.id')}) from earlier where earlier.id < $2)
     select id from (select id from later union all select id from earlier where id <= $2) as rival
      where exists (select from batches b where b.id = rival.id and b.window_closed_at is null and ${BATCH_IS_FREE}) limit $3`,
    [workerId, batchId, most],
  )
  return rows.map(({ id }) => id)
}

/** The worker's unsettled jobs, by batch. */
export async function countOutstanding(
  db: Queryable,
  workerId: string,
): Promise<Map<number, number>> {
  const rows = await db.query<{ batchId: number; jobs: number }>(
    `select batch_id, count(*) as jobs from waits where worker_id = $1 and kind = 'job' group by 1`,
    [workerId],
  )
  return new Map(rows.map(({ batchId, jobs }) => [batchId, jobs]))
}

/** Free slots of a worker for a batch. */
export interface SlotsToFill {
  readonly workerId: string
  readonly batchId: number
  readonly slots: number
  /** False outside the change windows: only steps that change no tenant. */
  readonly mayChange: boolean
}

/**
 * The batches' next steps for these workers, as many as there are slots, without those of held members: compensation first, then by
 * waiting time. `take` locks them; concurrent callers skip them.
 */
export async function listQueued(
  db: Queryable,
  wanted: readonly SlotsToFill[],
  lock: 'none' | 'take',
  heldMembers: Iterable<number>,
): Promise<DueWait[]> {
  const [open, closed] = [true, false].map((mayChange) =>
    wanted.filter((one) => one.mayChange === mayChange),
  ) as [SlotsToFill[], SlotsToFill[]]
  // Mostly all are open: a statement of its own for the others keeps the usual one as it was.
  const found = await Promise.all([
    open.length > 0 ? listNext(db, open, lock, heldMembers, 'all') : [],
    closed.length > 0 ? listNext(db, closed, lock, heldMembers, 'reading') : [],
  ])
  return found.flat()
}

function listNext(
  db: Queryable,
  wanted: readonly SlotsToFill[],
  lock: 'none' | 'take',
  heldMembers: Iterable<number>,
  which: 'all' | 'reading',
): Promise<DueWait[]> {
  return db.query<DueWait>(
    `select q.step_id, q.batch_id, q.batch_member_id as member_id
       from unnest($1::text[], $2::bigint[], $3::int[]) as want (worker, batch, slots),
            lateral (select step_id, batch_id, batch_member_id from waits
                      where worker_id = want.worker and kind = 'slot' and batch_id = want.batch
                        and (batch_member_id is null or batch_member_id <> all($4::bigint[]))
                        ${which === 'reading' ? 'and not changes_tenant' : ''}
                      order by priority, since, step_id limit want.slots
                      ${lock === 'take' ? 'for update skip locked' : ''}) as q`,
    [
      ...arrayParams(
        wanted,
        ({ workerId }) => workerId,
        ({ batchId }) => batchId,
        ({ slots }) => slots,
      ),
      idsParam([...heldMembers]),
    ],
  )
}

export interface SharedWorker extends JobLimitFacts {
  readonly workerId: string
  /** A batch other than the given one waits for it too: its free slots are shared out. */
  readonly isContended: boolean
}

/** These workers as the batch finds them. Not by `exists`: the server then lists all waiting steps, 5 ms each time. A worker that is unknown by now has the job limit of one that never announced itself. */
export async function listSharedWorkers(
  db: Queryable,
  workerIds: readonly string[],
  batchId: number,
): Promise<SharedWorker[]> {
  return db.query<SharedWorker>(
    `select w.id as worker_id, k.slots, k.job_ms, k.pace_json as pace, k.max_outstanding,
            coalesce(k.last_served_batch_id, 0) as last_served,
            coalesce((select true from waits where worker_id = w.id and kind = 'slot' and batch_id > $2 limit 1),
                     (select true from waits where worker_id = w.id and kind = 'slot' and batch_id < $2 limit 1), false) as is_contended
       from unnest($1::text[]) as w (id)
       left join lateral (select * from workers where worker_id = w.id limit 1) as k on true`,
    [workerIds, batchId],
  )
}
