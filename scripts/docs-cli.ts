// The generated part of docs/cli.md: every command with its help, from the program's own table of commands.
// `npm run docs` writes it, test/proof/processes/documents.test.ts compares it.

import { Command } from 'commander'
import { allCommands } from '../src/app/commands/nouns.ts'
import { visibleCommands } from '../src/cli/program/program.ts'
import type { Io } from '../src/cli/terminal/io.ts'
import { M365_STARTER } from '../src/m365/starter.ts'
import { type GeneratedDocument, markdownTable } from './docs.ts'

const HELP_WIDTH = 100

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

const program = new Command('matoolkit').configureOutput({ getOutHelpWidth: () => HELP_WIDTH })
for (const add of await allCommands()) add(program, SILENT)

export const CLI_DOCUMENTS: readonly GeneratedDocument[] = [
  { file: 'docs/cli.md', section: 'list', render: renderList },
  { file: 'docs/cli.md', section: 'commands', render: renderCommands },
]

interface Leaf {
  readonly words: string
  readonly command: Command
}

const leavesOf = (command: Command, words: string): Leaf[] =>
  command.commands.length === 0
    ? [{ words, command }]
    : visibleCommands(command).flatMap((one) => leavesOf(one, `${words} ${one.name()}`))

const nouns = () =>
  visibleCommands(program).map((noun) => ({ noun, leaves: leavesOf(noun, noun.name()) }))

function renderList(): string {
  const rows = nouns().flatMap(({ leaves }) =>
    leaves.map(({ words, command }) => [`[${words}](#${anchorOf(words)})`, command.description()]),
  )
  return markdownTable(['Command', 'What it does'], rows)
}

const anchorOf = (words: string): string => words.replaceAll(' ', '-')

function renderCommands(): string {
  return nouns()
    .flatMap(({ leaves }) => leaves.map(renderCommand))
    .join('\n\n')
}

function renderCommand({ words, command }: Leaf): string {
  const parts: string[] = []
  command
    .configureOutput({
      writeOut: (text) => void parts.push(text),
      getOutHelpWidth: () => HELP_WIDTH,
    })
    .outputHelp()
  const text = parts.join('').trimEnd().replaceAll(/ +$/gm, '')
  return `### ${words}\n\n\`\`\`text\n${text}\n\`\`\``
}
