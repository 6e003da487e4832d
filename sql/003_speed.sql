-- One index finds the waits of a member and keeps its jobs single: rows of jobs are alike in the last column, all others differ.
-- Before, the waits of a member's steps were found step by step, most of them in vain.
drop index waits_one_job_a_member;
create unique index waits_one_job_a_member on waits (batch_id, batch_member_id, (case what when 'job' then 0 else step_id end))
  where batch_member_id is not null;
