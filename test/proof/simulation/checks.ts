// What must hold after every event: the invariants of the tables (src/db/invariants/invariants.ts) and the promises that need more
// than the tables. All of them are one prepared statement, planned once: thirty single statements took 50 times as long.
import { INVARIANTS } from '../../../src/db/invariants/invariants.ts'
import { EFFECTIVE } from '../../../src/db/invariants/order.ts'
import type { Engine } from '../../../src/engine/transactions/engine.ts'
import { WorkerPace } from '../../../src/engine/transactions/worker-pace.ts'
import { needsThatDisagree } from '../../kit/needs-by-rows.ts'
import { statesThatDisagree } from '../../kit/person-states.ts'
import { NIGHT_PROMISES } from './night-checks.ts'
import type { World } from './world.ts'

export interface Check {
  readonly id: string
  readonly sentence: string
  /** Rows of (batch_id, found). $1 is now. */
  readonly sql: string
}

const FUSE_MIN_FAILED = 10
/** A result may come so long after the job's timeout. */
export const GRACE_SEC = 120

const PROMISES: readonly Check[] = [
  {
    id: 'P8',
    sentence: 'No change fails for a reason that will not pass',
    sql: `
      select id as batch_id, held_reason as found from batches where held_reason like 'a change failed%'
      union all
      select null, format('%s: %s', message_id, description) from dead_letters where reason = 'HandlerFailed'`,
  },
  {
    id: 'R12',
    sentence: 'A removal waits for a running rollback',
    sql: `
      select s.batch_id, format('removal step %s is out, rollback step %s is %s', s.id, r.id, r.status) as found
        from step_executions s
        join step_executions r on r.kind = 'rollback' and r.batch_member_id = s.batch_member_id
         and r.status in ('pending', 'dispatched', 'polling')
       where s.kind = 'removal' and s.status = 'dispatched'`,
  },
  {
    id: 'R24',
    sentence: 'A job is taken for lost only after its timeout and the grace',
    sql: `
      select a.batch_id, format('job %s was sent at %s and given up at %s', a.job_id, a.sent_at, a.settled_at) as found
        from attempts a join step_executions s on s.id = a.step_id
       where a.outcome = 'lost' and a.settled_at < a.sent_at + make_interval(secs => s.timeout_sec + ${GRACE_SEC})`,
  },
  {
    id: 'R24',
    sentence: 'A job that was given up can be taken by nobody: it is in no queue and in no hand',
    sql: `
      select a.batch_id, format('job %s is %s, and its message is still there, leased until %s', a.job_id, a.outcome, q.leased_until)
             as found
        from attempts a join messages q on q.topic = 'worker-jobs' and q.message_id = a.job_id
       where a.outcome in ('lost', 'undelivered')`,
  },
  {
    id: 'R24',
    sentence: 'A job that no worker started costs its step no retry and no failure',
    sql: `
      select a.batch_id, format('job %s was never started, and its step went by %s to %s', a.job_id, e.event, e.to_status) as found
        from attempts a join events e on e.step_id = a.step_id and e.job_id = a.job_id
       where a.outcome = 'undelivered' and e.entity = 'step' and e.event in ('retry', 'fail')
      union all
      select a.batch_id, format('job %s was never taken, and is %s', a.job_id, a.outcome)
        from attempts a join dead_letters d on d.topic = 'worker-jobs' and d.message_id = a.job_id
       where d.delivery_count = 0 and a.outcome in ('lost', 'dead_lettered')`,
  },
  {
    id: 'R46',
    sentence:
      'A rollback that ran runs again only after a step that it rolls back was taken up again',
    sql: `
      select batch_id, format('member %s: rollback %s begins at event %s and again at event %s', member_id, name, former, id) as found
        from (select r.id, r.batch_id, r.batch_member_id as member_id, lower(o.on_failure) as name,
                     lag(r.id) over by_name as former, lag(r.step_id) over by_name as origin_id,
                     lag(r.attempt) over by_name as origin_attempt
                from events r join step_executions o on o.id = r.step_id
               where r.event = 'rollback_begun' and r.batch_member_id is not null and o.on_failure is not null
              window by_name as (partition by r.batch_member_id, lower(o.on_failure) order by r.id)) as again
       where exists (select from step_executions u
                      where u.kind = 'rollback' and u.may_have_effect
                        and (u.origin_step_id, u.origin_attempt) = (again.origin_id, again.origin_attempt))
         and not exists (select from events e join step_executions s on s.id = e.step_id
                          where e.batch_member_id = again.member_id and e.id > again.former and e.id < again.id
                            and e.event in ('dispatch', 'skip', 'mark_done')
                            and s.kind = 'phase' and lower(s.on_failure) = again.name)`,
  },
  {
    id: 'R42',
    sentence: 'The fuse blows above its limit and not below',
    sql: `
      select batch_id, format('event %s: %s', id, because) as found
        from events
       where event = 'held' and because ~ ' members failed in phase '
         and substring(because from '^([0-9]+) of')::int <= ${FUSE_MIN_FAILED}
      union all
      select p.batch_id, format('%s of %s members failed in phase %s and nobody stopped', p.members_failed, p.members_total, p.id)
        from phase_executions p join batches b on b.id = p.batch_id join runbooks r
          on lower(r.name) = b.runbook_name and r.version = b.runbook_version
       where b.status in ('active', 'completed', 'failed') and b.held_at is null
         and p.members_failed - p.fuse_acknowledged > ${FUSE_MIN_FAILED}
         and (p.members_failed - p.fuse_acknowledged) * 100
             > substring(r.yaml_content from 'max_failed_percent: ([0-9]+)')::int * p.members_total`,
  },
  {
    id: 'R13',
    sentence: 'A phase is skipped as empty only when none of its members is there to do it',
    sql: `
      select p.batch_id, format('phase %s is skipped, and member %s has not failed or left', p.id, m.id) as found
        from ${EFFECTIVE} as p join batches b on b.id = p.batch_id join batch_members m on m.batch_id = p.batch_id
       where p.status = 'skipped' and p.skipped_because = 'empty' and m.status = 'active' and b.status in ('completed', 'failed')
         and not exists (select from messages q where q.message_id = format('member-added-%s', m.id))
         and not exists (select from dead_letters d where d.message_id = format('member-added-%s', m.id))`,
  },
  ...NIGHT_PROMISES,
]

const CHECKS: readonly Check[] = [...INVARIANTS, ...PROMISES]
/** Holds only where timers run every second; in a world whose clock jumps between timers, at rest. */
const AT_REST: ReadonlySet<string> = new Set(['I21'])
const FOUND_MAX = 10
/** All processes of a simulation have one clock. */
const NO_SLACK = '0'

const LOOK = `
  select "check", batch_id, found from (${CHECKS.map(
    ({ id, sql }, index) =>
      `select ${index} as check, batch_id, found from (${sql}) as c${index} where $4::boolean or ${!AT_REST.has(id)}`,
  ).join(' union all ')}) as broken
   where $1::timestamptz is not null and $3::interval is not null and ($2::bigint[] is null or batch_id = any($2) or batch_id is null)
   order by 1, 2, 3 limit ${FOUND_MAX}`

interface Broken {
  readonly check: number
  readonly batchId: number | null
  readonly found: string
}

/** Of a program that only looks. */
const PACE = new WorkerPace(1_000)

/** Every violation in these batches, or in all of them. */
export async function lookForBroken(
  world: World,
  batchIds: readonly number[] | null,
): Promise<void> {
  const { db, clock, faults, found } = world
  const rows = await db.query<Broken>(LOOK, [clock.now(), batchIds, NO_SLACK, faults.isHealed])
  for (const row of rows) {
    const { id, sentence } = CHECKS[row.check]!
    const where = row.batchId === null ? '' : `Batch ${row.batchId}: `
    found.push(`${id} ${sentence}. ${where}${row.found}`)
  }
  await lookAtFailures(world, batchIds)
  found.push(...(await statesThatDisagree(db, batchIds)))
  if (batchIds === null)
    found.push(...(await needsThatDisagree({ db, pace: PACE } as unknown as Engine, clock.now())))
}

/** Cached failure groups (src/api/services/failure-cache.ts) stay correct while the batch's revision is the same. */
async function lookAtFailures(
  { db, journal, found }: World,
  batchIds: readonly number[] | null,
): Promise<void> {
  const rows = await db.query<{ id: number; revision: number; mark: string }>(
    `select b.id, b.failure_revision as revision, coalesce(string_agg(concat_ws(' ', s.id, s.status, s.attempt, s.completed_at,
            s.error_message), ', ' order by s.id), '') as mark
       from batches b left join step_executions s on s.batch_id = b.id and s.status in ('failed', 'poll_timeout', 'rolled_back')
      where $1::bigint[] is null or b.id = any($1) group by b.id`,
    [batchIds],
  )
  for (const { id, revision, mark } of rows) {
    const seen = journal.failures.get(id)
    if (seen && seen.mark !== mark && seen.revision === revision)
      found.push(
        `Batch ${id}: its failures were ${seen.mark} and are ${mark}, still revision ${revision}`,
      )
    journal.failures.set(id, { mark, revision })
  }
}

/** Checks that need the memory of the world besides the tables. */
export async function lookOutside({ db, journal, maxOutstanding, found }: World): Promise<void> {
  const crowded = await db.query<{ id: string; jobs: number }>(
    `select worker_id as id, count(*) as jobs from waits where kind = 'job' group by 1 having count(*) > $1`,
    [maxOutstanding],
  )
  for (const { id, jobs } of crowded)
    found.push(`R39: worker ${id} has ${jobs} jobs out, more than ${maxOutstanding}`)
  const unsent = await db.query<{ id: string }>(
    `select job_id as id from waits
      where kind = 'job' and not exists (select from messages q where q.topic = 'worker-jobs' and q.message_id = job_id)
        and not exists (select from dead_letters d where d.topic = 'worker-jobs' and d.message_id = job_id)`,
  )
  for (const { id } of unsent) {
    if (!journal.deliveries.has(id)) found.push(`P2: job ${id} is out and was never sent`)
  }
}

/** At the very end, with everything healed. */
export async function lookAtEnd(
  world: World,
  takenIn: readonly { batchId: number; key: string }[],
) {
  const { db, found } = world
  const open = await db.query<{ said: string }>(
    `select format('batch %s is %s', id, status) as said from batches where status not in ('completed', 'failed', 'cancelled')
     union all
     select format('step %s waits for %s', step_id, kind) from waits
     union all
     select format('step %s is %s', id, status) from step_executions where status in ('pending', 'dispatched', 'polling')
     union all
     select format('member %s is active and has not passed step %s, which is %s', m.id, s.id, s.status)
       from batch_members m join batches b on b.id = m.batch_id and b.status in ('completed', 'failed') and not b.failed_in_init
       join step_executions s on s.batch_member_id = m.id and s.kind = 'phase'
       join ${EFFECTIVE} as p on p.id = s.phase_execution_id
      where m.status = 'active' and s.status not in ('succeeded', 'skipped')
     union all
     select format('member %s is active and has no step in phase %s', m.id, p.id)
       from batch_members m join batches b on b.id = m.batch_id and b.status in ('completed', 'failed') and not b.failed_in_init
       join ${EFFECTIVE} as p on p.batch_id = b.id
      where m.status = 'active'
        and not exists (select from step_executions s where s.batch_member_id = m.id and s.phase_execution_id = p.id)
     union all
     select format('the undo of member %s that began with event %s has no end', coalesce(u.batch_member_id::text, 'none'), u.id)
       from events u
      where u.event = 'undo_begun'
        and not exists (select from events e
                         where e.batch_id = u.batch_id and e.batch_member_id is not distinct from u.batch_member_id and e.id > u.id
                           and e.event in ('undone', 'undo_incomplete'))
     limit ${FOUND_MAX}`,
  )
  found.push(...open.map(({ said }) => `P6: everything has ended, but ${said}`))
  const lost = await db.query<{ said: string }>(
    `select format('%s in batch %s', key, batch) as said
       from unnest($1::bigint[], $2::text[]) as t (batch, key)
      where not exists (select from batch_members m where m.batch_id = batch and m.key_folded = key)`,
    [takenIn.map(({ batchId }) => batchId), takenIn.map(({ key }) => key)],
  )
  found.push(...lost.map(({ said }) => `P1: the engine took in ${said} and has lost it`))
}
