// `matoolkit query …`: tries a runbook's query without changing anything.

import type { Command } from 'commander'
import type { Answer } from '../../api/client/endpoints.ts'
import { countText } from '../../base/text/count-text.ts'
import { readTextFile } from '../input/files.ts'
import { type CommandContext, sayRest, textFlag } from '../program/command-context.ts'
import type { Io } from '../terminal/io.ts'
import { type Column, showSection } from '../terminal/show.ts'
import { addVerb, RUNBOOK_ARG } from './verb.ts'

export function addQueryCommands(program: Command, io: Io): void {
  const noun = program.command('query').description('show the people a data source returns')
  addVerb(noun, io, {
    name: 'preview',
    about: 'show what the next tick would do',
    args: [RUNBOOK_ARG],
    options: [['--file <yaml>', 'runbook file to use instead of the published version']],
    more: 'Runs the query now. Nothing is changed.',
    examples: [
      'query preview user-migration',
      'query preview user-migration --file user-migration.yaml',
      'query preview user-migration --output json',
    ],
    run: runPreview,
  })
}

type Preview = Answer<'POST /api/runbooks/{name}/query/preview'>

const SAMPLE_SHOWN = 5

async function runPreview(context: CommandContext, [name]: readonly string[]): Promise<void> {
  const { client, show, io } = context
  const file = textFlag(context.flags, 'file')
  const body = file === undefined ? {} : { yamlContent: await readTextFile(file) }
  const endpoint = 'POST /api/runbooks/{name}/query/preview'
  const found = await client.call(endpoint, { params: { name: name! }, body })
  const columns = found.columns.map(
    (column): Column<Preview['sample'][number]> => [column.name, (row) => row[column.name]],
  )
  const limit = 'a preview has no more'
  for (const warning of found.warnings) io.err(`warning: ${warning}`)
  if (show.format !== 'table') {
    await show.list({ whole: found, rows: found.sample, columns, empty: '' })
    sayRest(context, found.sample.length, found.rowCount, limit)
    return
  }
  const seconds = (found.durationMs / 1_000).toFixed(1)
  show.say(
    `${countText(found.rowCount, 'row')} in ${seconds} s, ${found.problemCount} with problems.`,
  )
  await showSection(show, 'First rows', found.sample.slice(0, SAMPLE_SHOWN), columns)
  await showSection(show, 'Batches', found.batchGroups, GROUPS)
  sayRest(context, found.batchGroups.length, found.groupCount, limit)
  await showSection(show, 'Problems', found.problems, PROBLEMS)
  sayRest(context, found.problems.length, found.problemCount, limit)
  await showSection(show, 'What the next tick would do', changesIn(found.nextTick), CHANGES)
}

const GROUPS: readonly Column<Preview['batchGroups'][number]>[] = [
  ['START', 'batchTime'],
  ['MEMBERS', 'memberCount'],
]
const PROBLEMS: readonly Column<Preview['problems'][number]>[] = [
  ['MEMBER', 'key', 'whole'],
  ['COLUMN', 'column'],
  ['PROBLEM', 'reason'],
]
interface Change {
  readonly what: string
  readonly count: number
}
const CHANGES: readonly Column<Change>[] = [
  ['WHAT', 'what'],
  ['HOW MANY', 'count'],
]

/** A row for each kind of change that occurs. */
const changesIn = (nextTick: Preview['nextTick']): Change[] =>
  Object.entries(nextTick)
    .map(([what, found]) => ({
      what: wordsOf(what),
      count: countOf(found),
    }))
    .filter(({ count }) => count > 0)

function countOf(found: Preview['nextTick'][keyof Preview['nextTick']]): number {
  if (typeof found === 'number') return found
  return 'total' in found ? found.total : found.length
}

const wordsOf = (name: string): string =>
  name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
