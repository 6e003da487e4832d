// Jobs, waits and messages: every unfinished step waits for something that will come, every job is settled once or still unsettled,
// and a member never has two unsettled jobs.

import { COMPENSATION, OPEN_STEPS, PASSED_STEPS } from '../connection/status-lists.ts'
import { WAIT_IS_FREE } from '../state/holds.ts'
import type { Invariant } from './invariants.ts'
import { EFFECTIVE } from './order.ts'

/** The engine settles dead-lettered jobs within seconds, overdue ones within two minutes of grace. */
const DEAD_LETTER_NOTICED_WITHIN = `interval '5 minutes'`

const jobIdFrom = (step: string, attempt: string, poll: string): string => `
  concat(case ${step}.kind when 'phase' then 'step' else ${step}.kind end, '-', ${step}.id,
         case when ${attempt} > 0 then '-retry-' || ${attempt} end, case when ${poll} > 0 then '-poll-' || ${poll} end)`

/** After a restore from a backup ids end with the epoch: step-7~k3f9qz. */
const withoutEpoch = (jobId: string): string => `split_part(${jobId}, '~', 1)`

/** Every job on record and when it was unsettled; open-ended for jobs that still are. Polls that said nothing new leave no record. */
const JOBS = `
  (select a.batch_id, s.batch_member_id as member_id, a.job_id, a.poll, a.sent_at, a.settled_at
     from attempts a join step_executions s on s.id = a.step_id and s.batch_id = a.batch_id
   union all
   select w.batch_id, w.batch_member_id, w.job_id, s.poll_count, w.since, 'infinity'
     from waits w join step_executions s on s.id = w.step_id where w.kind = 'job')`

const WAITS: Invariant[] = [
  {
    id: 'I15',
    sentence: 'A step is dispatched exactly while its job is unsettled, and no ended step waits',
    sql: `
      select s.batch_id, format('step %s is %s with job %s, and waits for %s (job %s, member %s)', s.id, s.status, s.job_id,
                                coalesce(w.kind, 'nothing'), w.job_id, w.batch_member_id) as found
        from step_executions s left join waits w on w.step_id = s.id
       where (s.status = 'dispatched' and w.kind is distinct from 'job')
          or (w.kind = 'job' and (w.job_id is distinct from s.job_id or s.status not in ('dispatched', 'polling', 'cancelled')))
          or (w.kind <> 'job' and s.status not in ('pending', 'polling'))
          or (w.step_id is not null and (w.batch_id, w.batch_member_id, w.worker_id)
                                         is distinct from (s.batch_id, s.batch_member_id, s.worker_id))
      union all
      select w.batch_id, format('there is no step %s to wait for %s', w.step_id, w.kind)
        from waits w where not exists (select from step_executions s where s.id = w.step_id)`,
  },
  {
    id: 'I16',
    sentence: 'Every next step waits for a time, a slot or a job, and polls end in time',
    sql: `
      select s.batch_id, format('step %s is %s and waits for %s until %s; poll timeout %s, retry after %s', s.id, s.status,
                                coalesce(w.kind, 'nothing'), w.wake_at, s.poll_timeout_at, s.retry_after) as found
        from step_executions s join batches b on b.id = s.batch_id left join waits w on w.step_id = s.id
       where (s.status = 'polling' and case when w.kind not in ('poll', 'slot') then w.kind <> 'job'
                                            else w.wake_at is null or (w.wake_at > s.poll_timeout_at and ${WAIT_IS_FREE}) end)
          or (w.kind = 'poll' and s.status <> 'polling')
          or (w.kind = 'retry' and (s.status <> 'pending' or w.wake_at is distinct from s.retry_after))
          or (w.kind = 'slot' and s.retry_after > $1::timestamptz)
      union all
      select n.batch_id, format('step %s is next for member %s and waits for nothing', n.id, n.batch_member_id)
        from (select distinct on (s.batch_id, s.batch_member_id)
                     s.batch_id, s.batch_member_id, s.id, p.status as phase_status, p.offset_minutes, p.phase_index, p.id as phase_id
                from step_executions s join ${EFFECTIVE} as p on p.id = s.phase_execution_id
               where s.kind = 'phase' and s.status not in ${PASSED_STEPS}
               order by s.batch_id, s.batch_member_id, p.offset_minutes desc, p.phase_index, p.id, s.step_index, s.id) as n
        join batches b on b.id = n.batch_id and b.status = 'active'
        join batch_members m on m.id = n.batch_member_id and m.status = 'active'
       where n.phase_status <> 'pending'
         and not exists (select from waits w where w.batch_id = n.batch_id and w.batch_member_id = n.batch_member_id)
         and not exists (select from step_executions u
                          where u.kind in ${COMPENSATION} and u.batch_member_id = n.batch_member_id
                            and u.status in ${OPEN_STEPS})
         and not exists (select from ${EFFECTIVE} as earlier
                          where earlier.batch_id = n.batch_id
                            and (-earlier.offset_minutes, earlier.phase_index, earlier.id) < (-n.offset_minutes, n.phase_index, n.phase_id)
                            and (earlier.status = 'pending'
                                 or (earlier.status = 'dispatched' and earlier.expanded_at is null
                                     and n.batch_member_id > earlier.expanded_through)))
      union all
      select s.batch_id, format('%s step %s and those after it wait for nothing', s.kind, min(s.id))
        from step_executions s join batches b on b.id = s.batch_id
       where s.status in ${OPEN_STEPS}
         and (s.kind in ${COMPENSATION} or (s.kind = 'init' and b.status in ('init_dispatched', 'active')))
         and not exists (select from waits w
                          where w.batch_id = s.batch_id and w.batch_member_id is not distinct from s.batch_member_id)
       group by s.batch_id, s.kind, s.batch_member_id`,
  },
]

const JOB_IDS: Invariant[] = [
  {
    id: 'I17',
    sentence: 'A job id is used once and names its step, attempt and poll',
    sql: `
      select a.batch_id, format('job %s is attempt %s, poll %s of step %s', a.job_id, a.attempt, a.poll, a.step_id) as found
        from attempts a left join step_executions s on s.id = a.step_id
       where ${withoutEpoch('a.job_id')} is distinct from ${jobIdFrom('s', 'a.attempt', 'a.poll')}
      union all
      select w.batch_id, format('job %s is out for attempt %s, poll %s of step %s', w.job_id, s.attempt, s.poll_count, s.id)
        from waits w join step_executions s on s.id = w.step_id
       where w.kind = 'job' and ${withoutEpoch('w.job_id')} <> ${jobIdFrom('s', 's.attempt', 's.poll_count')}
      union all
      select w.batch_id, format('job %s is out though it is settled', w.job_id)
        from waits w join attempts a on a.job_id = w.job_id
      union all
      select batch_id, format('job %s was settled %s times', job_id, count(*))
        from attempts group by batch_id, job_id having count(*) > 1
      union all
      select a.batch_id, format('job %s is poll %s; step %s counts %s polls, %s of which said something new', a.job_id, a.poll, s.id,
                                s.poll_count, s.poll_changes)
        from attempts a join step_executions s on s.id = a.step_id and s.attempt = a.attempt
       where a.poll > s.poll_count or (a.outcome = 'incomplete' and s.status = 'polling' and s.poll_changes = 0)`,
  },
  {
    id: 'I18',
    sentence: 'A result is applied once: a success changes its step or is recorded as late',
    sql: `
      select batch_id, format('step %s, attempt %s, poll %s was settled %s times', step_id, attempt, poll, count(*)) as found
        from attempts group by batch_id, step_id, attempt, poll having count(*) > 1
      union all
      select batch_id, format('job %s: %s attempts that succeeded, %s events that say so', job_id, sum(succeeded), sum(reported))
        from (select batch_id, job_id, 1 as succeeded, 0 as reported, 0 as late from attempts where outcome = 'succeeded'
              union all
              select batch_id, job_id, 0, (event = 'succeed')::int, (event = 'late_result')::int from events
               where entity = 'step' and event in ('succeed', 'late_result')) as said
       group by batch_id, job_id
      having sum(succeeded) < sum(reported) or sum(reported) + sum(late) < sum(succeeded)`,
  },
  {
    id: 'I20',
    sentence: 'A duplicate message has one effect: a job is sent once and ends once',
    sql: `
      select batch_id, format('job %s: %s events of kind %s', job_id, count(*), kind) as found
        from (select batch_id, job_id, case when event = 'dispatch' then 'sent' else 'ended' end as kind
                from events
               where entity = 'step'
                 and event in ('dispatch', 'succeed', 'incomplete', 'fail', 'retry', 'withdraw', 'lost')) as e
       group by batch_id, job_id, kind having count(*) > 1`,
  },
  {
    id: 'I30',
    sentence: 'No job is lost: every sent job is unsettled or settled, and no other job exists',
    sql: `
      select batch_id, format('job %s: sent %s times, out or settled %s times', job_id, sum(sent), sum(known)) as found
        from (select batch_id, job_id, 1 as sent, 0 as known from events
               where entity = 'step' and event = 'dispatch'
              union all
              select batch_id, job_id, 0, 1 from ${JOBS} as jobs where poll = 0) as j
       group by batch_id, job_id having sum(sent) <> sum(known)`,
  },
]

const MESSAGES: Invariant[] = [
  {
    id: 'I19',
    sentence:
      'Every job message has a job and a unique id; other messages repeat an id only after the duplicate window',
    sql: `
      select null::bigint as batch_id, format('message %s is for no job that was sent', q.message_id) as found
        from messages q
       where q.topic = 'worker-jobs' and q.message_type = 'worker-job' and q.message_id not like '%-replay-%'
         and not exists (select from waits w where w.kind = 'job' and w.job_id = q.message_id)
         and not exists (select from attempts a where a.job_id = q.message_id)
      union all
      select null, format('messages %s and %s on %s have the id %s', q.id, r.id, topic, message_id)
        from messages q join messages r using (topic, message_id)
       where q.id < r.id and (topic = 'worker-jobs' or r.enqueued_at < q.enqueued_at + interval '10 minutes')`,
  },
  {
    id: 'I21',
    sentence:
      'A dead letter has a reason, and the step of a dead-lettered job does not wait for it',
    sql: `
      select null::bigint as batch_id, format('dead letter %s has no reason', d.id) as found
        from dead_letters d where trim(d.reason) = '' or trim(d.description) = ''
      union all
      select w.batch_id, format('job %s is out though it is dead letter %s since %s', w.job_id, d.id, d.dead_lettered_at)
        from dead_letters d join waits w on w.kind = 'job' and w.job_id = d.message_id
       where d.topic = 'worker-jobs' and d.replayed_at is null
          and d.dead_lettered_at < $1::timestamptz - ${DEAD_LETTER_NOTICED_WITHIN}`,
  },
]

const WINDOWS: Invariant[] = [
  {
    id: 'I38',
    sentence:
      'No job that may change a tenant is sent while the change window of its batch is closed',
    sql: `
      select w.batch_id, format('job %s was sent at %s, the window is closed from %s to %s', w.job_id, w.since, b.window_closed_at,
                                coalesce(b.window_opens_at::text, 'ever')) as found
        from waits w join batches b on b.id = w.batch_id
       where w.kind = 'job' and w.changes_tenant and w.since > b.window_closed_at + $3::interval
         and (b.window_opens_at is null or w.since < b.window_opens_at - $3::interval)`,
  },
]

const ONE_AT_A_TIME: Invariant[] = [
  {
    id: 'I32',
    sentence: 'A member has at most one unsettled phase job',
    sql: `
      select w.batch_id, format('member %s has %s phase jobs out', w.batch_member_id, count(*)) as found
        from waits w join step_executions s on s.id = w.step_id
       where w.kind = 'job' and s.kind = 'phase'
       group by w.batch_id, w.batch_member_id having count(*) > 1`,
  },
  {
    id: 'I33',
    sentence: 'No job is sent for a member, or for init, before the previous one is settled',
    sql: `
      select batch_id, format('job %s was sent at %s, when a former job of member %s was still out', job_id, sent_at,
                              coalesce(member_id::text, 'none (init)')) as found
        from (select batch_id, member_id, job_id, sent_at,
                     max(settled_at) over (partition by batch_id, member_id order by sent_at, settled_at
                                           rows between unbounded preceding and 1 preceding) as former_settled_at
                from ${JOBS} as j) as jobs
       where former_settled_at > sent_at + $3::interval`,
  },
]

export const JOB_INVARIANTS: readonly Invariant[] = [
  ...WAITS,
  ...JOB_IDS,
  ...MESSAGES,
  ...ONE_AT_A_TIME,
  ...WINDOWS,
]
