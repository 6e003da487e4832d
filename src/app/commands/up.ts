// `matoolkit up`: name and flags. The code is loaded when it runs.
import type { Command } from 'commander'
import { interruptible } from '../../cli/terminal/interrupt.ts'
import type { Io } from '../../cli/terminal/io.ts'
import { openScreen } from '../../cli/terminal/screen.ts'
import type { UpFlags } from '../roles/up.ts'

interface DemoFlags {
  readonly demo?: true
  readonly fast?: true
  readonly plain?: true
}

export function addUpCommands(program: Command, io: Io): void {
  program
    .command('up')
    .description('start everything on this machine')
    .option('--sandbox', 'add two sandbox tenants with a worker each')
    .option('--seed <file>', 'people of the sandbox: a CSV or JSON file')
    .option('--replay <file>', 'sandbox answers like this recorded tenant')
    .option('--restored', 'the folder was copied back from a backup')
    .option('--demo', 'watch an example migration from start to end instead')
    .option('--fast', 'with --demo: as fast as possible')
    .option('--plain', 'with --demo: print lines instead of a live screen')
    .addHelpText('after', UP_HELP)
    .action(async (flags: UpFlags & DemoFlags) => {
      if (flags.demo) return showDemo(flags, io)
      const [{ MACHINE }, { listenForStop, runUntilStopped }] = await Promise.all([
        import('../../base/run/clock.ts'),
        import('../roles/shutdown.ts'),
      ])
      const stopping = listenForStop(MACHINE.steadyMs)
      const { openUp } = await import('../roles/up.ts')
      await runUntilStopped(await openUp(flags, io, stopping), stopping, io)
    })
}

async function showDemo({ fast, plain }: DemoFlags, io: Io): Promise<void> {
  const [{ openDemo }, { runDemo }] = await Promise.all([
    import('../demo/open-demo.ts'),
    import('../demo/run-demo.ts'),
  ])
  // No signal handler yet: booting the database blocks the event loop, so a handler would not run and Ctrl-C would hang.
  const demo = await openDemo(io, { isFast: fast === true })
  const screen = plain ? null : openScreen(process.stdout)
  const isStaying = io.width !== null && !fast
  await interruptible((interrupted) => runDemo(demo, { screen, interrupted, isStaying }, io))
}

const UP_HELP = `
Runs database, scheduler, orchestrator, worker and API in one process, without any setup. The database is PostgreSQL inside this
process, stored in .matoolkit/data in the current folder. The API listens on this machine only; commands in this folder find it and its
token. Ctrl-C stops everything; running work continues at the next start.

The path of a csv data source starts at this folder, unless MATOOLKIT_SOURCE_FOLDER names another.

With --sandbox, contoso-worker and fabrikam-worker serve two small tenants that exist while it runs; docs/tutorial.md uses them.
With --seed, the source tenant has your own people; docs/rehearsal.md describes the file. With --replay, the tenants answer like the one that
"matoolkit doctor tenant --record" has recorded.

With --demo, it runs examples/full-migration.yaml for the 200 people of examples/full-migration.csv on two sandbox tenants, from
two weeks before the cut-over to a month after it, in about two minutes. The tenants throttle requests and drop connections at times. It prints a
link first: open it to watch the migration in the dashboard, and to hold, retry and click into any person. Everything runs in memory: no
settings, no tenant and no network are needed, and nothing is left behind. On a terminal dashboard and tenants stay up at the end until
Ctrl-C; elsewhere, and with --fast, it ends alone. Exit code: 0 it ended as expected (some members fail on purpose), 1 it did not, or you
stopped it.

Examples:
  $ matoolkit up
  $ matoolkit up --sandbox
  $ matoolkit up --demo --fast --plain > demo.log
  $ matoolkit up --sandbox --seed people.csv
  $ MATOOLKIT_API_PORT=8420 MATOOLKIT_DATA_DIR=rehearsal matoolkit up`
