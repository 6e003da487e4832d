// `matoolkit function …`: what the commands are called and take. What they do is loaded when one is run.
import { type Command, Option } from 'commander'
import { outputOption } from '../../cli/commands/verb.ts'
import type { Io } from '../../cli/terminal/io.ts'
import type { FunctionFlags } from './function-show.ts'

export function addFunctionCommands(program: Command, io: Io): void {
  const noun = program.command('function').description('see what workers can do')
  const folder = () =>
    new Option('--folder <path>', 'with the functions of your own in this folder')

  noun
    .command('list')
    .description('name every function')
    .addOption(folder())
    .addOption(outputOption())
    .addHelpText('after', LIST_HELP)
    .action(async (flags: FunctionFlags) => {
      const { listFunctions } = await import('./function-show.ts')
      await listFunctions(flags, io)
    })

  noun
    .command('show')
    .description('say what a function takes, gives and needs')
    .argument('<name>', 'the function, in any case')
    .addOption(folder())
    .addOption(outputOption())
    .addHelpText('after', SHOW_HELP)
    .action(async (name: string, flags: FunctionFlags) => {
      const { showFunction } = await import('./function-show.ts')
      await showFunction(name, flags, io)
    })
}

const LIST_HELP = `
Exit code: 0, or 1 when something in the folder cannot be used.

Examples:
  $ matoolkit function list
  $ matoolkit function list --folder examples/custom-functions --output csv`

const SHOW_HELP = `
Example:
  $ matoolkit function show New-EntraUser`
