// `matoolkit batch skip`, `mark-done` and `accept-late`: decisions about one step. The person confirms the step as it was read,
// and the request carries its etag.
import type { Json } from '../../../domain/json.ts'
import {
  type CommandContext,
  type Flags,
  idOf,
  textFlag,
  usageError,
} from '../../command-context.ts'
import { askReason, confirm } from '../../terminal/prompt.ts'
import { type Column, DRY_RUN_FIELD, type Row } from '../../terminal/show.ts'

const STEP_FIELDS: readonly Column[] = [
  ['step', 'step.id'],
  ['batch', 'step.batchId'],
  ['member', 'step.memberKey'],
  ['phase', 'step.phaseName'],
  ['name', 'step.stepName'],
  ['status', 'step.status'],
  DRY_RUN_FIELD,
]

const CONSEQUENCES = {
  skip: 'it is skipped, and its member continues with the next step',
  done: 'it counts as done by hand, and its member continues with the next step',
  'accept-late': 'its late success becomes its result',
} as const

export const stepAction =
  (verb: keyof typeof CONSEQUENCES) =>
  async (context: CommandContext, [stepId]: readonly string[], flags: Flags): Promise<void> => {
    const path = `/api/steps/${idOf('step', stepId)}`
    const { body: seen, etag } = await context.client.get<Row>(path)
    const { stepName, memberKey, status } = seen.step as Row
    const what = `Step "${String(stepName)}" of ${String(memberKey ?? 'the batch')}, ${String(status)}: ${CONSEQUENCES[verb]}.`
    if (!flags.dryRun) await confirm(context, { what, members: 1 })
    const outputs = verb === 'done' ? { outputs: outputsFrom(flags) } : {}
    const body: Json = {
      reason: await askReason(context),
      dryRun: flags.dryRun === true,
      ...outputs,
    }
    const done = await context.client.post(`${path}/${verb}`, { body, ifMatch: etag })
    await context.show.one(done.body, STEP_FIELDS)
  }

/** `--outputs name=value,…`: the outputs of a step that was done by hand. */
function outputsFrom(flags: Flags): Record<string, Json> {
  const text = textFlag(flags, 'outputs')
  if (text === undefined) return {}
  const pairs = text.split(',').map((pair) => /^([^=]+)=(.*)$/s.exec(pair))
  if (pairs.includes(null)) {
    throw usageError(
      `--outputs is "${text}", but must be a list such as UserId=4711,Mail=ada@contoso.com.`,
    )
  }
  return Object.fromEntries(pairs.map((pair) => [pair![1]!, pair![2]!]))
}
