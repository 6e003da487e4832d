// `matoolkit query …`: tries a runbook's query without changing anything.

import type { Command } from 'commander'
import { countText } from '../../base/text/count-text.ts'
import type { Json } from '../../base/text/json.ts'
import { readTextFile } from '../input/files.ts'
import { type CommandContext, pathSegment, sayRest, textFlag } from '../program/command-context.ts'
import type { Io } from '../terminal/io.ts'
import { type Column, type Row, showSection } from '../terminal/show.ts'
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

interface Preview {
  readonly rowCount: number
  readonly columns: readonly { readonly name: string }[]
  readonly sample: readonly Row[]
  readonly warnings: readonly string[]
  readonly batchGroups: readonly Row[]
  readonly groupCount: number
  readonly problems: readonly Row[]
  readonly problemCount: number
  readonly durationMs: number
  readonly nextTick: Readonly<Record<string, unknown>>
}

const SAMPLE_SHOWN = 5

async function runPreview(context: CommandContext, [name]: readonly string[]): Promise<void> {
  const { client, show, io } = context
  const file = textFlag(context.flags, 'file')
  const body = file === undefined ? {} : { yamlContent: await readTextFile(file) }
  const path = `/api/runbooks/${pathSegment(name ?? '')}/query/preview`
  const { body: found } = await client.post<Preview>(path, { body, isRead: true })
  const columns = found.columns.map((column): Column => [column.name, (row) => row[column.name]])
  const limit = 'a preview has no more'
  for (const warning of found.warnings) io.err(`warning: ${warning}`)
  if (show.format !== 'table') {
    const whole = found as unknown as Json
    await show.list({ whole, rows: found.sample, columns, empty: '' })
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

const GROUPS: readonly Column[] = [
  ['START', 'batchTime'],
  ['MEMBERS', 'memberCount'],
]
const PROBLEMS: readonly Column[] = [
  ['MEMBER', 'key', 'whole'],
  ['COLUMN', 'column'],
  ['PROBLEM', 'reason'],
]
const CHANGES: readonly Column[] = [
  ['WHAT', 'what'],
  ['HOW MANY', 'count'],
]

/** A row for each kind of change that occurs. */
function changesIn(nextTick: Preview['nextTick']): Row[] {
  const countOf = (value: unknown): number => {
    if (typeof value === 'number') return value
    if (Array.isArray(value)) return value.length
    return (value as { total?: number }).total ?? 0
  }
  return Object.entries(nextTick)
    .map(([what, value]) => ({ what: wordsOf(what), count: countOf(value) }))
    .filter(({ count }) => count > 0)
}

const wordsOf = (name: string): string =>
  name.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
