// `matoolkit admin archive`, `purge`, `erase`, `verify-archive`, `backup`, `restore`: names and flags. The code is loaded when a command runs.
import type { Command } from 'commander'
import { outputOption } from '../../cli/commands/verb.ts'
import type { Io } from '../../cli/terminal/io.ts'
import type { RetentionAct, RetentionFlags } from '../upkeep/retention/commands.ts'
import type { SnapshotFlags } from '../upkeep/snapshots.ts'

/** Adds them to the noun `admin`, which has the verbs that ask the API. */
export function addRetentionCommands(noun: Command, io: Io): void {
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
      .addHelpText('after', HELP[act])
      .action(async (flags: RetentionFlags) => {
        const { runRetention } = await import('../upkeep/retention/commands.ts')
        await runRetention(act, flags, io)
      })
  noun
    .command('verify-archive')
    .description('check the file of an archived batch')
    .argument('<file>', 'path of the archive')
    .addOption(outputOption())
    .addHelpText('after', VERIFY_HELP)
    .action(async (file: string, flags: RetentionFlags) => {
      const { verifyFile } = await import('../upkeep/retention/commands.ts')
      await verifyFile(file, flags, io)
    })
}

/** Adds `backup` and `restore` of the embedded database. */
export function addBackupCommands(noun: Command, io: Io): void {
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
      const { restoreBackup } = await import('../upkeep/snapshots.ts')
      await restoreBackup(name, flags, io)
    })
}

const addTo = (value: string, before: readonly string[] = []): string[] => [...before, value]

const ABOUT: Readonly<Record<RetentionAct, string>> = {
  archive: 'write ended batches to files',
  purge: 'delete the rows of archived batches',
  erase: 'erase personal data of ended batches',
}

const OPENS = `It opens the database itself: DATABASE_URL, or the folder of "matoolkit up", which must be stopped. A running system does the same by
MATOOLKIT_BATCHES_KEPT_DAYS and MATOOLKIT_PERSONS_KEPT_DAYS. Batches are left alone for 7 days after their end.

Exit code: 0, 1 when a batch could not be handled, 6 when a named one is refused.`

const HELP: Readonly<Record<RetentionAct, string>> = {
  archive: `
Writes each batch to a file of MATOOLKIT_ARCHIVE: one JSON line per row, then the counts and a digest. Nothing is deleted. The files hold
personal data and only their owner can read them.

${OPENS}

Examples:
  $ matoolkit admin archive --older-than 90d --dry-run
  $ matoolkit admin archive --batch 12 --reason "wave 1 is accepted"`,
  purge: `
Reads the archive again first, and refuses a batch that has changed since. Killed, it continues where it stopped. The batch keeps its number,
counters and phases; of each person a hash of the key stays, so that a source that still lists them migrates nobody twice.

${OPENS}

Examples:
  $ matoolkit admin purge --older-than 90d --dry-run
  $ matoolkit admin purge --batch 12 --yes`,
  erase: `
Removes keys, addresses, data, parameters, results and error texts of the people in a batch. Counts, the course of events and the audit stay.

${OPENS}

Examples:
  $ matoolkit admin erase --older-than 30d --dry-run
  $ matoolkit admin erase --batch 12 --reason "asked for by the works council" --yes`,
}

const VERIFY_HELP = `
Needs no database. The audit row "batch.archive" has the digest of the file as it was written.

Exit code: 0 intact, 1 damaged.

Example:
  $ matoolkit admin verify-archive .matoolkit/archive/batch-12-ended-20260301T100000Z.jsonl`

const BACKUP_HELP = `
Run it in the folder of "matoolkit up", while that is stopped; a running one takes its own snapshots. The snapshot is opened and read in full
before it counts. It is on the same disk: copy its folder elsewhere. A PostgreSQL server has its own means, such as pg_dump.

Exit code: 0, 2 when DATABASE_URL names a server, 7 the database is in use or the disk is full.

Examples:
  $ matoolkit admin backup
  $ matoolkit admin backup --output json`

const RESTORE_HELP = `
The same as "matoolkit snapshot restore". The present files are moved aside and never deleted. What happened after the snapshot is unknown to
the restored database, so everything is held: check the tenants, then resume.

Exit code: 0 restored, 2 when DATABASE_URL names a server, 5 there is no such snapshot, 7 the database is in use or the disk is full.

Examples:
  $ matoolkit admin restore
  $ matoolkit admin restore 2026-03-01T10-00-00 --yes`
