// One command of a client: its arguments, flags and examples as data, and what it does with them. Every one of them gets the
// flags that all share, and a Call: the API, a way to show answers, a way to ask.
import { type Command, Option } from 'commander'
import type { CommandContext, Flags } from '../command-context.ts'
import type { Io } from '../terminal/io.ts'
import { OUTPUT_FORMATS } from '../terminal/show.ts'

export type RunCommand = (
  context: CommandContext,
  args: readonly string[],
  flags: Flags,
) => Promise<void>

export interface Verb {
  readonly name: string
  readonly about: string
  readonly args?: readonly (readonly [spelled: string, about: string])[]
  readonly options?: readonly (readonly [spelled: string, about: string])[]
  /** Flags that only some values fit. */
  readonly choices?: readonly (readonly [
    spelled: string,
    about: string,
    choices: readonly string[],
  ])[]
  /** What it answers is a text by nature, in a pipe as on a terminal, unless `--output` asks for something else. */
  readonly isText?: true
  /** Sentences under the list of flags. */
  readonly more?: string
  /** The command that replaces this one: it still works, hidden from help, and says so on stderr. */
  readonly replacedBy?: string
  /** Without the program's name. */
  readonly examples: readonly string[]
  readonly run: RunCommand
}

/** Flags of what changes something. */
export const CHANGE: readonly (readonly [string, string])[] = [
  ['--reason <text>', 'why; kept in the audit and shown in the events'],
  ['-y, --yes', 'do not ask'],
]
export const DRY_RUN = ['--dry-run', 'say what it would do, and do nothing'] as const
/** Flags of a list that may be long. */
export const PAGED: readonly (readonly [string, string])[] = [
  ['--limit <number>', 'how many at most; a table has 100 unless given, other formats have all'],
  ['--all', 'all of them'],
]
export const WAITING: readonly (readonly [string, string])[] = [
  ['--wait', 'wait until the batch comes to rest; exit code 1 when a phase has failed'],
  ['--timeout <duration>', 'how long to wait, such as 90s, 30m, 8h; for ever unless given'],
]

export const outputOption = (isText = false): Option => {
  const unless = isText ? 'the text itself' : 'a table on a terminal and json elsewhere,'
  return new Option('-o, --output <format>', `how to answer; ${unless} unless given`).choices([
    ...OUTPUT_FORMATS,
  ])
}

export function addVerb(noun: Command, io: Io, verb: Verb): void {
  const { replacedBy } = verb
  const command = noun
    .command(verb.name, { hidden: replacedBy !== undefined })
    .description(verb.about)
  for (const [spelled, about] of verb.args ?? []) command.argument(spelled, about)
  for (const [spelled, about] of verb.options ?? []) command.option(spelled, about)
  for (const [spelled, about, choices] of verb.choices ?? []) {
    command.addOption(new Option(spelled, about).choices([...choices]))
  }
  command
    .addOption(outputOption(verb.isText))
    .option('--api-url <url>', 'the API to talk to')
    .option('--profile <name>', 'the profile to use; see matoolkit config')
    .option('--debug', 'show every request on stderr, without secrets')
    .addHelpText('after', helpOf(verb))
    .action(async (...given: unknown[]) => {
      // Commander hands over the arguments, then the flags, then itself.
      const flags = given.at(-2) as Flags
      const args = given.slice(0, -2).flat() as (string | undefined)[]
      if (replacedBy !== undefined)
        io.err(`warning: "${noun.name()} ${verb.name}" is now "matoolkit ${replacedBy}".`)
      const { openContext } = await import('../command-context.ts')
      await verb.run(
        openContext(flags, io, verb.isText ? 'text' : 'data'),
        args.filter((arg) => arg !== undefined),
        flags,
      )
    })
}

function helpOf({ more, examples }: Verb): string {
  const [title, lines] = [
    examples.length === 1 ? 'Example:' : 'Examples:',
    examples.map((example) => `  $ matoolkit ${example}`),
  ]
  return ['', ...(more ? [more, ''] : []), title, ...lines].join('\n')
}
