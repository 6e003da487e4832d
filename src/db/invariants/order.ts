// Order and completeness: steps run one after the other, every member has its steps, and ended phases and batches are closed.
import {
  COMPENSATION,
  FAILED_STEPS,
  ONCE_PASSED_STEPS,
  OPEN_PHASES,
  OPEN_STEPS,
  PASSED_STEPS,
  STARTED_PHASES,
} from '../connection/status-lists.ts'
import type { Invariant } from './invariants.ts'
import { POLLS } from './polls.ts'

/** Phases that count: not superseded, cancelled or skipped as overdue, and the newest non-superseded row of their name. */
export const EFFECTIVE = `
  (select p.* from phase_executions p
    where p.status not in ('superseded', 'cancelled') and p.skipped_because is distinct from 'overdue'
      and not exists (select from phase_executions newer
                       where newer.batch_id = p.batch_id and lower(newer.phase_name) = lower(p.phase_name)
                         and newer.status <> 'superseded' and newer.runbook_version > p.runbook_version))`

const eventOfFormer = (what: string): string => `
  exists (select from events e
           where e.batch_member_id = former.batch_member_id and e.step_id = former.id and ${what})`

/** The former step had ended like this when the later one was sent, and an operator took that back afterwards. */
const wasTakenBack = (ended: string, events: string): string => `
  (${eventOfFormer(`e.to_status ${ended} and e.at <= later.dispatched_at`)}
   and ${eventOfFormer(`e.event in (${events}) and e.at >= later.dispatched_at`)})`

/**
 * A later step that was sent and is neither pending nor cancelled. A step that a newer version inserts before it does not count, nor one
 * that had passed and was rolled back or undone by hand, or was to be done again.
 */
const SENT_BEFORE = `
  later.job_id is not null and later.status not in ('pending', 'cancelled')
    and former.status not in ${PASSED_STEPS} and later.runbook_version >= former.runbook_version
    and not ${wasTakenBack(`in ${PASSED_STEPS}`, "'begin_rollback', 'undo', 'redo'")}`

/** Each member's standing in each phase, from its steps. */
export const STANDING = `
  (select s.batch_id, s.phase_execution_id as phase_id, s.batch_member_id as member_id,
          case when bool_and(s.status in ${ONCE_PASSED_STEPS}) then 'passed'
               when bool_or(s.status in ${FAILED_STEPS}) then 'failed'
               when bool_or(s.status in ${OPEN_STEPS}) then 'open'
               when m.status = 'removed' then 'removed'
               else 'stopped' end as standing
     from step_executions s join batch_members m on m.id = s.batch_member_id
    where s.kind = 'phase'
    group by s.batch_id, s.phase_execution_id, s.batch_member_id, m.status)`

const SEQUENCES: Invariant[] = [
  {
    id: 'I1',
    sentence: 'Within a phase a member passes one step before the next is sent',
    sql: `
      select later.batch_id,
             format('step %s is %s though step %s before it is %s', later.id, later.status, former.id, former.status) as found
        from step_executions later
        join step_executions former
          on former.batch_member_id = later.batch_member_id and former.phase_execution_id = later.phase_execution_id
         and former.batch_id = later.batch_id and former.step_index < later.step_index
       where later.kind = 'phase' and former.kind = 'phase' and ${SENT_BEFORE}`,
  },
  {
    id: 'I2',
    sentence: 'A member passes one phase before a step of the next is sent',
    sql: `
      select later.batch_id, format('step %s of phase %s is %s though step %s of phase %s is %s', later.id, next.id, later.status,
                                    former.id, prior.id, former.status) as found
        from step_executions later
        join step_executions former on former.batch_member_id = later.batch_member_id and former.batch_id = later.batch_id
        join ${EFFECTIVE} as next on next.id = later.phase_execution_id
        join ${EFFECTIVE} as prior on prior.id = former.phase_execution_id
       where later.kind = 'phase' and former.kind = 'phase' and prior.id <> next.id
         and (-prior.offset_minutes, prior.phase_index, prior.id) < (-next.offset_minutes, next.phase_index, next.id)
         and ${SENT_BEFORE}`,
  },
  {
    id: 'I3',
    sentence: 'Init steps run one after the other, and no phase step is sent before init ends',
    sql: `
      select later.batch_id,
             format('init step %s is %s though init step %s before it is %s', later.id, later.status, former.id, former.status) as found
        from step_executions later
        join step_executions former
          on former.batch_id = later.batch_id and former.runbook_version = later.runbook_version
         and former.step_index < later.step_index
       where later.kind = 'init' and former.kind = 'init' and ${SENT_BEFORE}
      union all
      select s.batch_id, format('phase step %s was sent though the batch is %s', s.id, b.status)
        from step_executions s join batches b on b.id = s.batch_id
       where s.kind = 'phase' and s.job_id is not null and b.status in ('detected', 'init_dispatched')`,
  },
  {
    id: 'I4',
    sentence: 'Each step of a rollback or removal is sent after the previous one ended',
    sql: `
      select later.batch_id,
             format('%s step %s was sent though step %s before it is %s', later.kind, later.id, former.id, former.status) as found
        from step_executions later
        join step_executions former
          on former.batch_id = later.batch_id and former.kind = later.kind and former.step_index < later.step_index
         and (former.origin_step_id, former.origin_attempt) is not distinct from (later.origin_step_id, later.origin_attempt)
         and (former.batch_member_id, former.removal_number) is not distinct from (later.batch_member_id, later.removal_number)
       where later.kind in ('rollback', 'removal') and later.job_id is not null and former.status in ${OPEN_STEPS}
         and not ${wasTakenBack(`not in ${OPEN_STEPS}`, "'reactivate'")}`,
  },
]

const ROWS: Invariant[] = [
  {
    id: 'I5',
    sentence: 'No step exists twice for the same place',
    sql: `
      select batch_id,
             format('%s steps of member %s in phase %s are named alike', count(*), batch_member_id, phase_execution_id) as found
        from step_executions where kind = 'phase'
       group by batch_id, batch_member_id, phase_execution_id, lower(step_name) having count(*) > 1
      union all
      select batch_id, format('%s init steps of version %s are named alike', count(*), runbook_version)
        from step_executions where kind = 'init'
       group by batch_id, runbook_version, lower(step_name) having count(*) > 1
      union all
      select batch_id, format('%s rollback steps %s of step %s, attempt %s', count(*), step_index, origin_step_id, origin_attempt)
        from step_executions where kind = 'rollback'
       group by batch_id, origin_step_id, origin_attempt, step_index having count(*) > 1
      union all
      select batch_id,
             format('%s removal steps %s of member %s, removal %s', count(*), step_index, batch_member_id, removal_number)
        from step_executions where kind = 'removal'
       group by batch_id, batch_member_id, removal_number, step_index having count(*) > 1`,
  },
  {
    id: 'I6',
    sentence: 'Every active member has steps in every started phase, and no other member has any',
    sql: `
      select p.batch_id, format('member %s has no step in phase %s, which is %s', m.id, p.id, p.status) as found
        from ${EFFECTIVE} as p join batch_members m on m.batch_id = p.batch_id and m.status = 'active'
        join batches b on b.id = p.batch_id and b.status <> 'cancelled'
       where p.status in ${STARTED_PHASES} and p.expanded_at is not null
         and not exists (select from step_executions s
                          where s.kind = 'phase' and s.phase_execution_id = p.id and s.batch_member_id = m.id)
         and not exists (select from messages q
                          where q.topic = 'orchestrator-events' and q.message_id = format('member-added-%s', m.id))
         and not exists (select from dead_letters d
                          where d.topic = 'orchestrator-events' and d.original_message_id = format('member-added-%s', m.id)
                            and d.replayed_at is null and d.discarded_at is null)
      union all
      select batch_id,
             format('members of phase %s have between %s and %s steps of version %s', phase_id, min(steps), max(steps), version)
        from (select s.batch_id, s.phase_execution_id as phase_id, min(s.runbook_version) as version, count(*) as steps
                from step_executions s join phase_executions p on p.id = s.phase_execution_id
                join batch_members m on m.id = s.batch_member_id and (m.removed_at is null or m.removed_at > p.expanded_at)
               where s.kind = 'phase' and p.status in ${STARTED_PHASES} and p.expanded_at is not null
               group by s.batch_id, s.phase_execution_id, s.batch_member_id, p.runbook_version
              having min(s.runbook_version) = max(s.runbook_version) and min(s.runbook_version) >= p.runbook_version) as of_member
       group by batch_id, phase_id, version having min(steps) <> max(steps)
      union all
      select s.batch_id, format('step %s points to a batch, member, phase or step that is not of its batch', s.id)
        from step_executions s
        left join batches b on b.id = s.batch_id
        left join batch_members m on m.id = s.batch_member_id
        left join phase_executions p on p.id = s.phase_execution_id
        left join step_executions o on o.id = s.origin_step_id
        left join batch_members om on om.id = o.batch_member_id
       where b.id is null
          or (s.batch_member_id is not null and m.batch_id is distinct from s.batch_id)
          or (s.phase_execution_id is not null and p.batch_id is distinct from s.batch_id)
          or (s.origin_step_id is not null
              and (o.batch_id, o.batch_member_id) is distinct from (s.batch_id, s.batch_member_id)
              -- What was changed in another wave is undone where the person is now.
              and not (s.kind = 'undo' and (o.id is null or om.key_folded = m.key_folded)))`,
  },
]

const ENDINGS: Invariant[] = [
  {
    id: 'I10',
    sentence:
      'A cancelled batch has no open init or phase step and no open phase, and sends no job',
    sql: `
      select s.batch_id, format('%s step %s is %s', s.kind, s.id, s.status) as found
        from step_executions s join batches b on b.id = s.batch_id
       where b.status = 'cancelled' and s.kind in ('init', 'phase') and s.status in ${OPEN_STEPS}
      union all
      select p.batch_id, format('phase %s is %s', p.id, p.status)
        from phase_executions p join batches b on b.id = p.batch_id
       where b.status = 'cancelled' and p.status in ${OPEN_PHASES}
      union all
      select sent.batch_id, format('job %s was sent after the cancel', sent.job_id)
        from events c
        join events sent on sent.batch_id = c.batch_id and sent.id > c.id
        join step_executions s on s.id = sent.step_id
       where c.entity = 'batch' and c.event = 'cancel' and sent.entity = 'step' and sent.event = 'dispatch'
         and s.kind in ('init', 'phase')
      union all
      select p.batch_id, format('poll %s was sent after the cancel', p.job_id)
        from events c join ${POLLS} as p on p.batch_id = c.batch_id and p.sent_at > c.at + $3::interval
       where c.entity = 'batch' and c.event = 'cancel' and p.kind in ('init', 'phase')`,
  },
  {
    id: 'I11',
    sentence:
      'Failed and removed members have no open phase step, and each removal has its steps once',
    sql: `
      select s.batch_id, format('step %s is %s though member %s is %s', s.id, s.status, m.id, m.status) as found
        from step_executions s join batch_members m on m.id = s.batch_member_id
       where s.kind = 'phase' and s.status in ${OPEN_STEPS} and m.status in ('failed', 'removed')
      union all
      select s.batch_id, format('removal %s of member %s has %s steps up to index %s, of %s removals', s.removal_number, m.id,
                                count(*), max(s.step_index), m.removal_number)
        from step_executions s join batch_members m on m.id = s.batch_member_id
       where s.kind = 'removal'
       group by s.batch_id, m.id, m.removal_number, s.removal_number
      having count(*) <> max(s.step_index) + 1 or s.removal_number not between 1 and m.removal_number`,
  },
  {
    id: 'I12',
    sentence: 'A phase is open while one of its steps is, and closes as its members stand',
    sql: `
      select batch_id,
             format('phase %s is %s with %s open steps, %s members passed and %s failed', id, status, open_steps, passed, failed) as found
        from (select p.batch_id, p.id, p.status, p.expanded_at, p.skipped_because,
                     (select count(*) from step_executions s
                       where s.kind = 'phase' and s.batch_id = p.batch_id and s.phase_execution_id = p.id
                         and s.status in ${OPEN_STEPS}) as open_steps,
                     (select count(*) from ${STANDING} as m
                       where m.batch_id = p.batch_id and m.phase_id = p.id and m.standing = 'passed') as passed,
                     (select count(*) from ${STANDING} as m
                       where m.batch_id = p.batch_id and m.phase_id = p.id and m.standing = 'failed') as failed
                from phase_executions p) as counted
       where case status
               when 'dispatched' then expanded_at is not null and open_steps = 0
               when 'completed' then open_steps > 0 or passed = 0
               when 'failed' then open_steps > 0 or passed > 0 or failed = 0
               when 'skipped' then open_steps > 0 or (skipped_because = 'empty' and passed + failed > 0)
               when 'cancelled' then open_steps > 0
               else false end`,
  },
  {
    id: 'I13',
    sentence: 'A batch is open while any part of it is, and ends when none is',
    sql: `
      select batch_id,
             format('the batch is %s with %s open phases and open steps: %s init, %s phase, %s compensation', status,
                              open_phases, init, phase, compensation) as found
        from (select b.id as batch_id, b.status, b.failed_in_init,
                     (select count(*) from phase_executions p
                       where p.batch_id = b.id and p.status in ${OPEN_PHASES}) as open_phases,
                     count(s.id) filter (where s.kind = 'init') as init,
                     count(s.id) filter (where s.kind = 'phase') as phase,
                     count(s.id) filter (where s.kind in ${COMPENSATION}) as compensation
                from batches b
                left join step_executions s on s.batch_id = b.id and s.status in ${OPEN_STEPS}
               group by b.id) as counted
       where case
               when status = 'init_dispatched' then init = 0
               when status = 'active' then open_phases + init + phase + compensation = 0
               when status = 'cancelled' then open_phases + init + phase > 0
               when status = 'failed' and failed_in_init then open_phases + init + phase > 0
               when status in ('completed', 'failed') then open_phases + init + phase + compensation > 0
               else false end
      union all
      select b.id, format('the batch is %s though %s of its phases completed and %s failed', b.status,
                          count(*) filter (where p.status = 'completed'), count(*) filter (where p.status = 'failed'))
        from batches b join ${EFFECTIVE} as p on p.batch_id = b.id
       where b.status in ('completed', 'failed') and not b.failed_in_init
       group by b.id
      having (b.status = 'failed') <> (bool_or(p.status = 'failed') and not bool_or(p.status = 'completed'))`,
  },
]

const VERSIONS: Invariant[] = [
  {
    id: 'I34',
    sentence: 'A version upgrade is complete: pending phases belong to its version',
    sql: `
      select p.batch_id, format('phase %s is pending in version %s, the batch is on version %s', p.id, p.runbook_version,
                                b.runbook_version) as found
        from phase_executions p join batches b on b.id = p.batch_id
       where p.status = 'pending' and p.runbook_version <> b.runbook_version
      union all
      select b.id, format('the batch is on version %s, its runbook %s is of version %s of %s', b.runbook_version, r.id,
                          r.version, r.name)
        from batches b join runbooks r on r.id = b.runbook_id
       where (lower(r.name), r.version) is distinct from (b.runbook_name, b.runbook_version)
      union all
      select batch_id, format('%s phases named %s have begun or are to come', count(*), lower(phase_name))
        from phase_executions where status in ${OPEN_PHASES}
       group by batch_id, lower(phase_name) having count(*) > 1`,
  },
]

const STARTS: Invariant[] = [
  {
    id: 'I36',
    sentence: 'No job of a phase with a gate is sent before its gate has passed',
    sql: `
      select p.batch_id, format('step %s was sent, the gate of phase %s %s', s.id, p.id,
                                coalesce('passed at ' || p.gate_passed_at, 'has not passed')) as found
        from phase_executions p join step_executions s on s.batch_id = p.batch_id and s.phase_execution_id = p.id and s.kind = 'phase'
       where p.gate_approvals is not null and s.job_id is not null
         and (p.gate_passed_at is null or s.dispatched_at < p.gate_passed_at - $3::interval)`,
  },
  {
    id: 'I37',
    sentence: 'No job is sent for a member whose share of a ramp has not started',
    sql: `
      select p.batch_id, format('step %s was sent for member %s, phase %s has started up to member %s', s.id, s.batch_member_id, p.id,
                                p.ramp_through) as found
        from phase_executions p join step_executions s on s.batch_id = p.batch_id and s.phase_execution_id = p.id and s.kind = 'phase'
       where p.ramp_through is not null and s.job_id is not null and s.batch_member_id > p.ramp_through`,
  },
]

const WAYS_BACK: Invariant[] = [
  {
    id: 'I39',
    sentence: 'No passed step of an active member rests on a change that was undone elsewhere',
    sql: `
      select s.batch_id, format('step %s of member %s is %s, but undo step %s of batch %s took it back', s.id, m.id, s.status, u.id,
                                u.batch_id) as found
        from step_executions u
        join step_executions o on o.id = u.origin_step_id and o.kind = 'phase'
        join phase_executions op on op.id = o.phase_execution_id
        join batch_members um on um.id = u.batch_member_id
        join batches ub on ub.id = u.batch_id
        join batch_members m on m.key_folded = um.key_folded and m.status = 'active'
        join batches b on b.id = m.batch_id and b.runbook_name = ub.runbook_name
        join step_executions s on s.kind = 'phase' and s.batch_member_id = m.id and s.status = 'succeeded'
         and lower(s.step_name) = lower(o.step_name) and s.completed_at < u.completed_at - $3::interval
        join phase_executions p on p.id = s.phase_execution_id and lower(p.phase_name) = lower(op.phase_name)
       where u.kind = 'undo' and u.status = 'succeeded'
         -- An ended wave is history once the person is in a later one.
         and (b.ended_at is null
              or not exists (select from batch_members later join batches lb on lb.id = later.batch_id
                              where later.key_folded = m.key_folded and lb.runbook_name = b.runbook_name and later.id > m.id))`,
  },
]

const ADDRESSES: Invariant[] = [
  {
    id: 'I35',
    sentence: 'A member is found by each address in its data, and no address leads nowhere',
    sql: `
      select m.batch_id, format('member %s is not found by an address in its data', m.id) as found
        from batch_members m cross join lateral jsonb_each_text(m.data_json) as d
       where lower(d.value) ~ '^[a-z0-9][a-z0-9._-]*@[a-z0-9.-]*[a-z0-9]$' and length(d.value) < 320
         and lower(d.value) <> m.key_folded
         and not exists (select from member_addresses a where a.address = lower(d.value) and a.member_id = m.id)
      union all
      select null, format('an address leads to member %s, who does not exist', a.member_id)
        from member_addresses a where not exists (select from batch_members m where m.id = a.member_id)`,
  },
]

export const ORDER_INVARIANTS: readonly Invariant[] = [
  ...SEQUENCES,
  ...ROWS,
  ...ENDINGS,
  ...VERSIONS,
  ...STARTS,
  ...WAYS_BACK,
  ...ADDRESSES,
]
