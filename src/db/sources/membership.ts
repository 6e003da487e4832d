// Batches and members of one runbook as a tick reads them, and members' data as it writes them. Members are read in pages of few
// columns: an unchanged tick over 100,000 members reads keys and hashes and writes nothing.
import { createHash } from 'node:crypto'
import { chunksOf } from '../../base/run/chunks.ts'
import type { Json } from '../../base/text/json.ts'
import type { KnownBatch, KnownMember } from '../../domain/sources/compare.ts'
import type { PastMembership } from '../../domain/sources/joiners.ts'
import { arrayParams, idsParam } from '../connection/arrays.ts'
import type { Queryable, Tx } from '../connection/db.ts'
import { COMPENSATION, OPEN_STEPS, UNFINISHED_BATCHES } from '../connection/status-lists.ts'
import { addAddresses } from '../state/member-addresses.ts'

const MEMBERS_PER_PAGE = 10_000
const KEYS_PER_LOOKUP = 10_000
const ROWS_PER_STATEMENT = 5_000

interface BatchRow extends Omit<KnownBatch, 'timesMs' | 'startMs'> {
  readonly sourceTime: Date | null
  readonly startTime: Date | null
  readonly agreed: readonly string[] | null
}

/** The runbook's unfinished batches, and ended ones that match one of these times. */
export async function loadKnownBatches(
  db: Queryable,
  runbookName: string,
  timesMs: Iterable<number>,
): Promise<KnownBatch[]> {
  const times = arrayParams(timesMs, (ms) => new Date(ms).toISOString())
  const rows = await db.query<BatchRow>(
    `select b.id, b.source_time, b.batch_start_time as start_time, b.ended_at is not null as is_ended, b.status,
            b.held_by, b.members_active + b.members_failed as members,
            (select array_agg(to_char(a.source_time at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') order by a.source_time)
               from batch_source_times a where a.batch_id = b.id) as agreed
       from batches b
      where b.runbook_name = lower($1)
        and (b.status in ${UNFINISHED_BATCHES} or b.source_time = any($2::timestamptz[])
             or exists (select from batch_source_times a
                         where a.batch_id = b.id and a.source_time = any($2::timestamptz[])))
      order by b.id`,
    [runbookName, times[0]],
  )
  return rows.map(({ sourceTime, startTime, agreed, ...batch }) => ({
    ...batch,
    timesMs:
      sourceTime === null ? [] : [+sourceTime, ...(agreed ?? []).map((text) => Date.parse(text))],
    startMs: startTime === null ? null : +startTime,
  }))
}

interface MemberRow extends Omit<KnownMember, 'removedAtMs' | 'key'> {
  /** Null when it equals the folded key. */
  readonly key: string | null
  readonly removedAt: Date | null
}

/** Every member of these batches, by batch and id. */
export async function loadKnownMembers(
  db: Queryable,
  batchIds: readonly number[],
): Promise<KnownMember[]> {
  const members: KnownMember[] = []
  let last: readonly [number, number] = [0, 0]
  for (;;) {
    const rows = await db.query<MemberRow>(
      `select id, batch_id, nullif(member_key, key_folded) as key, key_folded as folded, data_hash as hash, status,
              removed_by, removed_at, moved_to_batch_id is not null as is_moved_out
         from batch_members
        where batch_id = any($1::bigint[]) and (batch_id, id) > ($2, $3)
        order by batch_id, id limit ${MEMBERS_PER_PAGE}`,
      [idsParam(batchIds), ...last],
    )
    for (const { key, removedAt, ...row } of rows)
      members.push({ ...row, key: key ?? row.folded, removedAtMs: removedAt ? +removedAt : 0 })
    if (rows.length < MEMBERS_PER_PAGE) return members
    last = [rows.at(-1)!.batchId, rows.at(-1)!.id]
  }
}

/** Members with a step of T-0 or later that a worker may have started. */
export async function findStarted(
  db: Queryable,
  memberIds: readonly number[],
): Promise<Set<number>> {
  return idsOf(
    await db.query<{ id: number }>(
      `select distinct s.batch_member_id as id
         from step_executions s join phase_executions p on p.id = s.phase_execution_id
         left join waits w on w.step_id = s.id
        where s.kind = 'phase' and s.batch_member_id = any($1::bigint[]) and p.offset_minutes <= 0
          and (s.may_have_effect or w.kind = 'job')`,
      [idsParam(memberIds)],
    ),
  )
}

/** Members with an open compensation step, or an unsettled job. */
export async function findCompensating(
  db: Queryable,
  memberIds: readonly number[],
): Promise<Set<number>> {
  return idsOf(
    await db.query<{ id: number }>(
      `select batch_member_id as id from step_executions
        where kind in ${COMPENSATION} and batch_member_id = any($1::bigint[])
          and status in ${OPEN_STEPS}
       union
       select s.batch_member_id from step_executions s join waits w on w.step_id = s.id
        where s.batch_member_id = any($1::bigint[]) and w.kind = 'job'`,
      [idsParam(memberIds)],
    ),
  )
}

const idsOf = (rows: readonly { id: number }[]): Set<number> => new Set(rows.map(({ id }) => id))

const PAST = `
  m.key_folded as folded, m.id as member_id, m.batch_id, b.status as batch_status, m.status,
  m.removed_by, m.moved_to_batch_id is not null as is_moved_out, m.data_hash as hash`

/** What `erase_members` leaves of a key (sql/004_history.sql): a source that still lists the person is recognised. */
const erasedKey = (folded: string): string =>
  `erased:${createHash('sha256').update(folded).digest('hex')}`

/** Rows of these keys in the runbook's ended batches, newest first. */
export async function findPast(
  db: Queryable,
  runbookName: string,
  folded: readonly string[],
): Promise<Map<string, PastMembership[]>> {
  const past = new Map<string, PastMembership[]>()
  for (const some of chunksOf(folded, KEYS_PER_LOOKUP)) {
    const known = new Map(
      some.flatMap((key) => [[key, key] as const, [erasedKey(key), key] as const]),
    )
    const [keys] = arrayParams([...known.keys()], (key) => key)
    const rows = await db.query<PastMembership & { folded: string }>(
      `select ${PAST} from batch_members m join batches b on b.id = m.batch_id
        where m.key_folded = any($2::text[]) and b.runbook_name = lower($1) and b.ended_at is not null
        order by m.id desc`,
      [runbookName, keys],
    )
    for (const { folded: found, ...row } of rows) {
      const key = known.get(found)!
      const same = past.get(key)
      if (same) same.push(row)
      else past.set(key, [row])
    }
  }
  return past
}

/** The newest row of every key in the runbook's ended batches. Erased keys are found for those that are asked for. */
export async function loadLastPast(
  db: Queryable,
  runbookName: string,
  asked: Iterable<string>,
): Promise<Map<string, PastMembership>> {
  const past = new Map<string, PastMembership>()
  let after = ''
  for (;;) {
    const rows = await db.query<PastMembership & { folded: string }>(
      `select distinct on (m.key_folded) ${PAST} from batch_members m join batches b on b.id = m.batch_id
        where b.runbook_name = lower($1) and b.ended_at is not null and m.key_folded > $2
        order by m.key_folded, m.id desc limit ${MEMBERS_PER_PAGE}`,
      [runbookName, after],
    )
    for (const { folded, ...row } of rows) past.set(folded, row)
    if (rows.length < MEMBERS_PER_PAGE) return withErased(past, asked)
    after = rows.at(-1)!.folded
  }
}

function withErased(
  past: Map<string, PastMembership>,
  asked: Iterable<string>,
): Map<string, PastMembership> {
  for (const folded of asked) {
    const erased = past.get(erasedKey(folded))
    const plain = past.get(folded)
    if (erased && (!plain || plain.memberId < erased.memberId)) past.set(folded, erased)
  }
  return past
}

/** Members that the source removed since then, by batch. */
export async function countRemoved(
  db: Queryable,
  batchIds: readonly number[],
  since: Date,
): Promise<Map<number, number>> {
  const rows = await db.query<{ id: number; count: number }>(
    `select batch_id as id, count(*)::int as count from batch_members
      where batch_id = any($1::bigint[]) and status = 'removed' and removed_by = 'source' and moved_to_batch_id is null
        and removed_at > $2
      group by batch_id`,
    [idsParam(batchIds), since],
  )
  return new Map(rows.map(({ id, count }) => [id, count]))
}

export interface NewData {
  readonly memberId: number
  readonly key: string
  /** JSON. */
  readonly data: string
  readonly hash: string
}

/** Stores the source's current data. Returns how many rows differed. */
export async function refreshMembers(
  tx: Tx,
  batchId: number,
  fresh: readonly NewData[],
): Promise<number> {
  const rows = await tx.query<{ id: number; key: string; data: Json }>(
    `update batch_members m set member_key = f.key, data_json = f.data::jsonb, data_hash = f.hash
       from unnest($2::bigint[], $3::text[], $4::text[], $5::text[]) as f (id, key, data, hash)
      where m.id = f.id and m.batch_id = $1 and (m.data_hash <> f.hash or m.member_key <> f.key)
     returning m.id, m.member_key as key, m.data_json as data`,
    [
      batchId,
      ...arrayParams(
        fresh,
        (one) => one.memberId,
        (one) => one.key,
        (one) => one.data,
        (one) => one.hash,
      ),
    ],
  )
  await addAddresses(
    tx,
    rows.map(({ id, key, data }) => ({ memberId: id, key, texts: [data] })),
  )
  return rows.length
}

/** The source time matches this batch from now on. */
export async function addSourceTime(
  tx: Tx,
  batchId: number,
  time: Date,
  by: string,
  now: Date,
): Promise<void> {
  await tx.query(
    `insert into batch_source_times (batch_id, source_time, runbook_name, agreed_at, agreed_by)
     select id, $2, runbook_name, $3, $4 from batches where id = $1
     on conflict (batch_id, source_time) do nothing`,
    [batchId, time, now, by],
  )
}

/** The batch that the source time matches: unfinished before ended, its own time before an agreed one. */
export async function findBatchByTime(
  db: Queryable,
  runbookName: string,
  time: Date,
): Promise<{ id: number; isEnded: boolean } | null> {
  const rows = await db.query<{ id: number; isEnded: boolean }>(
    `select b.id, b.ended_at is not null as is_ended from batches b
      where b.runbook_name = lower($1)
        and (b.source_time = $2 or exists (select from batch_source_times a where a.batch_id = b.id and a.source_time = $2))
      order by b.ended_at is not null, b.source_time is distinct from $2, b.id limit 1`,
    [runbookName, time],
  )
  return rows[0] ?? null
}

export async function loadAbsences(
  db: Queryable,
  runbookName: string,
): Promise<Map<number, 1 | 2>> {
  const rows = await db.query<{ id: number; missed: 1 | 2 }>(
    'select batch_member_id as id, missed from source_absences where runbook_name = lower($1)',
    [runbookName],
  )
  return new Map(rows.map(({ id, missed }) => [id, missed]))
}

/** Writes the difference between `before` and `after`. */
export async function writeAbsences(
  tx: Tx,
  runbookName: string,
  before: ReadonlyMap<number, 1 | 2>,
  after: ReadonlyMap<number, 1 | 2>,
  now: Date,
): Promise<void> {
  const gone = [...before.keys()].filter((id) => !after.has(id))
  const changed = [...after].filter(([id, missed]) => before.get(id) !== missed)
  if (gone.length > 0) {
    await tx.query('delete from source_absences where batch_member_id = any($1::bigint[])', [
      idsParam(gone),
    ])
  }
  for (const some of chunksOf(changed, ROWS_PER_STATEMENT))
    await upsertAbsences(tx, runbookName, some, now)
}

async function upsertAbsences(
  tx: Tx,
  runbookName: string,
  changed: readonly (readonly [memberId: number, missed: 1 | 2])[],
  now: Date,
): Promise<void> {
  await tx.query(
    `insert into source_absences (batch_member_id, runbook_name, missed, since)
     select id, lower($1), missed, $2 from unnest($3::bigint[], $4::int[]) as a (id, missed)
     on conflict (batch_member_id) do update set missed = excluded.missed`,
    [
      runbookName,
      now,
      ...arrayParams(
        changed,
        ([id]) => id,
        ([, missed]) => missed,
      ),
    ],
  )
}
