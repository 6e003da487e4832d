// Messages to members as the API shows them: a line for each, and the steps of a batch that send them.

import { z } from 'zod'
import type { MessageBatch, MessageLine, MessageStep } from '../../db/views/member-messages.ts'
import { MESSAGE_STATES } from '../../domain/member-messages/message-state.ts'
import { phaseNamed } from '../../domain/runbook/steps.ts'
import { isBatchEnded, type PhaseStatus, STEP_STATUSES } from '../../domain/state/transitions.ts'
import type { Engine } from '../../engine/transactions/engine.ts'
import type { BatchState } from './batch-state.ts'
import { nullableDateTime, nullableText } from './shapes.ts'

export const languageText = z
  .string()
  .regex(/^[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*$/, 'must be a language, such as de or pt-BR')

export const messageLine = z
  .strictObject({
    memberId: z.int(),
    memberKey: z.string(),
    state: z.enum(MESSAGE_STATES).meta({
      description:
        '`correction_owed`: the person was told a start time that is no longer true, and the correction is not sent yet.',
    }),
    message: z.string(),
    language: nullableText.meta({ description: 'Null before the message is made.' }),
    to: nullableText.meta({ description: 'The address it went to.' }),
    sentAt: nullableDateTime.meta({ description: 'When the worker reported it as sent.' }),
    startTime: nullableDateTime.meta({ description: 'The start of the batch when it was sent.' }),
    correctsTime: nullableDateTime.meta({
      description: 'The message is a correction of this start time.',
    }),
    correctedAt: nullableDateTime.meta({ description: 'When a correction of it was sent.' }),
    sentInBatchId: z
      .int()
      .nullable()
      .meta({ description: 'The batch that the member has moved from since.' }),
    phaseName: nullableText,
    stepName: nullableText,
    stepId: z.int().nullable(),
    stepStatus: z
      .enum(STEP_STATUSES)
      .nullable()
      .meta({ description: 'Of the step that sends it; null before its phase has begun.' }),
    jobId: nullableText,
    error: nullableText,
  })
  .meta({ id: 'MemberMessage', description: 'A message to a member: sent, failed or to come.' })

export function shownMessage({
  id,
  keyFolded,
  place,
  recipient: to,
  fromBatchId: sentInBatchId,
  ...line
}: MessageLine): z.input<typeof messageLine> {
  return { ...line, to, sentInBatchId }
}

/** Nobody is owed a correction in a batch that has ended, or that people start. */
export const messageBatchOf = ({ line }: BatchState): MessageBatch => {
  const { id, isManual, status, batchStartTime } = line
  return { id, correctTo: isManual || isBatchEnded(status) ? null : batchStartTime }
}

/** The steps of the batch's phases that send a message, in the version that each phase runs. */
export async function messageSteps(
  engine: Engine,
  { line, phases }: BatchState,
): Promise<(MessageStep & { readonly dueAt: Date | null; readonly phaseStatus: PhaseStatus })[]> {
  const found = []
  for (const { name: phaseName, status: phaseStatus, dueAt, runbookVersion } of phases) {
    if (phaseStatus === 'superseded') continue
    const runbook = await engine.runbooks.get(engine.db, line.runbookName, runbookVersion)
    const phase = phaseNamed(runbook, phaseName)
    for (const { name: stepName, notify } of phase?.steps ?? []) {
      if (!notify) continue
      const message = runbook.messages!.templates.get(notify.message)!.name
      found.push({ phaseName, stepName, message, dueAt, phaseStatus })
    }
  }
  return found
}
