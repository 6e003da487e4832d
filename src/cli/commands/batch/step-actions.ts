// `matoolkit batch retry`, `skip` and `accept-late`: decisions about one step, or by flags about members or init. The person confirms the
// step as it was read, and the request carries its etag.
import type { Answer } from '../../../api/client/endpoints.ts'
import {
  type CommandContext,
  type Flags,
  idOf,
  textFlag,
  usageError,
} from '../../program/command-context.ts'
import { askReason, confirm } from '../../terminal/prompt.ts'
import { type Column, DRY_RUN_FIELD } from '../../terminal/show.ts'
import type { RunCommand } from '../verb.ts'
import { statusIn } from '../words.ts'
import { runRestart } from './actions.ts'
import { runMarkMembersDone, runRedo, runRetry, runSkipMembers } from './member-actions.ts'
import { namedBatch } from './named.ts'
import { outputsFrom } from './outputs.ts'
import { isSelecting } from './select-people.ts'

const STEP_FIELDS: readonly Column<Answer<'POST /api/steps/{stepId}'>>[] = [
  ['step', 'step.id'],
  ['batch', 'step.batchId'],
  ['member', 'step.memberKey'],
  ['phase', 'step.phaseName'],
  ['name', 'step.stepName'],
  ['status', statusIn('step', 'step.status')],
  DRY_RUN_FIELD,
]

const CONSEQUENCES = {
  retry: 'it runs again',
  skip: 'it is skipped, and its member continues',
  done: 'it counts as done by hand, and its member continues',
  'accept-late': 'its late success becomes its result',
} as const

/** With the id of a batch, only a step of that batch. */
export const stepAction =
  (verb: keyof typeof CONSEQUENCES, batchId?: number) =>
  async (context: CommandContext, [stepId]: readonly string[], flags: Flags): Promise<void> => {
    const { client, show } = context
    const params = { stepId: idOf('step', stepId) }
    const { answer: seen, etag } = await client.tagged('GET /api/steps/{stepId}', { params })
    const { stepName, memberKey, status } = seen.step
    if (batchId !== undefined && seen.step.batchId !== batchId)
      throw usageError(`Step ${stepId} belongs to batch ${seen.step.batchId}, not to ${batchId}.`)
    const what = `Step "${stepName}" of ${memberKey ?? 'the batch'}, ${status}: ${CONSEQUENCES[verb]}.`
    if (!flags.dryRun) await confirm(context, { what, members: 1 })
    const body = {
      decision: verb,
      reason: await askReason(context),
      dryRun: flags.dryRun === true,
      ...(verb === 'done' && { outputs: outputsFrom(flags) }),
    }
    const endpoint = 'POST /api/steps/{stepId}'
    const done = await client.call(endpoint, { params, body }, { ifMatch: etag })
    await show.one(done, STEP_FIELDS)
  }

/** Members, one step, or init: one of them. */
export const runAnyRetry: RunCommand = (context, args, flags) => {
  const stepId = textFlag(flags, 'stepId')
  const given = [stepId !== undefined, flags.init === true, isSelecting(flags)]
  if (given.filter(Boolean).length > 1)
    throw usageError('Use either flags that select members, or --step-id, or --init.')
  if (flags.init) return runRestart(context, args, flags)
  if (stepId === undefined) return (flags.again ? runRedo : runRetry)(context, args, flags)
  return stepAction('retry', namedBatch(args[0]).batchId)(context, [stepId], flags)
}

/** A step by its id, or with flags that select members a step of each of them in a batch. */
export const runSkip: RunCommand = (context, args, flags) => {
  if (flags.outputs !== undefined && !flags.done)
    throw usageError('Only a step that was done has outputs: use --done with --outputs.')
  if (!isSelecting(flags)) return stepAction(flags.done ? 'done' : 'skip')(context, args, flags)
  return (flags.done ? runMarkMembersDone : runSkipMembers)(context, args, flags)
}
