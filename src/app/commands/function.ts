// `matoolkit function …`: names and flags. The code is loaded when a command runs.
import { type Command, Option } from 'commander'
import { outputOption } from '../../cli/commands/verb.ts'
import type { Io } from '../../cli/terminal/io.ts'
import type { FunctionFlags } from './function-show.ts'

export function addFunctionCommands(program: Command, io: Io): void {
  const noun = program.command('function').description('inspect worker functions')
  const folder = () => new Option('--folder <path>', 'include custom functions from this folder')

  noun
    .command('list')
    .description('list functions')
    .addOption(folder())
    .addOption(outputOption())
    .addHelpText('after', LIST_HELP)
    .action(async (flags: FunctionFlags) => {
      const { listFunctions } = await import('./function-show.ts')
      await listFunctions(flags, io)
    })

  noun
    .command('show')
    .description('show what a function takes and returns')
    .argument('<name>', 'name of the function, in any case')
    .addOption(folder())
    .addOption(outputOption())
    .addHelpText('after', SHOW_HELP)
    .action(async (name: string, flags: FunctionFlags) => {
      const { showFunction } = await import('./function-show.ts')
      await showFunction(name, flags, io)
    })
}

const LIST_HELP = `
Exit code: 0, or 1 when the folder has unusable functions.

Examples:
  $ matoolkit function list
  $ matoolkit function list --folder examples/custom-functions --output csv`

const SHOW_HELP = `
Example:
  $ matoolkit function show New-EntraUser`
