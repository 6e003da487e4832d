// `batch undo-init`: takes back what init changed. `member effects`: what was changed for a member, with the inverse of each change.
import { countText } from '../../../base/text/count-text.ts'
import type { Json } from '../../../base/text/json.ts'
import type { CommandContext, Flags } from '../../program/command-context.ts'
import { textFlag } from '../../program/command-context.ts'
import { askReason, confirm } from '../../terminal/prompt.ts'
import { type Column, type Row, rowsIn } from '../../terminal/show.ts'
import { batchPath, memberPath } from './paths.ts'

const EFFECTS: readonly Column[] = [
  ['AT', 'at'],
  ['STEP', 'step'],
  ['TARGET', 'target'],
  ['BEFORE', ({ before }) => (before === null ? null : JSON.stringify(before))],
  ['UNDO', ({ undo }) => (undo as Row | null)?.functionName ?? null],
  ['STATE', ({ state }) => String(state).replaceAll('_', ' ')],
  ['NOTE', ({ undoError, note }) => undoError ?? note],
]

export async function runShowEffects(
  context: CommandContext,
  [id, member]: readonly string[],
): Promise<void> {
  const { body } = await context.client.get<Row>(`${await memberPath(context, id, member)}/effects`)
  const empty = 'No job has changed anything for this member.'
  const rows = rowsIn(body, 'items')
  await context.show.list({ whole: body as Json, rows, columns: EFFECTS, empty })
}

export async function runUndoInit(
  context: CommandContext,
  [id]: readonly string[],
  flags: Flags,
): Promise<void> {
  const { client, show } = context
  const path = `${batchPath(id)}/undo-init`
  const reason = textFlag(flags, 'reason') ?? (flags.dryRun ? 'dry run' : await askReason(context))
  const request = { reason, pastNoReturn: flags.pastNoReturn === true }
  const tried = await client.post<Row>(path, { body: { ...request, dryRun: true } })
  const rows = rowsIn(tried.body, 'items')
  await show.list({ whole: tried.body as Json, rows, columns: EFFECTS, empty: 'Nothing to undo.' })
  if (flags.dryRun) return show.say('Dry run: nothing was changed.')
  const due = rows.filter(({ state }) => state === 'to_undo').length
  const what = `${countText(due, 'change')} of init of batch ${id} will be taken back.`
  await confirm(context, { what, members: due })
  await client.post<Row>(path, { body: request })
  show.say(`The undo of init has begun: matoolkit batch steps ${id} --kind undo`)
}
