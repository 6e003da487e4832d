// The floor below the engine's figure: the same round trip in raw set-based SQL, on the same server, in the same run. It claims
// results under a lease, marks their steps succeeded and each member's next step dispatched, inserts its job and acknowledges; a
// no-op worker claims jobs, inserts results and acknowledges. Bodies have the engine's size. Chunks of 500, two connections, every
// commit durable; no templates, facts, events, attempts, duplicate detection or counters.

import { arrayParams, idsParam } from '../src/db/connection/arrays.ts'
import type { Db, Tx } from '../src/db/connection/db.ts'
import { perSec, timeMs } from './bench.ts'

const CHUNK = 500

const TABLES = `
  drop table if exists floor_steps, floor_queue;
  create table floor_steps (
    id bigint generated always as identity primary key, member bigint not null, step_index int not null,
    status text not null default 'pending', job_id text, dispatched_at timestamptz, completed_at timestamptz, result_json jsonb
  ) with (fillfactor = 40);
  create unique index on floor_steps (member, step_index);
  create table floor_queue (
    id bigint generated always as identity primary key, topic text not null, step_id bigint not null, body text not null,
    leased_until timestamptz
  ) with (fillfactor = 45);
  create index on floor_queue (topic, id);`

const FILL = `insert into floor_steps (member, step_index)
  select m, i from generate_series(1, $1::int) m, generate_series(0, $2::int - 1) i`
const FIRST = `update floor_steps set status = 'dispatched', dispatched_at = $1 where step_index = 0 returning id`
const CLAIM = `
  with taken as materialized (
    select id from floor_queue where topic = $1 and leased_until is null order by id limit $2 for update skip locked)
  update floor_queue q set leased_until = $3 from taken where q.id = taken.id returning q.id, q.step_id, q.body`
const ENQUEUE = `insert into floor_queue (topic, step_id, body) select $1, step_id, body
  from unnest($2::bigint[], $3::text[]) as m (step_id, body)`
const SETTLE = 'delete from floor_queue where id = any($1::bigint[])'
const SUCCEED = `
  update floor_steps s set status = 'succeeded', completed_at = $1, result_json = c.body::jsonb
    from unnest($2::bigint[], $3::text[]) as c (id, body) where s.id = c.id and s.status = 'dispatched'
  returning s.member, s.step_index`
const DISPATCH = `
  update floor_steps s set status = 'dispatched', dispatched_at = $1, job_id = 'step-' || s.id
    from unnest($2::bigint[], $3::int[]) as c (member, step_index)
   where s.member = c.member and s.step_index = c.step_index + 1 and s.status = 'pending'
  returning s.id`

interface Queued {
  readonly id: number
  readonly stepId: number
  readonly body: string
}

const jobBody = (id: number) =>
  JSON.stringify({
    jobId: `step-${id}`,
    batchId: 1,
    workerId: 'bench',
    functionName: 'Noop',
    parameters: { A: `user${id}@contoso.example`, B: `x Name ${id} y`, C: 1 },
    notAfter: '2026-01-01T00:00:00.000Z',
    correlationData: {
      stepExecutionId: id,
      isInitStep: false,
      runbookName: 'bench',
      runbookVersion: 1,
    },
  })

const enqueue = (tx: Tx, topic: string, ids: readonly number[], body: (id: number) => string) =>
  tx.query(ENQUEUE, [topic, idsParam(ids), arrayParams(ids, body)[0]])

/** Steps per second. */
export async function measureFloor(
  db: Db,
  members: number,
  steps: number,
  now: Date,
): Promise<number> {
  await db.script(TABLES)
  await db.query(FILL, [members, steps])
  const first = await db.query<{ id: number }>(FIRST, [now])
  await db.transaction((tx) =>
    enqueue(
      tx,
      'jobs',
      first.map(({ id }) => id),
      jobBody,
    ),
  )
  await db.script('analyze floor_steps; analyze floor_queue')
  const total = members * steps
  let done = 0
  const claim = (topic: string) => db.query<Queued>(CLAIM, [topic, CHUNK, now])
  const settle = (taken: readonly Queued[]) =>
    db.query(SETTLE, [idsParam(taken.map(({ id }) => id))])
  const advance = async () => {
    while (done < total) {
      const taken = await claim('results')
      if (taken.length === 0) continue
      done += await db.transaction((tx) => advanceChunk(tx, taken, now))
      await settle(taken)
    }
  }
  const work = async () => {
    while (done < total) {
      const taken = await claim('jobs')
      if (taken.length === 0) continue
      const ids = taken.map(({ body }) => Number(JSON.parse(body).jobId.slice(5)))
      await db.transaction((tx) => enqueue(tx, 'results', ids, (id) => `{"value":"step-${id}"}`))
      await settle(taken)
    }
  }
  return perSec(total, await timeMs(() => Promise.all([advance(), work()])))
}

async function advanceChunk(tx: Tx, taken: readonly Queued[], now: Date): Promise<number> {
  const results = arrayParams(
    taken,
    (one) => one.stepId,
    (one) => one.body,
  )
  const done = await tx.query<{ member: number; stepIndex: number }>(SUCCEED, [now, ...results])
  const ended = arrayParams(
    done,
    (one) => one.member,
    (one) => one.stepIndex,
  )
  const sent = await tx.query<{ id: number }>(DISPATCH, [now, ...ended])
  if (sent.length > 0)
    await enqueue(
      tx,
      'jobs',
      sent.map(({ id }) => id),
      jobBody,
    )
  return done.length
}
