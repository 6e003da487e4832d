// `matoolkit batch reschedule`: says what it would start at once, asks, and only then changes anything. The request carries the etag of
// what the person saw.
import { countText } from '../../../base/text/count-text.ts'
import { readTime } from '../../input/typed-time.ts'
import { type CommandContext, type Flags, textFlag } from '../../program/command-context.ts'
import { askReason, confirm } from '../../terminal/prompt.ts'
import { warnLost, warnStarts } from '../starts.ts'
import { namedBatch } from './named.ts'
import { showResult } from './results.ts'

export async function runReschedule(
  context: CommandContext,
  [id, typed]: readonly string[],
  flags: Flags,
): Promise<void> {
  const { client } = context
  const params = namedBatch(id)
  const seen = await client.tagged('GET /api/batches/{batchId}', { params })
  const { batchStartTime: start, members } = seen.answer.batch
  const startTime = readTime(context, typed!, start ? new Date(start) : undefined)
  const given = { startTime, allowOverdue: flags.allowOverdue === true }
  const endpoint = 'POST /api/batches/{batchId}/reschedule'
  const dry = { ...given, reason: textFlag(flags, 'reason') ?? 'dry run', dryRun: true }
  const tried = await client.call(endpoint, { params, body: dry })
  warnStarts(context, tried.startsAtOnce)
  warnLost(context, tried.approvalsLost)
  if (flags.dryRun) return showResult(context, tried)
  // Without consent the API refuses overdue phases; there is nothing to ask.
  const isRefused = tried.overdue.length > 0 && !given.allowOverdue
  const people = countText(members.active, 'person', 'people')
  const what = `Move batch ${params.batchId} (${people}) from ${start ?? 'no time'} to ${startTime}?`
  const isAsked = tried.approvalsLost.length > 0 || context.io.canAsk
  if (isAsked && !isRefused) await confirm(context, { what, members: members.active })
  const body = { ...given, reason: await askReason(context) }
  const ifMatch = flags.yes ? null : seen.etag
  await showResult(context, await client.call(endpoint, { params, body }, { ifMatch }))
}
