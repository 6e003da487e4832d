// Shapes of batches, phases and steps in answers, and the ETag of a batch.
import { z } from 'zod'
import type { BatchLine } from '../../db/views/batches.ts'
import { ACTION_NAMES, type Candidate, shownAction } from '../../domain/decide/actions.ts'
import { ERROR_ACTORS, type MeaningOf, RETRY_ADVICE } from '../../domain/needs/error-meaning.ts'
import { rampShares, SHARE_STATES } from '../../domain/plan/ramp-shares.ts'
import type { Ramp } from '../../domain/runbook/model.ts'
import { type Phase, sumSteps } from '../../domain/state/facts.ts'
import { PERSON_STATES, type PersonState, STATE_MEANS } from '../../domain/state/person-state.ts'
import {
  BATCH_STATUSES,
  FAILED_STEP_STATUSES,
  OPEN_STEP_STATUSES,
  PASSED_STEP_STATUSES,
  PHASE_STATUSES,
  STEP_STATUSES,
  type StepStatus,
} from '../../domain/state/transitions.ts'
import { etagOf } from '../http/etag.ts'
import type { CountedLine } from './batch-state.ts'
import { dateTime, nullableDateTime, nullableText, wholeCount } from './shapes.ts'

export const STEP_KINDS = ['phase', 'init', 'rollback', 'removal', 'undo'] as const

export const held = z
  .strictObject({ at: dateTime, by: z.string(), reason: z.string() })
  .meta({ id: 'Hold', description: 'Nothing new is sent for what is on hold.' })

const changeWindow = z
  .strictObject({
    closedAt: nullableDateTime.meta({ description: 'Since when steps wait for a window.' }),
    opensAt: nullableDateTime.meta({ description: 'Null when none opens within a year.' }),
    override: z
      .strictObject({ until: dateTime, by: z.string(), reason: z.string() })
      .nullable()
      .meta({ description: 'The last one; steps are sent outside the windows until then.' }),
  })
  .meta({
    id: 'BatchChangeWindow',
    description: 'Steps wait for a change window, or it was overridden.',
  })

/** How many people are in each state. */
export const stateCounts = Object.fromEntries(
  PERSON_STATES.map((state) => [state, wholeCount.meta({ description: STATE_MEANS[state] })]),
) as { [S in PersonState]: typeof wholeCount }

export const batch = z
  .strictObject({
    id: z.int(),
    runbookId: z.int(),
    runbookName: z.string(),
    runbookVersion: z.int(),
    batchStartTime: nullableDateTime,
    sourceTime: nullableDateTime.meta({
      description: 'The batch time in the data source; null for manual batches.',
    }),
    status: z.enum(BATCH_STATUSES),
    failedInInit: z.boolean(),
    isManual: z.boolean(),
    createdBy: z.string(),
    currentPhase: nullableText,
    held: held.nullable(),
    changeWindow: changeWindow.nullable(),
    heldMemberCount: wholeCount.meta({ description: 'Members with a hold of their own.' }),
    state: z.enum(PERSON_STATES).meta({
      description: 'Where the wave stands: how far its phases are. Its people are in `members`.',
    }),
    memberCount: wholeCount.meta({ description: 'Active members.' }),
    members: z.strictObject({
      ...stateCounts,
      active: wholeCount.meta({ description: 'Neither failed, rolled back nor removed.' }),
      total: wholeCount,
    }),
    detectedAt: dateTime,
    initDispatchedAt: nullableDateTime,
    activatedAt: nullableDateTime,
    endedAt: nullableDateTime,
  })
  .meta({ id: 'Batch' })

export function shownBatch(line: CountedLine): z.input<typeof batch> {
  const { windowClosedAt, windowOpensAt, windowOverrideUntil, heldAt, membersActive } = line
  const override = windowOverrideUntil && {
    until: windowOverrideUntil,
    by: line.windowOverrideBy!,
    reason: line.windowOverrideReason!,
  }
  return {
    id: line.id,
    runbookId: line.runbookId,
    runbookName: line.runbookName,
    runbookVersion: line.runbookVersion,
    batchStartTime: line.batchStartTime,
    sourceTime: line.sourceTime,
    status: line.status,
    failedInInit: line.failedInInit,
    isManual: line.isManual,
    createdBy: line.createdBy,
    currentPhase: line.currentPhase,
    held: heldAt && { at: heldAt, by: line.heldBy!, reason: line.heldReason! },
    changeWindow:
      windowClosedAt || override
        ? { closedAt: windowClosedAt, opensAt: windowOpensAt, override }
        : null,
    heldMemberCount: line.heldMemberCount,
    state: line.wave.state,
    memberCount: membersActive,
    members: {
      active: membersActive,
      ...line.states,
      total: membersActive + line.membersFailed + line.membersRemoved,
    },
    detectedAt: line.detectedAt,
    initDispatchedAt: line.initDispatchedAt,
    activatedAt: line.activatedAt,
    endedAt: line.endedAt,
  }
}

export const phase = z
  .strictObject({
    id: z.int(),
    phaseName: z.string(),
    offsetMinutes: z.int().meta({ description: 'Minutes before the start; negative after it.' }),
    dueAt: nullableDateTime,
    runbookVersion: z.int(),
    status: z.enum(PHASE_STATUSES),
    skippedBecause: z.enum(['empty', 'overdue']).nullable(),
    dispatchedAt: nullableDateTime,
    completedAt: nullableDateTime,
    steps: z.strictObject(
      Object.fromEntries(STEP_STATUSES.map((status) => [status, wholeCount])) as {
        [S in StepStatus]: typeof wholeCount
      },
    ),
    members: z.strictObject({
      total: wholeCount,
      passed: wholeCount,
      failed: wholeCount,
      stopped: wholeCount.meta({ description: 'Failed in an earlier phase.' }),
      removed: wholeCount,
    }),
    gate: z
      .strictObject({
        approvals: wholeCount,
        survives: wholeCount.meta({
          description: 'How many people may join or leave before an approval is void.',
        }),
        readyPercent: wholeCount.nullable(),
        passedAt: nullableDateTime,
      })
      .nullable()
      .meta({
        description: 'What must be true before it starts; see /api/batches/{batchId}/gates.',
      }),
    ramp: z
      .strictObject({
        percents: z.array(wholeCount),
        share: wholeCount.nullable().meta({ description: 'The share that has started, from 0.' }),
        shares: z.array(
          z
            .strictObject({ percent: wholeCount, state: z.enum(SHARE_STATES) })
            .meta({ description: 'Each includes those before it.' }),
        ),
        soakSec: wholeCount,
        soakEndsAt: nullableDateTime.meta({ description: 'The share has ended.' }),
        maxFailedPercent: wholeCount.meta({
          description: 'If more of the members who have started fail, no further share starts.',
        }),
      })
      .nullable()
      .meta({ description: 'The shares of its members that start one after the other.' }),
    noReturnSteps: z.array(z.string()).meta({
      description: 'Its steps after which nothing that came before can be taken back.',
    }),
    waitsFor: nullableText.meta({
      description:
        'Why nothing of it is sent: a hold, a closed change window, a gate, a soak, or a worker that is unknown or silent. Times in UTC.',
    }),
  })
  .meta({ id: 'Phase' })

/** What its runbook says about a phase. */
export interface PhaseDefinition {
  readonly ramp: Ramp | null
  /** Of the safeguards: for a ramp without a limit of its own. */
  readonly maxFailedPercent: number
  readonly noReturnSteps: readonly string[]
}

export function shownPhase(
  facts: Phase,
  definition: PhaseDefinition,
  waitsFor: string | null,
): z.input<typeof phase> {
  const { id, name, offsetMinutes, dueAt, runbookVersion, status, skippedBecause } = facts
  const { dispatchedAt, completedAt, steps, members, gate, rampPercents } = facts
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
    gate: gate && { ...gate, passedAt: facts.gatePassedAt },
    ramp: rampPercents && {
      percents: [...rampPercents],
      share: facts.rampShare,
      shares: rampShares(facts),
      soakSec: definition.ramp?.soakSec ?? 0,
      soakEndsAt: facts.soakEndsAt,
      maxFailedPercent: definition.ramp?.maxFailedPercent ?? definition.maxFailedPercent,
    },
    noReturnSteps: [...definition.noReturnSteps],
    waitsFor,
  }
}

export const stepTotals = z.strictObject({
  total: wholeCount.meta({ description: 'Steps of the phases that have started.' }),
  open: wholeCount,
  passed: wholeCount,
  failed: wholeCount,
})

export const totalsOf = (phases: readonly Phase[]): z.input<typeof stepTotals> => {
  const sum = (statuses: readonly StepStatus[]) =>
    phases.reduce((total, { steps }) => total + sumSteps(steps, statuses), 0)
  return {
    total: sum(STEP_STATUSES),
    open: sum(OPEN_STEP_STATUSES),
    passed: sum(PASSED_STEP_STATUSES),
    failed: sum(FAILED_STEP_STATUSES),
  }
}

export const throughput = z.strictObject({
  stepsPerMin: z.number().min(0),
  overSec: wholeCount.meta({ description: 'The measured time span.' }),
})

/** What a known error of Microsoft means; null for texts that the table does not have. */
export const errorMeaning = z
  .strictObject({
    id: z.string(),
    means: z.string(),
    actor: z.enum(ERROR_ACTORS).meta({ description: 'Who must act.' }),
    todo: z.string(),
    retry: z.enum(RETRY_ADVICE).meta({ description: 'Whether a retry helps.' }),
  })
  .meta({ id: 'ErrorMeaning', description: 'See docs/reference/microsoft-errors.md.' })

export const step = z
  .strictObject({
    id: z.int(),
    kind: z.enum(STEP_KINDS),
    phaseExecutionId: z.int().nullable(),
    phaseName: nullableText,
    batchMemberId: z.int().nullable(),
    memberKey: nullableText,
    originStepId: z.int().nullable().meta({ description: 'The step that this one rolls back.' }),
    runbookVersion: z.int(),
    stepName: z.string(),
    stepIndex: wholeCount,
    workerId: z.string(),
    functionName: nullableText,
    status: z.enum(STEP_STATUSES),
    attempt: wholeCount,
    retryCount: wholeCount,
    maxRetries: wholeCount,
    retryAfter: nullableDateTime,
    jobId: nullableText,
    isPollStep: z.boolean(),
    pollCount: wholeCount,
    lastPolledAt: nullableDateTime,
    pollSaid: nullableText.meta({
      description:
        'What the last poll said. Polls that say the same are counted; only changes are in attempts and events.',
    }),
    dispatchedAt: nullableDateTime,
    deadlineAt: nullableDateTime,
    completedAt: nullableDateTime,
    errorMessage: nullableText,
    meaning: errorMeaning.nullable(),
    hasLateResult: z.boolean(),
    waitsFor: z.enum(['slot', 'window', 'job', 'retry', 'poll']).nullable(),
    wakeAt: nullableDateTime,
  })
  .meta({ id: 'Step' })

export const shownStep =
  (meaningOf: MeaningOf) =>
  <Line extends { readonly errorMessage: string | null }>(line: Line) => ({
    ...line,
    meaning: meaningOf(line.errorMessage),
  })

/** Status, hold, start, version and override of the batch, and the status of each phase. */
export const batchEtag = (line: BatchLine, phases: readonly Phase[]): string =>
  etagOf(
    line.id,
    line.status,
    line.heldAt,
    line.batchStartTime,
    line.runbookVersion,
    line.windowOverrideUntil,
    ...phases.map(({ id, status }) => `${id} ${status}`),
  )

/** What an operator may do, with the exact command. */
export const action = z
  .strictObject({
    action: z.enum(ACTION_NAMES),
    about: z.string().meta({ description: 'What it does, as a verb phrase.' }),
    command: z
      .string()
      .meta({ description: 'The command, without the program’s name; it asks for a reason.' }),
  })
  .meta({ id: 'Action' })

export const shownActions = (candidates: readonly Candidate[]): z.input<typeof action>[] =>
  candidates.filter(({ refusal }) => refusal === null).map(shownAction)
