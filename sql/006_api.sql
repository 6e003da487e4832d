-- What the admin API keeps: who asked for what, the answers of calls that create, and the ways into long lists.
--
-- audit: a row belongs to the transaction of its change. Rows are sealed in the background, in the order in which the sealer
-- finds them: seal_number counts that order without gaps, and each hash covers the row and the hash before it. The order of ids
-- would not do: a row can be committed after one with a higher id was sealed. Nothing but sealing may ever change a row.

alter table audit
  add column actor_name  text not null default '',
  add column client_app  text,
  add column request_id  text,
  add column seal_number bigint check (seal_number > 0),
  add check ((hash is null) = (seal_number is null));
create unique index audit_sealed on audit (seal_number) where seal_number is not null;
create index audit_by_time on audit (at, id);
create index audit_by_actor on audit (actor, id);
create index audit_by_subject on audit (subject, id);

create function audit_keeps_its_rows() returns trigger language plpgsql as $$
begin
  if tg_op = 'UPDATE' and old.hash is null and new.hash is not null
    and to_jsonb(old) - array['hash', 'previous_hash', 'seal_number']
      = to_jsonb(new) - array['hash', 'previous_hash', 'seal_number']
  then
    return new;
  end if;
  raise exception 'audit rows are never changed or deleted (row %)', old.id;
end
$$;
create trigger audit_keeps_its_rows before update or delete on audit
  for each row execute function audit_keeps_its_rows();

-- One row per creating call that carried an Idempotency-Key. Written in the call's own transaction: the answer is there exactly
-- when what it speaks of is. A second call with the same key waits for the first one's commit at the primary key.
create table idempotency_keys (
  actor        text not null,
  key          text not null check (length(key) between 1 and 128),
  operation    text not null,
  request_hash text not null,
  created_at   timestamptz not null,
  status       integer check (status between 200 and 299),
  answer_json  jsonb,
  primary key (actor, key),
  check ((status is null) = (answer_json is null))
);
create index idempotency_keys_by_age on idempotency_keys (created_at);

-- Members who are no longer active are few; a list of them must not walk past 100,000 others. Only moves of a member touch this
-- index, never its outputs, so the updates of the hot path stay HOT.
create index batch_members_ended on batch_members (batch_id, status, id) where status <> 'active';
-- For searches by the beginning of a key, whatever the database's collation.
create index batch_members_by_prefix on batch_members (batch_id, key_folded text_pattern_ops);
-- Lists of batches by their cut-over.
create index batches_by_start on batches (batch_start_time, id);
-- Steps that went wrong, out of a million: the column is null on the hot path before and after, so those updates stay HOT. An
-- index on the status itself would end that for every step.
create index step_executions_with_error on step_executions (batch_id, id) where error_message is not null;
