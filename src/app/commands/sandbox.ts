// `matoolkit sandbox`: name and flags. The code is loaded when it runs.
import { once } from 'node:events'
import { type Command, InvalidArgumentError } from 'commander'
import { interruptible } from '../../cli/terminal/interrupt.ts'
import type { Io } from '../../cli/terminal/io.ts'
import type { SandboxFlags } from '../sandbox/sandbox.ts'

const PORT_DEFAULT = 4365

export function addSandboxCommands(program: Command, io: Io): void {
  program
    .command('sandbox')
    .description('run a simulated Microsoft 365 for rehearsals')
    .option('--port <number>', 'port to listen on; 0 picks a free one', portOf, PORT_DEFAULT)
    .option(
      '--host <address>',
      'address to listen on; anyone who reaches it has full access',
      '127.0.0.1',
    )
    .option('--allowed-hosts <names>', 'further host names to answer to, separated by commas')
    .option('--seed <file>', 'people to start with: a CSV or JSON file')
    .option(
      '--faults <file or rates>',
      'faults to inject: a JSON file, or rates such as throttle=0.02',
    )
    .option('--replay <file>', 'answer like the tenant of "doctor tenant --record"')
    .option('--https <file>', 'serve https; write the authority’s certificate to this file')
    .option('--fast', 'no replication lag; mailbox moves take seconds')
    .addHelpText('after', SANDBOX_HELP)
    .action((options: SandboxFlags) =>
      interruptible(async (interrupted) => {
        const { startSandbox } = await import('../sandbox/sandbox.ts')
        const sandbox = await startSandbox(options, io)
        if (!interrupted.aborted) await once(interrupted, 'abort')
        await sandbox.close()
      }),
    )
}

function portOf(text: string): number {
  const port = Number(text)
  if (/^\d{1,5}$/.test(text) && port <= 65_535) return port
  throw new InvalidArgumentError('Use a whole number from 0 to 65535.')
}

const SANDBOX_HELP = `
Answers like Microsoft 365: sign-in with secret or certificate, and the calls to Microsoft Graph and Exchange that matoolkit's
functions make. docs/rehearsal.md describes seeds and faults.

Examples:
  $ matoolkit sandbox --fast
  $ matoolkit sandbox --seed examples/full-migration.csv --faults throttle=0.02,drop-after=0.01
  $ matoolkit sandbox --port 0 --seed state.json
  $ matoolkit sandbox --https authority.pem
  $ matoolkit sandbox --fast --replay contoso.json`
