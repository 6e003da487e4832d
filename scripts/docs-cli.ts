// The generated part of docs/reference/commands.md: every command and flag, from the program's own table of commands.
// `npm run docs` writes it, test/proof/processes/documents.test.ts compares it.

import { Command, type Option } from 'commander'
import { allCommands } from '../src/app/commands/nouns.ts'
import { visibleCommands } from '../src/cli/program/program.ts'
import type { Io } from '../src/cli/terminal/io.ts'
import { M365_STARTER } from '../src/m365/starter.ts'
import type { GeneratedDocument } from './docs.ts'

/** Nothing is run here, so nothing is said. */
const SILENT: Io = {
  out: () => {},
  err: () => {},
  paint: (_, text) => text,
  width: null,
  progress: () => {},
  canAsk: false,
  ask: async () => '',
  zone: 'UTC',
  now: () => new Date(0),
  packagedFunctions: async () => ({ workerId: null, functions: [] }),
  runbookStarter: async () => M365_STARTER,
  exitCode: 0,
}

const program = new Command('matoolkit')
for (const add of await allCommands()) add(program, SILENT)

export const CLI_DOCUMENTS: readonly GeneratedDocument[] = [
  { file: 'docs/reference/commands.md', section: 'commands', render: renderCommands },
  { file: 'docs/reference/commands.md', section: 'flags', render: renderFlags },
]

interface Leaf {
  readonly words: string
  readonly command: Command
}

const leavesOf = (command: Command, words: string): Leaf[] =>
  command.commands.length === 0
    ? [{ words, command }]
    : visibleCommands(command).flatMap((one) => leavesOf(one, `${words} ${one.name()}`))

const nouns = visibleCommands(program).map((noun) => ({
  noun: noun.name(),
  leaves: leavesOf(noun, noun.name()),
}))

const flagsOf = (command: Command): Option[] =>
  command.options.filter(({ hidden, long }) => !hidden && long !== '--help')

/** A flag of this many commands is described once, for all of them. */
const SHARED_BY = 20

const commandsByFlag = Map.groupBy(
  nouns.flatMap(({ leaves }) =>
    leaves.flatMap(({ words, command }) => flagsOf(command).map((flag) => ({ words, flag }))),
  ),
  ({ flag }) => flag.long!,
)
const isShared = ({ long }: Option): boolean => commandsByFlag.get(long!)!.length >= SHARED_BY

/** Flags that select members, and come together. */
const PEOPLE = [
  '--members',
  '--members-file',
  '--failed-phase',
  '--failed-step',
  '--error',
  '--partial',
]

/** One heading per noun, one line per command. */
function renderCommands(): string {
  return nouns
    .map(({ noun, leaves }) => `### ${noun}\n\n${leaves.map(renderCommand).join('\n')}`)
    .join('\n\n')
}

function renderCommand({ words, command }: Leaf): string {
  const taken = command.registeredArguments.map((one) => {
    const name = one.variadic ? `${one.name()}…` : one.name()
    return one.required ? ` <${name}>` : ` [${name}]`
  })
  const own = flagsOf(command).filter((flag) => !isShared(flag))
  const isSelecting = PEOPLE.every((long) => own.some((flag) => flag.long === long))
  const shown = own.filter(({ long }) => !(isSelecting && PEOPLE.includes(long!)))
  const flags = [
    ...(isSelecting ? ['*people*'] : []),
    ...shown.map(({ long }) => `\`${long}\``),
  ].join(' ')
  return `- \`${words}${taken.join('')}\`: ${command.description()}${flags === '' ? '' : `; ${flags}`}`
}

/** What most commands mean by the flag. */
function meaningOf(uses: readonly { flag: Option }[]): string {
  const counts = Map.groupBy(uses, ({ flag }) => flag.description)
  const [[text]] = [...counts].toSorted(([, a], [, b]) => b.length - a.length) as [
    [string, unknown],
  ]
  return text
}

/** The flags that most commands take. The help of a command has its own. */
function renderFlags(): string {
  return [...commandsByFlag.values()]
    .filter(([use]) => isShared(use!.flag))
    .map((uses) => `- \`${uses[0]!.flag.flags}\`: ${meaningOf(uses)}`)
    .toSorted()
    .join('\n')
}
