// `matoolkit completion <shell>`: a script that lets a shell complete commands, flags and their values. It is made from the
// program's own table of commands, so it knows what this version knows; while it works no process is started.
import { Argument, Command } from 'commander'
import { type AddCommands, visibleCommands } from '../program.ts'
import type { Io } from '../terminal/io.ts'
import { COMPLETION_SHELLS, type CompletionNode, type Shell } from './completion-shells.ts'

const SHELLS = Object.keys(COMPLETION_SHELLS) as Shell[]

/** `allCommands` loads every noun there is: only this command needs them all. */
export const addCompletionCommands =
  (allCommands: () => Promise<readonly AddCommands[]>): AddCommands =>
  (program, io) => {
    program
      .command('completion')
      .description('let your shell complete what you type')
      .addArgument(new Argument('<shell>', 'your shell').choices(SHELLS))
      .addHelpText('after', HELP)
      .action(async (shell: Shell) => {
        const whole = wholeProgram(program, await allCommands(), io)
        io.out(COMPLETION_SHELLS[shell](completionNodes(whole)))
      })
  }

function wholeProgram(program: Command, commands: readonly AddCommands[], io: Io): Command {
  const whole = new Command(program.name())
  for (const { flags, description } of program.options) whole.option(flags, description)
  for (const add of commands) add(whole, io)
  return whole
}

/** Every command with what may follow it, from the program itself on. */
export function completionNodes(command: Command, path: readonly string[] = []): CompletionNode[] {
  const flags = command.options
    .filter(({ hidden }) => !hidden)
    .map(({ long, short, description, argChoices, required }) => ({
      names: [long, short].filter((name) => typeof name === 'string'),
      about: description,
      takesValue: required,
      values: argChoices ?? [],
    }))
  const help = {
    names: ['--help', '-h'],
    about: 'say how it is used',
    takesValue: false,
    values: [],
  }
  const subcommands = visibleCommands(command)
  const place: CompletionNode = {
    path,
    words: subcommands.map((one) => ({ name: one.name(), about: one.description() })),
    values: command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []),
    flags: [...flags, help],
  }
  return [place, ...subcommands.flatMap((one) => completionNodes(one, [...path, one.name()]))]
}

const HELP = `
For this shell and all later ones:
  bash  echo 'source <(matoolkit completion bash)' >> ~/.bashrc
  zsh   echo 'source <(matoolkit completion zsh)' >> ~/.zshrc     (after compinit)
  fish  matoolkit completion fish > ~/.config/fish/completions/matoolkit.fish

Example:
  $ matoolkit completion bash`
