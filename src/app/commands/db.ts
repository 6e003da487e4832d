// `matoolkit db …`: names and flags. The code is loaded when a command runs.
import { type Command, Option } from 'commander'
import { outputOption } from '../../cli/commands/verb.ts'
import type { Io } from '../../cli/terminal/io.ts'
import type { GrantFlags, MigrateFlags, RevokeFlags } from '../upkeep/database.ts'
import type { RetentionAct, RetentionFlags } from '../upkeep/retention/commands.ts'
import type { SnapshotFlags } from '../upkeep/snapshots.ts'

export function addDbCommands(program: Command, io: Io): Command {
  const noun = program.command('db').description('set up, back up, restore and tidy the database')

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
  addUpkeepCommands(noun, io)
  return noun
}

/** Adds what needs no server: snapshots of the embedded database, and the end of batches. */
function addUpkeepCommands(noun: Command, io: Io): void {
  noun
    .command('snapshots')
    .description('list snapshots of the embedded database')
    .addOption(outputOption())
    .addHelpText('after', SNAPSHOTS_HELP)
    .action(async (flags: SnapshotFlags) => {
      const { showSnapshots } = await import('../upkeep/snapshots.ts')
      await showSnapshots(flags, io)
    })
  noun
    .command('backup')
    .description('take a snapshot of the embedded database')
    .addOption(outputOption())
    .addHelpText('after', BACKUP_HELP)
    .action(async (flags: SnapshotFlags) => {
      const { backUp } = await import('../upkeep/snapshots.ts')
      await backUp(flags, io)
    })
  noun
    .command('restore')
    .description('replace the embedded database by a snapshot')
    .argument('[name]', 'name of the snapshot (default: the newest)')
    .option('-y, --yes', 'skip the confirmation')
    .addOption(outputOption())
    .addHelpText('after', RESTORE_HELP)
    .action(async (name: string | undefined, flags: SnapshotFlags) => {
      const { restoreNamed } = await import('../upkeep/snapshots.ts')
      await restoreNamed(name, flags, io)
    })
  for (const act of Object.keys(ABOUT) as RetentionAct[])
    noun
      .command(act)
      .description(ABOUT[act])
      .option('--batch <id>', 'id of the batch; repeatable', addTo)
      .option('--older-than <days>', 'age since their end, such as 90d')
      .option('--reason <text>', 'reason, kept in the audit and the events')
      .option('--dry-run', 'show the effect without changing anything')
      .option('-y, --yes', 'skip the confirmation')
      .addOption(outputOption())
      .addHelpText('after', RETENTION_HELP[act])
      .action(async (flags: RetentionFlags) => {
        const { runRetention } = await import('../upkeep/retention/commands.ts')
        await runRetention(act, flags, io)
      })
}

const ABOUT: Readonly<Record<RetentionAct, string>> = {
  purge: 'pack ended batches as evidence, then delete them',
  erase: 'erase personal data of ended batches',
}

const addTo = (value: string, before: readonly string[] = []): string[] => [...before, value]

const MIGRATE_HELP = `
DATABASE_URL names the server and the owner of the tables. Processes that are not of the owner never change the tables: they wait
until this command has run. Run it at every upgrade, before the new version starts: programs of the previous release continue meanwhile.

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

On Azure Database for PostgreSQL, --entra makes a role for a managed identity, named by its object id, or gives it the role of that name. With --migrate
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

const SNAPSHOTS_HELP = `
Snapshots are in the folder of the embedded database (MATOOLKIT_DATA_DIR), the newest first. They are taken at start, every hour and before an
upgrade; each was opened and read in full before it counted. They are on the same disk: keep a copy of the folder elsewhere too.

Examples:
  $ matoolkit db snapshots
  $ MATOOLKIT_DATA_DIR=rehearsal matoolkit db snapshots --output json`

const BACKUP_HELP = `
Run it in the folder of "matoolkit up", while that is stopped; a running one takes its own snapshots. The snapshot is opened and read in full
before it counts. It is on the same disk: copy its folder elsewhere. A PostgreSQL server has its own means, such as pg_dump.

Exit code: 0, 2 when DATABASE_URL names a server, 7 the database is in use or the disk is full.

Example:
  $ matoolkit db backup`

const RESTORE_HELP = `
Run it in the folder of "matoolkit up", while nothing uses the database. The present files are moved aside and never deleted. What happened
after the snapshot is unknown to the restored database, so everything is held: check the tenants, then resume.

Exit code: 0 restored, 2 when DATABASE_URL names a server, 5 there is no such snapshot, 7 the database is in use or the disk is full.

Examples:
  $ matoolkit db restore
  $ matoolkit db restore 2026-03-01T10-00-00 --yes`

const OPENS = `It opens the database itself: DATABASE_URL, or the folder of "matoolkit up", which must be stopped. A running system does the same by
MATOOLKIT_BATCHES_KEPT_DAYS and MATOOLKIT_PERSONS_KEPT_DAYS. Batches are left alone for 7 days after their end.

Exit code: 0, 1 when a batch could not be handled, 6 when a named one is refused.`

const RETENTION_HELP: Readonly<Record<RetentionAct, string>> = {
  purge: `
Writes an evidence pack of the batch to MATOOLKIT_ARCHIVE, reads it again, and refuses a batch that has changed since. Killed, it
continues where it stopped. The batch keeps its number, counters and phases; of each person a hash of the key stays, so that a source that
still lists them migrates no one twice. The pack holds personal data; "matoolkit evidence verify" checks it.

${OPENS}

Examples:
  $ matoolkit db purge --older-than 90d --dry-run
  $ matoolkit db purge --batch 12 --reason "wave 1 is accepted" --yes`,
  erase: `
Removes keys, addresses, data, parameters, results and error texts of the people in a batch. Counts, the course of events and the audit stay.

${OPENS}

Examples:
  $ matoolkit db erase --older-than 30d --dry-run
  $ matoolkit db erase --batch 12 --reason "asked for by the works council" --yes`,
}
