// Transitions, counters and times: each entity's events are a chain of legal transitions that ends at its row, stored counters equal
// the counted rows, and nothing happens before its time, during a hold, or without an actor and a reason.
import { MEMBER_COUNTS } from '../../domain/state/facts.ts'
import {
  MEMBER_STATUSES,
  STEP_STATUSES,
  TRANSITIONS,
  type Transition,
} from '../../domain/state/transitions.ts'
import { OPEN_STEPS, textLiteral, UNFINISHED_BATCHES } from '../connection/status-lists.ts'
import { batchCounters, PHASE_COUNTERS } from '../state/counters.ts'
import type { Invariant } from './invariants.ts'
import { STANDING } from './order.ts'
import { POLLS } from './polls.ts'

/** The table of transitions as rows of (entity, event, from_status, to_status). */
const LEGAL = Object.entries(TRANSITIONS)
  .flatMap(([entity, table]) =>
    Object.entries<Transition>(table).flatMap(([event, { from, to }]) =>
      from.map((one) => `(${[entity, event, one, to].map(textLiteral).join(', ')})`),
    ),
  )
  .join(', ')

/** Every row with a status, and the status it was inserted with. */
const ENTITIES = `
  (select 'step' as entity, id, batch_id, status, 'pending' as first from step_executions
   union all
   select 'member', id, batch_id, status, 'active' from batch_members
   union all
   select 'phase', id, batch_id, status, case when skipped_because = 'overdue' then 'skipped' else 'pending' end
     from phase_executions
   union all
   select 'batch', id, id, status, 'detected' from batches)`

const TRANSITIONED = `
  (select id, batch_id, entity, entity_id, event, from_status, to_status,
          lag(to_status) over (partition by batch_id, entity, entity_id order by id) as former,
          lead(id) over (partition by batch_id, entity, entity_id order by id) is null as is_last
     from (select e.*, case entity when 'step' then step_id when 'member' then batch_member_id
                                  when 'phase' then phase_id else batch_id end as entity_id
             from events e where to_status is not null and entity in ('step', 'member', 'phase', 'batch')) as changes)`

const LOG: Invariant[] = [
  {
    id: 'I7',
    sentence:
      'The events of an entity are a chain of legal transitions, from its first status to its current one',
    sql: `
      select t.batch_id,
             format('%s %s is %s; its events say %s: %s to %s after %s', t.entity, t.id, t.status, coalesce(m.event, 'nothing'),
                    m.from_status, m.to_status, coalesce(m.former, t.first)) as found
        from ${ENTITIES} as t
        left join ${TRANSITIONED} as m on m.batch_id = t.batch_id and m.entity = t.entity and m.entity_id = t.id
       where case
               when m.id is null then t.status <> t.first
               else (m.is_last and m.to_status <> t.status)
                 or (m.from_status is distinct from coalesce(m.former, t.first)
                     and not (m.former is null and m.from_status = 'none'))
                 or not exists (select from (values ${LEGAL}) as legal (entity, event, from_status, to_status)
                                 where (legal.entity, legal.event, legal.from_status, legal.to_status)
                                     = (m.entity, m.event, m.from_status, m.to_status)) end`,
  },
  {
    id: 'I8',
    sentence: 'Only a person or the data source reactivates what has ended, never the engine',
    sql: `
      select batch_id, format('event %s: %s of a %s by %s', id, event, entity, actor) as found
        from events
       where actor in ('orchestrator', 'timer')
         and (entity, event) in (('step', 'reactivate'), ('step', 'redo'), ('step', 'skip'), ('step', 'mark_done'),
                                ('member', 'retry'), ('member', 'readd'), ('phase', 'restart'), ('batch', 'restart'))`,
  },
  {
    id: 'I9',
    sentence:
      'A step is retried at most max_retries times, and each retry is counted and has an event',
    sql: `
      select s.batch_id,
             format('step %s counts %s of %s retries; its events %s', s.id, s.retry_count, s.max_retries, coalesce(r.retries, 0)) as found
        from step_executions s
        left join (select batch_id, step_id, count(*) filter (where event = 'retry' and id > coalesce(reactivated, 0)) as retries
                     from (select batch_id, step_id, id, event,
                                  max(id) filter (where event <> 'retry') over (partition by batch_id, step_id) as reactivated
                             from events where entity = 'step' and event in ('retry', 'reactivate', 'redo', 'correct')) as e
                    group by batch_id, step_id) as r on r.batch_id = s.batch_id and r.step_id = s.id
       where s.retry_count > s.max_retries or s.retry_count > coalesce(r.retries, 0)`,
  },
  {
    id: 'I28',
    sentence: 'Every event has an actor and a reason',
    sql: `
      select batch_id, format('event %s (%s of a %s) has no actor or no sentence', id, event, entity) as found
        from events where trim(actor) = '' or trim(because) = ''`,
  },
]

const countsBy = (column: string, values: readonly string[]): string =>
  values.map((value) => `count(*) filter (where ${column} = ${textLiteral(value)})`).join(', ')

const COUNTS: Invariant[] = [
  {
    id: 'I14',
    sentence: 'Stored counters equal the counted rows',
    sql: `
      select b.id as batch_id, format('stored for the batch: %s; counted: %s', b.stored, m.counted || s.counted) as found
        from (select id, array[${batchCounters.map(([, column]) => column).join(', ')}] as stored
                from batches) as b
       cross join lateral (
         select array[${countsBy('status', MEMBER_STATUSES)}]::int[] as counted
           from batch_members where batch_id = b.id) as m
       cross join lateral (
         select array[${countsBy('kind', ['init', 'rollback', 'removal', 'undo'])}]::int[] as counted
           from step_executions where batch_id = b.id and status in ${OPEN_STEPS}) as s
       where b.stored <> m.counted || s.counted
      union all
      select p.batch_id, format('stored for phase %s: %s; counted: %s', p.id, p.stored, s.counted || m.counted)
        from (select id, batch_id, array[${PHASE_COUNTERS.join(', ')}] as stored
                from phase_executions) as p
       cross join lateral (
         select array[${countsBy('status', STEP_STATUSES)}]::int[] as counted
           from step_executions where batch_id = p.batch_id and kind = 'phase' and phase_execution_id = p.id) as s
       cross join lateral (
         select array[count(*), ${countsBy('standing', MEMBER_COUNTS.slice(1))}]::int[] as counted
           from ${STANDING} as standings where batch_id = p.batch_id and phase_id = p.id) as m
       where p.stored <> s.counted || m.counted`,
  },
]

const TIMES: Invariant[] = [
  {
    id: 'I23',
    sentence: 'No time is ahead of the clock, and nothing ends before it starts',
    sql: `
      select batch_id, format('step %s was sent at %s and ended at %s', id, dispatched_at, completed_at) as found
        from step_executions
       where greatest(dispatched_at, completed_at, poll_started_at, last_polled_at) > $1::timestamptz
          or dispatched_at > completed_at + $3::interval
          or deadline_at < dispatched_at
      union all
      select batch_id, format('job %s was sent at %s and settled at %s', job_id, sent_at, settled_at)
        from attempts where settled_at > $1::timestamptz or sent_at > settled_at + $3::interval
      union all
      select batch_id, format('phase %s began at %s and ended at %s', id, dispatched_at, completed_at)
        from phase_executions where greatest(dispatched_at, completed_at) > $1::timestamptz or dispatched_at > completed_at + $3::interval
      union all
      select id, format('the batch was found at %s, went active at %s and ended at %s', detected_at, activated_at, ended_at)
        from batches where greatest(detected_at, activated_at, ended_at, held_at) > $1::timestamptz
           or detected_at > activated_at + $3::interval or activated_at > ended_at + $3::interval
      union all
      select batch_id, format('the hold of %s %s is of %s', scope, target, held_at) from holds where held_at > $1::timestamptz
      union all
      select batch_id, format('event %s is of %s', id, at) from events where at > $1::timestamptz`,
  },
  {
    id: 'I24',
    sentence: 'A phase starts once, and never before it is due',
    sql: `
      select p.batch_id, format('phase %s started at %s, due at %s', p.id, p.dispatched_at, p.due_at) as found
        from phase_executions p where p.dispatched_at < p.due_at
      union all
      select batch_id, format('phase %s started %s times', phase_id, count(*))
        from events where entity = 'phase' and event = 'start' group by batch_id, phase_id having count(*) > 1`,
  },
  {
    id: 'I26',
    sentence: 'No job is sent that a hold covers',
    sql: `
      select batch_id, format('event %s: job %s was sent though the batch was held by event %s', id, job_id, held) as found
        from (select batch_id, id, entity, event, job_id,
                     max(id) filter (where entity = 'batch' and event = 'held') over so_far as held,
                     max(id) filter (where entity = 'batch' and event in ('resumed', 'cancel')) over so_far as released
                from events
               where (entity = 'batch' and event in ('held', 'resumed', 'cancel'))
                  or (entity = 'step' and event = 'dispatch')
              window so_far as (partition by batch_id order by id)) as e
       where entity = 'step' and held > coalesce(released, 0)
      union all
      select e.batch_id, format('event %s: job %s was sent though event %s held the %s', e.id, e.job_id, h.id, h.entity)
        from (select h.*, (select min(r.id) from events r
                            where r.event = 'resumed' and r.entity = h.entity and r.id > h.id
                              and r.details is not distinct from h.details
                              and r.batch_member_id is not distinct from h.batch_member_id) as until
                from events h where h.event = 'held' and h.entity in ('system', 'runbook', 'worker', 'member')) as h
        join events e on e.id > h.id and (h.until is null or e.id < h.until)
                     and e.entity = 'step' and e.event = 'dispatch'
       where case h.entity
               when 'system' then true
               when 'runbook' then exists (select from batches b where b.id = e.batch_id and b.runbook_name = h.details ->> 'name')
               when 'worker' then h.details ->> 'workerId' = coalesce(
                 (select a.worker_id from attempts a where a.step_id = e.step_id and a.job_id = e.job_id),
                 (select s.worker_id from step_executions s where s.id = e.step_id))
               else e.batch_member_id = h.batch_member_id
             end
      union all
      select p.batch_id, format('poll %s was sent at %s though event %s held the %s', p.job_id, p.sent_at, h.id, h.entity)
        from (select h.*, (select min(r.at) from events r
                            where r.event in ('resumed', 'cancel') and r.entity = h.entity and r.id > h.id
                              and r.batch_id is not distinct from h.batch_id
                              and (r.entity = 'batch' or r.details is not distinct from h.details)
                              and r.batch_member_id is not distinct from h.batch_member_id) as until
                from events h where h.event = 'held') as h
        join ${POLLS} as p on p.sent_at > h.at + $3::interval and (h.until is null or p.sent_at < h.until - $3::interval)
       where case h.entity
               when 'system' then true
               when 'batch' then p.batch_id = h.batch_id
               when 'runbook' then exists (select from batches b where b.id = p.batch_id and b.runbook_name = h.details ->> 'name')
               when 'worker' then h.details ->> 'workerId' = p.worker_id
               else p.batch_member_id = h.batch_member_id
             end`,
  },
  {
    id: 'I31',
    sentence: 'A key is active in at most one unfinished batch of a runbook',
    sql: `
      select m.batch_id, format('member %s has the key of member %s in batch %s', m.id, other.id, other.batch_id) as found
        from batch_members m
        join batches b on b.id = m.batch_id
        join batch_members other on other.key_folded = m.key_folded and other.id <> m.id and other.status = 'active'
        join batches ob on ob.id = other.batch_id and ob.runbook_name = b.runbook_name
       where m.status = 'active' and b.status in ${UNFINISHED_BATCHES}
         and ob.status in ${UNFINISHED_BATCHES}`,
  },
]

export const TRANSITION_INVARIANTS: readonly Invariant[] = [...LOG, ...COUNTS, ...TIMES]
