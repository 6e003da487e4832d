// Members of a batch for lists, page by page along an index. Failed members come with the step that failed; lists carry no data.

import type { Json } from '../../base/text/json.ts'
import type { SampleMember } from '../../domain/plan/run-plan.ts'
import { foldKey, foldKeyPart } from '../../domain/state/member-key.ts'
import type { PersonState, Wave } from '../../domain/state/person-state.ts'
import type { MemberStatus } from '../../domain/state/transitions.ts'
import type { CurrentStep } from '../../domain/state/where.ts'
import { idsParam } from '../connection/arrays.ts'
import { Conditions, contains, LOWER_ERROR, startsWith } from '../connection/conditions.ts'
import type { Queryable } from '../connection/db.ts'
import { FAILED_STEPS } from '../connection/status-lists.ts'
import { WAITS_FOR, WAITS_UNTIL } from '../orders/change-windows.ts'
import { cutOverAt, memberState } from './person-states.ts'

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
  /** The last failed phase step, of members who are not active. */
  readonly failedStepId: number | null
  readonly failedPhase: string | null
  readonly failedStep: string | null
  readonly failedStatus: string | null
  readonly error: string | null
  readonly state: PersonState
  /** The end of the cut-over phase, of somebody who is cut over or done. */
  readonly cutOverAt: Date | null
  /** The end of the last step of a member who is done. */
  readonly finishedAt: Date | null
  /** The step that waits: of a rollback or removal before one of a phase. */
  readonly step:
    | (Omit<CurrentStep, 'since' | 'wakeAt'> & { since: string; wakeAt: string | null })
    | null
}

export interface MemberFilter {
  readonly status?: readonly string[] | undefined
  /** Prefix of the key. */
  readonly key?: string | undefined
  /** Part of the key. */
  readonly search?: string | undefined
  /** Failed in this phase or step, or with this text in the error. */
  readonly failedPhase?: string | undefined
  readonly failedStep?: string | undefined
  readonly error?: string | undefined
  readonly ids?: readonly number[] | undefined
  /** People named by key; together with `ids` either fits. */
  readonly keys?: readonly string[] | undefined
  readonly state?: readonly string[] | undefined
  /** The current step is in this phase, or has this name. */
  readonly phase?: string | undefined
  readonly step?: string | undefined
  /** With a hold of their own. */
  readonly isHeld?: boolean | undefined
}

const IS_AT = `m.id in (select w.batch_member_id from waits w
  join step_executions s on s.id = w.step_id left join phase_executions p on p.id = s.phase_execution_id where w.batch_id = $1 and `

const IS_HELD = `exists (select from holds h where h.scope = 'member' and h.member_id = m.id)`

export const MEMBER_SORTS = ['id', 'key'] as const
export type MemberSort = (typeof MEMBER_SORTS)[number]

const IS_FAILED = `s.kind = 'phase' and s.status in ${FAILED_STEPS}`

/**
 * Failed members, found by the few steps with errors. Phases are joined only when filtered by: joining them to 2,000 failures took
 * 1.7 ms, more than finding those.
 */
const FAILED_SO = `select s.batch_member_id from step_executions s
  where ${IS_FAILED} and s.batch_id = $1 and s.error_message is not null`
const IN_PHASE =
  's.phase_execution_id in (select id from phase_executions where batch_id = $1 and lower(phase_name) = lower'

function conditionsOf(batchId: number, filter: MemberFilter, wave: Wave): Conditions {
  const where = new Conditions(batchId).and('m.batch_id = $1')
  const { status, key, search, failedPhase, failedStep, error, ids, keys } = filter
  const named = [
    ids !== undefined && `m.id = any(${where.add(idsParam(ids))}::bigint[])`,
    keys !== undefined && `m.key_folded = any(${where.add(keys.map(foldKey))}::text[])`,
  ].filter((text) => text !== false)
  if (named.length > 0) where.and(`(${named.join(' or ')})`)
  // A single status follows its index in id order; as a list it would be read whole and sorted for each page.
  if (status?.length === 1) where.and('m.status = ?', status[0])
  else if (status !== undefined) where.and('m.status = any(?::text[])', [...status])
  if (status?.every((one) => one !== 'active')) where.and(`m.status <> 'active'`)
  if (filter.state !== undefined)
    where.and(`(${memberState(wave)}) = any(?::text[])`, [...filter.state])
  if (filter.phase !== undefined)
    where.and(`${IS_AT} lower(p.phase_name) = lower(?))`, filter.phase)
  if (filter.step !== undefined) where.and(`${IS_AT} lower(s.step_name) = lower(?))`, filter.step)
  if (filter.isHeld !== undefined) where.and(`(${IS_HELD}) = ?`, filter.isHeld)
  if (key !== undefined) where.and('m.key_folded like ?', startsWith(foldKeyPart(key)))
  if (search !== undefined) where.and('m.key_folded like ?', contains(foldKeyPart(search)))
  const failure = [
    failedPhase !== undefined && `${IN_PHASE}(${where.add(failedPhase)}))`,
    failedStep !== undefined && `lower(s.step_name) = lower(${where.add(failedStep)})`,
    error !== undefined && `${LOWER_ERROR} like ${where.add(contains(error.toLowerCase()))}`,
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

export interface MemberPage {
  readonly sort: MemberSort
  readonly after: MemberAfter | null
  readonly limit: number
  readonly wave: Wave
}

export function listMembers(
  db: Queryable,
  batchId: number,
  filter: MemberFilter,
  page: MemberPage,
): Promise<MemberLine[]> {
  const where = conditionsOf(batchId, filter, page.wave)
  return db.query<MemberLine>(linesOf(pageOf(where, page), page), where.values)
}

/** A page and the total. With `most` or more matches neither is known: the search stops there, in no order. */
export async function findMembers(
  db: Queryable,
  batchId: number,
  filter: MemberFilter,
  page: MemberPage,
  most: number,
): Promise<{ total: number; members: MemberLine[] }> {
  const where = conditionsOf(batchId, filter, page.wave)
  const meant = `select m.id from batch_members m where ${where.text} limit ${where.add(most)}`
  const within = new Conditions(...where.values).and('m.id in (select id from meant)')
  const rows = await db.query<Found>(
    `with meant as materialized (${meant})
     select found.count as total, line.*
       from (select count(*)::int from meant) as found left join (${linesOf(pageOf(within, page), page)}) as line on true
      order by ${page.sort === 'id' ? 'line.id' : 'line.key_folded'}`,
    within.values,
  )
  const members = rows.flatMap(({ total, ...line }) => (line.id === null ? [] : [line]))
  return { total: rows[0]!.total, members: members as MemberLine[] }
}

type Found = { total: number } & (MemberLine | { id: null })

const orderOf = (sort: MemberSort) => (sort === 'id' ? 'm.id' : 'm.key_folded')

function pageOf(where: Conditions, { sort, after, limit }: MemberPage): string {
  if (after && sort === 'id') where.and('m.id > ?', after.id)
  if (after && sort === 'key') where.and('m.key_folded > ?', after.value)
  return `select * from batch_members m where ${where.text} order by ${orderOf(sort)} limit ${where.add(limit)}`
}

const linesOf = (members: string, { sort, wave }: MemberPage): string =>
  `select m.id, m.member_key, m.key_folded, m.status, m.added_at,
          m.failed_at, m.removed_at, m.removed_by,
          m.moved_to_batch_id, f.id as failed_step_id, f.phase_name as failed_phase,
          f.step_name as failed_step, f.status as failed_status, f.error_message as error,
          m.state, w.step, case when m.state in ('cut_over', 'done') then ${cutOverAt(wave)} end as cut_over_at,
          case when m.state = 'done' then (select max(s.completed_at) from step_executions s
            where s.kind = 'phase' and s.batch_member_id = m.id) end as finished_at
     from (select m.*, ${memberState(wave)} as state from (${members}) as m) as m
     left join lateral (select s.id, p.phase_name, s.step_name, s.status, s.error_message
             from step_executions s join phase_executions p on p.id = s.phase_execution_id
            where ${IS_FAILED} and s.batch_member_id = m.id and m.status <> 'active'
            order by s.completed_at desc, s.id desc limit 1) as f on true
     left join lateral (select json_build_object('stepId', s.id, 'stepKind', s.kind, 'phaseName', p.phase_name,
              'stepName', s.step_name, 'workerId', s.worker_id, 'attempt', s.attempt, 'waitsFor', ${WAITS_FOR},
              'since', w.since, 'wakeAt', ${WAITS_UNTIL}) as step
             from waits w join batches b on b.id = w.batch_id join step_executions s on s.id = w.step_id
             left join phase_executions p on p.id = s.phase_execution_id
            where w.batch_id = m.batch_id and w.batch_member_id = m.id order by w.priority, w.step_id limit 1) as w on true
    order by ${orderOf(sort)}`

/** Members that match the filter, in id order. */
export function selectMembers(
  db: Queryable,
  batchId: number,
  filter: MemberFilter,
  most: number,
  wave: Wave,
): Promise<{ id: number; memberKey: string }[]> {
  const where = conditionsOf(batchId, filter, wave)
  return db.query(
    `select m.id, m.member_key from batch_members m where ${where.text}
      order by m.id limit ${where.add(most)}`,
    where.values,
  )
}

/** Folded keys after `after`, in id order, as one row: reading 20,000 rows took Node 16 ms, this one 7. */
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
    `select id, member_key, status, removal_number
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
    `select id, batch_id, member_key, status, data_json as data, worker_data_json as outputs,
            added_at as joined_at, failed_at, removed_at as left_at, removed_by,
            moved_to_batch_id
       from batch_members where batch_id = $1 and id = $2`,
    [batchId, memberId],
  )
  return rows[0] ?? null
}

/** Members that a plan shows as examples. */
export function listSampleMembers(
  db: Queryable,
  batchId: number,
  most: number,
): Promise<SampleMember[]> {
  return db.query<SampleMember>(
    `select member_key as key, data_json as data, worker_data_json as outputs from batch_members
      where batch_id = $1 and status <> 'removed' order by id limit $2`,
    [batchId, most],
  )
}

export interface MemberData {
  readonly key: string
  readonly data: Readonly<Record<string, Json>>
}

/** In the order they joined. */
export function listMemberData(
  db: Queryable,
  batchId: number,
  statuses: readonly string[],
): Promise<MemberData[]> {
  return db.query<MemberData>(
    `select member_key as key, data_json as data from batch_members
      where batch_id = $1 and status = any($2::text[]) order by id`,
    [batchId, [...statuses]],
  )
}

/** Active members, in the order of the grid. */
export function listActiveMembers(
  db: Queryable,
  batchId: number,
  afterId: number,
  limit: number,
): Promise<(SampleMember & { readonly id: number })[]> {
  return db.query(
    `select id, member_key as key, data_json as data, worker_data_json as outputs from batch_members
      where batch_id = $1 and status = 'active' and id > $2 order by id limit $3`,
    [batchId, afterId, limit],
  )
}

export interface SheetMember extends SampleMember {
  readonly id: number
  readonly keyFolded: string
}

/** Members who were not removed, in the order of their keys. */
export function listSheetMembers(
  db: Queryable,
  batchId: number,
  afterKey: string,
  limit: number,
): Promise<SheetMember[]> {
  return db.query<SheetMember>(
    `select id, member_key as key, key_folded, data_json as data, worker_data_json as outputs
       from batch_members where batch_id = $1 and status <> 'removed' and key_folded > $2 order by key_folded limit $3`,
    [batchId, afterKey, limit],
  )
}
