// `matoolkit source list`: the data sources of all runbooks with their last and next tick; or of one, its ticks, or the rows that the last tick
// could not use and the changes it did not make.
import type { Command } from 'commander'
import type { ListedRow } from '../../api/client/endpoints.ts'
import { printable } from '../../base/text/printable.ts'
import {
  type CommandContext,
  type Flags,
  showPages,
  usageError,
} from '../program/command-context.ts'
import type { Io } from '../terminal/io.ts'
import type { Column } from '../terminal/show.ts'
import { tickText } from './tick-text.ts'
import { addVerb, PAGED } from './verb.ts'

const SOURCES: readonly Column<ListedRow<'GET /api/sources'>>[] = [
  ['RUNBOOK', 'runbookName', 'whole'],
  ['TYPE', 'type', 'spare'],
  ['AUTOMATION', ({ isAutomated }) => (isAutomated ? 'on' : 'off')],
  ['LAST TICK', 'lastTick.startedAt'],
  ['OUTCOME', 'lastTick.outcome'],
  ['NEXT TICK', 'nextTickAt'],
  ['ROWS', 'lastTick.rowCount'],
  ['ISSUES', 'issueCount'],
  ['REVIEWS', 'openReviews'],
  ['ERROR', 'lastTick.error'],
]

const ISSUES: readonly Column<ListedRow<'GET /api/runbooks/{name}/issues'>>[] = [
  ['MEMBER', 'memberKey', 'whole'],
  ['COLUMN', 'column'],
  ['BATCH', 'batchId'],
  ['KIND', 'kind', 'spare'],
  ['FOUND', 'foundAt', 'spare'],
  ['ISSUE', 'reason'],
]

const TICKS: readonly Column<ListedRow<'GET /api/runbooks/{name}/ticks'>>[] = [
  ['ID', 'id', 'spare'],
  ['STARTED', 'startedAt'],
  ['BY', 'startedBy', 'spare'],
  ['OUTCOME', 'outcome'],
  ['ROWS', 'rowCount'],
  ['GROUPS', 'groupCount', 'spare'],
  ['WHAT IT DID', ({ counts }) => tickText(counts)],
  ['ERROR', 'error'],
]

async function runList(
  context: CommandContext,
  [name]: readonly string[],
  { issues, ticks }: Flags,
): Promise<void> {
  if (name === undefined && (issues || ticks)) throw usageError('Name the runbook.')
  if (name !== undefined && Boolean(issues) === Boolean(ticks))
    throw usageError(`Say what of "${name}" to list: --ticks or --issues.`)
  if (issues) return listIssues(context, name!)
  if (ticks)
    return showPages(context, 'GET /api/runbooks/{name}/ticks', {
      given: { params: { name: name! } },
      columns: TICKS,
      empty: 'The data source has not been queried yet.',
    })
  await showPages(context, 'GET /api/sources', {
    given: {},
    columns: SOURCES,
    empty: 'No runbook is published.',
  })
}

async function listIssues(context: CommandContext, name: string): Promise<void> {
  const params = { name }
  await showPages(context, 'GET /api/runbooks/{name}/issues', {
    given: { params },
    columns: ISSUES,
    empty: 'The last successful tick found no issues.',
  })
  const given = { params, query: { limit: 1 } }
  const { ticks } = await context.client.call('GET /api/runbooks/{name}/ticks', given)
  const [last] = ticks
  if (!last) context.io.err('warning: the data source has not been queried yet')
  else if (last.outcome === 'failed') {
    context.io.err(printable(`warning: the last tick failed: ${last.error}`))
  }
}

export function addSourceCommands(program: Command, io: Io): void {
  const noun = program.command('source').description('list data sources with their ticks')
  addVerb(noun, io, {
    name: 'list',
    about: 'list data sources; ticks or issues of one',
    args: [['[runbook]', 'name of the runbook, with --ticks or --issues']],
    options: [
      ['--ticks', 'its queries, newest first, and what each changed'],
      ['--issues', 'rows that the last query could not use'],
      ...PAGED,
    ],
    examples: [
      'source list',
      'source list user-migration --ticks --limit 10',
      'source list user-migration --issues --all -o csv',
    ],
    run: runList,
  })
}
