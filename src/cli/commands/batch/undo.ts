// `batch undo --init`: takes back what init changed. `member show --effects`: what was changed for a member, with the inverse of each change.
import type { Answer } from '../../../api/client/endpoints.ts'
import { countText } from '../../../base/text/count-text.ts'
import type { CommandContext, Flags } from '../../program/command-context.ts'
import { textFlag, usageError } from '../../program/command-context.ts'
import { askReason, confirm } from '../../terminal/prompt.ts'
import type { Column } from '../../terminal/show.ts'
import { namedBatch, namedMember } from './named.ts'
import { isSelecting } from './select-people.ts'

type Effect = Answer<'POST /api/batches/{batchId}/undo-init'>['items'][number]

const EFFECTS: readonly Column<Effect>[] = [
  ['AT', 'at'],
  ['STEP', 'step'],
  ['TARGET', 'target'],
  ['BEFORE', ({ before }) => (before === null ? null : JSON.stringify(before))],
  ['UNDO', ({ undo }) => undo?.functionName],
  ['STATE', ({ state }) => state.replaceAll('_', ' ')],
  ['NOTE', ({ undoError, note }) => undoError ?? note],
]

export async function runShowEffects(
  context: CommandContext,
  [id, member]: readonly string[],
): Promise<void> {
  const params = await namedMember(context, id, member)
  const endpoint = 'GET /api/batches/{batchId}/members/{memberId}/effects'
  const whole = await context.client.call(endpoint, { params })
  const empty = 'No job has changed anything for this member.'
  await context.show.list({ whole, rows: whole.items, columns: EFFECTS, empty })
}

export async function runUndoInit(
  context: CommandContext,
  [id, ...people]: readonly string[],
  flags: Flags,
): Promise<void> {
  if (people.length > 0 || isSelecting(flags))
    throw usageError('--init is about the batch: name no members.')
  const { client, show } = context
  const params = namedBatch(id)
  const endpoint = 'POST /api/batches/{batchId}/undo-init'
  const reason = textFlag(flags, 'reason') ?? (flags.dryRun ? 'dry run' : await askReason(context))
  const request = { reason, pastNoReturn: flags.pastNoReturn === true }
  const tried = await client.call(endpoint, { params, body: { ...request, dryRun: true } })
  const { items: rows } = tried
  await show.list({ whole: tried, rows, columns: EFFECTS, empty: 'Nothing to undo.' })
  if (flags.dryRun) return show.say('Dry run: nothing was changed.')
  const due = rows.filter(({ state }) => state === 'to_undo').length
  const what = `${countText(due, 'change')} of init of batch ${id} will be taken back.`
  await confirm(context, { what, members: due })
  await client.call(endpoint, { params, body: request })
  show.say(`The undo of init has begun: matoolkit batch steps ${id} --kind undo`)
}
