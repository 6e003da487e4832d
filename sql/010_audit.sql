-- Where a setting says how long the audit is kept, its oldest rows go, from the beginning of the chain on. The transaction says up to
-- which number; nothing else can delete a row, and what is not sealed never goes. What the chain begins with from then on stands in a
-- row of the audit itself (audit.prune), so pruning is noted and sealed like everything else.
create or replace function audit_keeps_its_rows() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' and old.hash is null and new.hash is not null
    and to_jsonb(old) - array['hash', 'previous_hash', 'seal_number']
      = to_jsonb(new) - array['hash', 'previous_hash', 'seal_number']
  then
    return new;
  end if;
  if tg_op = 'DELETE' and old.seal_number <= nullif(current_setting('matoolkit.audit_pruned_through', true), '')::bigint
  then
    return old;
  end if;
  raise exception 'audit rows are never changed or deleted (row %)', old.id;
end
$$;
create index audit_prunings on audit (id) where action = 'audit.prune';
