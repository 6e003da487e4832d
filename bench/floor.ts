// The floor under the engine's figure: the same round trip in raw set-based SQL, on the same server, in the same run. Claim
// results, mark their steps succeeded, mark each member's next step dispatched, insert its job; a worker that does nothing claims
// jobs and inserts results. Chunks of 500, two connections, every commit durable; no templates, facts, events or attempts.
import type { Db } from '../src/db/db.ts'
import { perSec, timeMs } from './bench.ts'

const CHUNK = 500

const TABLES = `
  drop table if exists floor_steps, floor_jobs, floor_results;
  create table floor_steps (
    id bigint generated always as identity primary key, member bigint not null, step_index int not null,
    status text not null default 'pending', job_id text, dispatched_at timestamptz, completed_at timestamptz, result_json jsonb
  ) with (fillfactor = 40);
  create unique index on floor_steps (member, step_index);
  create table floor_jobs (id bigint generated always as identity primary key, step_id bigint not null, body text not null);
  create table floor_results (id bigint generated always as identity primary key, step_id bigint not null, body text not null);`

const FILL = `
  with made as (
    insert into floor_steps (member, step_index) select m, i from generate_series(1, $1::int) m, generate_series(0, $2::int - 1) i
    returning id, step_index)
  insert into floor_jobs (step_id, body) select id, '{"jobId":"step-' || id || '"}' from made where step_index = 0`

const START = `update floor_steps set status = 'dispatched', dispatched_at = $1 where step_index = 0`

const WORK = `
  with taken as (
    delete from floor_jobs where id in (select id from floor_jobs order by id limit $1 for update skip locked)
    returning step_id)
  insert into floor_results (step_id, body) select step_id, '{"value":"step-' || step_id || '"}' from taken returning 1`

const ADVANCE = `
  with taken as materialized (
    delete from floor_results where id in (select id from floor_results order by id limit $1 for update skip locked)
    returning step_id, body),
  done as (
    update floor_steps s set status = 'succeeded', completed_at = $2, result_json = taken.body::jsonb
      from taken where s.id = taken.step_id and s.status = 'dispatched'
    returning s.member, s.step_index),
  sent as (
    update floor_steps s set status = 'dispatched', dispatched_at = $2, job_id = 'step-' || s.id
      from done where s.member = done.member and s.step_index = done.step_index + 1 and s.status = 'pending'
    returning s.id),
  jobs as (insert into floor_jobs (step_id, body) select id, '{"jobId":"step-' || id || '"}' from sent)
  select count(*) as done from done`

/** Steps a second. */
export async function measureFloor(
  db: Db,
  members: number,
  steps: number,
  now: Date,
): Promise<number> {
  await db.script(TABLES)
  await db.query(FILL, [members, steps])
  await db.query(START, [now])
  await db.script('analyze floor_steps; analyze floor_jobs')
  const total = members * steps
  let done = 0
  const advance = async () => {
    while (done < total) {
      const [row] = await db.query<{ done: number }>(ADVANCE, [CHUNK, now])
      done += row!.done
    }
  }
  const work = async () => {
    while (done < total) await db.query(WORK, [CHUNK])
  }
  return perSec(total, await timeMs(() => Promise.all([advance(), work()])))
}
