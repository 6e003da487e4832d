// The command line as a whole: parses, runs one command, and turns whatever it throws into one sentence and an exit code.
// A command is added by a function that gets the program and an `Io`; each noun has a file, and loads what it needs only when run.
import { Command, CommanderError } from 'commander'
import manifest from '../../package.json' with { type: 'json' }
import { EXIT, MatoolkitError, messageOf } from '../errors.ts'
import { type Io, printable } from './terminal/io.ts'

export type AddCommands = (program: Command, io: Io) => void

/** Subcommands that help, completion and docs/cli.md show: hidden aliases work but are not listed. */
export function visibleCommands(command: Command): Command[] {
  const visible = new Set(command.createHelp().visibleCommands(command))
  return command.commands.filter((subcommand) => visible.has(subcommand))
}

/** Runs the command that the arguments name and returns the exit code. Never throws. */
export async function run(
  args: readonly string[],
  io: Io,
  commands: readonly AddCommands[],
): Promise<number> {
  try {
    await programOf(io, commands).parseAsync(args, { from: 'user' })
    return io.exitCode
  } catch (thrown) {
    if (thrown instanceof CommanderError && thrown.exitCode === 0) return EXIT.ok
    const { message, code, exitCode, more = [] } = asCoded(thrown)
    for (const line of [`matoolkit: ${message} (${code})`, ...more.map((one) => `  ${one}`)]) {
      io.err(printable(line))
    }
    return exitCode
  }
}

function programOf(io: Io, commands: readonly AddCommands[]): Command {
  const program = new Command('matoolkit')
    .description(manifest.description)
    .version(manifest.version)
    .exitOverride()
    .configureOutput({
      writeOut: (text) => io.out(text.trimEnd()),
      writeErr: (text) => io.err(text.trimEnd()),
      // Said once, by `run`, in the shape of every other error.
      outputError: () => undefined,
    })
  for (const add of commands) add(program, io)
  return program
}

/** An error that knows how it is told; `more` are lines under the sentence. */
interface Told {
  readonly message: string
  readonly code: string
  readonly exitCode: number
  readonly more?: readonly string[]
}

const isTold = (thrown: unknown): thrown is Told =>
  thrown instanceof Error && 'exitCode' in thrown && !(thrown instanceof CommanderError)

function asCoded(thrown: unknown): Told {
  if (isTold(thrown)) return thrown
  if (!(thrown instanceof CommanderError)) {
    return new MatoolkitError('INTERNAL', { reason: messageOf(thrown) }, { cause: thrown })
  }
  // Commander shows the help of a noun without a verb by itself; it only lacks the sentence.
  const said = thrown.code === 'commander.help' ? 'Name a command.' : sentence(thrown.message)
  return new MatoolkitError('USAGE', { reason: said }, { cause: thrown })
}

/** "error: unknown option '--x'" + "(Did you mean --y?)" as a sentence. */
function sentence(message: string): string {
  const [first = '', ...more] = message.replace(/^error: /, '').split('\n')
  const hint = more.map((line) => ` ${line.replace(/^\((.*)\)$/, '$1')}`).join('')
  const end = first.endsWith('.') ? '' : '.'
  return `${first.charAt(0).toUpperCase()}${first.slice(1)}${end}${hint}`
}
