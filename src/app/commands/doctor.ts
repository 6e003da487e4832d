// `matoolkit doctor`: the checks of the system ask the API; those of a tenant and of Service Bus need none, and are loaded when they run.
import type { Command } from 'commander'
import { examineSystem } from '../../cli/commands/doctor.ts'
import { addVerb } from '../../cli/commands/verb.ts'
import { type Flags, textFlag, usageError } from '../../cli/program/command-context.ts'
import type { Io } from '../../cli/terminal/io.ts'
import type { OutputFormat } from '../../cli/terminal/show.ts'

const PARTS = ['tenant', 'bus'] as const
type Part = (typeof PARTS)[number]

export function addDoctorCommands(program: Command, io: Io): void {
  addVerb(program, io, {
    name: 'doctor',
    about: 'check the system, a tenant or Service Bus',
    args: [['[part]', 'tenant or bus (default: configuration, API, workers, data sources)']],
    options: [
      ['--source', 'tenant: as the source of mailbox moves'],
      ['--target', 'tenant: as the target of mailbox moves'],
      ['--runbook <file>', 'tenant: check what this runbook uses (default: all functions)'],
      ['--people <number>', 'tenant: people who need licences (default: rows of its CSV)'],
      ['--partner <id>', 'tenant: the other tenant, whose relationship counts'],
      ['--script', 'tenant: print the PowerShell that prepares it; run nothing'],
      ['--record <file>', 'tenant: write redacted answers of unconfirmed calls to a file'],
      ['--test-person <address>', 'tenant: record what it says about this person, too'],
      ['--force', 'tenant: replace the file of --record'],
      ['--workers <list>', 'bus: worker ids (default: those of the settings)'],
      ['--create', 'bus: create what is missing'],
    ],
    more: HELP,
    examples: [
      'doctor',
      'doctor --output json',
      'doctor tenant --target --runbook examples/full-migration.yaml',
      'doctor tenant --target --runbook examples/full-migration.yaml --script',
      'doctor tenant --target --record contoso.json --test-person ada@contoso.com',
      'doctor bus --workers contoso-worker,fabrikam-worker --create',
    ],
    run: examineSystem,
    runAlone: ([part], flags) => {
      if (part === undefined) return null
      if (!PARTS.includes(part as Part))
        throw usageError(`"${part}" is no part: use ${PARTS.join(' or ')}, or none.`)
      return part === 'bus' ? checkBus(flags, io) : checkTenant(flags, io)
    },
  })
}

async function checkTenant(flags: Flags, io: Io): Promise<void> {
  if (flags.source && flags.target) throw usageError('Use either --source or --target.')
  const people = textFlag(flags, 'people')
  if (people !== undefined && !/^[1-9]\d{0,6}$/.test(people))
    throw usageError(`--people is "${people}", but must be a whole number above 0.`)
  const { runTenantCheck } = await import('./tenant-check.ts')
  const { source, target, force, script } = flags
  await runTenantCheck(
    {
      ...(source === true && { source }),
      ...(target === true && { target }),
      ...(force === true && { force }),
      ...(script === true && { script }),
      ...textsIn(flags, ['runbook', 'partner', 'record', 'testPerson']),
      ...(people !== undefined && { people: Number(people) }),
      ...outputIn(flags),
    },
    io,
  )
}

const WORKER_ID = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$/

async function checkBus(flags: Flags, io: Io): Promise<void> {
  const workers = textFlag(flags, 'workers')
    ?.split(',')
    .map((id) => id.trim())
  const wrong = workers?.find((id) => !WORKER_ID.test(id))
  if (wrong !== undefined) throw usageError(`"${wrong}" is no worker id.`)
  const { runBusCheck } = await import('../upkeep/bus-check.ts')
  await runBusCheck(
    {
      ...(workers && { workers }),
      ...(flags.create === true && { create: true }),
      ...outputIn(flags),
    },
    io,
  )
}

const textsIn = (flags: Flags, names: readonly string[]) =>
  Object.fromEntries(
    names.flatMap((name) => {
      const text = textFlag(flags, name)
      return text === undefined ? [] : [[name, text]]
    }),
  )

const outputIn = ({ output }: Flags) =>
  output === undefined ? {} : { output: output as OutputFormat }

const HELP = `doctor tenant signs in with the settings of a worker (MATOOLKIT_TENANT_ID, MATOOLKIT_APP_ID …) and only reads; with
MATOOLKIT_WORKER_ID, only the steps of that worker count. It checks sign-in, permissions, Exchange role, domains and licences, and for
mailbox moves the organisation relationship, the migration endpoint and the scope group.

With --script, it signs in nowhere and prints commented PowerShell with the values of the settings and the runbook: app, permissions, roles,
migration app, endpoint, consent, relationship, scope group. Read it, and run it yourself. The advice of a check names its block.

With --record, it asks the calls whose answers no document settles (docs/reference/functions.md, "Unconfirmed") and writes them to a file for you
alone: without names, addresses, ids, domains and tokens, each with the same pseudonym everywhere. It reads about one person only if
--test-person names one. "matoolkit sandbox --replay <file>" answers like that tenant.

doctor bus compares the namespace of MATOOLKIT_SERVICEBUS_NAMESPACE with what the transport servicebus needs (docs/bus.md): topics,
subscriptions of the orchestrator and of each worker, their settings and rules; then sends one message that does nothing and waits
for it. It signs in with the managed identity, which needs "Azure Service Bus Data Owner" for this. Nothing that exists is changed.
Worker ids come from --workers, or from MATOOLKIT_WORKER_ID and MATOOLKIT_DECLARED_WORKERS.

Exit code: 0 no check failed (warnings are allowed), 1 a check failed.`
