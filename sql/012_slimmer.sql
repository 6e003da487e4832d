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

-- Notes message ids. Null when all were new, which is nearly always so; else those that were, as topic/id. Being prepared for each
-- single id being known (on conflict) took twice as long as noting it, so first it is taken for granted that none is. Whoever sends
-- the same id at the same time is waited for in both ways.
create function remember_message_ids(topics text[], ids text[], seen timestamptz, forgotten timestamptz)
returns text[] language plpgsql as $$
declare
  fresh_keys text[];
begin
  insert into message_ids (topic, message_id, seen_at) select unnest(topics), unnest(ids), seen;
  return null;
exception when unique_violation then
  with fresh as (
    insert into message_ids (topic, message_id, seen_at)
    select topic, message_id, seen from unnest(topics, ids) as m (topic, message_id)
    on conflict on constraint message_ids_pkey do update set seen_at = excluded.seen_at
      where message_ids.seen_at <= forgotten
    returning topic, message_id)
  select coalesce(array_agg(topic || '/' || message_id), '{}') into fresh_keys from fresh;
  return fresh_keys;
end
$$;
