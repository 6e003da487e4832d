// `matoolkit runbook …`: what the commands are called and take. What they do is loaded when one is run.
import type { Command } from 'commander'
import type { Io } from '../../terminal/io.ts'
import { addVerb, CHANGE, DRY_RUN, outputOption, PAGED, type RunCommand } from '../verb.ts'
import type { ValidateOptions } from './validate.ts'

type Verbs = typeof import('./versions.ts')

/** A command whose module is loaded when it is run: `validate` works without anything of the client. */
const later =
  (pick: (verbs: Verbs) => RunCommand): RunCommand =>
  async (...given) =>
    pick(await import('./versions.ts'))(...given)

const NAME = ['<name>', 'the name of the runbook'] as const

export function addRunbookCommands(program: Command, io: Io): void {
  const runbook = program.command('runbook').description('check, publish and look at runbooks')

  addFileVerbs(runbook, io)
  addVerb(runbook, io, {
    name: 'publish',
    about: 'publish a runbook as its next version, after showing what that means',
    args: [['<file>', 'the runbook (YAML)']],
    options: [['--rerun-init', 'batches under way run their init steps again'], ...CHANGE, DRY_RUN],
    choices: [
      [
        '--overdue-behavior <what>',
        'what becomes of phases of batches under way that are due already; ignore unless given',
        ['ignore', 'rerun'],
      ],
    ],
    examples: [
      'runbook publish examples/user-migration.yaml --dry-run',
      'runbook publish wave.yaml --overdue-behavior rerun --reason "new licence step" --yes',
    ],
    run: later((verbs) => verbs.runPublish),
  })
  addVerb(runbook, io, {
    name: 'list',
    about: 'list runbooks by their version in use',
    options: [
      ['--search <text>', 'whose name holds this'],
      ['--inactive', 'also those without a version in use'],
      ...PAGED,
    ],
    examples: ['runbook list', 'runbook list --output json'],
    run: later((verbs) => verbs.runListRunbooks),
  })
  addVersionVerbs(runbook, io)
}

function addVersionVerbs(runbook: Command, io: Io): void {
  addVerb(runbook, io, {
    name: 'get',
    about: 'print the text of a runbook',
    isText: true,
    args: [NAME, ['[version]', 'a version; the one in use unless given']],
    examples: ['runbook get user-migration > user-migration.yaml', 'runbook get user-migration 3'],
    run: later((verbs) => verbs.runGetRunbook),
  })
  addVerb(runbook, io, {
    name: 'versions',
    about: 'list all versions of a runbook, newest first',
    args: [NAME],
    options: PAGED,
    examples: ['runbook versions user-migration'],
    run: later((verbs) => verbs.runListVersions),
  })
  addVerb(runbook, io, {
    name: 'diff',
    about: 'show what differs between two versions, or between one and a file',
    isText: true,
    args: [
      NAME,
      ['[from]', 'a version; the one in use where a file is compared'],
      ['[to]', 'a version; the one in use unless given'],
    ],
    options: [['--file <yaml>', 'compare with this file']],
    examples: ['runbook diff user-migration 3 4', 'runbook diff user-migration --file new.yaml'],
    run: later((verbs) => verbs.runDiff),
  })
  addVerb(runbook, io, {
    name: 'plan',
    about: 'show who will get what and when, with parameters as they would be sent',
    args: [NAME],
    options: [
      ['--batch <id>', 'for the members of this batch'],
      ['--start <time>', 'for a start at this time, such as 2030-03-01T20:00:00Z'],
      ['--file <yaml>', 'with this text of the runbook instead of the published one'],
    ],
    examples: ['runbook plan user-migration', 'runbook plan user-migration --batch 7 -o json'],
    run: async (...given) => (await import('./plan.ts')).runPlan(...given),
  })
  addVerb(runbook, io, {
    name: 'ticks',
    about: 'list when the data source was asked, and what came of it, newest first',
    args: [NAME],
    options: PAGED,
    examples: ['runbook ticks user-migration --limit 10'],
    run: async (context, args) => (await import('./plan.ts')).runListTicks(context, args),
  })
  addVerb(runbook, io, {
    name: 'delete',
    about: 'take a version out of use; batches under way finish',
    args: [NAME, ['<version>', 'its number']],
    options: CHANGE,
    examples: ['runbook delete user-migration 3 --reason "wrong licences"'],
    run: later((verbs) => verbs.runDeleteVersion),
  })
}

/** Those that need no API. */
function addFileVerbs(runbook: Command, io: Io): void {
  runbook
    .command('validate')
    .description('report everything that is wrong with runbook files')
    .argument('<file...>', 'runbook files (YAML)')
    .option('--members <csv>', 'check variables against the columns of this member file')
    .addOption(outputOption(true))
    .addHelpText('after', VALIDATE_HELP)
    .action(async (files: string[], options: Omit<ValidateOptions, 'files'>) => {
      const { validateRunbooks } = await import('./validate.ts')
      await validateRunbooks({ files, ...options }, io)
    })

  runbook
    .command('schema')
    .description('print the JSON Schema of runbooks, for editors')
    .addHelpText('after', SCHEMA_HELP)
    .action(async () => {
      const { runbookSchema } = await import('../../../domain/runbook/schema.ts')
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
