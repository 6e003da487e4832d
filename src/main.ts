// The program: says who it is, loads the command that is asked for, and ends with its exit code. src/cli/nouns.ts names them all.
import { processIo } from './cli/io.ts'
import { commandsFor } from './cli/nouns.ts'
import { run } from './cli/program.ts'

const args = process.argv.slice(2)
// Not process.exit(): what was written to a pipe would be cut off.
process.exitCode = await run(args, processIo(), await commandsFor(args))
