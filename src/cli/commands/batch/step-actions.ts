// `matoolkit batch retry-step`, `skip`, `mark-done` and `accept-late`: decisions about one step. The person confirms the step as it was read,
// and the request carries its etag.
import type { Answer } from '../../../api/client/endpoints.ts'
import { type CommandContext, type Flags, idOf } from '../../program/command-context.ts'
import { askReason, confirm } from '../../terminal/prompt.ts'
import { type Column, DRY_RUN_FIELD } from '../../terminal/show.ts'
import type { RunCommand } from '../verb.ts'
import { statusIn } from '../words.ts'
import { outputsFrom } from './outputs.ts'
import { isSelecting } from './select-people.ts'

const STEP_FIELDS: readonly Column<Answer<'POST /api/steps/{stepId}/retry'>>[] = [
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

export const stepAction =
  (verb: keyof typeof CONSEQUENCES) =>
  async (context: CommandContext, [stepId]: readonly string[], flags: Flags): Promise<void> => {
    const { client, show } = context
    const params = { stepId: idOf('step', stepId) }
    const { answer: seen, etag } = await client.tagged('GET /api/steps/{stepId}', { params })
    const { stepName, memberKey, status } = seen.step
    const what = `Step "${stepName}" of ${memberKey ?? 'the batch'}, ${status}: ${CONSEQUENCES[verb]}.`
    if (!flags.dryRun) await confirm(context, { what, members: 1 })
    const outputs = verb === 'done' ? { outputs: outputsFrom(flags) } : {}
    const body = {
      reason: await askReason(context),
      dryRun: flags.dryRun === true,
      ...outputs,
    }
    const endpoint = `POST /api/steps/{stepId}/${verb}` as const
    const done = await client.call(endpoint, { params, body }, { ifMatch: etag })
    await show.one(done, STEP_FIELDS)
  }

/** A step by its id, or with flags that select members a step of each of them in a batch. */
export const stepOrMembers =
  (verb: keyof typeof CONSEQUENCES, ofMembers: RunCommand): RunCommand =>
  (context, args, flags) =>
    (isSelecting(flags) ? ofMembers : stepAction(verb))(context, args, flags)
