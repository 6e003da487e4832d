// Writes the steps that a decision made or changed, set-based. Every update is guarded by the status that was loaded.
import type { Draft } from '../../domain/decide/draft.ts'
import type { Step } from '../../domain/state/facts.ts'
import type { StepStatus } from '../../domain/state/transitions.ts'
import {
  arrayParams,
  jsonText,
  kindParams,
  lineParam,
  timeParam,
  unnestRows,
} from '../connection/arrays.ts'
import type { Tx } from '../connection/db.ts'
import { updateGuarded } from '../connection/guard.ts'

export async function insertSteps(
  tx: Tx,
  { newSteps, batch }: Draft,
): Promise<ReadonlyMap<number, number>> {
  // Identity values rise in the order of the rows. A new row may be cancelled already: an init step that a version adds while the
  // running one fails in the same change.
  const rows = await tx.query<{ id: number }>(
    `insert into step_executions (batch_id, kind, batch_member_id, origin_step_id, origin_attempt, removal_number,
       status, completed_at, runbook_version, step_name, step_index, worker_id, on_failure, is_poll_step, poll_interval_sec, poll_timeout_sec,
       max_retries, retry_interval_sec, retry_backoff, retry_max_interval_sec, timeout_sec, function_name, params_json)
     select $1, kind, member, origin, origin_attempt, removal, status, completed_at, version, name, index, worker, on_failure,
            poll_interval is not null, poll_interval, poll_timeout, retries, retry_interval, backoff, retry_cap, timeout, function, params::jsonb
       from unnest($2::text[], $3::bigint[], $4::bigint[], $5::int[], $6::int[], $7::text[], $8::timestamptz[], $9::int[],
                   $10::text[], $11::int[], $12::text[], $13::text[], $14::int[], $15::int[], $16::int[], $17::int[],
                   $18::text[], $19::int[], $20::int[], $21::text[], $22::text[])
            with ordinality as s (kind, member, origin, origin_attempt, removal, status, completed_at, version, name, index,
                   worker, on_failure, poll_interval, poll_timeout, retries, retry_interval, backoff, retry_cap, timeout, function,
                   params, n)
      order by n
     returning id`,
    [
      batch.id,
      ...arrayParams(
        newSteps,
        (s) => s.kind,
        (s) => s.memberId,
        (s) => s.originStepId,
        (s) => s.originAttempt,
        (s) => s.removalNumber,
        (s) => s.status,
        (s) => timeParam(s.completedAt),
        ...definitionValues.map((pick) => (s: Step) => pick(s)),
        // Others are resolved when they are sent.
        (s) => (s.kind === 'undo' ? s.functionName : null),
        (s) => (s.kind === 'undo' ? JSON.stringify(s.params) : null),
      ),
    ],
  )
  const made = rows.map(({ id }) => id).sort((a, b) => a - b)
  return new Map(newSteps.map((step, i) => [step.id, made[i]!]))
}

const definitionValues: ((step: Step) => string | number | null)[] = [
  (s) => s.definition.runbookVersion,
  (s) => s.definition.stepName,
  (s) => s.definition.stepIndex,
  (s) => s.definition.workerId,
  (s) => s.definition.onFailure,
  (s) => s.definition.pollIntervalSec,
  (s) => s.definition.pollTimeoutSec,
  (s) => s.definition.maxRetries,
  (s) => s.definition.retryIntervalSec,
  (s) => s.definition.retryBackoff,
  (s) => s.definition.retryMaxIntervalSec,
  (s) => s.definition.timeoutSec,
]

interface ChangedStep {
  readonly step: Step
  /** The status that was loaded, or inserted just now. */
  readonly loaded: StepStatus
}

/** Three statements, as sent, succeeded and other steps change different columns. */
export async function updateSteps(tx: Tx, drafts: readonly [Draft, ...Draft[]]): Promise<void> {
  const [{ now }] = drafts
  const sent: ChangedStep[] = []
  const succeeded: Step[] = []
  const others: ChangedStep[] = []
  for (const draft of drafts) {
    for (const step of draft.changedSteps) {
      if (step.id < 0) continue
      const loaded = draft.statusLoaded(step) ?? 'pending'
      if (step.status === 'dispatched' && loaded !== 'dispatched') sent.push({ step, loaded })
      else if (loaded === 'dispatched' && isPlainSuccess(step)) succeeded.push(step)
      else if (draft.isStepWritten(step)) others.push({ step, loaded })
    }
  }
  await Promise.all([
    sent.length > 0 && updateSent(tx, now, sent),
    succeeded.length > 0 && updateSucceeded(tx, now, succeeded),
    others.length > 0 && updateOthers(tx, others),
  ])
}

/** Its job was answered and that was all: what else a step can have is as it was loaded. The attempt is guarded as well. */
const isPlainSuccess = (step: Step): boolean =>
  step.status === 'succeeded' &&
  step.mayHaveEffect &&
  step.error === null &&
  step.retryAfter === null &&
  step.pollStartedAt === null &&
  step.lateResult === undefined

function updateSucceeded(tx: Tx, now: Date, steps: readonly Step[]): Promise<void> {
  return updateGuarded(
    tx,
    'success',
    steps.length,
    `update step_executions s
        set status = 'succeeded', may_have_effect = true, completed_at = $1, error_message = null,
            result_json = coalesce(c.result::jsonb, s.result_json)
       from ${unnestRows({ id: '$2::bigint[]', attempt: '$3::int[]', result: `string_to_array($4, E'\\n', '')` })} as c
      where s.id = c.id and s.status = 'dispatched' and s.attempt = c.attempt`,
    [
      now,
      ...arrayParams(
        steps,
        (s) => s.id,
        (s) => s.attempt,
      ),
      lineParam(steps, (s) => jsonText(s.result)),
    ],
  )
}

function updateSent(tx: Tx, now: Date, steps: readonly ChangedStep[]): Promise<void> {
  const rows = unnestRows({
    id: '$2::bigint[]',
    job_id: '$3::text[]',
    params: `string_to_array($4, E'\\n')`,
    kind: '$5::int[]',
  })
  return updateGuarded(
    tx,
    'dispatch',
    steps.length,
    `update step_executions s
        set status = 'dispatched', attempt = ($7::int[])[c.kind], retry_count = ($8::int[])[c.kind], retry_after = null,
            error_message = null, job_id = c.job_id, function_name = ($9::text[])[c.kind],
            params_json = c.params::jsonb, dispatched_at = $1, deadline_at = ($10::timestamptz[])[c.kind], poll_count = 0,
            poll_said = null, poll_changes = 0
       from ${rows} as c
      where s.id = c.id and s.status = ($6::text[])[c.kind]`,
    [
      now,
      ...arrayParams(
        steps,
        ({ step }) => step.id,
        ({ step }) => step.jobId,
      ),
      lineParam(steps, ({ step }) => JSON.stringify(step.params)),
      ...kindParams(
        steps,
        ({ loaded }) => loaded,
        ({ step }) => step.attempt,
        ({ step }) => step.retryCount,
        ({ step }) => step.functionName,
        ({ step }) => step.deadlineAt,
      ),
    ],
  )
}

/** A withdrawn job may be sent again in the same change: then this writes what `updateSent` does. */
function updateOthers(tx: Tx, steps: readonly ChangedStep[]): Promise<void> {
  return updateGuarded(
    tx,
    'steps',
    steps.length,
    `update step_executions s
        set status = c.status, attempt = c.attempt, retry_count = c.retry_count, retry_after = c.retry_after,
            job_id = c.job_id, may_have_effect = c.may_have_effect, deadline_at = c.deadline_at, completed_at = c.completed_at,
            error_message = c.error,
            result_json = case when c.completed_at is null then null else coalesce(c.result::jsonb, s.result_json) end,
            poll_started_at = c.poll_started_at, last_polled_at = c.last_polled_at, poll_count = c.poll_count,
            poll_timeout_at = c.poll_timeout_at, poll_said = c.said, poll_changes = c.poll_changes,
            late_result_json = c.late::jsonb,
            dispatched_at = coalesce(c.sent_at, s.dispatched_at),
            function_name = case when c.sent_at is null then s.function_name else c.function_name end,
            params_json = case when c.sent_at is null then s.params_json else c.params::jsonb end
       from unnest($1::bigint[], $2::text[], $3::text[], $4::int[], $5::int[], $6::timestamptz[], $7::text[],
                   $8::timestamptz[], $9::timestamptz[], $10::text[], $11::text[], $12::timestamptz[], $13::timestamptz[],
                   $14::int[], $15::timestamptz[], $16::text[], $17::bool[], $18::timestamptz[], $19::text[], $20::text[],
                   $21::text[], $22::int[])
            as c (id, from_status, status, attempt, retry_count, retry_after, job_id, deadline_at, completed_at, error, result,
                  poll_started_at, last_polled_at, poll_count, poll_timeout_at, late, may_have_effect, sent_at, function_name, params, said,
                  poll_changes)
      where s.id = c.id and s.status = c.from_status`,
    arrayParams(
      steps,
      ({ step }) => step.id,
      ({ loaded }) => loaded,
      ({ step }) => step.status,
      ({ step }) => step.attempt,
      ({ step }) => step.retryCount,
      ({ step }) => timeParam(step.retryAfter),
      ({ step }) => step.jobId,
      ({ step }) => timeParam(step.deadlineAt),
      ({ step }) => timeParam(step.completedAt),
      ({ step }) => step.error,
      ({ step }) => jsonText(step.result),
      ({ step }) => timeParam(step.pollStartedAt),
      ({ step }) => timeParam(step.lastPolledAt),
      ({ step }) => step.pollCount,
      ({ step }) => timeParam(step.pollTimeoutAt),
      ({ step }) => jsonText(step.lateResult),
      ({ step }) => step.mayHaveEffect,
      ({ step }) => timeParam(step.dispatchedAt),
      ({ step }) => step.functionName,
      ({ step }) => (step.dispatchedAt === null ? null : JSON.stringify(step.params)),
      ({ step }) => step.pollSaid,
      ({ step }) => step.pollChanges,
    ),
  )
}

/** A reactivated step gets the active version's definition. Rare, so a separate statement. */
export async function updateDefinitions(tx: Tx, draft: Draft): Promise<void> {
  const steps = [...draft.changedDefinitions].filter(({ id }) => id > 0)
  if (steps.length === 0) return
  await tx.query(
    `update step_executions s
        set runbook_version = c.version, step_name = c.name, step_index = c.index, worker_id = c.worker,
            on_failure = c.on_failure, is_poll_step = c.poll_interval is not null, poll_interval_sec = c.poll_interval,
            poll_timeout_sec = c.poll_timeout, max_retries = c.retries, retry_interval_sec = c.retry_interval,
            retry_backoff = c.backoff, retry_max_interval_sec = c.retry_cap, timeout_sec = c.timeout
       from unnest($1::bigint[], $2::int[], $3::text[], $4::int[], $5::text[], $6::text[], $7::int[], $8::int[], $9::int[],
                   $10::int[], $11::text[], $12::int[], $13::int[])
            as c (id, version, name, index, worker, on_failure, poll_interval, poll_timeout, retries, retry_interval, backoff,
                  retry_cap, timeout)
      where s.id = c.id`,
    arrayParams(steps, (s) => s.id, ...definitionValues),
  )
}
