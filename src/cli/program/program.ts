// The command line: parses the arguments, runs one command, and turns any error into one sentence and an exit code. Each noun has a
// file that adds its commands, and loads their code only when one runs.
import { Command, CommanderError } from 'commander'
import manifest from '../../../package.json' with { type: 'json' }
import { EXIT, MatoolkitError, messageOf } from '../../base/errors/errors.ts'
import { printable } from '../../base/text/printable.ts'
import { type Io, inViewersZone } from '../terminal/io.ts'
import { fromEarlierNames } from './earlier-names.ts'
import { GLOBAL_FLAGS, globalFlagsLast, keepNegativeTimes } from './global-flags.ts'

export type AddCommands = (program: Command, io: Io) => void

/** Subcommands that help, completion and docs/reference/commands.md show: hidden aliases work but are not listed. */
export function visibleCommands(command: Command): Command[] {
  const visible = new Set(command.createHelp().visibleCommands(command))
  return command.commands.filter((subcommand) => visible.has(subcommand))
}

/** Runs the command and returns the exit code. Never throws. */
export async function run(
  args: readonly string[],
  io: Io,
  commands: readonly AddCommands[],
): Promise<number> {
  let current = globalFlagsLast(keepNegativeTimes(args))
  try {
    current = fromEarlierNames(current, (sentence) => io.err(`warning: ${sentence}`))
    await programOf(io, commands).parseAsync(current, { from: 'user' })
    return io.exitCode
  } catch (thrown) {
    if (thrown instanceof CommanderError && thrown.exitCode === 0) return EXIT.ok
    const { message, code, exitCode, more = [] } = reportableError(thrown)
    const { lineOfScript } = await import('../terminal/prompt.ts')
    for (const line of [
      `matoolkit: ${message} (${code})`,
      ...[...more, ...lineOfScript(current, code)].map((detail) => `  ${detail}`),
    ]) {
      io.err(inViewersZone(io, printable(line)))
    }
    return exitCode
  }
}

function programOf(io: Io, commands: readonly AddCommands[]): Command {
  const program = new Command('matoolkit')
    .description(manifest.description)
    .version(manifest.version)
    .exitOverride()
    // Else `runbook get --version 1` would print the program's version.
    .enablePositionalOptions()
    .addHelpText('after', GLOBAL_HELP)
    .configureOutput({
      writeOut: (text) => io.out(text.trimEnd()),
      writeErr: (text) => io.err(text.trimEnd()),
      // `run` prints it, in the shape of every other error.
      outputError: () => undefined,
    })
  for (const add of commands) add(program, io)
  // "help" joins the last group instead of one of its own.
  const last = program.commands.at(-1)?.helpGroup()
  if (last) program.commandsGroup(last).helpCommand(true)
  return program
}

const GLOBAL_HELP = `
Before or after any command that uses the API:
${GLOBAL_FLAGS.map(([flag, about]) => `  ${flag.padEnd(22)} ${about}`).join('\n')}

Start here: docs/tutorial.md. Every command: docs/reference/commands.md, or matoolkit <command> --help.`

/** An error with a code and an exit code; `more` holds lines below its sentence. */
interface ReportableError {
  readonly message: string
  readonly code: string
  readonly exitCode: number
  readonly more?: readonly string[]
}

const isReportable = (thrown: unknown): thrown is ReportableError =>
  thrown instanceof Error && 'exitCode' in thrown && !(thrown instanceof CommanderError)

function reportableError(thrown: unknown): ReportableError {
  if (isReportable(thrown)) return thrown
  if (!(thrown instanceof CommanderError)) {
    return new MatoolkitError('INTERNAL', { reason: messageOf(thrown) }, { cause: thrown })
  }
  // For a noun without a verb, commander prints the help; only the sentence is missing.
  const reason = thrown.code === 'commander.help' ? 'Name a command.' : sentence(thrown.message)
  return new MatoolkitError('USAGE', { reason }, { cause: thrown })
}

/** "error: unknown option '--x'" + "(Did you mean --y?)" as a sentence. */
function sentence(message: string): string {
  const [first = '', ...more] = message.replace(/^error: /, '').split('\n')
  const hint = more.map((line) => ` ${line.replace(/^\((.*)\)$/, '$1')}`).join('')
  const end = first.endsWith('.') ? '' : '.'
  return `${first.charAt(0).toUpperCase()}${first.slice(1)}${end}${hint}`
}
