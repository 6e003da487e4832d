// `matoolkit demo`: what it is called and takes. What it does is loaded when it is run; Ctrl-C ends it at once.
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
    .description('watch an example migration from its first step to its last, in memory')
    .option('--fast', 'do not take the time that real work would take')
    .option('--plain', 'write lines, also on a terminal')
    .addHelpText('after', DEMO_HELP)
    .action(async ({ fast, plain }: DemoFlags) => {
      const { openDemo, runDemo } = await import('../demo/demo.ts')
      // Until here a Ctrl-C ends the process the hard way, at once: booting the database would keep a handler from running.
      const demo = await openDemo(io, { isFast: fast === true })
      const screen = plain ? null : openScreen(process.stdout)
      const staysUp = screen !== null && !fast
      await interruptible((interrupted) => runDemo(demo, { screen, interrupted, staysUp }, io))
    })
}

const DEMO_HELP = `
Runs examples/full-migration.yaml with the 200 people of examples/full-migration.csv on two sandbox tenants: four phases, from two
weeks before the cut-over to a week after it, in a minute or two. The tenants are sometimes busy and sometimes cut connections.
Needs no settings, no tenant and no network, and leaves nothing behind. On a terminal the tenants stay up at the end, to be looked
at, until Ctrl-C.

Exit code: 0 it ended as it should (some members fail on purpose), 1 it did not, or it was stopped.

Examples:
  $ matoolkit demo
  $ matoolkit demo --fast --plain > demo.log`
