// Messages that people were sent: written with the end of the job that sent them, read to find those who are owed a correction.

import type { SentStartTime } from '../../domain/decide/corrections.ts'
import type { Draft } from '../../domain/decide/draft.ts'
import { arrayParams, idsParam, timeParam } from '../connection/arrays.ts'
import type { Queryable, Tx } from '../connection/db.ts'
import { PASSED_STEPS, UNFINISHED_BATCHES } from '../connection/status-lists.ts'

type Drafts = readonly [Draft, ...Draft[]]

/** Writes what was sent, and which steps correct what. The parameters of the job say what was sent; they are not loaded with the step. */
export async function writeSentMessages(tx: Tx, drafts: Drafts): Promise<void> {
  const sent = drafts.flatMap((draft) => draft.sentMessages.map(({ id }) => id))
  const corrections = drafts.flatMap(({ changedCorrections }) => [...changedCorrections])
  if (corrections.length > 0)
    await tx.query(
      `update step_executions s set corrects_time = c.time, corrects_sent_at = c.sent_at
         from unnest($1::bigint[], $2::timestamptz[], $3::timestamptz[]) as c (id, time, sent_at) where s.id = c.id`,
      arrayParams(
        corrections,
        ({ id }) => id,
        ({ correctsTime }) => timeParam(correctsTime),
        ({ correctsSentAt }) => timeParam(correctsSentAt),
      ),
    )
  if (sent.length > 0) await insertSentMessages(tx, idsParam(sent), drafts[0].now)
}

/** A message that tells the time takes the place of the one before it. */
async function insertSentMessages(tx: Tx, stepIds: string, now: Date): Promise<void> {
  await tx.query(
    `update sent_messages t set is_current = false
       from step_executions s
      where s.id = any($1::bigint[]) and ${TELLS_TIME} and t.batch_member_id = s.batch_member_id and t.is_current`,
    [stepIds],
  )
  await tx.query(
    `insert into sent_messages (batch_id, batch_member_id, step_id, phase_name, step_name, attempt, message, language, recipient,
                                start_time, corrects_time, is_current, sent_at)
     select s.batch_id, s.batch_member_id, s.id, ph.phase_name, s.step_name, s.attempt, coalesce(p->>'Message', ''), coalesce(p->>'Language', ''),
            coalesce(p->>'To', ''), (p->>'StartTime')::timestamptz, (p->>'CorrectsTime')::timestamptz, ${TELLS_TIME}, $2
       from step_executions s cross join lateral (select s.params_json as p) as j
       left join phase_executions ph on ph.id = s.phase_execution_id
      where s.id = any($1::bigint[])
         on conflict (step_id, attempt) where from_batch_id is null do nothing`,
    [stepIds, now],
  )
}

const TELLS_TIME = `
  s.kind = 'phase' and (s.params_json->>'TellsTime')::boolean and s.params_json->>'StartTime' is not null`

export interface OwedCorrection extends SentStartTime {
  readonly id: number
  readonly batchId: number
}

/**
 * Members who believe in a start time that is no longer true, and whose correction is not under way: the step that told them has passed. Only
 * of active members: who has left or failed is told nothing.
 */
export function listOwed(db: Queryable, limit: number): Promise<OwedCorrection[]> {
  return db.query<OwedCorrection>(
    `select t.id, t.batch_id, t.batch_member_id as member_id, t.step_id, t.start_time,
            t.sent_at
       from batches b
       cross join lateral (
         select * from sent_messages t where t.batch_id = b.id and t.is_current and t.start_time < b.batch_start_time
         union all
         select * from sent_messages t where t.batch_id = b.id and t.is_current and t.start_time > b.batch_start_time) t
       join step_executions s on s.id = t.step_id and s.status in ${PASSED_STEPS}
       join batch_members m on m.id = t.batch_member_id and m.status = 'active'
      where b.status in ${UNFINISHED_BATCHES} and not b.is_manual and (select exists (select from sent_messages where is_current))
      order by t.batch_id, t.id limit $1`,
    [limit],
  )
}

/** The start time in the message that the member was sent last; null: none. */
export async function findSentStartTime(db: Queryable, memberId: number): Promise<Date | null> {
  const [row] = await db.query<{ startTime: Date }>(
    'select start_time from sent_messages where batch_member_id = $1 and is_current',
    [memberId],
  )
  return row?.startTime ?? null
}

/** Nobody is owed a correction of these any more. */
export async function retireSentMessages(tx: Tx, ids: readonly number[]): Promise<void> {
  if (ids.length > 0)
    await tx.query('update sent_messages set is_current = false where id = any($1::bigint[])', [
      idsParam(ids),
    ])
}

/** Members who move take along what they were told last, with the step of the same name; it may not be true in the new batch. */
export async function carrySentMessages(
  tx: Tx,
  pairs: readonly { readonly from: number; readonly to: number }[],
): Promise<void> {
  if (pairs.length === 0) return
  const params = arrayParams(
    pairs,
    ({ from }) => from,
    ({ to }) => to,
  )
  // A member who comes back has old rows there. The row of what was told last counts again; it is copied only where there is none.
  await tx.query(
    'update sent_messages set is_current = false where is_current and batch_member_id = any($1::bigint[])',
    [idsParam(pairs.map(({ to }) => to))],
  )
  await tx.query(
    `with carried as (
       select distinct on (c.to_id) s.batch_id, s.batch_member_id, s.id as step_id, p.phase_name, s.step_name, s.attempt, t.message,
              t.language, t.recipient, t.start_time, t.corrects_time, coalesce(t.from_batch_id, t.batch_id) as from_batch_id, t.sent_at
         from unnest($1::bigint[], $2::bigint[]) as c (from_id, to_id)
         join sent_messages t on t.batch_member_id = c.from_id and t.is_current
         join step_executions f on f.id = t.step_id
         join phase_executions fp on fp.id = f.phase_execution_id
         join step_executions s on s.batch_member_id = c.to_id and s.kind = 'phase' and lower(s.step_name) = lower(f.step_name)
         join phase_executions p on p.id = s.phase_execution_id and lower(p.phase_name) = lower(fp.phase_name)
          and p.status <> 'superseded'
        order by c.to_id, p.runbook_version desc),
     known as (
       update sent_messages o set is_current = true from carried c
        where o.step_id = c.step_id and o.message = c.message and o.start_time = c.start_time and o.sent_at = c.sent_at
       returning o.step_id)
     insert into sent_messages (batch_id, batch_member_id, step_id, phase_name, step_name, attempt, message, language, recipient,
                                start_time, corrects_time, is_current, from_batch_id, sent_at)
     select batch_id, batch_member_id, step_id, phase_name, step_name, attempt, message, language, recipient, start_time,
            corrects_time, true, from_batch_id, sent_at
       from carried where step_id not in (select step_id from known)`,
    params,
  )
  await tx.query(
    'update sent_messages set is_current = false where is_current and batch_member_id = any($1::bigint[])',
    [idsParam(pairs.map(({ from }) => from))],
  )
}
