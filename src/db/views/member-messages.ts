// The messages to members, for lists. A line is a message to a person. Those that were sent are rows of sent_messages; those to come are the
// batch's members by the steps that send them; those that failed are steps with an error. Each kind is paged along an index of its own.

import { sameName } from '../../base/text/same-name.ts'
import type { MessageState } from '../../domain/member-messages/message-state.ts'
import { SEND_MESSAGE } from '../../domain/member-messages/message-text.ts'
import type { StepStatus } from '../../domain/state/transitions.ts'
import { Conditions, contains } from '../connection/conditions.ts'
import type { Queryable } from '../connection/db.ts'
import { FAILED_STEPS, textLiteral } from '../connection/status-lists.ts'

/** A step of a phase that sends a message to each member. */
export interface MessageStep {
  readonly phaseName: string
  readonly stepName: string
  readonly message: string
}

export interface MessageLine {
  /** Of the message that was sent, of the failed step, or of the member who has not been sent it. */
  readonly id: number
  readonly state: MessageState
  readonly memberId: number
  readonly memberKey: string
  readonly keyFolded: string
  readonly message: string
  readonly language: string | null
  readonly recipient: string | null
  readonly sentAt: Date | null
  readonly startTime: Date | null
  readonly correctsTime: Date | null
  readonly correctedAt: Date | null
  readonly fromBatchId: number | null
  readonly phaseName: string | null
  readonly stepName: string | null
  readonly stepId: number | null
  readonly stepStatus: StepStatus | null
  readonly jobId: string | null
  readonly error: string | null
  /** The place among the sending steps, of a line to come. */
  readonly place: number | null
}

export interface MessageFilter {
  /** Without it: every message that was sent. */
  readonly state?: MessageState | undefined
  readonly message?: string | undefined
  readonly language?: string | undefined
  readonly memberId?: number | undefined
  /** Part of the key, folded. */
  readonly search?: string | undefined
}

export const MESSAGE_SORTS = ['id', 'id_latest', 'key'] as const
export type MessageSort = (typeof MESSAGE_SORTS)[number]

export interface MessagePage {
  readonly sort: MessageSort
  readonly after: { readonly value: string | null; readonly id: number } | null
  readonly limit: number
}

/** The batch's row decides whether anybody is owed a correction; see `listOwed` in src/db/orders/sent-messages.ts. */
export interface MessageBatch {
  readonly id: number
  /** Null: nobody is owed one. */
  readonly correctTo: Date | null
}

/** Of row `t`. The few who are not active are found by their index: a join with 100,000 members took a second. */
const isOwed = (
  startTime: string,
) => `(t.is_current and (t.start_time < ${startTime} or t.start_time > ${startTime})
  and t.batch_member_id not in (select id from batch_members where batch_id = $1 and status <> 'active'))`

function sentWhere(
  batch: MessageBatch,
  { state, message, language, memberId, search }: MessageFilter,
): Conditions {
  const where = new Conditions(batch.id).and('t.batch_id = $1')
  if (state === 'correction_owed') where.and(isOwed(where.add(batch.correctTo)))
  if (state === 'sent') where.and(`${isOwed(where.add(batch.correctTo))} is not true`)
  if (message !== undefined) where.and('lower(t.message) = lower(?)', message)
  if (language !== undefined) where.and('t.language = lower(?)', language)
  if (memberId !== undefined) where.and('t.batch_member_id = ?', memberId)
  if (search !== undefined) where.and('m.key_folded like ?', contains(search))
  return where
}

/** Members are joined only when they are filtered or sorted by. */
const fromSent = ({ search }: MessageFilter, sort: MessageSort): string =>
  search === undefined && sort !== 'key'
    ? 'sent_messages t'
    : 'sent_messages t join batch_members m on m.id = t.batch_member_id'

function listSent(
  db: Queryable,
  batch: MessageBatch,
  filter: MessageFilter,
  page: MessagePage,
): Promise<MessageLine[]> {
  const where = sentWhere(batch, filter)
  addAfter(where, page, 't.id')
  const order = orderOf(page.sort, 't.id')
  const owed = isOwed(where.add(batch.correctTo))
  return db.query<MessageLine>(
    `select t.id, case when t.owed then 'correction_owed' else 'sent' end as state, t.batch_member_id as member_id,
            m.member_key, m.key_folded, t.message, t.language, t.recipient, t.sent_at,
            t.start_time, t.corrects_time, c.sent_at as corrected_at,
            t.from_batch_id, t.phase_name, t.step_name, t.step_id,
            s.status as step_status, a.job_id, s.error_message as error, null::int as place
       from (select t.*, ${owed} as owed from ${fromSent(filter, page.sort)} where ${where.text} order by ${order}
              limit ${where.add(page.limit)}) as t
       join batch_members m on m.id = t.batch_member_id
       left join step_executions s on s.id = t.step_id
       left join lateral (select a.job_id from attempts a where a.step_id = t.step_id and a.attempt = t.attempt
                           order by a.poll desc limit 1) as a on true
       left join lateral (select l.sent_at from sent_messages l
                           where l.batch_member_id = t.batch_member_id and l.id > t.id and l.corrects_time = t.start_time
                           order by l.id limit 1) as c on true
      order by ${order}`,
    where.values,
  )
}

const FROM_FAILED = `step_executions s join batch_members m on m.id = s.batch_member_id
  left join phase_executions p on p.id = s.phase_execution_id`

/** A step that never got as far as its parameters is known by its name. */
function failedWhere(
  batch: MessageBatch,
  { message, language, memberId, search }: MessageFilter,
  sending: readonly MessageStep[],
): Conditions {
  const where = new Conditions(batch.id, ...arraysOf(sending)).and(
    `s.batch_id = $1 and s.error_message is not null and s.status in ${FAILED_STEPS} and p.status is distinct from 'superseded'
       and (s.function_name = ${textLiteral(SEND_MESSAGE)} or exists (select from ${NAMED} where ${IS_NAMED}))`,
  )
  if (message !== undefined) where.and(`lower(${MESSAGE_OF_STEP}) = lower(?)`, message)
  if (language !== undefined) where.and(`s.params_json->>'Language' = lower(?)`, language)
  if (memberId !== undefined) where.and('s.batch_member_id = ?', memberId)
  if (search !== undefined) where.and('m.key_folded like ?', contains(search))
  return where
}

const NAMED =
  'unnest($2::text[], $3::text[], $4::text[]) with ordinality as d (phase_name, step_name, message, place)'
const IS_NAMED = `s.kind = 'phase' and lower(s.step_name) = d.step_name and lower(p.phase_name) = d.phase_name`
const MESSAGE_OF_STEP = `coalesce(s.params_json->>'Message', (select d.message from ${NAMED} where ${IS_NAMED} limit 1), '')`

const arraysOf = (sending: readonly MessageStep[]): string[][] => [
  sending.map(({ phaseName }) => phaseName.toLowerCase()),
  sending.map(({ stepName }) => stepName.toLowerCase()),
  sending.map(({ message }) => message),
]

function listFailed(
  db: Queryable,
  batch: MessageBatch,
  filter: MessageFilter,
  sending: readonly MessageStep[],
  page: MessagePage,
): Promise<MessageLine[]> {
  const where = failedWhere(batch, filter, sending)
  addAfter(where, page, 's.id')
  return db.query<MessageLine>(
    `select s.id, 'failed' as state, m.id as member_id, m.member_key, m.key_folded,
            ${MESSAGE_OF_STEP} as message, s.params_json->>'Language' as language, s.params_json->>'To' as recipient,
            null::timestamptz as sent_at, (s.params_json->>'StartTime')::timestamptz as start_time,
            (s.params_json->>'CorrectsTime')::timestamptz as corrects_time, null::timestamptz as corrected_at,
            null::bigint as from_batch_id, p.phase_name, s.step_name, s.id as step_id,
            s.status as step_status, s.job_id, s.error_message as error, null::int as place
       from ${FROM_FAILED} where ${where.text} order by ${orderOf(page.sort, 's.id')} limit ${where.add(page.limit)}`,
    where.values,
  )
}

/** Active members to whom a step has not sent its message. Nobody knows a language before the message is made. */
function comingWhere(
  { id }: MessageBatch,
  { language, memberId, search }: MessageFilter,
  { phaseName, stepName, message }: MessageStep,
): Conditions {
  const where = new Conditions(id, phaseName, stepName, message).and(
    `m.batch_id = $1 and m.status = 'active' and not exists (select from sent_messages t
      where t.batch_id = $1 and lower(t.phase_name) = lower($2) and lower(t.step_name) = lower($3) and t.batch_member_id = m.id)`,
  )
  if (language !== undefined) where.and('false')
  if (memberId !== undefined) where.and('m.id = ?', memberId)
  if (search !== undefined) where.and('m.key_folded like ?', contains(search))
  return where
}

/** Step after step: each reads the members along their index. */
async function listComing(
  db: Queryable,
  batch: MessageBatch,
  filter: MessageFilter,
  sending: readonly MessageStep[],
  page: MessagePage,
): Promise<MessageLine[]> {
  const [place, key] = placeAndKey(page.after?.value ?? null)
  const lines: MessageLine[] = []
  for (const [at, step] of sending.entries()) {
    const limit = page.limit - lines.length
    if (at + 1 < place || limit <= 0 || !isMeant(step, filter)) continue
    const after = page.after && at + 1 === place ? { value: key, id: page.after.id } : null
    lines.push(...(await listComingOf(db, batch, filter, step, at + 1, { ...page, limit, after })))
  }
  return lines
}

const isMeant = (step: MessageStep, { message }: MessageFilter): boolean =>
  message === undefined || sameName(step.message, message)

function listComingOf(
  db: Queryable,
  batch: MessageBatch,
  filter: MessageFilter,
  step: MessageStep,
  place: number,
  page: MessagePage,
): Promise<MessageLine[]> {
  const where = comingWhere(batch, filter, step)
  addAfter(where, page, 'm.id')
  const order = orderOf(page.sort, 'm.id')
  return db.query<MessageLine>(
    // Found as a set and sorted then: along the index of the order, 100,000 members who had it took seconds.
    `with not_sent as materialized (select m.id from batch_members m where ${where.text})
     select m.id, 'not_sent' as state, m.id as member_id, m.member_key, m.key_folded,
            $4::text as message, null::text as language, null::text as recipient, null::timestamptz as sent_at,
            null::timestamptz as start_time, null::timestamptz as corrects_time, null::timestamptz as corrected_at,
            null::bigint as from_batch_id, $2::text as phase_name, $3::text as step_name, s.id as step_id,
            s.status as step_status, s.job_id, s.error_message as error, ${where.add(place)}::int as place
       from (select m.id, m.member_key, m.key_folded from batch_members m join not_sent using (id) order by ${order}
              limit ${where.add(page.limit)}) as m
       left join lateral (select s.* from step_executions s join phase_executions p on p.id = s.phase_execution_id
               where s.kind = 'phase' and s.batch_member_id = m.id and lower(s.step_name) = lower($3)
                 and lower(p.phase_name) = lower($2) and p.status <> 'superseded'
               order by p.runbook_version desc limit 1) as s on true
      order by ${order}`,
    where.values,
  )
}

/** `2 ada@contoso.com` is the cursor's value after what the second step has not sent ada. */
export const placeText = ({ place, keyFolded }: MessageLine): string => `${place} ${keyFolded}`
const placeAndKey = (value: string | null): [place: number, key: string] => {
  const text = value ?? ''
  const blank = text.indexOf(' ')
  return [Number(text.slice(0, blank)) || 0, text.slice(blank + 1)]
}

/** The messages that the filter asks for, sent by these steps of the batch. */
export function listMemberMessages(
  db: Queryable,
  batch: MessageBatch,
  filter: MessageFilter,
  sending: readonly MessageStep[],
  page: MessagePage,
): Promise<MessageLine[]> {
  if (filter.state === 'failed') return listFailed(db, batch, filter, sending, page)
  if (filter.state === 'not_sent') return listComing(db, batch, filter, sending, page)
  return listSent(db, batch, filter, page)
}

/** No more than `most`. */
export async function countMemberMessages(
  db: Queryable,
  batch: MessageBatch,
  filter: MessageFilter,
  sending: readonly MessageStep[],
  most: number,
): Promise<number> {
  if (filter.state === 'failed')
    return countOf(db, FROM_FAILED, failedWhere(batch, filter, sending), most)
  if (filter.state !== 'not_sent')
    return countOf(db, fromSent(filter, 'id'), sentWhere(batch, filter), most)
  let count = 0
  for (const step of sending)
    if (count < most && isMeant(step, filter))
      count += await countOf(
        db,
        'batch_members m',
        // The message names the step for people; a count has no use for it.
        comingWhere(batch, filter, step).and('$4::text is not null'),
        most - count,
      )
  return count
}

async function countOf(
  db: Queryable,
  from: string,
  where: Conditions,
  most: number,
): Promise<number> {
  const [row] = await db.query<{ count: number }>(
    `select count(*)::int as count from (select from ${from} where ${where.text} limit ${where.add(most)}) as counted`,
    where.values,
  )
  return row!.count
}

function addAfter(where: Conditions, { sort, after }: MessagePage, id: string): void {
  if (!after) return
  if (sort === 'key') {
    // The first half is for the index; the pair spans two tables.
    where.and('m.key_folded >= ?', after.value)
    where.and(`(m.key_folded, ${id}) > (?, ?)`, after.value, after.id)
  }
  if (sort !== 'key') where.and(sort === 'id' ? `${id} > ?` : `${id} < ?`, after.id)
}

const orderOf = (sort: MessageSort, id: string): string =>
  sort === 'key' ? `m.key_folded, ${id}` : sort === 'id' ? id : `${id} desc`

export interface SentCount {
  readonly message: string
  readonly language: string
  readonly sent: number
  readonly corrections: number
  readonly correctionsOwed: number
  readonly firstAt: Date
  readonly lastAt: Date
}

/** By message and language. */
export function countSentByMessage(
  db: Queryable,
  { id, correctTo }: MessageBatch,
): Promise<SentCount[]> {
  return db.query<SentCount>(
    `select t.message, t.language, count(*)::int as sent, count(t.corrects_time)::int as corrections,
            (count(*) filter (where ${isOwed('$2')}))::int as corrections_owed, min(t.sent_at) as first_at, max(t.sent_at) as last_at
       from sent_messages t where t.batch_id = $1 group by t.message, t.language order by min(t.id)`,
    [id, correctTo],
  )
}

export interface StepSentCount {
  readonly place: number
  /** Active members. */
  readonly sent: number
  readonly failed: number
}

/** To how many members each step has sent its message, and to how many it could not. */
export function countByStep(
  db: Queryable,
  { id }: MessageBatch,
  sending: readonly MessageStep[],
): Promise<StepSentCount[]> {
  return db.query<StepSentCount>(
    `select d.place::int as place,
            (select count(*) from (select distinct t.batch_member_id from sent_messages t
              where t.batch_id = $1 and lower(t.phase_name) = d.phase_name and lower(t.step_name) = d.step_name
                and t.batch_member_id not in (select id from batch_members where batch_id = $1 and status <> 'active')) as t)::int as sent,
            (select count(*) from step_executions s join phase_executions p on p.id = s.phase_execution_id
              where s.batch_id = $1 and s.error_message is not null and s.status in ${FAILED_STEPS}
                and p.status <> 'superseded' and ${IS_NAMED})::int as failed
       from ${NAMED} order by d.place`,
    [id, ...arraysOf(sending)],
  )
}
