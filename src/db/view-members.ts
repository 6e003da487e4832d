// Members of a batch as lists show them, page by page along an index, whatever the batch's size. Who failed is shown with the
// step that failed; their data is not shown here.
import type { Json } from '../domain/json.ts'
import type { MemberStatus } from '../domain/moves.ts'
import { idArray } from './columns.ts'
import { beginsWith, Conditions, holds } from './conditions.ts'
import type { Queryable } from './db.ts'

export interface MemberLine {
  readonly id: number
  readonly memberKey: string
  readonly keyFolded: string
  readonly status: MemberStatus
  readonly addedAt: Date
  readonly failedAt: Date | null
  readonly removedAt: Date | null
  readonly removedBy: string | null
  readonly movedToBatchId: number | null
  /** The phase step that went wrong last, of members who are not active. */
  readonly failedStepId: number | null
  readonly failedPhase: string | null
  readonly failedStep: string | null
  readonly failedStatus: string | null
  readonly error: string | null
}

export interface MemberFilter {
  readonly status?: readonly string[] | undefined
  /** How the key begins. */
  readonly key?: string | undefined
  /** What the key holds somewhere. */
  readonly search?: string | undefined
  /** Those who failed in this phase or step, or with this in the error. */
  readonly failedPhase?: string | undefined
  readonly failedStep?: string | undefined
  readonly error?: string | undefined
  /** These only. */
  readonly ids?: readonly number[] | undefined
}

export const MEMBER_SORTS = ['id', 'key'] as const
export type MemberSort = (typeof MEMBER_SORTS)[number]

const FAILED = `
  from step_executions s join phase_executions p on p.id = s.phase_execution_id
 where s.kind = 'phase' and s.status in ('failed', 'poll_timeout', 'rolled_back')`

/** Who failed in some way: from the steps with errors, which are few, and not from every member's steps. */
const FAILED_SO = `select s.batch_member_id ${FAILED} and s.batch_id = $1 and s.error_message is not null`

function conditionsOf(batchId: number, filter: MemberFilter): Conditions {
  const where = new Conditions(batchId).and('m.batch_id = $1')
  const { status, key, search, failedPhase, failedStep, error, ids } = filter
  if (ids !== undefined) where.and('m.id = any(?::bigint[])', idArray(ids))
  // One status is walked along its index in the order of the ids; a list of one would be read whole and sorted for each page.
  if (status?.length === 1) where.and('m.status = ?', status[0])
  else if (status !== undefined) where.and('m.status = any(?::text[])', [...status])
  if (status?.every((one) => one !== 'active')) where.and(`m.status <> 'active'`)
  if (key !== undefined) where.and('m.key_folded like ?', beginsWith(key.toLowerCase()))
  if (search !== undefined) where.and('m.key_folded like ?', holds(search.toLowerCase()))
  const failure = [
    failedPhase !== undefined && `lower(p.phase_name) = lower(${where.add(failedPhase)})`,
    failedStep !== undefined && `lower(s.step_name) = lower(${where.add(failedStep)})`,
    error !== undefined && `s.error_message ilike ${where.add(holds(error))}`,
  ].filter((text) => text !== false)
  if (failure.length > 0)
    where.and(
      `m.status <> 'active' and m.id = any(array(${FAILED_SO} and ${failure.join(' and ')}))`,
    )
  return where
}

export interface MemberAfter {
  readonly value: string | null
  readonly id: number
}

export function listMembers(
  db: Queryable,
  batchId: number,
  filter: MemberFilter,
  sort: MemberSort,
  after: MemberAfter | null,
  limit: number,
): Promise<MemberLine[]> {
  const where = conditionsOf(batchId, filter)
  if (after && sort === 'id') where.and('m.id > ?', after.id)
  if (after && sort === 'key') where.and('m.key_folded > ?', after.value)
  return db.query<MemberLine>(
    `select m.id, m.member_key as "memberKey", m.key_folded as "keyFolded", m.status, m.added_at as "addedAt",
            m.failed_at as "failedAt", m.removed_at as "removedAt", m.removed_by as "removedBy",
            m.moved_to_batch_id as "movedToBatchId", f.id as "failedStepId", f.phase_name as "failedPhase",
            f.step_name as "failedStep", f.status as "failedStatus", f.error_message as error
       from (select * from batch_members m where ${where.text}
              order by ${sort === 'id' ? 'm.id' : 'm.key_folded'} limit ${where.add(limit)}) as m
       left join lateral (select s.id, p.phase_name, s.step_name, s.status, s.error_message ${FAILED}
              and s.batch_member_id = m.id and m.status <> 'active' order by s.completed_at desc, s.id desc limit 1) as f on true
      order by ${sort === 'id' ? 'm.id' : 'm.key_folded'}`,
    where.values,
  )
}

/** Those whom a filter means, in the order of their ids. */
export function selectMembers(
  db: Queryable,
  batchId: number,
  filter: MemberFilter,
  most: number,
): Promise<{ id: number; memberKey: string }[]> {
  const where = conditionsOf(batchId, filter)
  return db.query(
    `select m.id, m.member_key as "memberKey" from batch_members m where ${where.text}
      order by m.id limit ${where.add(most)}`,
    where.values,
  )
}

/** The first `most` that are found, in no order: few enough to be sorted afterwards, and how many there are is known with them. */
export async function findMemberIds(
  db: Queryable,
  batchId: number,
  filter: MemberFilter,
  most: number,
): Promise<number[]> {
  const where = conditionsOf(batchId, filter)
  const rows = await db.query<{ id: number }>(
    `select m.id from batch_members m where ${where.text} limit ${where.add(most)}`,
    where.values,
  )
  return rows.map(({ id }) => id)
}

/**
 * Keys as they are compared, in the order of the ids, from the one after `after` on. They come as one row: 20,000 rows cost Node
 * 16 ms to read, this one 7.
 */
export async function listKeys(
  db: Queryable,
  batchId: number,
  after: number,
  limit: number,
): Promise<{ ids: number[]; keys: string[] }> {
  const [row] = await db.query<{ ids: number[] | null; keys: string[] | null }>(
    `select array_agg(id order by id) as ids, json_agg(key_folded order by id) as keys
       from (select id, key_folded from batch_members where batch_id = $1 and id > $2 order by id limit $3) as m`,
    [batchId, after, limit],
  )
  return { ids: row!.ids ?? [], keys: row!.keys ?? [] }
}

export interface MemberState {
  readonly id: number
  readonly memberKey: string
  readonly status: MemberStatus
  readonly removalNumber: number
}

export async function findMemberState(
  db: Queryable,
  batchId: number,
  memberId: number,
): Promise<MemberState | null> {
  const rows = await db.query<MemberState>(
    `select id, member_key as "memberKey", status, removal_number as "removalNumber"
       from batch_members where batch_id = $1 and id = $2`,
    [batchId, memberId],
  )
  return rows[0] ?? null
}

export interface MemberDetail {
  readonly id: number
  readonly batchId: number
  readonly memberKey: string
  readonly status: MemberStatus
  readonly data: Readonly<Record<string, Json>>
  readonly outputs: Readonly<Record<string, Json>>
  readonly joinedAt: Date
  readonly failedAt: Date | null
  readonly leftAt: Date | null
  readonly removedBy: string | null
  readonly movedToBatchId: number | null
}

export async function findMemberDetail(
  db: Queryable,
  batchId: number,
  memberId: number,
): Promise<MemberDetail | null> {
  const rows = await db.query<MemberDetail>(
    `select id, batch_id as "batchId", member_key as "memberKey", status, data_json as data, worker_data_json as outputs,
            added_at as "joinedAt", failed_at as "failedAt", removed_at as "leftAt", removed_by as "removedBy",
            moved_to_batch_id as "movedToBatchId"
       from batch_members where batch_id = $1 and id = $2`,
    [batchId, memberId],
  )
  return rows[0] ?? null
}
