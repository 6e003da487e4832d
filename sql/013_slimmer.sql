-- What a step writes, made smaller.

-- A chunk of results updates every member of a page in one transaction, so a page needs as much room again as it has rows, and more as
-- outputs grow. At 60 % every eighth update went to another page and into five indexes; at 35 % none did. Steps: 3 in 100 did at
-- 40 %, none at 33 %, and the table is 6 % larger at the end.
alter table batch_members set (fillfactor = 35);
alter table step_executions set (fillfactor = 33);

-- Only slots are given in an order, so only they need it in an index; that one also tells which workers and batches want some, which
-- was walked past thousands of dead entries of waits_wanted. What is out is counted, by worker and batch: rows that were sent
-- together are alike there, and share an entry.
drop index waits_by_worker;
drop index waits_wanted;
create index waits_for_slots on waits (worker_id, batch_id, priority, since, step_id) where what = 'slot';
create index waits_out on waits (worker_id, what, batch_id, since) where what <> 'slot';
