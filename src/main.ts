// The program. To add a command: write src/cli/<noun>.ts with a function like `addRunbook`, and name it in COMMANDS.
import { addDemo } from './cli/demo-command.ts'
import { addFunction } from './cli/function.ts'
import { processIo } from './cli/io.ts'
import { type AddCommands, run } from './cli/program.ts'
import { addRunbook } from './cli/runbook.ts'
import { addSandbox } from './cli/sandbox.ts'
import { addScheduler } from './cli/scheduler.ts'

const COMMANDS: readonly AddCommands[] = [
  addDemo,
  addFunction,
  addRunbook,
  addSandbox,
  addScheduler,
]

// Not process.exit(): what was written to a pipe would be cut off.
process.exitCode = await run(process.argv.slice(2), processIo(), COMMANDS)
