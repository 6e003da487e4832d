-- What a step writes, made smaller.

-- A chunk of results updates every member of a page in one transaction, so a page needs as much room again as it has rows, and more as
-- outputs grow. At 60 % every eighth update went to another page and into five indexes; at 35 % none did. Steps: 3 in 100 did at
-- 40 %, none at 33 %, and the table is 6 % larger at the end.
alter table batch_members set (fillfactor = 35);
alter table step_executions set (fillfactor = 33);
