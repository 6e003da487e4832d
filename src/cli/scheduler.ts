// `matoolkit scheduler …`: what the commands are called and take. What they do is loaded when one is run.
import { type Command, Option } from 'commander'
import type { Io } from './io.ts'

interface TickFlags {
  readonly runbook?: string
  readonly output: 'table' | 'json'
}

export function addScheduler(program: Command, io: Io): void {
  const scheduler = program.command('scheduler').description('ask data sources who moves and when')

  scheduler
    .command('tick')
    .description('ask the data source of every runbook whose automation is on, now')
    .option('--runbook <name>', 'of this runbook only')
    .addOption(
      new Option('--output <format>', 'how to answer').choices(['table', 'json']).default('table'),
    )
    .addHelpText('after', TICK_HELP)
    .action(async (flags: TickFlags) => {
      const { tickByHand } = await import('./scheduler-tick.ts')
      const interrupt = new AbortController()
      const stop = () => interrupt.abort()
      process.on('SIGINT', stop)
      process.on('SIGTERM', stop)
      await tickByHand(flags, io, interrupt.signal)
      process.off('SIGINT', stop)
      process.off('SIGTERM', stop)
    })
}

const TICK_HELP = `
Does what the scheduler does by itself every few minutes, without waiting until it is due. Talks to the database directly: set
DATABASE_URL, or run it where no other process has the embedded database open. docs/scheduler.md says what a tick does.

Exit code: 0 every tick was good, 1 one failed, 6 the automation is off or another scheduler is asking at this moment.

Examples:
  $ matoolkit scheduler tick
  $ matoolkit scheduler tick --runbook user-migration`
