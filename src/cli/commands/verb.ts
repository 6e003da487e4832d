// One API command as data: arguments, flags, examples and the function it runs. Every command gets the shared flags and a
// CommandContext.
import { type Command, InvalidArgumentError, Option } from 'commander'
import { hintFor } from '../../base/text/spelling.ts'
import type { CommandContext, Flags } from '../program/command-context.ts'
import { GLOBAL_FLAGS } from '../program/global-flags.ts'
import type { Io } from '../terminal/io.ts'
import { OUTPUT_FORMATS } from '../terminal/show.ts'

export type RunCommand = (
  context: CommandContext,
  args: readonly string[],
  flags: Flags,
) => Promise<void>

/** How it is typed, and its line in the help. */
export type HelpEntry = readonly [spelling: string, about: string]

export interface Verb {
  readonly name: string
  readonly about: string
  readonly args?: readonly HelpEntry[]
  readonly options?: readonly HelpEntry[]
  /** Flags with a fixed set of values. */
  readonly choices?: readonly (readonly [
    spelling: string,
    about: string,
    choices: readonly string[],
  ])[]
  /** Flags with a list of fixed values, separated by commas; `words` are other names of values, as tables show them. */
  readonly lists?: readonly (readonly [
    ...NonNullable<Verb['choices']>[number],
    words?: Readonly<Record<string, string>>,
  ])[]
  /** The answer is text by nature, in a pipe as on a terminal, unless `--output` is given. */
  readonly isText?: true
  /** Sentences below the list of flags. */
  readonly more?: string
  /** Without the program's name. */
  readonly examples: readonly string[]
  readonly run: RunCommand
  /** Forms that need no API, such as checks of a tenant; null for the others. */
  runAlone?(args: readonly string[], flags: Flags): Promise<void> | null
}

export const BATCH_ARG: HelpEntry = ['<batch-id>', 'id of the batch']
export const MEMBER_ARG: HelpEntry = ['<member>', 'id or key of the member']
export const RUNBOOK_ARG: HelpEntry = ['<runbook>', 'name of the runbook']

export const REASON: HelpEntry = ['--reason <text>', 'reason, kept in the audit and the events']
/** Flags of every command that asks for confirmation. */
export const CHANGE: readonly HelpEntry[] = [REASON, ['-y, --yes', 'skip the confirmation']]
export const DRY_RUN: HelpEntry = ['--dry-run', 'show the effect without changing anything']
/** Flags of every list that may be long. */
export const PAGED: readonly HelpEntry[] = [
  ['--limit <number>', 'maximum number of rows (default: 100 in a table, else all)'],
  ['--all', 'return every row'],
]
export const TIMEOUT: HelpEntry = [
  '--timeout <duration>',
  'maximum wait, such as 90s, 30m or 8h (default: no limit)',
]
export const WAITING: readonly HelpEntry[] = [
  ['--wait', 'wait until running phases end; exit code 1 if one failed'],
  TIMEOUT,
]

export const outputOption = (isText = false, more: readonly string[] = []): Option => {
  const standard = isText ? 'plain text' : 'table on a terminal, else json'
  return new Option(GLOBAL_FLAGS[0][0], `output format (default: ${standard})`).choices([
    ...OUTPUT_FORMATS,
    ...more,
  ])
}

export function addVerb(noun: Command, io: Io, verb: Verb): void {
  const command = noun.command(verb.name).description(verb.about)
  for (const [spelling, about] of verb.args ?? []) command.argument(spelling, about)
  for (const [spelling, about] of verb.options ?? []) command.option(spelling, about)
  for (const [spelling, about, choices] of verb.choices ?? []) {
    command.addOption(new Option(spelling, about).choices([...choices]))
  }
  for (const [spelling, about, values, words] of verb.lists ?? []) {
    const option = new Option(spelling, about).choices([...values])
    command.addOption(option.argParser((text: string) => listedValues(text, values, words)))
  }
  const [, ...others] = GLOBAL_FLAGS
  command.addOption(outputOption(verb.isText))
  for (const [spelling, about] of others) command.option(spelling, about)
  command.addHelpText('after', helpOf(verb)).action(async (...passed: unknown[]) => {
    // Commander passes the arguments, then the flags, then the command.
    const flags = passed.at(-2) as Flags
    const args = passed.slice(0, -2).flat() as (string | undefined)[]
    const alone = verb.runAlone?.(
      args.filter((arg) => arg !== undefined),
      flags,
    )
    if (alone) return alone
    const { openContext } = await import('../program/command-context.ts')
    const kind = { isText: verb.isText ?? false, isChange: isChange(verb) }
    const context = await openContext(flags, io, kind)
    const { chooseZone } = await import('../input/viewer-zone.ts')
    await chooseZone(context, args[batchArgOf(verb)])
    const given = args.filter((arg) => arg !== undefined)
    try {
      await verb.run(context, given, flags)
    } catch (error) {
      const { suggestRunbook } = await import('../input/suggest-runbook.ts')
      await suggestRunbook(error, context.client)
      throw error
    }
  })
}

/** A change takes a reason or a confirmation. The client refuses any other change when it is sent. */
const isChange = ({ options = [] }: Verb): boolean =>
  options.some(([spelling]) => /--(?:reason|yes)\b/.test(spelling))

/** Where the batch's id stands among the arguments; -1 if it does not. */
const batchArgOf = ({ args = [] }: Verb): number =>
  args.findIndex(([, about]) => about === BATCH_ARG[1])

/** The values without blanks. Throws for one that is not allowed, with the one that was probably meant. */
function listedValues(
  text: string,
  values: readonly string[],
  words: Readonly<Record<string, string>> = {},
): string {
  const given = text
    .split(',')
    .map((value) => value.trim())
    .map((value) => (Object.hasOwn(words, value) ? words[value]! : value))
  const wrong = given.find((value) => !values.includes(value))
  if (wrong === undefined) return given.join(',')
  throw new InvalidArgumentError(hintFor(wrong, values, 'There are'))
}

function helpOf({ more, examples }: Verb): string {
  const [title, lines] = [
    examples.length === 1 ? 'Example:' : 'Examples:',
    examples.map((example) => `  $ matoolkit ${example}`),
  ]
  return ['', ...(more ? [more, ''] : []), title, ...lines].join('\n')
}
