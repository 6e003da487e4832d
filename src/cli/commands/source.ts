// `matoolkit source …`: the data sources of all runbooks, with their last and next tick.
import type { Command } from 'commander'
import type { ListedRow } from '../../api/client/endpoints.ts'
import { showPages } from '../program/command-context.ts'
import type { Io } from '../terminal/io.ts'
import type { Column } from '../terminal/show.ts'
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

export function addSourceCommands(program: Command, io: Io): void {
  const noun = program.command('source').description('list data sources with their ticks')
  addVerb(noun, io, {
    name: 'list',
    about: 'list data sources with last and next tick',
    options: PAGED,
    examples: ['source list', 'source list --output json'],
    run: (context) =>
      showPages(context, 'GET /api/sources', {
        given: {},
        columns: SOURCES,
        empty: 'No runbook is published.',
      }),
  })
}
