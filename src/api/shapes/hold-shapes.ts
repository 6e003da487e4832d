// Shapes of holds in answers: what is held, what stopped, what a resume starts.
import { z } from 'zod'
import { HOLD_SCOPES, type Hold, nameOfHeld, resumeCommand } from '../../domain/state/holds.ts'
import { dateTime, nullableText, wholeCount } from './shapes.ts'

export const holdInForce = z
  .strictObject({
    scope: z.enum(HOLD_SCOPES),
    target: z.string().meta({
      description: 'Empty for the system, else the runbook, or the id of worker, batch or member.',
    }),
    batchId: z.int().nullable().meta({ description: 'Of a held member.' }),
    memberId: z.int().nullable(),
    memberKey: nullableText,
    heldAt: dateTime,
    heldBy: z.string(),
    reason: z.string(),
    name: z.string().meta({ description: 'What is held, in words.' }),
    endsWith: z.string().meta({ description: 'The command that ends the hold.' }),
  })
  .meta({ id: 'HoldInForce' })

export const shownHold = (hold: Hold): z.input<typeof holdInForce> => ({
  ...hold,
  name: nameOfHeld(hold),
  endsWith: resumeCommand(hold),
})

/** What a hold stopped. */
export const stoppedJobs = {
  withdrawnJobs: wholeCount.meta({ description: 'Jobs that no worker had taken.' }),
  runningJobs: wholeCount.meta({
    description: 'Jobs that workers have taken: they finish, and their results are recorded.',
  }),
}

export const resumeStarts = z
  .strictObject({
    batches: wholeCount,
    phases: wholeCount.meta({ description: 'Phases whose time has come.' }),
    steps: wholeCount.meta({ description: 'Steps, retries and polls that are ready.' }),
  })
  .meta({ id: 'ResumeStarts', description: 'What starts at once.' })
