// `matoolkit db …`: names and flags. The code is loaded when a command runs.
import type { Command } from 'commander'
import type { Io } from '../../cli/terminal/io.ts'
import type { MigrateFlags } from '../database.ts'

export function addDbCommands(program: Command, io: Io): void {
  const noun = program.command('db').description('set up the PostgreSQL server')

  noun
    .command('migrate')
    .description('create or upgrade the tables')
    .option('--dry-run', 'list what is missing, change nothing')
    .addHelpText('after', MIGRATE_HELP)
    .action(async (flags: MigrateFlags) => {
      const { migrateDatabase } = await import('../database.ts')
      await migrateDatabase(flags, io)
    })
}

const MIGRATE_HELP = `
DATABASE_URL names the server and the owner of the tables. Processes that are not of the owner never change the tables: they wait
until this command has run. Run it again at every upgrade, before or while the new version starts.

Exit code: 0, or 7 when the role may not change the tables.

Examples:
  $ DATABASE_URL=postgres://matoolkit_owner@db/matoolkit matoolkit db migrate
  $ DATABASE_URL=postgres://matoolkit_owner@db/matoolkit matoolkit db migrate --dry-run`
