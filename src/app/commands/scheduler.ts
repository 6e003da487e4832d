// `matoolkit scheduler …`: names and flags. The code is loaded when a command runs.
import type { Command } from 'commander'
import { outputOption } from '../../cli/commands/verb.ts'
import { interruptible } from '../../cli/terminal/interrupt.ts'
import type { Io } from '../../cli/terminal/io.ts'
import type { TickFlags } from './scheduler-tick.ts'

export function addSchedulerCommands(program: Command, io: Io): void {
  const scheduler = program.command('scheduler').description('run the scheduler by hand')

  scheduler
    .command('tick')
    .description('query data sources now')
    .option('--runbook <name>', 'only of this runbook')
    .addOption(outputOption())
    .addHelpText('after', TICK_HELP)
    .action(async (flags: TickFlags) => {
      const { runTicks } = await import('./scheduler-tick.ts')
      await interruptible((stopping) => runTicks(flags, io, stopping))
    })
}

const TICK_HELP = `
Queries the data source of every runbook whose automation is on, as the scheduler does every few minutes. Connects to the database
directly: set DATABASE_URL, or run it where no other process has the embedded database open. docs/scheduler.md explains ticks.

Exit code: 0 every tick succeeded, 1 a tick failed, 6 automation is off or another scheduler is querying right now,
130 you stopped it.

Examples:
  $ matoolkit scheduler tick
  $ matoolkit scheduler tick --runbook user-migration`
