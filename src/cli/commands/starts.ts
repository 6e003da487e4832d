// What a change would start at once, as lines: before the question, and in a dry run.

import type { Answer } from '../../api/client/endpoints.ts'
import { printable } from '../../base/text/printable.ts'
import { type LostApproval, lostApprovalTexts } from '../../domain/plan/lost-approvals.ts'
import { type StartsAtOnce, startTexts } from '../../domain/plan/starts-at-once.ts'
import type { CommandContext } from '../program/command-context.ts'
import { inViewersZone } from '../terminal/io.ts'

export type StartsAnswer = Answer<'POST /api/holds/resume'>['startsAtOnce']

/** Times stay instants; what shows the lines puts them into the viewer's zone. */
export const startLines = ({ phases, steps }: StartsAnswer): string[] =>
  startTexts(
    {
      phases: phases.map((phase) => ({ ...phase, dueAt: phase.dueAt && new Date(phase.dueAt) })),
      steps,
    } as StartsAtOnce,
    (at) => at.toISOString(),
  )

/** Approvals that the change makes void, for the same place. */
export function warnLost(
  { io }: CommandContext,
  lost: readonly LostApproval[],
  isDone = false,
): void {
  for (const line of lostApprovalTexts(lost, isDone)) io.err(printable(`warning: ${line}`))
}

/** On stderr, so that stdout stays parseable. */
export function warnStarts({ io }: CommandContext, starts: StartsAnswer): void {
  for (const line of startLines(starts)) io.err(inViewersZone(io, printable(`warning: ${line}`)))
}
