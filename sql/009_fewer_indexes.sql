-- A step made 25 index entries on its way; now 22. Every entry is a search, a page and some 100 bytes of log.

-- Jobs alone are withdrawn by their id; jobs are the messages that have a worker. Results all live equally long, so the oldest
-- expire first, and the queue's own index finds those.
drop index messages_by_message_id;
create index messages_by_message_id on messages (message_id) where worker_id is not null;
drop index messages_by_expiry;
create index messages_by_expiry on messages (expires_at) where topic <> 'worker-results';

-- A job's id is made of these three, so one index keeps attempts single and finds those of a step.
drop index attempts_once;
drop index attempts_of_step;
create unique index attempts_once on attempts (step_id, attempt, poll);
