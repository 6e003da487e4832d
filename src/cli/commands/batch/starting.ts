// `matoolkit batch resume` and `reschedule`: both say what they would start at once, ask, and only then change anything. The request
// carries the etag of what the person saw.
import { countText } from '../../../base/text/count-text.ts'
import type { Json } from '../../../base/text/json.ts'
import { readTime } from '../../input/typed-time.ts'
import { type CommandContext, type Flags, textFlag } from '../../program/command-context.ts'
import { askReason, confirm } from '../../terminal/prompt.ts'
import type { Row } from '../../terminal/show.ts'
import { type StartsAnswer, warnStarts } from '../starts.ts'
import { batchPath } from './paths.ts'
import { showResult, waitAndShow } from './results.ts'

interface StartingBatch {
  readonly id: number
  readonly batchStartTime: string | null
  readonly members: { readonly active: number }
}

interface Tried {
  readonly startsAtOnce: StartsAnswer
  readonly overdue?: readonly Row[]
}

/** `batch 2 (29 people)` */
const nameOf = ({ id, members }: StartingBatch): string =>
  `batch ${id} (${countText(members.active, 'person', 'people')})`

interface StartingChange {
  readonly verb: 'resume' | 'reschedule'
  readonly fields: (batch: StartingBatch) => Record<string, Json>
  /** The question, as of the batch before the change. */
  readonly what: (batch: StartingBatch, fields: Record<string, Json>) => string
  readonly isAlwaysAsked: boolean
}

const startingChange =
  ({ verb, fields, what, isAlwaysAsked }: StartingChange) =>
  async (context: CommandContext, [id]: readonly string[], flags: Flags): Promise<void> => {
    const { client, io } = context
    const path = batchPath(id)
    const seen = await client.get<{ batch: StartingBatch }>(path)
    const { batch } = seen.body
    const given = fields(batch)
    const trial = { reason: textFlag(flags, 'reason') ?? 'dry run', ...given, dryRun: true }
    const tried = await client.post<Row & Tried>(`${path}/${verb}`, { body: trial })
    const { startsAtOnce, overdue = [] } = tried.body
    warnStarts(context, startsAtOnce)
    if (flags.dryRun) return showResult(context, tried.body)
    // Without consent the API refuses overdue phases; there is nothing to ask.
    const isRefused = overdue.length > 0 && flags.allowOverdue !== true
    const starts = startsAtOnce.phases.length + startsAtOnce.steps.length
    if (io.canAsk && !isRefused && (isAlwaysAsked || starts > 0))
      await confirm(context, { what: what(batch, given), members: batch.members.active })
    const body: Json = { reason: await askReason(context), ...given }
    const ifMatch = flags.yes ? null : seen.etag
    const done = await client.post<Row>(`${path}/${verb}`, { body, ifMatch })
    if (!flags.wait) return showResult(context, done.body)
    await waitAndShow(context, id!)
  }

export const runResume = startingChange({
  verb: 'resume',
  fields: () => ({}),
  what: (batch) => `Resume ${nameOf(batch)}?`,
  isAlwaysAsked: false,
})

export const runReschedule = (
  context: CommandContext,
  [id, typed]: readonly string[],
  flags: Flags,
): Promise<void> =>
  startingChange({
    verb: 'reschedule',
    fields: ({ batchStartTime }) => ({
      startTime: readTime(context, typed!, batchStartTime ? new Date(batchStartTime) : undefined),
      allowOverdue: flags.allowOverdue === true,
    }),
    what: (batch, { startTime }) =>
      `Move ${nameOf(batch)} from ${batch.batchStartTime ?? 'no time'} to ${String(startTime)}?`,
    isAlwaysAsked: true,
  })(context, [id!], flags)
