-- A search for part of a key reads the keys of the batch, and with the id beside them nothing else: 100,000 keys from the index
-- instead of as many wide rows. Beginnings of keys go by the same index.
create index batch_members_keys on batch_members (batch_id, key_folded text_pattern_ops) include (id);
drop index batch_members_by_prefix;
