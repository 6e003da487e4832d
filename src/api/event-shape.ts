// How an event looks in answers and in the live stream.
import { z } from 'zod'
import { maybeText, time } from './shapes.ts'

export const THINGS = ['runbook', 'batch', 'phase', 'member', 'step', 'worker'] as const

export const event = z
  .strictObject({
    id: z.int(),
    at: time,
    batchId: z.int().nullable(),
    thing: z.enum(THINGS),
    event: z.string(),
    fromStatus: maybeText,
    toStatus: maybeText,
    memberId: z.int().nullable(),
    memberKey: maybeText,
    phaseName: maybeText,
    stepId: z.int().nullable(),
    stepName: maybeText,
    attempt: z.int().nullable(),
    jobId: maybeText,
    actor: z.string(),
    because: z.string(),
  })
  .meta({ id: 'Event' })
