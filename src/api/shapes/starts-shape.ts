// What a change starts immediately, in the answers of every change that can start something.
import { z } from 'zod'
import { isDryRunBatch } from '../../db/state/batches.ts'
import type { StartsAtOnce } from '../../domain/plan/starts-at-once.ts'
import { nullableDateTime, nullableText, wholeCount } from './shapes.ts'

export const overduePhases = z
  .array(z.strictObject({ phaseName: z.string(), dueAt: z.date() }))
  .meta({ description: 'Phases that start at once because their new time has passed.' })

export const startsAtOnce = z
  .strictObject({
    phases: z.array(
      z.strictObject({
        batchId: z.int().nullable().meta({ description: 'Null for a batch of a dry run.' }),
        phaseName: z.string().meta({ description: '`init` for init steps that run again.' }),
        dueAt: nullableDateTime,
        isOverdue: z.boolean(),
        people: wholeCount.meta({ description: 'Active members of the batch.' }),
        stepNames: z.array(z.string()),
        waitsFor: z.enum(['init', 'resume']).nullable().meta({
          description: 'What must happen first; null when the phase starts at once.',
        }),
      }),
    ),
    steps: z
      .array(
        z.strictObject({
          batchId: z.int(),
          phaseName: nullableText,
          stepName: z.string(),
          people: wholeCount,
        }),
      )
      .meta({ description: 'Steps that waited for the resume, by name.' }),
  })
  .meta({
    id: 'StartsAtOnce',
    description: 'What the change starts immediately. A dry run gives the same answer.',
  })

export const shownStarts = ({ phases, steps }: StartsAtOnce): z.input<typeof startsAtOnce> => ({
  phases: phases.map((phase) => ({
    ...phase,
    batchId: phase.batchId === null || isDryRunBatch(phase.batchId) ? null : phase.batchId,
    stepNames: [...phase.stepNames],
  })),
  steps: [...steps],
})
