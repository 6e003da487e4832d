-- The course of a batch among the events of its steps: some dozen rows out of a million. Steps and members are not in this index,
-- so that the hot path does not write it.
create index events_of_course on events (batch_id, id) where thing in ('batch', 'phase');
