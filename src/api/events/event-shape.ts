// The shape of an event in answers and in the live stream.
import { z } from 'zod'
import { dateTime, nullableText } from '../shapes/shapes.ts'

export const ENTITIES = ['system', 'runbook', 'batch', 'phase', 'member', 'step', 'worker'] as const

export const event = z
  .strictObject({
    id: z.int(),
    at: dateTime,
    batchId: z.int().nullable(),
    entity: z.enum(ENTITIES),
    event: z.string(),
    fromStatus: nullableText,
    toStatus: nullableText,
    memberId: z.int().nullable(),
    memberKey: nullableText,
    phaseName: nullableText,
    stepId: z.int().nullable(),
    stepName: nullableText,
    attempt: z.int().nullable(),
    jobId: nullableText,
    actor: z.string(),
    because: z.string(),
  })
  .meta({ id: 'Event' })
