// Tells telemetry what was committed: a phase that came due, the members' traces, each job sent and each job's end. A member has one trace
// per phase, from the due time to the last result. A poll may come days later and has a trace of its own, linked to the job that it
// continues. Ids follow from the rows, so a trace continues after a crash and in another process.

import type { Measures } from '../../base/telemetry/measures.ts'
import {
  type Attributes,
  readTraceparent,
  type SpanContext,
  spanIdOf,
  type Telemetry,
  type TraceSpan,
  traceIdOf,
  traceparentOf,
} from '../../base/telemetry/telemetry.ts'
import type { AttemptRecord, Draft, JobRecord } from '../../domain/decide/draft.ts'
import { jobIdOf } from '../../domain/messages/messages.ts'
import type { Phase, Step } from '../../domain/state/facts.ts'

export interface CommitWatch {
  /** The trace context that goes with the job; null when nothing is traced. */
  traceparentOf(draft: Draft, job: JobRecord): string | null
  /** Called once per transaction, after its commit. */
  committed(drafts: readonly Draft[]): void
}

export interface CommitWatchOptions {
  readonly measures: Measures
  readonly clock: { now(): Date }
  /** Null when nothing is traced. */
  readonly traces: TraceOptions | null
}

export interface TraceOptions {
  readonly telemetry: Telemetry
  /** Tells this database from others whose rows have the same numbers. */
  readonly database: string
}

export function watchCommits({ measures, clock, traces }: CommitWatchOptions): CommitWatch {
  return {
    traceparentOf: (draft, { jobId, step }) =>
      traces && traceparentOf(sendContext(traces, draft, step, { jobId, poll: step.pollCount })),
    committed: (drafts) => {
      for (const draft of drafts) {
        countJobs(measures, draft)
        if (!traces) continue
        const now = clock.now()
        for (const span of spansOf(traces, draft, now)) traces.telemetry.span(span)
      }
    },
  }
}

type SentKind = 'first' | 'retry' | 'poll'

const kindOf = ({ pollCount, attempt }: Step): SentKind =>
  pollCount > 0 ? 'poll' : attempt > 0 ? 'retry' : 'first'

/** Summed up first: a label costs more than an addition. */
function countJobs(measures: Measures, { jobs, attempts }: Draft): void {
  const sent = Map.groupBy(jobs, ({ step }) => `${kindOf(step)} ${step.definition.workerId}`)
  for (const same of sent.values()) {
    const { step } = same[0]!
    const labels = { worker: step.definition.workerId, kind: kindOf(step) }
    measures.count('matoolkit_jobs_sent_total', labels, same.length)
  }
  const settled = Map.groupBy(attempts, ({ outcome, workerId }) => `${outcome} ${workerId}`)
  for (const same of settled.values()) {
    const { workerId: worker, outcome } = same[0]!
    measures.count('matoolkit_jobs_settled_total', { worker, outcome }, same.length)
  }
}

function* spansOf(traces: TraceOptions, draft: Draft, now: Date): Iterable<TraceSpan> {
  for (const phase of draft.changedPhases)
    if (phase.status === 'dispatched' && draft.phaseStatusLoaded(phase) === 'pending')
      yield phaseSpan(traces, draft, phase, now)
  for (const step of firstSteps(draft)) yield memberSpan(traces, draft, step, now)
  for (const job of draft.jobs) yield sendSpan(traces, draft, job, now)
  for (const attempt of draft.attempts) yield endSpan(traces, draft, attempt, now)
}

/** One of the steps by which a member enters a phase, a rollback or a cleanup, and a batch its init. */
function* firstSteps(draft: Draft): Iterable<Step> {
  const seen = new Set<string>()
  for (const step of [...draft.changedSteps, ...draft.newSteps]) {
    if (draft.statusLoaded(step) !== null) continue
    const key = placeOf(step).join()
    if (seen.has(key)) continue
    seen.add(key)
    const others = draft.stepsOfMember.get(step.memberId) ?? []
    const isKnown = others.some(
      (other) => placeOf(other).join() === key && draft.statusLoaded(other) !== null,
    )
    if (!isKnown) yield step
  }
}

/** What a trace is about. */
const placeOf = ({ kind, phaseId, memberId, removalNumber }: Step) =>
  [kind, phaseId, memberId, removalNumber] as const

const contextIn = ({ telemetry }: TraceOptions, traceId: string, spanId: string): SpanContext => ({
  traceId,
  spanId,
  isSampled: telemetry.isSampled(traceId),
})

/** The first span of the trace that the step belongs to. */
function rootContext(traces: TraceOptions, draft: Draft, step: Step): SpanContext {
  const traceId = traceIdOf(traces.database, draft.batch.id, ...placeOf(step))
  return contextIn(traces, traceId, spanIdOf(traceId, 'first'))
}

function phaseContext(traces: TraceOptions, phase: Phase): SpanContext {
  const traceId = traceIdOf(traces.database, 'phase', phase.id)
  return contextIn(traces, traceId, spanIdOf(traceId, 'due'))
}

/** A poll's trace is sent when that of its step is. */
function sendContext(
  traces: TraceOptions,
  draft: Draft,
  step: Step,
  { jobId, poll }: Pick<AttemptRecord, 'jobId' | 'poll'>,
): SpanContext {
  const root = rootContext(traces, draft, step)
  const traceId = poll > 0 ? traceIdOf(traces.database, 'poll', jobId) : root.traceId
  return { traceId, spanId: spanIdOf(traceId, 'send', jobId), isSampled: root.isSampled }
}

const ofBatch = ({ batch }: Draft): Attributes => ({
  BatchId: batch.id,
  RunbookName: batch.runbookName,
})

const ofStep = (draft: Draft, step: Step): Attributes => ({
  ...ofBatch(draft),
  RunbookVersion: step.definition.runbookVersion,
  ...(step.phaseId !== null && {
    PhaseExecutionId: step.phaseId,
    PhaseName: draft.phase(step.phaseId).name,
  }),
  ...(step.memberId !== null && { BatchMemberId: step.memberId }),
})

const ofJob = (draft: Draft, step: Step, jobId: string): Attributes => ({
  ...ofStep(draft, step),
  WorkerId: step.definition.workerId,
  StepExecutionId: step.id,
  StepName: step.definition.stepName,
  StepKind: step.kind,
  Attempt: step.attempt + 1,
  'messaging.message.id': jobId,
})

const earlier = (a: Date | null, b: Date): Date => (a !== null && a < b ? a : b)

const phaseSpan = (traces: TraceOptions, draft: Draft, phase: Phase, endedAt: Date): TraceSpan => ({
  context: phaseContext(traces, phase),
  parentId: null,
  name: 'phase due',
  kind: 'internal',
  startedAt: earlier(phase.dueAt, draft.now),
  endedAt,
  attributes: { ...ofBatch(draft), PhaseExecutionId: phase.id, PhaseName: phase.name },
})

const ROOT_NAMES = {
  init: 'init',
  phase: 'phase',
  rollback: 'rollback',
  removal: 'cleanup',
  undo: 'undo',
}

function memberSpan(traces: TraceOptions, draft: Draft, step: Step, endedAt: Date): TraceSpan {
  const phase = draft.phaseOf(step)
  const isJoiner = phase !== null && phase.expandedAt !== null && phase.expandedAt < draft.now
  return {
    context: rootContext(traces, draft, step),
    parentId: null,
    name: phase ? `phase ${phase.name}` : ROOT_NAMES[step.kind],
    kind: 'internal',
    startedAt: phase && !isJoiner ? earlier(phase.dueAt, draft.now) : draft.now,
    endedAt,
    attributes: ofStep(draft, step),
    ...(phase && { links: [phaseContext(traces, phase)] }),
  }
}

function sendSpan(traces: TraceOptions, draft: Draft, job: JobRecord, endedAt: Date): TraceSpan {
  const { step, jobId } = job
  const context = sendContext(traces, draft, step, { jobId, poll: step.pollCount })
  const isPoll = kindOf(step) === 'poll'
  const polled = jobIdOf({
    kind: step.kind,
    stepId: step.id,
    attempt: step.attempt,
    poll: 0,
    epoch: draft.batch.epoch,
  })
  return {
    context,
    parentId: isPoll ? null : rootContext(traces, draft, step).spanId,
    name: 'send worker-jobs',
    kind: 'producer',
    startedAt: draft.now,
    endedAt,
    attributes: {
      ...ofJob(draft, step, jobId),
      ...(isPoll && { Poll: step.pollCount }),
      'messaging.system': traces.telemetry.messagingSystem,
      'messaging.operation.name': 'send',
      'messaging.operation.type': 'send',
      'messaging.destination.name': 'worker-jobs',
      'messaging.destination.subscription.name': `worker-${step.definition.workerId}`,
    },
    ...(isPoll && { links: [sendContext(traces, draft, step, { jobId: polled, poll: 0 })] }),
  }
}

const GOOD_ENDS: readonly AttemptRecord['outcome'][] = ['succeeded', 'incomplete', 'withdrawn']
/** These come as a message; the others are noticed without one. */
const BY_RESULT: readonly AttemptRecord['outcome'][] = [
  'succeeded',
  'incomplete',
  'failed',
  'refused',
]

function endSpan(
  traces: TraceOptions,
  draft: Draft,
  attempt: AttemptRecord,
  endedAt: Date,
): TraceSpan {
  const { stepId, jobId, outcome, poll, durationMs } = attempt
  const step = draft.steps.get(stepId)!
  const sent = sendContext(traces, draft, step, attempt)
  // What a worker sends is believed only as far as it fits.
  const ran = readTraceparent(attempt.traceparent)
  const parentId = ran?.traceId === sent.traceId ? ran.spanId : sent.spanId
  const isResult = BY_RESULT.includes(outcome)
  return {
    context: { ...sent, spanId: spanIdOf(sent.traceId, 'end', jobId) },
    parentId,
    name: isResult ? 'process worker-results' : 'settle job',
    kind: isResult ? 'consumer' : 'internal',
    startedAt: draft.now,
    endedAt,
    attributes: {
      ...ofJob(draft, step, jobId),
      Attempt: attempt.attempt + 1,
      ...(poll > 0 && { Poll: poll }),
      Outcome: outcome,
      ...(durationMs !== null && { JobDurationMs: durationMs }),
      ...(isResult && {
        'messaging.system': traces.telemetry.messagingSystem,
        'messaging.operation.name': 'process',
        'messaging.operation.type': 'process',
        'messaging.destination.name': 'worker-results',
        'messaging.destination.subscription.name': 'orchestrator',
      }),
    },
    error: GOOD_ENDS.includes(outcome) ? null : outcome,
  }
}
