// `matoolkit query …` and `matoolkit template …`: where a runbook's members come from, tried before it is used.
import type { Command } from 'commander'
import type { Json } from '../../domain/json.ts'
import { type CommandContext, pathSegment, sayRest, textFlag } from '../command-context.ts'
import { readTextFile, writeNewFile } from '../files.ts'
import { type Io, safeFor, withoutLineEnd } from '../terminal/io.ts'
import { type Column, type Row, showSection } from '../terminal/show.ts'
import { addVerb } from './verb.ts'

export function addQueryCommands(program: Command, io: Io): void {
  const noun = program.command('query').description('try the queries of runbooks')
  addVerb(noun, io, {
    name: 'preview',
    about: 'ask the data source now and show what the next tick would do; nothing is changed',
    args: [['<runbook>', 'the name of the runbook']],
    options: [['--file <yaml>', 'with this text of the runbook instead of the published one']],
    examples: [
      'query preview user-migration',
      'query preview user-migration --file user-migration.yaml',
      'query preview user-migration --output json',
    ],
    run: preview,
  })
}

interface Preview {
  readonly rowCount: number
  readonly columns: readonly { readonly name: string }[]
  readonly sample: readonly Row[]
  readonly batchGroups: readonly Row[]
  readonly groupCount: number
  readonly problems: readonly Row[]
  readonly problemCount: number
  readonly durationMs: number
  readonly nextTick: Readonly<Record<string, unknown>>
}

const SAMPLE_SHOWN = 5

async function preview(context: CommandContext, [name]: readonly string[]): Promise<void> {
  const { client, show } = context
  const file = textFlag(context.flags, 'file')
  const body = file === undefined ? {} : { yamlContent: await readTextFile(file) }
  const path = `/api/runbooks/${pathSegment(name ?? '')}/query/preview`
  const { body: found } = await client.post<Preview>(path, { body })
  const columns = found.columns.map((one): Column => [one.name, (row) => row[one.name]])
  if (show.format !== 'table') {
    const whole = found as unknown as Json
    await show.list({ whole, rows: found.sample, columns, empty: '' })
    sayRest(context, found.sample.length, found.rowCount, 'a preview reads no more')
    return
  }
  const seconds = (found.durationMs / 1_000).toFixed(1)
  show.say(`${found.rowCount} rows in ${seconds} s, ${found.problemCount} with problems.`)
  await showSection(show, 'First rows', found.sample.slice(0, SAMPLE_SHOWN), columns)
  await showSection(show, 'Batches', found.batchGroups, GROUPS)
  sayRest(context, found.batchGroups.length, found.groupCount, 'a preview lists no more')
  await showSection(show, 'Problems', found.problems, PROBLEMS)
  sayRest(context, found.problems.length, found.problemCount, 'a preview lists no more')
  await showSection(show, 'What the next tick would do', doings(found.nextTick), DOINGS)
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
const DOINGS: readonly Column[] = [
  ['WHAT', 'what'],
  ['HOW MANY', 'count'],
]

/** How many of each kind; kinds with none are left out. */
function doings(nextTick: Preview['nextTick']): Row[] {
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

export function addTemplateCommands(program: Command, io: Io): void {
  const noun = program.command('template').description('get templates of member files')
  addVerb(noun, io, {
    name: 'download',
    about: 'write a member file with the columns that the runbook needs, and a sample row',
    args: [['<runbook>', 'the name of the runbook']],
    options: [
      ['--file <path>', 'where to; {runbook}_template.csv unless given, - for the terminal'],
      ['--force', 'replace a file that is there'],
    ],
    examples: ['template download user-migration', 'template download user-migration --file -'],
    run: async ({ client, show, io: own }, [name], flags) => {
      const { text } = await client.get(`/api/runbooks/${pathSegment(name ?? '')}/template`)
      const file = textFlag(flags, 'file') ?? `${name}_template.csv`
      if (file === '-') return own.out(safeFor(own, withoutLineEnd(text)))
      await writeNewFile(file, text, flags.force === true)
      await show.one({ file, columns: text.split('\r\n')[0]! }, [
        ['file', 'file'],
        ['columns', 'columns'],
      ])
    },
  })
}
