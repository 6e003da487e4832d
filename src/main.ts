// The program: says who it is, loads the command that is asked for, and ends with its exit code. src/app/commands/nouns.ts names them all.

import { commandsFor } from './app/commands/nouns.ts'
import { run } from './cli/program.ts'
import { processIo } from './cli/terminal/io.ts'

const args = process.argv.slice(2)
// Not process.exit(): what was written to a pipe would be cut off.
process.exitCode = await run(args, processIo(), await commandsFor(args))
