// `matoolkit runbook …`: what the commands are called and take. What they do is loaded when one is run.
import { type Command, Option } from 'commander'
import type { Io } from './io.ts'
import type { ValidateOptions } from './runbook-validate.ts'

export function addRunbook(program: Command, io: Io): void {
  const runbook = program.command('runbook').description('check runbooks before they are used')

  runbook
    .command('validate')
    .description('report everything that is wrong with runbook files')
    .argument('<file...>', 'runbook files (YAML)')
    .option('--members <csv>', 'check variables against the columns of this member file')
    .addOption(
      new Option('--output <format>', 'how to answer').choices(['table', 'json']).default('table'),
    )
    .addHelpText('after', VALIDATE_HELP)
    .action(async (files: string[], options: Omit<ValidateOptions, 'files'>) => {
      const { validateRunbooks } = await import('./runbook-validate.ts')
      await validateRunbooks({ files, ...options }, io)
    })

  runbook
    .command('schema')
    .description('print the JSON Schema of runbooks, for editors')
    .addHelpText('after', SCHEMA_HELP)
    .action(async () => {
      const { runbookSchema } = await import('../domain/runbook-schema.ts')
      io.out(JSON.stringify(runbookSchema(), null, 2))
    })
}

const VALIDATE_HELP = `
Exit code: 0 all files are valid (warnings are allowed), 1 a file has errors, 2 wrong usage.
docs/runbook.md explains every key and every problem code.

Examples:
  $ matoolkit runbook validate examples/user-migration.yaml
  $ matoolkit runbook validate wave.yaml --members wave-members.csv
  $ matoolkit runbook validate runbooks/*.yaml --output json`

const SCHEMA_HELP = `
Point an editor at it with a first line such as
  # yaml-language-server: $schema=runbook.schema.json

Example:
  $ matoolkit runbook schema > runbook.schema.json`
