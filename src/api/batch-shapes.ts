// How batches, phases and steps look in answers, and the tag that stands for what an operator decides by.
import { z } from 'zod'
import type { BatchLine } from '../db/view-batches.ts'
import type { Phase } from '../domain/facts.ts'
import { count, maybeText, maybeTime, time } from './shapes.ts'
import { tagOf } from './state-tag.ts'

export const BATCH_STATUSES = [
  'detected',
  'init_dispatched',
  'active',
  'completed',
  'failed',
  'cancelled',
] as const
export const STEP_STATUSES = [
  'pending',
  'dispatched',
  'polling',
  'succeeded',
  'failed',
  'poll_timeout',
  'rolled_back',
  'cancelled',
  'skipped',
] as const
export const MEMBER_STATUSES = ['active', 'failed', 'removed'] as const
export const STEP_KINDS = ['phase', 'init', 'rollback', 'removal'] as const

const held = z
  .strictObject({ at: time, by: z.string(), reason: z.string() })
  .meta({ id: 'Hold', description: 'Nothing new is sent while a batch is held.' })

export const batch = z
  .strictObject({
    id: z.int(),
    runbookId: z.int(),
    runbookName: z.string(),
    runbookVersion: z.int(),
    batchStartTime: maybeTime,
    sourceTime: maybeTime.meta({ description: 'The instant in the data; null for manual ones.' }),
    status: z.enum(BATCH_STATUSES),
    failedInInit: z.boolean(),
    isManual: z.boolean(),
    createdBy: z.string(),
    currentPhase: maybeText,
    held: held.nullable(),
    memberCount: count.meta({ description: 'Active members.' }),
    members: z.strictObject({ active: count, failed: count, removed: count, total: count }),
    detectedAt: time,
    initDispatchedAt: maybeTime,
    activatedAt: maybeTime,
    endedAt: maybeTime,
  })
  .meta({ id: 'Batch' })

export function shownBatch(line: BatchLine): z.input<typeof batch> {
  const { membersActive, membersFailed, membersRemoved, failureMoves: _, ...others } = line
  const { heldAt, heldBy, heldReason, ...rest } = others
  return {
    ...rest,
    held: heldAt && { at: heldAt, by: heldBy!, reason: heldReason! },
    memberCount: membersActive,
    members: {
      active: membersActive,
      failed: membersFailed,
      removed: membersRemoved,
      total: membersActive + membersFailed + membersRemoved,
    },
  }
}

export const phase = z
  .strictObject({
    id: z.int(),
    phaseName: z.string(),
    offsetMinutes: z.int().meta({ description: 'Before the start; negative after it.' }),
    dueAt: maybeTime,
    runbookVersion: z.int(),
    status: z.enum([
      'pending',
      'dispatched',
      'completed',
      'failed',
      'skipped',
      'superseded',
      'cancelled',
    ]),
    skippedBecause: z.enum(['empty', 'overdue']).nullable(),
    dispatchedAt: maybeTime,
    completedAt: maybeTime,
    steps: z.strictObject(
      Object.fromEntries(STEP_STATUSES.map((status) => [status, count])) as {
        [S in (typeof STEP_STATUSES)[number]]: typeof count
      },
    ),
    members: z.strictObject({
      total: count,
      passed: count,
      failed: count,
      stopped: count.meta({ description: 'Failed in an earlier phase.' }),
      removed: count,
    }),
  })
  .meta({ id: 'Phase' })

export function shownPhase(one: Phase): z.input<typeof phase> {
  const { id, name, offsetMinutes, dueAt, runbookVersion, status, skippedBecause } = one
  const { dispatchedAt, completedAt, steps, members } = one
  return {
    id,
    phaseName: name,
    offsetMinutes,
    dueAt,
    runbookVersion,
    status,
    skippedBecause,
    dispatchedAt,
    completedAt,
    steps,
    members,
  }
}

export const step = z
  .strictObject({
    id: z.int(),
    kind: z.enum(STEP_KINDS),
    phaseExecutionId: z.int().nullable(),
    phaseName: maybeText,
    batchMemberId: z.int().nullable(),
    memberKey: maybeText,
    originStepId: z.int().nullable().meta({ description: 'Whose rollback this is.' }),
    runbookVersion: z.int(),
    stepName: z.string(),
    stepIndex: count,
    workerId: z.string(),
    functionName: maybeText,
    status: z.enum(STEP_STATUSES),
    attempt: count,
    retryCount: count,
    maxRetries: count,
    retryAfter: maybeTime,
    jobId: maybeText,
    isPollStep: z.boolean(),
    pollCount: count,
    dispatchedAt: maybeTime,
    deadlineAt: maybeTime,
    completedAt: maybeTime,
    errorMessage: maybeText,
    hasLateResult: z.boolean(),
    waitsFor: z.enum(['slot', 'job', 'retry', 'poll']).nullable(),
    wakeAt: maybeTime,
  })
  .meta({ id: 'Step' })

/** Status, hold, start and version of the batch, and the status of each phase. */
export const tagOfBatch = (line: BatchLine, phases: readonly Phase[]): string =>
  tagOf(
    line.id,
    line.status,
    line.heldAt,
    line.batchStartTime,
    line.runbookVersion,
    ...phases.map(({ id, status }) => `${id} ${status}`),
  )
