// Polls as the invariants see them. No event tells that a poll was sent, and one that said nothing new leaves no attempt: these are the polls
// that something is known of.

/** Polls on record, settled or not. */
export const POLLS = `
  (select a.batch_id, a.step_id, s.batch_member_id, s.kind, a.worker_id, a.job_id, a.sent_at
     from attempts a join step_executions s on s.id = a.step_id where a.poll > 0
   union all
   select w.batch_id, w.step_id, w.batch_member_id, s.kind, w.worker_id, w.job_id, w.since
     from waits w join step_executions s on s.id = w.step_id where w.kind = 'job' and s.poll_count > 0)`
