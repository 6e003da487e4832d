// `matoolkit snapshot …`: names and flags. The code is loaded when a command runs.
import type { Command } from 'commander'
import { outputOption } from '../../cli/commands/verb.ts'
import type { Io } from '../../cli/terminal/io.ts'
import type { SnapshotFlags } from '../upkeep/snapshots.ts'

export function addSnapshotCommands(program: Command, io: Io): void {
  const noun = program
    .command('snapshot')
    .description('list and restore snapshots of the embedded database')

  noun
    .command('list')
    .description('list snapshots, newest first')
    .addOption(outputOption())
    .addHelpText('after', LIST_HELP)
    .action(async (flags: SnapshotFlags) => {
      const { showSnapshots } = await import('../upkeep/snapshots.ts')
      await showSnapshots(flags, io)
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
}

const LIST_HELP = `
Snapshots are in the folder of the embedded database (MATOOLKIT_DATA_DIR). They are taken at start, every hour and before an upgrade;
each was opened and read in full before it counted. They are on the same disk: keep a copy of the folder elsewhere too.

Examples:
  $ matoolkit snapshot list
  $ MATOOLKIT_DATA_DIR=rehearsal matoolkit snapshot list --output json`

const RESTORE_HELP = `
Run it in the folder of "matoolkit up", while nothing uses the database. The present files are moved aside and never deleted.
What happened after the snapshot is unknown to the restored database, so everything is held: check the tenants, then resume.

Exit code: 0 restored, 5 there is no such snapshot, 7 the database is in use or the disk is full.

Examples:
  $ matoolkit snapshot restore
  $ matoolkit snapshot restore 2026-03-01T10-00-00 --yes`
