-- How many steps of the batch came to a failure or went from one, ever. Whoever keeps in memory what was read of failures asks this
-- number instead of them: it comes with the batch, where 2,000 failures take 2 ms to look at.
alter table batches add column failure_moves bigint not null default 0 check (failure_moves >= 0);
