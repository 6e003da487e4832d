// Violations to plant in the world of invariants.test.ts: ann passed, bob failed and was rolled back, cid was removed, eve's job is
// unsettled, flo waits for a retry and gus polls.
const stepOf = (member: string, step: string) =>
  `(select s.id from step_executions s join batch_members m on m.id = s.batch_member_id
     where m.member_key = '${member}' and s.step_name = '${step}')`
const idOf = (member: string) => `(select id from batch_members where member_key = '${member}')`
const phaseOf = (batch: number, name: string) =>
  `(select id from phase_executions where batch_id = ${batch} and phase_name = '${name}')`
const pend = (step: string) =>
  `update step_executions set status = 'pending', completed_at = null where id = ${step}`
const eventOf = (entity: string, event: string, actor = 'operator') =>
  `insert into events (at, batch_id, entity, event, actor, because)
   select detected_at, id, '${entity}', '${event}', '${actor}', 'planted' from batches where id = 2`
/** An event of a step, so many seconds after another step was sent. */
const eventAfter = (step: string, event: string, sent: string, afterSec: number) =>
  `insert into events (at, batch_id, batch_member_id, step_id, entity, event, from_status, to_status, actor, because)
   select sent.dispatched_at + interval '${afterSec} s', s.batch_id, s.batch_member_id, s.id, 'step', '${event}', 'succeeded',
          'failed', 'operator', 'planted'
     from step_executions s, step_executions sent where s.id = ${step} and sent.id = ${sent}`
/** Its end is told only after another step was sent. */
const endLater = (step: string, sent: string) =>
  `update events set at = (select dispatched_at + interval '1 s' from step_executions where id = ${sent})
    where step_id = ${step} and to_status in ('succeeded', 'failed')`
const jobWait = (step: string) =>
  `insert into waits (step_id, batch_id, batch_member_id, worker_id, kind, priority, since, wake_at, job_id)
   select s.id, s.batch_id, s.batch_member_id, s.worker_id, 'job', 1, w.since, w.wake_at, 'step-' || s.id
     from step_executions s join waits w on w.batch_member_id = s.batch_member_id and w.kind = 'job'
    where s.id = ${step}`
/** A poll of gus that no answer came to, so many seconds after the batch was found. The step counts it, unless told otherwise. */
const pollOfGus = (afterSec: number, counted = 1) =>
  `update step_executions set poll_count = ${counted} where id = ${stepOf('gus', 'await')};
   insert into attempts (step_id, batch_id, job_id, attempt, poll, worker_id, sent_at, settled_at, outcome)
   select s.id, s.batch_id, 'step-' || s.id || '-poll-1', 0, 1, s.worker_id, b.detected_at + interval '${afterSec} s',
          b.detected_at + interval '${afterSec} s', 'lost'
     from step_executions s join batches b on b.id = s.batch_id where s.id = ${stepOf('gus', 'await')}`
const deadLetter = (messageId: string, reason: string) =>
  `insert into dead_letters (topic, subscription, message_id, original_message_id, message_type, body, enqueued_at, expires_at,
                             delivery_count, reason, description, dead_lettered_at)
   select 'worker-jobs', 'worker-w1', '${messageId}', '${messageId}', 'worker-job', '{}', detected_at, detected_at, 1,
          '${reason}', 'planted', detected_at from batches where id = 1`
const jobMessage = `insert into bundles (topic, subscription, message_ids, size, message_type, worker_id, bodies, enqueued_at, visible_at, expires_at)
   select 'worker-jobs', 'worker-w1', 'step-999', 1, 'worker-job', 'w1', '{}', detected_at, detected_at, detected_at from batches where id = 1`
const resultMessage = (afterSec: number) =>
  `insert into bundles (topic, subscription, message_ids, size, message_type, bodies, enqueued_at, visible_at, expires_at)
   select 'worker-results', 'orchestrator', 'result-step-999', 1, 'worker-result', '{}', at, at, at
     from (select detected_at + interval '${afterSec} s' as at from batches where id = 1) as sent`

export interface Violation {
  readonly id: string
  readonly what: string
  readonly sql: string
  /** What keeps the database itself from it: an index, or a piece of a CHECK. */
  readonly preventedBy?: { index: string } | { check: string; table: string }
}

export const VIOLATIONS: readonly Violation[] = [
  {
    id: 'I1',
    what: 'a step sent before the previous one ended',
    sql: pend(stepOf('ann', 'create')),
  },
  {
    id: 'I1',
    what: 'a step sent after the previous one was rolled back by hand',
    sql: `${pend(stepOf('ann', 'create'))};
          ${eventAfter(stepOf('ann', 'create'), 'begin_rollback', stepOf('ann', 'await'), -1)}`,
  },
  {
    id: 'I1',
    what: 'a step sent too early, though another step was rolled back by hand',
    sql: `${pend(stepOf('ann', 'create'))};
          ${eventAfter(stepOf('ann', 'switch'), 'begin_rollback', stepOf('ann', 'await'), 1)}`,
  },
  {
    id: 'I1',
    what: 'a step sent too early, though the previous one was rolled back by hand afterwards',
    sql: `${pend(stepOf('ann', 'create'))}; ${endLater(stepOf('ann', 'create'), stepOf('ann', 'await'))};
          ${eventAfter(stepOf('ann', 'create'), 'begin_rollback', stepOf('ann', 'await'), 2)}`,
  },
  {
    id: 'I2',
    what: 'a phase started before the previous one ended',
    sql: pend(stepOf('ann', 'await')),
  },
  {
    id: 'I2',
    what: 'a phase started after the previous one was rolled back by hand',
    sql: `${pend(stepOf('ann', 'await'))};
          ${eventAfter(stepOf('ann', 'await'), 'begin_rollback', stepOf('ann', 'switch'), -1)}`,
  },
  {
    id: 'I2',
    what: 'a phase started too early, though somebody else was rolled back by hand',
    sql: `${pend(stepOf('ann', 'await'))};
          ${eventAfter(stepOf('dot', 'await'), 'begin_rollback', stepOf('ann', 'switch'), 1)}`,
  },
  {
    id: 'I3',
    what: 'an init step sent before the previous one ended',
    sql: pend(`(select id from init_executions where batch_id = 1 and step_name = 'open')`),
  },
  {
    id: 'I3',
    what: 'a phase step sent before init ended',
    sql: `update batches set status = 'init_dispatched' where id = 2`,
  },
  { id: 'I4', what: 'a rollback out of order', sql: pend(stepOf('bob', 'undo-a')) },
  { id: 'I4', what: 'a removal out of order', sql: pend(stepOf('cid', 'tidy')) },
  {
    id: 'I4',
    what: 'a rollback step sent after the previous one was sent again',
    sql: `${pend(stepOf('bob', 'undo-a'))};
          ${eventAfter(stepOf('bob', 'undo-a'), 'reactivate', stepOf('bob', 'undo-b'), -1)}`,
  },
  {
    id: 'I4',
    what: 'a removal step sent before the previous one ended, which was sent again afterwards',
    sql: `${pend(stepOf('cid', 'tidy'))}; ${endLater(stepOf('cid', 'tidy'), stepOf('cid', 'sweep'))};
          ${eventAfter(stepOf('cid', 'tidy'), 'reactivate', stepOf('cid', 'sweep'), 2)}`,
  },
  {
    id: 'I5',
    what: 'a phase step twice',
    sql: `update step_executions set step_name = 'create' where id = ${stepOf('ann', 'await')}`,
    preventedBy: { index: 'step_executions_of_member' },
  },
  {
    id: 'I5',
    what: 'a phase step twice in another case',
    sql: `update step_executions set step_name = 'Create' where id = ${stepOf('ann', 'await')}`,
    preventedBy: { index: 'step_executions_of_member' },
  },
  {
    id: 'I5',
    what: 'an init step twice',
    sql: `update step_executions set step_name = 'open' where kind = 'init' and batch_id = 1`,
    preventedBy: { index: 'step_executions_of_init' },
  },
  {
    id: 'I5',
    what: 'a rollback step twice',
    sql: `update step_executions set step_index = 0 where id = ${stepOf('bob', 'undo-b')}`,
    preventedBy: { index: 'step_executions_of_rollback' },
  },
  {
    id: 'I5',
    what: 'a removal step twice',
    sql: `update step_executions set step_index = 0 where id = ${stepOf('cid', 'sweep')}`,
    preventedBy: { index: 'step_executions_of_removal' },
  },
  {
    id: 'I6',
    what: 'a member without steps in a phase',
    sql: `delete from step_executions where id = ${stepOf('ann', 'switch')}`,
  },
  {
    id: 'I6',
    what: 'a member with fewer steps than the others',
    sql: `delete from step_executions where id = ${stepOf('ann', 'await')}`,
  },
  {
    id: 'I6',
    what: 'a step without a member',
    sql: `update step_executions set batch_member_id = 999 where id = ${stepOf('ann', 'switch')}`,
  },
  {
    id: 'I6',
    what: 'a step in a phase of another batch',
    sql: `update step_executions set phase_execution_id = ${phaseOf(2, 'cutover')} where id = ${stepOf('ann', 'switch')}`,
  },
  {
    id: 'I7',
    what: 'a status without an event',
    sql: `update step_executions set status = 'skipped' where id = ${stepOf('ann', 'switch')}`,
  },
  {
    id: 'I7',
    what: 'a transition that is not in the table',
    sql: `update events set event = 'skip' where event = 'complete' and entity = 'batch'`,
  },
  {
    id: 'I7',
    what: 'a gap in the chain',
    sql: `delete from events where event = 'dispatch' and step_id = ${stepOf('ann', 'switch')}`,
  },
  {
    id: 'I7',
    what: 'a failed member without an event',
    sql: `delete from events where entity = 'member' and event = 'fail'`,
  },
  { id: 'I8', what: 'a step reactivated by a timer', sql: eventOf('step', 'reactivate', 'timer') },
  {
    id: 'I9',
    what: 'more retries than allowed',
    sql: `update step_executions set retry_count = 2 where id = ${stepOf('flo', 'create')}`,
    preventedBy: { table: 'step_executions', check: 'retry_count <= max_retries' },
  },
  {
    id: 'I9',
    what: 'a retry without an event',
    sql: `update step_executions set retry_count = 1 where id = ${stepOf('ann', 'create')}`,
  },
  {
    id: 'I10',
    what: 'a cancelled batch with open steps',
    sql: `update batches set status = 'cancelled', ended_at = detected_at where id = 2`,
  },
  {
    id: 'I10',
    what: 'a job sent after the cancel',
    sql: `insert into events (at, batch_id, step_id, entity, event, actor, because, job_id)
          select detected_at, 2, null, 'batch', 'cancel', 'operator', 'planted', null from batches where id = 2
          union all
          select detected_at, 2, ${stepOf('gus', 'create')}, 'step', 'dispatch', 'timer', 'planted', 'step-1' from batches where id = 2`,
  },
  {
    id: 'I10',
    what: 'a poll sent after the cancel',
    sql: `${eventOf('batch', 'cancel')}; ${pollOfGus(5)}`,
  },
  {
    id: 'I11',
    what: 'a failed member with open steps',
    sql: `update batch_members set status = 'failed', failed_at = added_at where id = ${idOf('eve')}`,
  },
  {
    id: 'I11',
    what: 'half a removal',
    sql: `delete from step_executions where id = ${stepOf('cid', 'tidy')}`,
  },
  {
    id: 'I12',
    what: 'an open phase with nothing open',
    sql: `update phase_executions set status = 'dispatched', completed_at = null where id = ${phaseOf(1, 'prepare')}`,
  },
  {
    id: 'I12',
    what: 'a closed phase with open steps',
    sql: `update phase_executions set status = 'completed', completed_at = dispatched_at where id = ${phaseOf(2, 'prepare')}`,
  },
  {
    id: 'I12',
    what: 'a failed phase that a member passed',
    sql: `update phase_executions set status = 'failed' where id = ${phaseOf(1, 'prepare')}`,
  },
  {
    id: 'I13',
    what: 'an open batch with nothing open',
    sql: `update batches set status = 'active', ended_at = null where id = 1`,
  },
  {
    id: 'I13',
    what: 'an ended batch with open steps',
    sql: `update batches set status = 'completed', ended_at = activated_at where id = 2`,
  },
  {
    id: 'I13',
    what: 'a failed batch whose phases completed',
    sql: `update batches set status = 'failed' where id = 1`,
  },
  {
    id: 'I14',
    what: 'a wrong count of members',
    sql: 'update batches set members_active = 9 where id = 1',
  },
  {
    id: 'I14',
    what: 'a wrong count of open rollback steps',
    sql: 'update batches set rollback_open = 1 where id = 1',
  },
  {
    id: 'I14',
    what: 'a wrong count of steps',
    sql: `update phase_executions set steps_succeeded = 9 where id = ${phaseOf(1, 'prepare')}`,
  },
  {
    id: 'I14',
    what: 'a wrong count of passed members',
    sql: `update phase_executions set members_passed = 0 where id = ${phaseOf(1, 'prepare')}`,
  },
  {
    id: 'I15',
    what: 'a dispatched step without its job',
    sql: `delete from waits where kind = 'job'`,
  },
  {
    id: 'I15',
    what: 'a wait of an ended step',
    sql: `update waits set step_id = ${stepOf('ann', 'create')} where kind = 'retry'`,
  },
  {
    id: 'I15',
    what: 'a wait of no step',
    sql: `update waits set step_id = 999 where kind = 'retry'`,
  },
  {
    id: 'I16',
    what: 'a polling step that nothing wakes',
    sql: `delete from waits where kind = 'poll'`,
  },
  {
    id: 'I16',
    what: 'a poll past its timeout',
    sql: `update waits set wake_at = wake_at + interval '1 day' where kind = 'poll'`,
  },
  {
    id: 'I16',
    what: 'a retry at another time',
    sql: `update waits set wake_at = wake_at + interval '1 s' where kind = 'retry'`,
  },
  {
    id: 'I16',
    what: 'a next step that waits for nothing',
    sql: `delete from waits where kind = 'retry'; update step_executions set retry_after = null`,
  },
  { id: 'I16', what: 'a rollback step that waits for nothing', sql: pend(stepOf('bob', 'undo-b')) },
  {
    id: 'I17',
    what: 'a job id of another step',
    sql: `update attempts set job_id = 'step-999' where step_id = ${stepOf('ann', 'create')}`,
  },
  {
    id: 'I17',
    what: 'a job id used twice',
    sql: `update attempts set attempt = 0, poll = 0, step_id = (select min(step_id) from attempts)`,
    preventedBy: { index: 'attempts_once' },
  },
  {
    id: 'I17',
    what: 'an unsettled job under another id',
    sql: `update waits set job_id = 'step-999' where kind = 'job'`,
  },
  {
    id: 'I17',
    what: 'a poll that its step does not count',
    sql: pollOfGus(5, 0),
  },
  {
    id: 'I18',
    what: 'a success without effect',
    sql: `update attempts set outcome = 'succeeded' where outcome = 'failed'`,
  },
  {
    id: 'I18',
    what: 'a success event without a successful attempt',
    sql: `update attempts set outcome = 'failed' where step_id = ${stepOf('ann', 'create')}`,
  },
  { id: 'I19', what: 'a job message for no job', sql: jobMessage },
  { id: 'I19', what: 'two job messages of one id', sql: `${jobMessage}; ${jobMessage}` },
  {
    id: 'I19',
    what: 'two results of one id within ten minutes',
    sql: `${resultMessage(0)}; ${resultMessage(599)}`,
  },
  {
    id: 'I20',
    what: 'a job sent twice',
    sql: `insert into events (at, batch_id, step_id, entity, event, from_status, to_status, actor, because, job_id)
          select at, batch_id, step_id, entity, event, from_status, to_status, actor, because, job_id from events
           where event = 'dispatch' and step_id = ${stepOf('ann', 'create')}`,
  },
  { id: 'I21', what: 'a dead letter without a reason', sql: deadLetter('x', ' ') },
  {
    id: 'I21',
    what: 'a dead-lettered job still awaited',
    sql: `${deadLetter('x', 'Expired')}; update waits set job_id = 'x' where kind = 'job'`,
  },
  {
    id: 'I23',
    what: 'a step that ended before it was sent',
    sql: `update step_executions set completed_at = dispatched_at - interval '1 h' where id = ${stepOf('ann', 'create')}`,
  },
  {
    id: 'I23',
    what: 'an event in the future',
    sql: `update events set at = at + interval '1 day' where entity = 'batch'`,
  },
  {
    id: 'I24',
    what: 'a phase before its time',
    sql: `update phase_executions set due_at = dispatched_at + interval '1 s' where id = ${phaseOf(1, 'cutover')}`,
  },
  {
    id: 'I24',
    what: 'a phase started twice',
    sql: `update events set event = 'start' where entity = 'phase' and event = 'complete'`,
  },
  {
    id: 'I26',
    what: 'a job sent under a hold',
    sql: `${eventOf('batch', 'held')}; ${eventOf('step', 'dispatch')}`,
  },
  {
    id: 'I26',
    what: 'a job sent under a hold of the system',
    sql: `${eventOf('system', 'held')}; ${eventOf('step', 'dispatch')}`,
  },
  {
    id: 'I26',
    what: 'a poll sent under a hold',
    sql: `${eventOf('batch', 'held')}; ${pollOfGus(5)}`,
  },
  {
    id: 'I26',
    what: 'a poll sent under a hold of the system',
    sql: `${eventOf('system', 'held')}; ${pollOfGus(5)}`,
  },
  { id: 'I28', what: 'an event without a reason', sql: `update events set because = ' '` },
  { id: 'I28', what: 'an event without an actor', sql: `update events set actor = ''` },
  {
    id: 'I30',
    what: 'a job that vanished',
    sql: `delete from attempts where step_id = ${stepOf('ann', 'create')}`,
  },
  {
    id: 'I30',
    what: 'a job that was never sent',
    sql: `update events set job_id = null where step_id = ${stepOf('ann', 'create')}`,
  },
  {
    id: 'I31',
    what: 'a member in two batches',
    sql: `update batches set status = 'active', ended_at = null where id = 1;
          update batch_members set key_folded = 'eve' where id = ${idOf('ann')}`,
  },
  {
    id: 'I32',
    what: 'two phase jobs of one member',
    sql: jobWait(stepOf('eve', 'await')),
    preventedBy: { index: 'waits_one_job_per_member' },
  },
  {
    id: 'I33',
    what: 'two jobs of one member at once',
    sql: jobWait(stepOf('eve', 'await')),
    preventedBy: { index: 'waits_one_job_per_member' },
  },
  {
    id: 'I33',
    what: 'a rollback sent while the job it compensates was unsettled',
    sql: `update attempts set sent_at = sent_at - interval '1 s', settled_at = settled_at + interval '1 s'
           where job_id = 'step-' || ${stepOf('bob', 'create')} || '-retry-1'`,
  },
  {
    id: 'I34',
    what: 'a pending phase of another version than its batch',
    sql: `update phase_executions set runbook_version = 2 where id = ${phaseOf(2, 'cutover')}`,
  },
  {
    id: 'I34',
    what: 'a batch with a runbook of another version',
    sql: `insert into runbooks (name, version, yaml_content, is_active, created_at, published_by)
          select name, 2, yaml_content, false, created_at, published_by from runbooks;
          update batches set runbook_id = (select id from runbooks where version = 2) where id = 2`,
  },
  {
    id: 'I34',
    what: 'a phase that would run twice',
    sql: `insert into phase_executions (batch_id, phase_name, phase_index, offset_minutes, due_at, runbook_version, status)
          select batch_id, upper(phase_name), phase_index, offset_minutes, due_at, 2, status
            from phase_executions where id = ${phaseOf(2, 'cutover')}`,
  },
  {
    id: 'I35',
    what: 'an address that is nowhere',
    sql: `update batch_members set data_json = '{"Mail": "Ann@x.example"}' where id = ${idOf('ann')}`,
  },
  {
    id: 'I35',
    what: 'an address of nobody',
    sql: `insert into member_addresses (address, member_id) values ('who@x.example', 999)`,
  },
  {
    id: 'I36',
    what: 'a job of a phase whose gate has not passed',
    sql: `update phase_executions set gate_approvals = 1 where id = ${phaseOf(1, 'cutover')}`,
    preventedBy: { check: 'gate_passed_at IS NOT NULL', table: 'phase_executions' },
  },
  {
    id: 'I36',
    what: 'a job from before the gate passed',
    sql: `update phase_executions set gate_approvals = 1, gate_passed_at = dispatched_at + interval '1 hour'
           where id = ${phaseOf(1, 'cutover')}`,
  },
  {
    id: 'I37',
    what: 'a job of a later share',
    sql: `update phase_executions set ramp_percents = '{5,100}', ramp_share = 0, ramp_through = ${idOf('eve')}, expanded_at = null
           where id = ${phaseOf(2, 'prepare')}`,
  },
  {
    id: 'I38',
    what: 'a job that was sent into a closed window',
    sql: `update batches b set window_closed_at = w.since - interval '1 minute', window_opens_at = w.since + interval '1 minute'
            from waits w where w.batch_id = b.id and w.kind = 'job'`,
  },
  {
    id: 'I39',
    what: 'a change that was undone in another batch, though the person is active here',
    sql: `update batch_members set key_folded = 'ann' where id = ${idOf('gus')};
          insert into step_executions (batch_id, kind, batch_member_id, origin_step_id, origin_attempt, runbook_version, step_name,
                                       step_index, worker_id, is_poll_step, max_retries, retry_interval_sec, retry_backoff, timeout_sec,
                                       status, function_name, completed_at)
          select e.batch_id, 'undo', e.id, s.id, 1, 1, s.step_name, 0, s.worker_id, false, 0, 0, 'fixed', 60, 'succeeded', 'Undo-A',
                 s.completed_at + interval '1 day'
            from step_executions s, batch_members e where s.id = ${stepOf('ann', 'create')} and e.member_key = 'gus'`,
  },
]
