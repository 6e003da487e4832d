// `matoolkit db …`: names and flags. The code is loaded when a command runs.
import { type Command, Option } from 'commander'
import { outputOption } from '../../cli/commands/verb.ts'
import type { Io } from '../../cli/terminal/io.ts'
import type { GrantFlags, MigrateFlags, RevokeFlags } from '../upkeep/database.ts'

export function addDbCommands(program: Command, io: Io): void {
  const noun = program.command('db').description('set up the PostgreSQL server')

  noun
    .command('migrate')
    .description('create or upgrade the tables')
    .option('--dry-run', 'list what is missing, change nothing')
    .option('--stop-older', 'end programs that cannot continue')
    .addOption(outputOption(true))
    .addHelpText('after', MIGRATE_HELP)
    .action(async (flags: MigrateFlags) => {
      const { migrateDatabase } = await import('../upkeep/database.ts')
      await migrateDatabase(flags, io)
    })

  noun
    .command('grant')
    .description('give database roles exactly their rights')
    .option('--application <role>', 'role of scheduler, orchestrator and API; repeatable', addTo)
    .option('--worker <id=role>', 'role that takes the jobs of a worker; repeatable', addTo)
    .option('--entra <role=id>', 'identity to make this role for; repeatable', addTo)
    .addOption(new Option('--migrate', 'create or upgrade the tables first').conflicts('dryRun'))
    .option('--revoke <role>', 'take all rights from this role instead')
    .option('--dry-run', 'print the SQL, change nothing')
    .addOption(outputOption(true))
    .addHelpText('after', GRANT_HELP)
    .action(async (flags: GrantFlags & RevokeFlags & { readonly revoke?: string }) => {
      const { grantRights, migrateDatabase, revokeRights } = await import('../upkeep/database.ts')
      if (flags.revoke !== undefined) return revokeRights(flags.revoke, flags, io)
      // Its answer is a note here: the answer of this command is about roles.
      if (flags.migrate) await migrateDatabase({}, { ...io, out: io.err })
      await grantRights(flags, io)
    })
}

const addTo = (value: string, before: readonly string[] = []): string[] => [...before, value]

const MIGRATE_HELP = `
DATABASE_URL names the server and the owner of the tables. Processes that are not of the owner never change the tables: they wait
until this command has run. Run it at every upgrade, before the new version starts: programs of the former release continue meanwhile.

A migration that takes away what programs at work use is refused while they run. With --stop-older it is not: they notice within
seconds, finish their running jobs and take no more work. --dry-run shows each missing migration, who is at work, and who continues.

Exit code: 0, or 7 when the role may not change the tables, programs are in the way or a lock is not free.

Examples:
  $ DATABASE_URL=postgres://matoolkit_owner@db/matoolkit matoolkit db migrate
  $ DATABASE_URL=postgres://matoolkit_owner@db/matoolkit matoolkit db migrate --dry-run
  $ DATABASE_URL=postgres://matoolkit_owner@db/matoolkit matoolkit db migrate --stop-older`

const GRANT_HELP = `
DATABASE_URL names the server and the owner of the tables. The roles must exist. Without roles, those that were set up before are
renewed; "matoolkit db migrate" does that too. Running it again changes nothing.

On Azure Database for PostgreSQL, --entra makes a role that does not exist yet for a managed identity, named by its object id. With --migrate
one run at every upgrade does everything that the owner must do.

An application reads and writes all rows, but cannot change tables, triggers, events or sealed audit rows. A worker sees only jobs for its
own id and sends only results in its own name. docs/security.md lists the rights. A role whose rights are taken with --revoke stays;
processes that use it stop working.

Exit code: 0, 1 when a role has more than it needs, 7 when the role of DATABASE_URL does not own the tables.

Examples:
  $ matoolkit db grant --application matoolkit_app --worker contoso-worker=matoolkit_contoso
  $ matoolkit db grant --worker fabrikam-worker=matoolkit_fabrikam --dry-run
  $ matoolkit db grant --migrate --application matoolkit-api --entra matoolkit-api=6f1c2a34-5b7e-4d0a-9c11-2f8e7a905d10
  $ matoolkit db grant
  $ matoolkit db grant --revoke matoolkit_contoso`
