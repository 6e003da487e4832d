// `matoolkit source-issues`: rows of a data source that the last tick could not use, and changes it did not make.
import type { Command } from 'commander'
import { printable } from '../../base/text/printable.ts'
import { pathSegment, showPages } from '../program/command-context.ts'
import type { Io } from '../terminal/io.ts'
import type { Column, Row } from '../terminal/show.ts'
import { addVerb, PAGED, RUNBOOK_ARG } from './verb.ts'

const ISSUES: readonly Column[] = [
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
      const path = `/api/runbooks/${pathSegment(name!)}`
      await showPages(context, {
        path: `${path}/issues`,
        rows: 'issues',
        columns: ISSUES,
        empty: 'The last successful tick found no issues.',
      })
      const { body } = await context.client.get<{ ticks: Row[] }>(`${path}/ticks`, { limit: 1 })
      const [last] = body.ticks
      if (!last) context.io.err('warning: the data source has not been queried yet')
      else if (last.outcome === 'failed') {
        context.io.err(printable(`warning: the last tick failed: ${String(last.error)}`))
      }
    },
  })
}
