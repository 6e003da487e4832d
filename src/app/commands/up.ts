// `matoolkit up`: what it is called and takes. Everything else is loaded when it is run.
import type { Command } from 'commander'
import type { Io } from '../../cli/terminal/io.ts'

export interface UpFlags {
  readonly sandbox?: true
}

export function addUpCommands(program: Command, io: Io): void {
  program
    .command('up')
    .description(
      'run everything on this machine: database, scheduler, orchestrator, worker and API',
    )
    .option('--sandbox', 'with two sandbox tenants and a worker for each, to rehearse against')
    .addHelpText('after', UP_HELP)
    .action(async (flags: UpFlags) => {
      const [{ MACHINE }, { listenForStop, runUntilStopped }] = await Promise.all([
        import('../../clock.ts'),
        import('../shutdown.ts'),
      ])
      const stopping = listenForStop(MACHINE.steadyMs)
      const { openUp } = await import('../up.ts')
      await runUntilStopped(await openUp(flags, io), stopping, io)
    })
}

const UP_HELP = `
Needs nothing: the database is PostgreSQL inside this process, in .matoolkit/data under the current folder. The API listens on
this machine only; other commands of the same person find it and its token by themselves. Ctrl-C ends it; what was under way goes
on at the next start.

With --sandbox, contoso-worker and fabrikam-worker work on two small tenants that exist only while it runs, so that
docs/tutorial.md can be followed.

Examples:
  $ matoolkit up
  $ matoolkit up --sandbox
  $ MATOOLKIT_API_PORT=8420 MATOOLKIT_DATA_DIR=rehearsal matoolkit up`
