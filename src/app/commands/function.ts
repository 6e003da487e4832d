// `matoolkit function …`: names and flags. The code is loaded when a command runs.
import type { Command } from 'commander'
import { outputOption } from '../../cli/commands/verb.ts'
import type { Io } from '../../cli/terminal/io.ts'
import type { FunctionFlags } from './function-list.ts'

export function addFunctionCommands(program: Command, io: Io): void {
  const noun = program.command('function').description('inspect worker functions')

  noun
    .command('list')
    .description('list functions, or describe one')
    .argument('[name]', 'name of a function, in any case')
    .option('--folder <path>', 'include custom functions from this folder')
    .addOption(outputOption())
    .addHelpText('after', LIST_HELP)
    .action(async (name: string | undefined, flags: FunctionFlags) => {
      const { listFunctions, showFunction } = await import('./function-list.ts')
      if (name === undefined) await listFunctions(flags, io)
      else await showFunction(name, flags, io)
    })
}

const LIST_HELP = `
Exit code: 0, or 1 when the folder has unusable functions.

Examples:
  $ matoolkit function list
  $ matoolkit function list New-EntraUser
  $ matoolkit function list --folder examples/custom-functions --output csv`
