// `matoolkit demo`: name and flags. The code is loaded when it runs.
import type { Command } from 'commander'
import { interruptible } from '../../cli/terminal/interrupt.ts'
import type { Io } from '../../cli/terminal/io.ts'
import { openScreen } from '../../cli/terminal/screen.ts'

interface DemoFlags {
  readonly fast?: true
  readonly plain?: true
}

export function addDemoCommands(program: Command, io: Io): void {
  program
    .command('demo')
    .description('watch an example migration from start to end')
    .option('--fast', 'run as fast as possible')
    .option('--plain', 'print lines instead of a live screen')
    .addHelpText('after', DEMO_HELP)
    .action(async ({ fast, plain }: DemoFlags) => {
      const [{ openDemo }, { runDemo }] = await Promise.all([
        import('../demo/open-demo.ts'),
        import('../demo/run-demo.ts'),
      ])
      // No signal handler yet: booting the database blocks the event loop, so a handler would not run and Ctrl-C would hang.
      const demo = await openDemo(io, { isFast: fast === true })
      const screen = plain ? null : openScreen(process.stdout)
      const isStaying = io.width !== null && !fast
      await interruptible((interrupted) => runDemo(demo, { screen, interrupted, isStaying }, io))
    })
}

const DEMO_HELP = `
Runs examples/full-migration.yaml for the 200 people of examples/full-migration.csv on two sandbox tenants: four phases, from two
weeks before the cut-over to a week after it, in about two minutes. The tenants throttle requests and drop connections at times.
It prints a link first: open it to watch the migration in the dashboard, and to hold, retry and click into any person. Everything runs
in memory: no settings, no tenant and no network are needed, and nothing is left behind. On a terminal dashboard and tenants stay up
at the end until Ctrl-C; elsewhere, and with --fast, it ends by itself.

Exit code: 0 it ended as expected (some members fail on purpose), 1 it did not, or you stopped it.

Examples:
  $ matoolkit demo
  $ matoolkit demo --fast --plain > demo.log`
