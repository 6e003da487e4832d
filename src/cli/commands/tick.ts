// `matoolkit automation tick`: a tick now, over the API, with what it did.
import type { Answer } from '../../api/client/endpoints.ts'
import { EXIT } from '../../base/errors/errors.ts'
import { ApiRefusal } from '../connection/api-refusal.ts'
import {
  type CommandContext,
  type Flags,
  textFlag,
  usageError,
} from '../program/command-context.ts'
import type { Column } from '../terminal/show.ts'
import { loadNeeds, sayNeeds } from './needs.ts'
import { tickText } from './tick-text.ts'
import { REASON, type Verb } from './verb.ts'

type Tick = Answer<'POST /api/runbooks/{name}/ticks'>

const REPORTS: readonly Column<Tick>[] = [
  ['RUNBOOK', 'runbookName', 'whole'],
  ['TICK', 'outcome'],
  ['WHAT IT DID', ({ error, counts }) => error ?? (tickText(counts) || 'nothing changed')],
]

const MORE = `A tick queries the data source and applies what changed, as the scheduler does every few minutes. It waits for the result.

Exit code: 0 every tick succeeded, 1 a tick failed, 6 automation is off or another tick is running.`

export const AUTOMATION_TICK: Verb = {
  name: 'tick',
  about: 'query the data source of a runbook now',
  args: [['[runbook]', 'name of the runbook']],
  options: [['--all', 'of every runbook whose automation is on'], REASON],
  more: MORE,
  examples: ['automation tick user-migration', 'automation tick --all'],
  run: async (context, [name], flags) => {
    if ((name === undefined) !== (flags.all === true))
      throw usageError('Name a runbook, or use --all.')
    await runTicks(context, name === undefined ? await automated(context) : [name], flags)
  },
}

async function automated({ client }: CommandContext): Promise<string[]> {
  const names: string[] = []
  for await (const { name, isAutomationEnabled } of client.each('GET /api/runbooks'))
    if (isAutomationEnabled) names.push(name)
  return names
}

/** One after the other. The first refusal is thrown last, so that the results of the other ticks are printed. */
async function runTicks(
  context: CommandContext,
  names: readonly string[],
  flags: Flags,
): Promise<void> {
  const { client, show, io } = context
  const reason = textFlag(flags, 'reason')
  const body = reason === undefined ? {} : { reason }
  const rows: Tick[] = []
  const refusals: ApiRefusal[] = []
  for (const name of names) {
    try {
      rows.push(await client.call('POST /api/runbooks/{name}/ticks', { params: { name }, body }))
    } catch (error) {
      if (!(error instanceof ApiRefusal)) throw error
      refusals.push(error)
    }
  }
  if (rows.some(({ outcome }) => outcome !== 'good')) io.exitCode = EXIT.failed
  if (rows.length > 0 || refusals.length === 0) {
    const empty = 'No runbook has automation on. Turn it on: matoolkit automation enable <runbook>'
    await show.list({ whole: rows, rows, columns: REPORTS, empty })
  }
  if (show.format === 'table') sayNeeds(context, await loadNeeds(context))
  if (refusals[0]) throw refusals[0]
}
