// `matoolkit source-issues`: rows of a data source that the last tick could not use, and changes it did not make.
import type { Command } from 'commander'
import type { ListedRow } from '../../api/client/endpoints.ts'
import { printable } from '../../base/text/printable.ts'
import { showPages } from '../program/command-context.ts'
import type { Io } from '../terminal/io.ts'
import type { Column } from '../terminal/show.ts'
import { addVerb, PAGED, RUNBOOK_ARG } from './verb.ts'

const ISSUES: readonly Column<ListedRow<'GET /api/runbooks/{name}/issues'>>[] = [
  ['MEMBER', 'memberKey', 'whole'],
  ['COLUMN', 'column'],
  ['BATCH', 'batchId'],
  ['KIND', 'kind', 'spare'],
  ['FOUND', 'foundAt', 'spare'],
  ['ISSUE', 'reason'],
]

export function addSourceIssueCommands(program: Command, io: Io): void {
  addVerb(program, io, {
    name: 'source-issues',
    about: 'list unusable data source rows',
    args: [RUNBOOK_ARG],
    options: PAGED,
    examples: ['source-issues user-migration', 'source-issues user-migration --all -o csv'],
    run: async (context, [name]) => {
      const params = { name: name! }
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
    },
  })
}
