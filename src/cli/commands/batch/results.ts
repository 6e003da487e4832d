// The batch after a command that changed it, at once or when its running phases have ended.
import type { CommandContext } from '../../program/command-context.ts'
import { type ShownBatch, showBatch } from './lists.ts'
import { failOnFailedPhase, waitUntilIdle } from './wait.ts'

export async function showResult(context: CommandContext, shown: ShownBatch): Promise<void> {
  await showBatch(context, shown)
  if (shown.isDryRun) context.show.say('Dry run: nothing was changed.')
}

export async function waitAndShow(context: CommandContext, id: string): Promise<void> {
  const page = await waitUntilIdle(context, id)
  await showResult(context, page)
  failOnFailedPhase(context, page)
}
