// `matoolkit bus …`: names and flags. The code is loaded when a command runs.
import { type Command, InvalidArgumentError } from 'commander'
import { outputOption } from '../../cli/commands/verb.ts'
import type { Io } from '../../cli/terminal/io.ts'
import type { BusCheckFlags } from '../upkeep/bus-check.ts'

export function addBusCommands(program: Command, io: Io): void {
  const noun = program.command('bus').description('check the Service Bus namespace')

  noun
    .command('check')
    .description('check that the namespace is set up')
    .option('--workers <list>', 'worker ids (default: those of the settings)', workersOf)
    .option('--create', 'create what is missing')
    .addOption(outputOption())
    .addHelpText('after', CHECK_HELP)
    .action(async (flags: BusCheckFlags) => {
      const { runBusCheck } = await import('../upkeep/bus-check.ts')
      await runBusCheck(flags, io)
    })
}

const WORKER_ID = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$/

function workersOf(text: string): string[] {
  const ids = text.split(',').map((id) => id.trim())
  const wrong = ids.find((id) => !WORKER_ID.test(id))
  if (wrong === undefined) return ids
  throw new InvalidArgumentError(`"${wrong}" is no worker id.`)
}

const CHECK_HELP = `
Compares the namespace of MATOOLKIT_SERVICEBUS_NAMESPACE with what the transport servicebus needs (docs/bus.md): topics,
subscriptions of the orchestrator and of each worker, their settings and rules; then sends one message that does nothing and waits
for it. It signs in with the managed identity, which needs "Azure Service Bus Data Owner" for this. Nothing that exists is changed.
Worker ids come from --workers, or from MATOOLKIT_WORKER_ID and MATOOLKIT_DECLARED_WORKERS.

Exit code: 0 no check failed, 1 a check failed.

Examples:
  $ matoolkit bus check --workers contoso-worker,fabrikam-worker
  $ matoolkit bus check --workers contoso-worker --create
  $ matoolkit bus check --output json`
