// `matoolkit tenant …`: names and flags. The code is loaded when a command runs.
import { type Command, InvalidArgumentError, Option } from 'commander'
import { outputOption } from '../../cli/commands/verb.ts'
import type { Io } from '../../cli/terminal/io.ts'
import type { TenantCheckFlags } from './tenant-check.ts'

export function addTenantCommands(program: Command, io: Io): void {
  const noun = program.command('tenant').description('check a Microsoft 365 tenant')

  noun
    .command('check')
    .description('check that a tenant is set up')
    .addOption(new Option('--source', 'as the source of mailbox moves').conflicts('target'))
    .addOption(new Option('--target', 'as the target of mailbox moves'))
    .option('--runbook <file>', 'check what this runbook uses (default: all functions)')
    .option('--people <number>', 'people who need licences (default: rows of its CSV)', countOf)
    .option('--record <file>', 'write redacted answers of unconfirmed calls to a file')
    .option('--test-person <address>', 'record what the tenant tells about this person, too')
    .option('--force', 'replace the file of --record')
    .addOption(outputOption())
    .addHelpText('after', CHECK_HELP)
    .action(async (flags: TenantCheckFlags) => {
      const { runTenantCheck } = await import('./tenant-check.ts')
      await runTenantCheck(flags, io)
    })
}

function countOf(text: string): number {
  if (/^[1-9]\d{0,6}$/.test(text)) return Number(text)
  throw new InvalidArgumentError('Use a whole number above 0.')
}

const CHECK_HELP = `
Signs in with the settings of a worker (MATOOLKIT_TENANT_ID, MATOOLKIT_APP_ID …) and only reads. With MATOOLKIT_WORKER_ID, only the
steps of that worker count. Checks sign-in, permissions, Exchange role, domains and licences, and for mailbox moves the
organisation relationship, the migration endpoint and the scope group.

With --record, it asks the calls whose answers no document settles (docs/reference/functions.md, "Unconfirmed") and writes them to a file for you
alone: without names, addresses, ids, domains and tokens, each with the same pseudonym everywhere. It reads about one person only if
--test-person names one. "matoolkit sandbox --replay <file>" answers like that tenant.

Exit code: 0 no check failed (warnings are allowed), 1 a check failed.

Examples:
  $ matoolkit tenant check --target --runbook examples/full-migration.yaml
  $ matoolkit tenant check --source --output json
  $ matoolkit tenant check --target --people 500
  $ matoolkit tenant check --target --record contoso.json --test-person ada@contoso.com`
