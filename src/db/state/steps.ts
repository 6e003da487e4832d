// Bulk statements on steps: rows for every member of a phase, cancelling a whole batch, recounting.
import type { StepDefinition } from '../../domain/state/facts.ts'
import { STEP_STATUSES } from '../../domain/state/transitions.ts'
import { arrayParams, integerArray } from '../connection/arrays.ts'
import type { Tx } from '../connection/db.ts'
import { FAILED_STEPS, ONCE_PASSED_STEPS, OPEN_STEPS } from '../connection/status-lists.ts'
import { PHASE_COUNTERS } from './counters.ts'

const KEEP_EXISTING = `on conflict (batch_member_id, phase_execution_id, lower(step_name)) where kind = 'phase' do nothing`

/** New rows, one array per column. `places` are positions in the phase's list of steps. */
export interface NewSteps {
  readonly ids: readonly number[]
  readonly memberIds: readonly number[]
  readonly places: readonly number[]
}

/** Members of a batch in one of its phases. */
export interface MembersInPhase {
  readonly batchId: number
  readonly phaseId: number
  readonly memberIds: readonly number[]
}

interface MemberInPhase extends Omit<MembersInPhase, 'memberIds'> {
  readonly memberId: number
}

/** Once each: two messages of one chunk may name the same joiner. */
const eachOf = (all: readonly MembersInPhase[]): MemberInPhase[] =>
  all.flatMap(({ memberIds, ...phase }) =>
    [...new Set(memberIds)].map((memberId) => ({ ...phase, memberId })),
  )

/**
 * One row per member and definition, of several phases if their definitions are the same; existing rows are kept and not returned.
 * Nearly always there are none, and none appear meanwhile: the members or their batch are locked. Checking first costs a tenth of
 * "on conflict" for every row.
 */
export async function insertPhaseSteps(
  tx: Tx,
  phases: readonly MembersInPhase[],
  definitions: readonly StepDefinition[],
): Promise<NewSteps> {
  const members = eachOf(phases)
  const without = await listWithoutSteps(tx, phases)
  const [made] = await tx.query<NewSteps>(
    `with made as (
     insert into step_executions (batch_id, kind, phase_execution_id, batch_member_id, runbook_version, step_name, step_index,
       worker_id, on_failure, is_poll_step, poll_interval_sec, poll_timeout_sec, max_retries, retry_interval_sec,
       retry_backoff, retry_max_interval_sec, timeout_sec, status)
     select m.batch, 'phase', m.phase, m.id, version, name, index, worker, on_failure, poll_interval is not null, poll_interval,
            poll_timeout, retries, retry_interval, backoff, retry_cap, timeout, 'pending'
       from unnest($1::bigint[], $2::bigint[], $3::bigint[]) as m (batch, phase, id)
      cross join unnest($4::int[], $5::text[], $6::int[], $7::text[], $8::text[], $9::int[], $10::int[], $11::int[], $12::int[],
                        $13::text[], $14::int[], $15::int[])
            as p (version, name, index, worker, on_failure, poll_interval, poll_timeout, retries, retry_interval, backoff,
                  retry_cap, timeout)
      order by m.id, index
     ${without.length < members.length ? KEEP_EXISTING : ''}
     returning id, batch_member_id, step_index)
     select ${integerArray('id', 'ids')}, ${integerArray('batch_member_id', 'memberIds')}, ${integerArray('step_index', 'places')} from made`,
    [
      ...arrayParams(
        members,
        (m) => m.batchId,
        (m) => m.phaseId,
        (m) => m.memberId,
      ),
      ...arrayParams(
        definitions,
        (p) => p.runbookVersion,
        (p) => p.stepName,
        (p) => p.stepIndex,
        (p) => p.workerId,
        (p) => p.onFailure,
        (p) => p.pollIntervalSec,
        (p) => p.pollTimeoutSec,
        (p) => p.maxRetries,
        (p) => p.retryIntervalSec,
        (p) => p.retryBackoff,
        (p) => p.retryMaxIntervalSec,
        (p) => p.timeoutSec,
      ),
    ],
  )
  return made!
}

/**
 * Members without a step in their phase. One lookup each: with `not exists` the planner read all steps while a phase was being written,
 * which took a third as long as the writing.
 */
export async function listWithoutSteps(
  tx: Tx,
  phases: readonly MembersInPhase[],
): Promise<number[]> {
  const rows = await tx.query<{ id: number }>(
    `select g.id from unnest($1::bigint[], $2::bigint[]) as g (phase, id)
      where (select s.id from step_executions s
              where s.kind = 'phase' and s.batch_member_id = g.id and s.phase_execution_id = g.phase limit 1) is null
      order by g.id`,
    arrayParams(
      eachOf(phases),
      ({ phaseId }) => phaseId,
      ({ memberId }) => memberId,
    ),
  )
  return rows.map(({ id }) => id)
}

/**
 * The transition `cancel` of every open init and phase step of the batch as a set, with an event each; see `cancelBatch`. Unsettled jobs
 * keep their wait until they are settled.
 */
export async function cancelSteps(
  tx: Tx,
  batchId: number,
  now: Date,
  actor: string,
  because: string,
): Promise<void> {
  await tx.query(
    `with open as materialized (
       select id, status from step_executions
        where batch_id = $1 and kind in ('init', 'phase') and status in ${OPEN_STEPS}),
     cancelled as (
       update step_executions s set status = 'cancelled', completed_at = $2, retry_after = null
         from open where s.id = open.id and s.status = open.status
       returning s.id, open.status as from_status, s.batch_member_id, s.phase_execution_id, s.attempt, s.job_id)
     insert into events (at, batch_id, batch_member_id, phase_id, step_id, entity, event, from_status, to_status, attempt, job_id,
                         actor, because)
     select $2, $1, batch_member_id, phase_execution_id, id, 'step', 'cancel', from_status, 'cancelled', attempt, job_id, $3, $4
       from cancelled`,
    [batchId, now, actor, because],
  )
  await tx.query(
    `delete from waits w using step_executions s
      where w.batch_id = $1 and w.step_id = s.id and w.kind <> 'job' and s.status = 'cancelled'`,
    [batchId],
  )
}

const RECOUNT_PHASES = `
  with by_member as (
    select s.phase_execution_id as phase, s.batch_member_id as member, m.status as member_status,
           bool_and(s.status in ${ONCE_PASSED_STEPS}) as passed,
           bool_or(s.status in ${FAILED_STEPS}) as failed,
           bool_or(s.status in ${OPEN_STEPS}) as open
      from step_executions s join batch_members m on m.id = s.batch_member_id
     where s.batch_id = $1 and s.kind = 'phase'
     group by 1, 2, 3),
  members as (
    select phase, count(*) as members_total, count(*) filter (where passed) as members_passed,
           count(*) filter (where not passed and failed) as members_failed,
           count(*) filter (where not passed and not failed and not open and member_status <> 'removed') as members_stopped,
           count(*) filter (where not passed and not failed and not open and member_status = 'removed') as members_removed
      from by_member group by 1),
  steps as (
    select phase_execution_id as phase,
           ${STEP_STATUSES.map((status) => `count(*) filter (where status = '${status}') as steps_${status}`).join(', ')}
      from step_executions where batch_id = $1 and kind = 'phase' group by 1)
  update phase_executions p set ${PHASE_COUNTERS.map((name) => `${name} = c.${name}`).join(', ')}
    from (select * from steps join members using (phase)) as c
   where p.id = c.phase`

/** Recounts from the rows, after a change that bypassed the draft. */
export async function recountBatch(tx: Tx, batchId: number): Promise<void> {
  await tx.query(RECOUNT_PHASES, [batchId])
  await tx.query(
    `update batches b
        set init_open = (select count(*) from step_executions s
                          where s.batch_id = b.id and s.kind = 'init' and s.status in ${OPEN_STEPS})
      where b.id = $1`,
    [batchId],
  )
}
