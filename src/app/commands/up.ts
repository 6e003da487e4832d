// `matoolkit up`: name and flags. The code is loaded when it runs.
import type { Command } from 'commander'
import type { Io } from '../../cli/terminal/io.ts'
import type { UpFlags } from '../roles/up.ts'

export function addUpCommands(program: Command, io: Io): void {
  program
    .command('up')
    .description('start everything on this machine')
    .option('--sandbox', 'add two sandbox tenants with a worker each')
    .option('--seed <file>', 'people of the sandbox: a CSV or JSON file')
    .option('--replay <file>', 'sandbox answers like this recorded tenant')
    .option('--restored', 'the folder was copied back from a backup')
    .addHelpText('after', UP_HELP)
    .action(async (flags: UpFlags) => {
      const [{ MACHINE }, { listenForStop, runUntilStopped }] = await Promise.all([
        import('../../base/run/clock.ts'),
        import('../roles/shutdown.ts'),
      ])
      const stopping = listenForStop(MACHINE.steadyMs)
      const { openUp } = await import('../roles/up.ts')
      await runUntilStopped(await openUp(flags, io, stopping), stopping, io)
    })
}

const UP_HELP = `
Runs database, scheduler, orchestrator, worker and API in one process, without any setup. The database is PostgreSQL inside this
process, stored in .matoolkit/data in the current folder. The API listens on this machine only; commands in this folder find it and its
token. Ctrl-C stops everything; running work continues at the next start.

The path of a csv data source starts at this folder, unless MATOOLKIT_SOURCE_FOLDER names another.

With --sandbox, contoso-worker and fabrikam-worker serve two small tenants that exist while it runs; docs/tutorial.md uses them.
With --seed, the source tenant has your own people; docs/rehearsal.md describes the file. With --replay, the tenants answer like the one that
"matoolkit tenant check --record" has recorded.

Examples:
  $ matoolkit up
  $ matoolkit up --sandbox
  $ matoolkit up --sandbox --seed people.csv
  $ MATOOLKIT_API_PORT=8420 MATOOLKIT_DATA_DIR=rehearsal matoolkit up`
