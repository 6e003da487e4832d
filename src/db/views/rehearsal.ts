// What a rehearsal reads: when something is due next, and at its end phases, people, steps and rollbacks. Only for throw-away databases:
// the statements count rows.

import type { Json } from '../../base/text/json.ts'
import type { ConditionKind } from '../../domain/notifications/conditions.ts'
import type { MessageItem } from '../../domain/notifications/message.ts'
import type { Queryable } from '../connection/db.ts'
import { FAILED_STEPS, PASSED_STEPS } from '../connection/status-lists.ts'
import { WAITS_FOR } from '../orders/change-windows.ts'
import { BATCH_IS_FREE, WAIT_IS_FREE } from '../state/holds.ts'
import { type BatchStates, type CountedBatch, withStates } from './person-states.ts'
import { POLLS_OF_ATTEMPTS } from './progress.ts'

export interface NextMoment {
  /** When the next wait or phase falls due; null when nothing is scheduled. */
  readonly at: Date | null
  /** When the next phase begins. */
  readonly phaseAt: Date | null
  /** Steps that wait for a slot or for the end of their job. */
  readonly unsent: number
  readonly openBatches: number
}

/** A held step waits for a person. A job that was sent ends all the same. */
const FREE_WAITS = `waits w join batches b on b.id = w.batch_id where (w.kind = 'job' or ${WAIT_IS_FREE})`

/** In the past of a running batch jobs are not checked: they wait for its end. */
export async function findNextMoment(db: Queryable, isInPast: boolean): Promise<NextMoment> {
  const rows = await db.query<NextMoment>(
    `with due as (select min(case p.status when 'pending' then greatest(p.due_at, p.gate_look_at) else p.soak_ends_at end) as at
                    from phase_executions p join batches b on b.id = p.batch_id
                   where p.status in ('pending', 'dispatched') and b.status = 'active' and ${BATCH_IS_FREE})
     select least((select min(w.wake_at) from ${FREE_WAITS} and not ($1 and w.kind = 'job')), (select at from due),
                  (select min(b.window_opens_at) from batches b where b.window_closed_at is not null and ${BATCH_IS_FREE})) as at,
            (select at from due) as phase_at,
            (select count(*)::int from ${FREE_WAITS} and ${WAITS_FOR} in ('slot', 'job')) as unsent,
            (select count(*)::int from batches where ended_at is null) as open_batches`,
    [isInPast],
  )
  return rows[0]!
}

export interface RehearsedBatch extends CountedBatch, BatchStates {
  readonly startTime: Date | null
  readonly heldReason: string | null
  readonly endedAt: Date | null
}

export const listRehearsedBatches = async (db: Queryable): Promise<RehearsedBatch[]> =>
  withStates(
    db,
    await db.query<Omit<RehearsedBatch, keyof BatchStates>>(
      `select id, status, batch_start_time as start_time, held_reason, ended_at,
              members_active, members_failed, members_removed
         from batches order by batch_start_time, id`,
    ),
  )

export interface RehearsedPhase {
  readonly batchId: number
  readonly name: string
  readonly status: string
  readonly dueAt: Date | null
  readonly startedAt: Date | null
  readonly endedAt: Date | null
  readonly members: number
  readonly failed: number
  /** From the phase's start to a member's last step, in seconds. */
  readonly p50Sec: number | null
  readonly p95Sec: number | null
  readonly worstSec: number | null
  /** The last step of anybody. */
  readonly lastAt: Date | null
  /** While it ran and steps of its batch waited for a change window. */
  readonly closedSec: number
}

export const listRehearsedPhases = (db: Queryable): Promise<RehearsedPhase[]> =>
  db.query<RehearsedPhase>(
    `with people as (
       select s.phase_execution_id as id, s.batch_member_id,
              extract(epoch from max(s.completed_at) - min(p.dispatched_at))::float8 as sec, max(s.completed_at) as last_at
         from step_executions s join phase_executions p on p.id = s.phase_execution_id
        where s.kind = 'phase' and s.dispatched_at is not null and s.completed_at is not null
        group by 1, 2),
     closed as (
       select c.batch_id, c.at as closed_at,
              (select min(o.at) from events o
                where o.batch_id = c.batch_id and o.id > c.id and o.event in ('window_opened', 'window_overridden')) as opened_at
         from events c where c.event = 'window_closed')
     select p.batch_id, p.phase_name as name, p.status, p.due_at, p.dispatched_at as started_at,
            p.completed_at as ended_at, p.members_total as members, p.members_failed as failed,
            percentile_disc(0.5) within group (order by m.sec) as p50_sec,
            percentile_disc(0.95) within group (order by m.sec) as p95_sec, max(m.sec) as worst_sec, max(m.last_at) as last_at,
            (select coalesce(sum(extract(epoch from least(c.opened_at, p.completed_at) - greatest(c.closed_at, p.dispatched_at))), 0)::float8
               from closed c
              where c.batch_id = p.batch_id and c.opened_at > p.dispatched_at
                and (p.completed_at is null or c.closed_at < p.completed_at)) as closed_sec
       from phase_executions p left join people m on m.id = p.id
      where p.status <> 'superseded'
      group by p.id order by p.batch_id, p.offset_minutes desc, p.phase_index`,
  )

export interface RehearsedStep {
  readonly kind: 'init' | 'phase' | 'rollback' | 'removal' | 'undo'
  /** Of a rollback step: the phase of the step that it rolls back. */
  readonly phaseName: string | null
  readonly stepName: string
  /** The step that a rollback step belongs to. */
  readonly originStep: string | null
  readonly workerId: string
  /** Were sent at least once. */
  readonly ran: number
  readonly passed: number
  readonly failed: number
  /** Jobs, with polls. */
  readonly attempts: number
  /** Time in the function, of all attempts but the polls that said nothing new. */
  readonly workSec: number
}

export const listRehearsedSteps = (db: Queryable): Promise<RehearsedStep[]> =>
  db.query<RehearsedStep>(
    `with recorded as (select step_id, count(*) filter (where poll = 0)::int as attempts,
                              coalesce(sum(duration_ms), 0)::float8 / 1000 as sec
                         from attempts group by 1),
          polled as (select step_id, sum(polls)::int as polls from ${POLLS_OF_ATTEMPTS} as p group by 1),
          work as (select r.step_id, r.attempts + coalesce(p.polls, 0) as attempts, r.sec
                     from recorded r left join polled p on p.step_id = r.step_id)
     select s.kind, p.phase_name, s.step_name, o.step_name as origin_step, s.worker_id,
            count(*) filter (where s.dispatched_at is not null)::int as ran,
            count(*) filter (where s.status in ${PASSED_STEPS})::int as passed,
            count(*) filter (where s.status in ${FAILED_STEPS})::int as failed,
            coalesce(sum(w.attempts), 0)::int as attempts, coalesce(sum(w.sec), 0)::float8 as work_sec
       from step_executions s
       left join step_executions o on o.id = s.origin_step_id
       left join phase_executions p on p.id = coalesce(s.phase_execution_id, o.phase_execution_id)
       left join work w on w.step_id = s.id
      group by 1, 2, 3, 4, 5 order by 1, 2, 3, 4, 5`,
  )

export interface RolledBackMember {
  readonly memberId: number
  readonly memberKey: string
  readonly data: Readonly<Record<string, unknown>>
  readonly failedStep: string
  readonly phaseName: string
  readonly phaseStartedAt: Date
  readonly hasFailedUndo: boolean
}

/** Members whose rollback ran. */
export const listRolledBackMembers = (db: Queryable): Promise<RolledBackMember[]> =>
  db.query<RolledBackMember>(
    `select m.id as member_id, m.member_key, m.data_json || m.worker_data_json as data,
            o.step_name as failed_step, p.phase_name, p.dispatched_at as phase_started_at,
            bool_or(r.status in ${FAILED_STEPS}) as has_failed_undo
       from step_executions r
       join step_executions o on o.id = r.origin_step_id
       join batch_members m on m.id = o.batch_member_id
       join phase_executions p on p.id = o.phase_execution_id
      where r.kind = 'rollback' and r.dispatched_at is not null
      group by m.id, o.id, p.id order by m.id, o.id`,
  )

/** What an undo would leave as it is. */
export interface NotUndoable {
  readonly phase: string | null
  readonly step: string
  readonly why: string
  readonly isPointOfNoReturn: boolean
  readonly count: number
}

/** Changes without an inverse, what inverses leave, and unknown changes. What goes with an object that was created does not count. */
export const listNotUndoable = (db: Queryable): Promise<NotUndoable[]> =>
  db.query<NotUndoable>(
    `select p.phase_name as phase, s.step_name as step,
            coalesce(a.effect_json ->> 'irreversible', a.effect_json ->> 'keeps', 'The function does not tell what it changed.') as why,
            coalesce((a.effect_json ->> 'isPointOfNoReturn')::boolean, false) as is_point_of_no_return, count(*)::int as count
       from attempts a join step_executions s on s.id = a.step_id left join phase_executions p on p.id = s.phase_execution_id
      where s.kind in ('init', 'phase') and a.outcome in ('succeeded', 'incomplete')
        and (a.effect_json is null or a.effect_json ? 'irreversible' or a.effect_json ? 'keeps')
        and not (a.effect_json ? 'irreversible' and not a.effect_json ? 'isPointOfNoReturn' and exists (
                        select from step_executions cs join attempts c on c.step_id = cs.id
                         where cs.kind = 'phase' and cs.batch_member_id = s.batch_member_id
                           and coalesce(c.effect_json -> 'creates', c.effect_json #> '{ifEarlier,creates}')
                               ? (a.effect_json ->> 'target')))
      group by 1, 2, 3, 4 order by min(a.id) limit 50`,
  )

/** Messages that were sent, of a batch. */
export interface RehearsedMessages {
  readonly batchId: number
  readonly phase: string | null
  readonly step: string
  readonly message: string
  readonly language: string
  readonly sent: number
  readonly corrections: number
  readonly firstAt: Date
  readonly lastAt: Date
}

/** From this time on, without the copies that people took along to another batch. */
export const listRehearsedMessages = (db: Queryable, from: Date): Promise<RehearsedMessages[]> =>
  db.query<RehearsedMessages>(
    `select batch_id, phase_name as phase, step_name as step, message, language, count(*)::int as sent,
            count(corrects_time)::int as corrections, min(sent_at) as first_at, max(sent_at) as last_at
       from sent_messages where from_batch_id is null and sent_at >= $1
      group by 1, 2, 3, 4, 5 order by min(id)`,
    [from],
  )

/** The first of each message that its step still has the parameters of. */
export interface MessageExample {
  readonly message: string
  readonly language: string
  readonly member: string
  readonly to: string
  readonly subject: string
  readonly body: string
  readonly isHtml: boolean
}

export const listMessageExamples = (db: Queryable, from: Date): Promise<MessageExample[]> =>
  db.query<MessageExample>(
    `select message, language, member, recipient as to, subject, body, is_html
       from (select distinct on (t.message) t.id, t.message, t.language, m.member_key as member, t.recipient,
                    s.params_json ->> 'Subject' as subject, s.params_json ->> 'Body' as body,
                    s.params_json ->> 'ContentType' = 'HTML' as is_html
               from sent_messages t join batch_members m on m.id = t.batch_member_id
               join step_executions s on s.id = t.step_id and s.params_json ->> 'Message' = t.message
              where t.sent_at >= $1
              order by t.message, t.id) as first
      order by id`,
    [from],
  )

export interface RehearsedPerson {
  readonly id: number
  readonly key: string
  readonly data: Readonly<Record<string, Json>>
  readonly outputs: Readonly<Record<string, Json>>
}

export const listRehearsedPeople = (
  db: Queryable,
  after: number,
  limit: number,
): Promise<RehearsedPerson[]> =>
  db.query<RehearsedPerson>(
    `select id, member_key as key, data_json as data, worker_data_json as outputs from batch_members
      where id > $1 order by id limit $2`,
    [after, limit],
  )

export interface RehearsedName {
  readonly memberId: number
  readonly memberKey: string
}

export const listRehearsedNames = (
  db: Queryable,
  memberIds: readonly number[],
): Promise<RehearsedName[]> =>
  db.query<RehearsedName>(
    `select id as member_id, member_key from batch_members where id = any($1::bigint[]) order by id`,
    [[...memberIds]],
  )

export interface PlacedStep {
  readonly stepId: number
  /** Null for init steps. */
  readonly memberKey: string | null
  readonly phaseName: string | null
  readonly stepName: string
}

export const listStepPlaces = (db: Queryable, stepIds: readonly number[]): Promise<PlacedStep[]> =>
  db.query<PlacedStep>(
    `select s.id as step_id, m.member_key, p.phase_name, s.step_name
       from step_executions s
       left join batch_members m on m.id = s.batch_member_id
       left join phase_executions p on p.id = s.phase_execution_id
      where s.id = any($1::bigint[]) and s.kind in ('init', 'phase')`,
    [[...stepIds]],
  )

/** The next batch gets this id, so that the report names the one that people know. */
export async function setNextBatchId(db: Queryable, batchId: number): Promise<void> {
  await db.query(`select setval(pg_get_serial_sequence('batches', 'id'), $1, false)`, [batchId])
}

export interface SourceTrouble {
  readonly what: 'row' | 'review' | 'query'
  readonly kind: string
  readonly count: number
  readonly example: string
}

/** Unusable rows, and changes that wait for a person, by kind. */
export const listSourceTrouble = (db: Queryable): Promise<SourceTrouble[]> =>
  db.query<SourceTrouble>(
    `select 'row' as what, kind, count(*)::int as count, min(reason) as example from source_issues group by kind
     union all
     select 'review', kind, count(*)::int, min(reason) from reviews where dismissed_at is null group by kind
      order by 1, 2`,
  )

/** Attempts without a result. */
export async function countLostAttempts(db: Queryable): Promise<number> {
  const rows = await db.query<{ count: number }>(
    `select count(*)::int as count from attempts where outcome in ('lost', 'dead_lettered', 'undelivered')`,
  )
  return rows[0]!.count
}

export interface RehearsedCondition {
  readonly kind: ConditionKind
  readonly title: string
  readonly text: string
  readonly openedAt: Date
  readonly clearedAt: Date | null
  readonly isEnding: boolean
  readonly channels: readonly string[]
}

/** In the order in which they opened. */
export const listRehearsedConditions = (db: Queryable): Promise<RehearsedCondition[]> =>
  db.query<RehearsedCondition>(
    `select kind, title, text, opened_at, cleared_at, is_ending, to_json(channels) as channels
       from notification_conditions order by id`,
  )

export interface RehearsedNotification {
  readonly channel: string
  readonly items: readonly MessageItem[]
  readonly leftOut: number
  /** When it would have left: after quiet hours and digests. */
  readonly dueAt: Date
}

/** In the order in which they would have left. */
export const listRehearsedNotifications = (db: Queryable): Promise<RehearsedNotification[]> =>
  db.query<RehearsedNotification>(
    `select channel, items, left_out, due_at from notifications order by due_at, id`,
  )
