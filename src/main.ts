// The program: loads and runs one command and ends with its exit code. src/app/commands/nouns.ts lists the commands.

import { commandsFor } from './app/commands/nouns.ts'
import { endOnCrash } from './app/roles/crash.ts'
import { proxyFromEnvironment } from './base/run/proxy.ts'
import { run } from './cli/program/program.ts'
import { processIo } from './cli/terminal/io.ts'

// For every file from here on, those of libraries too.
process.umask(0o077)
const args = process.argv.slice(2)
const io = processIo({
  packagedFunctions: async () => (await import('./m365/catalogue.ts')).M365_CATALOGUE,
  runbookStarter: async () => (await import('./m365/starter.ts')).M365_STARTER,
})
endOnCrash(io)
const proxy = proxyFromEnvironment()
// For fetch and the libraries; calls of functions have agents of their own.
if (proxy) (await import('node:http')).setGlobalProxyFromEnv(proxy)
// Not process.exit(): it would cut off output to a pipe.
process.exitCode = await run(args, io, await commandsFor(args))
