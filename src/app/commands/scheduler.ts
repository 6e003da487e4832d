// `matoolkit scheduler …`: what the commands are called and take. What they do is loaded when one is run.
import type { Command } from 'commander'
import { outputOption } from '../../cli/commands/verb.ts'
import { interruptible } from '../../cli/terminal/interrupt.ts'
import type { Io } from '../../cli/terminal/io.ts'
import type { TickFlags } from '../tick.ts'

export function addSchedulerCommands(program: Command, io: Io): void {
  const scheduler = program.command('scheduler').description('ask data sources who moves and when')

  scheduler
    .command('tick')
    .description('ask the data source of every runbook whose automation is on, now')
    .option('--runbook <name>', 'of this runbook only')
    .addOption(outputOption())
    .addHelpText('after', TICK_HELP)
    .action(async (flags: TickFlags) => {
      const { tickByHand } = await import('../tick.ts')
      await interruptible((stopping) => tickByHand(flags, io, stopping))
    })
}

const TICK_HELP = `
Does what the scheduler does by itself every few minutes, without waiting until it is due. Talks to the database directly: set
DATABASE_URL, or run it where no other process has the embedded database open. docs/scheduler.md says what a tick does.

Exit code: 0 every tick was good, 1 one failed, 6 the automation is off or another scheduler is asking at this moment,
130 you stopped it.

Examples:
  $ matoolkit scheduler tick
  $ matoolkit scheduler tick --runbook user-migration`
