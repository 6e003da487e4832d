// Members of batches: inserts and copies them, and finds them by key, by batch or by their steps. Later changes go through facts.ts and
// changes.ts.
import type { Json } from '../../base/text/json.ts'
import { foldKey } from '../../domain/state/member-key.ts'
import { arrayParams, idsParam } from '../connection/arrays.ts'
import type { Queryable, Tx } from '../connection/db.ts'
import { OPEN_STEPS, UNFINISHED_BATCHES } from '../connection/status-lists.ts'
import { addAddresses, type TextsOfMember } from './member-addresses.ts'

export interface NewMember {
  readonly key: string
  readonly data: Readonly<Record<string, Json>>
  readonly hash: string
  readonly outputs?: Readonly<Record<string, Json>>
}

/** Inserts and returns new members; existing ones are kept. */
export async function insertMembers(
  tx: Tx,
  batchId: number,
  members: readonly NewMember[],
  now: Date,
): Promise<{ id: number; key: string }[]> {
  const added = await tx.query<{ id: number; key: string }>(
    `insert into batch_members (batch_id, member_key, key_folded, data_json, data_hash, worker_data_json, status, added_at,
                                add_dispatched_at)
     select $1, key, folded, data::jsonb, hash, outputs::jsonb, 'active', $2, $2
       from unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::text[]) as m (key, folded, data, hash, outputs)
     on conflict (batch_id, key_folded) do nothing
     returning id, member_key as key`,
    [
      batchId,
      now,
      ...arrayParams(
        members,
        (m) => m.key,
        (m) => foldKey(m.key),
        (m) => JSON.stringify(m.data),
        (m) => m.hash,
        (m) => JSON.stringify(m.outputs ?? {}),
      ),
    ],
  )
  const given = new Map(members.map((member) => [member.key, member]))
  await addAddresses(
    tx,
    added.map(({ id, key }) => {
      const { data, outputs = {} } = given.get(key)!
      return { memberId: id, key, texts: [data, outputs] }
    }),
  )
  return added
}

export async function addToMemberCount(tx: Tx, batchId: number, added: number): Promise<void> {
  await tx.query('update batches set members_active = members_active + $2 where id = $1', [
    batchId,
    added,
  ])
}

/** Only one transaction at a time adds members to the runbook's batches: two new batches would not see each other's keys. */
export async function lockMembership(tx: Tx, runbookName: string): Promise<void> {
  await tx.query(`select pg_advisory_xact_lock(hashtextextended('members of ' || lower($1), 0))`, [
    runbookName,
  ])
}

/** Members whose key is active in another unfinished batch of the runbook. */
export async function findMembersElsewhere(
  db: Queryable,
  batchId: number,
  memberIds: readonly number[],
): Promise<{ memberId: number; batchId: number }[]> {
  return db.query(
    `select m.id as member_id, b.id as batch_id
       from batch_members m join batches own on own.id = m.batch_id
       join batch_members other on other.key_folded = m.key_folded and other.batch_id <> m.batch_id
       join batches b on b.id = other.batch_id
      where m.id = any($2::bigint[]) and m.batch_id = $1 and other.status = 'active'
        and b.runbook_name = own.runbook_name and b.status in ${UNFINISHED_BATCHES}`,
    [batchId, memberIds],
  )
}

/** Active members whose key is active in another unfinished batch of the runbook. */
export async function listActiveElsewhere(
  db: Queryable,
  batchId: number,
  most: number,
): Promise<{ key: string; batchId: number }[]> {
  return db.query(
    `select m.member_key as key, b.id as batch_id
       from batches own join batch_members m on m.batch_id = own.id and m.status = 'active'
       join batch_members other on other.key_folded = m.key_folded and other.batch_id <> m.batch_id and other.status = 'active'
       join batches b on b.id = other.batch_id and b.runbook_name = own.runbook_name
      where own.id = $1 and b.status in ${UNFINISHED_BATCHES}
      order by m.id limit $2`,
    [batchId, most],
  )
}

export async function findMemberBatch(db: Queryable, memberIds: readonly number[]) {
  return db.query<{ id: number; batchId: number }>(
    'select id, batch_id from batch_members where id = any($1::bigint[])',
    [memberIds],
  )
}

/** Keys that are active in another unfinished batch of the runbook: a member is in one batch at a time. */
export async function findKeysElsewhere(
  db: Queryable,
  runbookName: string,
  batchId: number,
  keys: readonly string[],
): Promise<{ key: string; batchId: number }[]> {
  return db.query(
    `select m.member_key as key, m.batch_id
       from batch_members m join batches b on b.id = m.batch_id
      where m.key_folded = any($3::text[]) and m.status = 'active' and m.batch_id <> $2
        and b.runbook_name = lower($1) and b.status in ${UNFINISHED_BATCHES}
      order by m.key_folded`,
    [runbookName, batchId, keys.map(foldKey)],
  )
}

export async function findMembersByKey(
  db: Queryable,
  batchId: number,
  keys: readonly string[],
): Promise<{ id: number; key: string; status: string }[]> {
  return db.query(
    `select id, member_key as key, status from batch_members where batch_id = $1 and key_folded = any($2::text[]) order by id`,
    [batchId, keys.map(foldKey)],
  )
}

/** The first id that is not a member of the batch; null when all are. */
export async function findMissingMember(
  db: Queryable,
  batchId: number,
  memberIds: readonly number[],
): Promise<number | null> {
  const rows = await db.query<{ id: number }>(
    `select g.id from unnest($2::bigint[]) as g (id)
      where not exists (select from batch_members m where m.id = g.id and m.batch_id = $1) limit 1`,
    [batchId, memberIds],
  )
  return rows[0]?.id ?? null
}

/** Copies members of another batch with keys, data and outputs. */
export async function copyMembers(
  tx: Tx,
  memberIds: readonly number[],
  toBatchId: number,
  now: Date,
): Promise<{ id: number; folded: string }[]> {
  if (memberIds.length === 0) return []
  const copied = await tx.query<StoredTexts & { folded: string }>(
    `insert into batch_members (batch_id, member_key, key_folded, data_json, data_hash, worker_data_json, status, added_at,
                                add_dispatched_at)
     select $2, member_key, key_folded, data_json, data_hash, worker_data_json, 'active', $3, $3
       from batch_members where id = any($1::bigint[]) order by id
     returning id, key_folded as folded, member_key as key, data_json as data, worker_data_json as outputs`,
    [memberIds, toBatchId, now],
  )
  await addAddresses(tx, copied.map(textsOf))
  return copied.map(({ id, folded }) => ({ id, folded }))
}

interface StoredTexts {
  readonly id: number
  readonly key: string
  readonly data: Json
  readonly outputs: Json
}

const textsOf = ({ id, key, data, outputs }: StoredTexts): TextsOfMember => ({
  memberId: id,
  key,
  texts: [data, outputs],
})

/** Copies data between rows of the same key, for members who return from another batch. */
export async function copyMemberData(
  tx: Tx,
  pairs: readonly { from: number; to: number }[],
): Promise<void> {
  if (pairs.length === 0) return
  const copied = await tx.query<StoredTexts>(
    `update batch_members m set data_json = f.data_json, data_hash = f.data_hash, member_key = f.member_key
       from unnest($1::bigint[], $2::bigint[]) as p (from_id, to_id) join batch_members f on f.id = p.from_id
      where m.id = p.to_id
     returning m.id, m.member_key as key, m.data_json as data, m.worker_data_json as outputs`,
    arrayParams(
      pairs,
      (pair) => pair.from,
      (pair) => pair.to,
    ),
  )
  await addAddresses(tx, copied.map(textsOf))
}

/** Active members after a mark of each batch and up to another, at most `limit` each, in the order of their ids. */
export async function listActiveAfter(
  db: Queryable,
  marks: readonly {
    readonly batchId: number
    readonly after: number
    /** Null: to the end. */
    readonly through: number | null
  }[],
  limit: number,
): Promise<ReadonlyMap<number, number[]>> {
  const rows = await db.query<{ batchId: number; id: number }>(
    `select mark.batch as batch_id, m.id
       from unnest($1::bigint[], $2::bigint[], $3::bigint[]) as mark (batch, after, through),
            lateral (select id from batch_members
                      where batch_id = mark.batch and status = 'active' and id > mark.after
                        and (mark.through is null or id <= mark.through) order by id limit $4) as m
      order by m.id`,
    [
      ...arrayParams(
        marks,
        ({ batchId }) => batchId,
        ({ after }) => after,
        ({ through }) => through,
      ),
      limit,
    ],
  )
  const found = new Map<number, number[]>(marks.map(({ batchId }) => [batchId, []]))
  for (const { batchId, id } of rows) found.get(batchId)!.push(id)
  return found
}

/** Members with an open step in one of these phases. */
export async function listMembersOpenIn(
  tx: Tx,
  batchId: number,
  phaseIds: readonly number[],
): Promise<number[]> {
  const rows = await tx.query<{ id: number }>(
    `select distinct batch_member_id as id from step_executions
      where batch_id = $1 and kind = 'phase' and phase_execution_id = any($2::bigint[])
        and status in ${OPEN_STEPS}
      order by 1`,
    [batchId, idsParam(phaseIds)],
  )
  return rows.map(({ id }) => id)
}

/** Members with a pending step in a started phase but no wait: an earlier phase blocks them. */
export async function listMembersIdle(tx: Tx, batchId: number): Promise<number[]> {
  const rows = await tx.query<{ id: number }>(
    `select distinct s.batch_member_id as id
       from step_executions s join phase_executions p on p.id = s.phase_execution_id and p.status = 'dispatched'
      where s.batch_id = $1 and s.kind = 'phase' and s.status = 'pending'
        and not exists (select from waits w where w.batch_id = $1 and w.batch_member_id = s.batch_member_id)
      order by 1`,
    [batchId],
  )
  return rows.map(({ id }) => id)
}
