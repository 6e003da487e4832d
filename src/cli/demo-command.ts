// `matoolkit demo`: what it is called and takes. What it does is loaded when it is run; Ctrl-C ends it at once.
import type { Command } from 'commander'
import { openScreen } from './demo-screen.ts'
import type { Io } from './io.ts'

interface DemoFlags {
  readonly fast?: true
  readonly plain?: true
}

export function addDemo(program: Command, io: Io): void {
  program
    .command('demo')
    .description('watch a sample migration from its first step to its last, in memory')
    .option('--fast', 'do not take the time that real work would take')
    .option('--plain', 'write lines, also on a terminal')
    .addHelpText('after', DEMO_HELP)
    .action(async ({ fast, plain }: DemoFlags) => {
      const { openDemo, runDemo } = await import('./demo.ts')
      // Until here a Ctrl-C ends the process the hard way, at once: booting the database would keep a handler from running.
      const demo = await openDemo(io, { isFast: fast === true })
      const interrupt = new AbortController()
      const stop = () => interrupt.abort()
      // Not once: started by npm, a Ctrl-C comes from the terminal and again from the program that started this one.
      process.on('SIGINT', stop)
      process.on('SIGTERM', stop)
      const screen = plain ? null : openScreen(process.stdout)
      await runDemo(demo, { screen, interrupted: interrupt.signal }, io)
      process.off('SIGINT', stop)
      process.off('SIGTERM', stop)
    })
}

const DEMO_HELP = `
Runs examples/sample-migration.yaml with the 200 members of examples/sample-members.csv: three phases, from five days before the
cut-over to a day after it, in about a minute. Needs no settings, no tenant and no network, and leaves nothing behind.

Exit code: 0 it ended as it should (some members fail on purpose), 1 it did not, or it was stopped.

Examples:
  $ matoolkit demo
  $ matoolkit demo --fast --plain > demo.log`
