// `matoolkit completion <shell>`: prints a script that completes commands, flags and their values. It is generated from the commands
// of this version. Names and ids of runbooks, batches, members and others are asked from the API while completing, briefly and silently.
import { Argument, Command } from 'commander'
import { type AddCommands, visibleCommands } from '../program/program.ts'
import type { Io } from '../terminal/io.ts'
import {
  COMPLETION_SHELLS,
  type CompletionKind,
  type CompletionNode,
  type Shell,
} from './completion-shells.ts'

const SHELLS = Object.keys(COMPLETION_SHELLS) as Shell[]

/** `allCommands` loads every noun; only this command needs them all. */
export const addCompletionCommands =
  (allCommands: () => Promise<readonly AddCommands[]>): AddCommands =>
  (program, io) => {
    program
      .command('completion')
      .description('print a shell completion script')
      .addArgument(new Argument('<shell>', 'name of the shell').choices(SHELLS))
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

/** Flags whose value is a name or id; a flag with several values names them in order. */
const KINDS: Readonly<Record<string, readonly CompletionKind[]>> = {
  '--runbook': ['runbook'],
  '--batch': ['batch'],
  '--worker': ['worker'],
  '--member': ['member'],
  '--phase': ['phase'],
  '--failed-phase': ['phase'],
  '--from-phase': ['phase'],
  '--step': ['step'],
  '--failed-step': ['step'],
  '--from-step': ['step'],
  '--profile': ['profile'],
  '--instance': ['instance'],
}

/** A flag's value by its name, unless what it is called says more: a member of any batch follows its batch. */
function kindOfFlag(long: string, flags: string): readonly CompletionKind[] {
  if (flags.includes('<batch-and-member')) return ['batch', 'member']
  if (flags.includes('<batch-id')) return ['batch']
  return KINDS[long] ?? []
}

/** What an argument names, by its name and, where that is only "id" or "name", by its noun. */
function kindOf([noun]: readonly string[], name: string): CompletionKind[] {
  if (name === 'runbook' || (noun === 'runbook' && name === 'name')) return ['runbook']
  if (name === 'batch-id' || (noun === 'batch' && name === 'id')) return ['batch']
  // The second value of `hold --member 7 …` stands where an argument may.
  if (name === 'member' || (noun === 'hold' && name === 'action')) return ['member']
  if (name === 'profile') return ['profile']
  if (noun === 'worker' && name !== 'format') return ['worker']
  return noun === 'function' && name === 'name' ? ['function'] : []
}

/** The program and every command below it, each with its words, values and flags. */
export function completionNodes(command: Command, path: readonly string[] = []): CompletionNode[] {
  const flags = command.options
    .filter(({ hidden }) => !hidden)
    .map(({ long, short, flags: spelled, description, argChoices, required }) => ({
      names: [long, short].filter((name) => typeof name === 'string'),
      about: description,
      takesValue: required,
      values: argChoices ?? [],
      kinds: kindOfFlag(long ?? '', spelled),
    }))
  const help = {
    names: ['--help', '-h'],
    about: 'display help',
    takesValue: false,
    values: [],
    kinds: [],
  }
  const subcommands = visibleCommands(command)
  const node: CompletionNode = {
    path,
    words: subcommands.map((child) => ({ name: child.name(), about: child.description() })),
    values: command.registeredArguments.flatMap(({ argChoices }) => argChoices ?? []),
    kinds: command.registeredArguments.flatMap((argument) => kindOf(path, argument.name())),
    flags: [...flags, help],
  }
  return [node, ...subcommands.flatMap((child) => completionNodes(child, [...path, child.name()]))]
}

const HELP = `
To complete in every new shell:
  bash  echo 'source <(matoolkit completion bash)' >> ~/.bashrc
  zsh   echo 'source <(matoolkit completion zsh)' >> ~/.zshrc     (after compinit)
  fish  matoolkit completion fish > ~/.config/fish/completions/matoolkit.fish

Example:
  $ matoolkit completion bash`
