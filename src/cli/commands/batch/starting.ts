// `matoolkit batch resume` and `reschedule`: both say what they would start at once, ask, and only then change anything. The request
// carries the etag of what the person saw.
import type { Answer, RequestOf } from '../../../api/client/endpoints.ts'
import { countText } from '../../../base/text/count-text.ts'
import { givenTo } from '../../connection/client.ts'
import { readTime } from '../../input/typed-time.ts'
import { type CommandContext, type Flags, textFlag } from '../../program/command-context.ts'
import { askReason, confirm } from '../../terminal/prompt.ts'
import { warnLost, warnStarts } from '../starts.ts'
import { namedBatch } from './named.ts'
import { showResult, waitAndShow } from './results.ts'

type Batch = Answer<'GET /api/batches/{batchId}'>['batch']
type Starting = 'POST /api/batches/{batchId}/resume' | 'POST /api/batches/{batchId}/reschedule'
type Fields<E extends Starting> = Omit<NonNullable<RequestOf<E>['body']>, 'reason' | 'dryRun'>

/** `batch 2 (29 people)` */
const nameOf = ({ id, members }: Batch): string =>
  `batch ${id} (${countText(members.active, 'person', 'people')})`

interface StartingChange<E extends Starting> {
  readonly endpoint: E
  readonly fields: (batch: Batch) => Fields<E>
  /** The question, as of the batch before the change. */
  readonly what: (batch: Batch, fields: Fields<E>) => string
  readonly isAlwaysAsked: boolean
}

const startingChange =
  <E extends Starting>({ endpoint, fields, what, isAlwaysAsked }: StartingChange<E>) =>
  async (context: CommandContext, [id]: readonly string[], flags: Flags): Promise<void> => {
    const { client, io } = context
    const params = namedBatch(id)
    const seen = await client.tagged('GET /api/batches/{batchId}', { params })
    const { batch } = seen.answer
    const given = fields(batch)
    const send = (body: object, ifMatch?: string | null): Promise<Answer<Starting>> =>
      client.call(endpoint, givenTo<E>(params, { ...given, ...body }), { ifMatch })
    const tried = await send({ reason: textFlag(flags, 'reason') ?? 'dry run', dryRun: true })
    const { startsAtOnce } = tried
    const overdue = 'overdue' in tried ? tried.overdue : []
    warnStarts(context, startsAtOnce)
    const lost = 'approvalsLost' in tried ? tried.approvalsLost : []
    warnLost(context, lost)
    if (flags.dryRun) return showResult(context, tried)
    // Without consent the API refuses overdue phases; there is nothing to ask.
    const isRefused = overdue.length > 0 && flags.allowOverdue !== true
    const starts = startsAtOnce.phases.length + startsAtOnce.steps.length
    const isAsked = lost.length > 0 || (io.canAsk && (isAlwaysAsked || starts > 0))
    if (isAsked && !isRefused)
      await confirm(context, { what: what(batch, given), members: batch.members.active })
    const done = await send({ reason: await askReason(context) }, flags.yes ? null : seen.etag)
    if (!flags.wait) return showResult(context, done)
    await waitAndShow(context, id!)
  }

export const runResume = startingChange({
  endpoint: 'POST /api/batches/{batchId}/resume',
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
    endpoint: 'POST /api/batches/{batchId}/reschedule',
    fields: ({ batchStartTime }) => ({
      startTime: readTime(context, typed!, batchStartTime ? new Date(batchStartTime) : undefined),
      allowOverdue: flags.allowOverdue === true,
    }),
    what: (batch, { startTime }) =>
      `Move ${nameOf(batch)} from ${batch.batchStartTime ?? 'no time'} to ${startTime}?`,
    isAlwaysAsked: true,
  })(context, [id!], flags)
