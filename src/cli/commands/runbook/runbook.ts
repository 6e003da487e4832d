// `matoolkit runbook …`: names, arguments and flags of the commands. Their code is loaded when one runs.
import type { Command } from 'commander'
import { GLOBAL_FLAGS } from '../../program/global-flags.ts'
import type { Io } from '../../terminal/io.ts'
import { addVerb, CHANGE, DRY_RUN, outputOption, PAGED } from '../verb.ts'
import type { InitFlags } from './init.ts'
import type { ValidateOptions } from './validate.ts'

/** Which API to ask. */
const API_FLAGS = GLOBAL_FLAGS.filter(([spelling]) =>
  /--(?:api-url|instance|profile)/.test(spelling),
)

const NAME = ['<name>', 'name of the runbook'] as const

export function addRunbookCommands(program: Command, io: Io): void {
  const runbook = program.command('runbook').description('validate, publish and inspect runbooks')
  addFileVerbs(runbook, io)
  addVersionVerbs(runbook, io)
  addReadVerbs(runbook, io)
  addOutlookVerbs(runbook, io)
}

/** They need no API. */
function addFileVerbs(runbook: Command, io: Io): void {
  const validate = runbook
    .command('validate')
    .description('report every problem in runbook files')
    .argument('[file...]', 'runbook files (YAML), or folders of them')
    .option('--members <csv>', 'check variables against the columns of this member file')
    .option('--offline', 'ask no API for functions of workers')
    .option('--schema', 'print the JSON Schema of runbooks instead')
    .option('--write', 'convert runbooks of the earlier system, after a diff')
    .option('-y, --yes', 'skip the confirmation')
    .addOption(outputOption(true, ['sarif']))
    .addHelpText('after', VALIDATE_HELP)
    .action(async (files: string[], options: Omit<ValidateOptions, 'files'>) => {
      const { printSchema, validateRunbooks } = await import('./validate.ts')
      await (options.schema ? printSchema(io) : validateRunbooks({ files, ...options }, io))
    })
  for (const [spelling, about] of API_FLAGS) validate.option(spelling, about)

  runbook
    .command('init')
    .description('write a starter runbook and its member file')
    .argument('[name]', 'name of the runbook and of both files')
    .option('--from <domain>', 'domain that people leave (default: fabrikam.example)')
    .option('--to <domain>', 'domain that people move to (default: contoso.example)')
    .option('--start <time>', 'first cut-over (default: in 30 days)')
    .option('--notice-from <address>', 'sender of a notice the day before')
    .option('--force', 'replace existing files')
    .option('-y, --yes', 'skip the confirmation')
    .addHelpText('after', INIT_HELP)
    .action(async (name: string | undefined, flags: InitFlags) => {
      const { initRunbook } = await import('./init.ts')
      await initRunbook(name, flags, io)
    })
}

function addVersionVerbs(runbook: Command, io: Io): void {
  addVerb(runbook, io, {
    name: 'publish',
    about: 'publish the next version of a runbook',
    args: [['<file>', 'runbook file (YAML)']],
    options: [
      ['--rerun-init', 'repeat the init steps of running batches'],
      ['--force', 'publish although a required parameter is missing'],
      ...CHANGE,
      DRY_RUN,
    ],
    choices: [
      [
        '--overdue-behavior <what>',
        'overdue phases of running batches (default: ignore)',
        ['ignore', 'rerun'],
      ],
    ],
    more: 'Shows the impact on running batches and asks for confirmation first.',
    examples: [
      'runbook publish examples/user-migration.yaml --dry-run',
      'runbook publish wave.yaml --overdue-behavior rerun --reason "new licence step" --yes',
    ],
    run: async (...given) => (await import('./publish.ts')).runPublish(...given),
  })
  addVerb(runbook, io, {
    name: 'delete',
    about: 'retire a version',
    args: [NAME, ['<version>', 'number of the version']],
    options: CHANGE,
    more: 'Running batches finish with it.',
    examples: ['runbook delete user-migration 3 --reason "wrong licences"'],
    run: async (...given) => (await import('./publish.ts')).runDeleteVersion(...given),
  })
}

function addReadVerbs(runbook: Command, io: Io): void {
  addVerb(runbook, io, {
    name: 'list',
    about: 'list runbooks',
    options: [
      ['--search <text>', 'only with this text in the name'],
      ['--inactive', 'include runbooks without a version in use'],
      ...PAGED,
    ],
    examples: ['runbook list', 'runbook list --output json'],
    run: async (...given) => (await import('./lists.ts')).runListRunbooks(...given),
  })
  addVerb(runbook, io, {
    name: 'get',
    about: 'print the YAML of a runbook',
    isText: true,
    args: [NAME, ['[version]', 'number of the version (default: the one in use)']],
    options: [['--version <number>', 'the same as [version]']],
    examples: [
      'runbook get user-migration > user-migration.yaml',
      'runbook get user-migration 3',
      'runbook get user-migration --version 3',
    ],
    run: async (...given) => (await import('./lists.ts')).runGetRunbook(...given),
  })
  addVerb(runbook, io, {
    name: 'versions',
    about: 'list the versions of a runbook',
    args: [NAME],
    options: PAGED,
    examples: ['runbook versions user-migration'],
    run: async (context, args) => (await import('./lists.ts')).runListVersions(context, args),
  })
  addVerb(runbook, io, {
    name: 'diff',
    about: 'compare two versions, or one with a file',
    isText: true,
    args: [
      NAME,
      ['[from]', 'version to compare (default with --file: the one in use)'],
      ['[to]', 'version to compare with (default: the one in use)'],
    ],
    options: [['--file <yaml>', 'file to compare with']],
    examples: ['runbook diff user-migration 3 4', 'runbook diff user-migration --file new.yaml'],
    run: async (...given) => (await import('./diff.ts')).runDiff(...given),
  })
}

function addOutlookVerbs(runbook: Command, io: Io): void {
  addVerb(runbook, io, {
    name: 'plan',
    about: 'show which steps members run and when',
    args: [['<runbook>', 'name of a published runbook, or a file']],
    options: [
      ['--members <csv>', 'people for a runbook file (default: its own)'],
      ['--batch <id>', 'plan for the members of this batch'],
      ['--start <time>', 'plan for this start, such as +2h or 22:30'],
      ['--file <yaml>', 'runbook file to use instead of the published version'],
    ],
    more: `Parameters are shown as they would be sent. A file such as wave.yaml needs no server: the plan shows the batches
that its people would form, the dates of their phases, and rows that cannot be used.`,
    examples: [
      'runbook plan user-migration',
      'runbook plan user-migration --batch 7 -o json',
      'runbook plan wave.yaml --members wave.csv',
    ],
    run: async (...given) => (await import('./plan.ts')).runPlan(...given),
  })
  addVerb(runbook, io, {
    name: 'preview-message',
    about: 'preview a message to a person',
    args: [['[runbook]', 'name of a published runbook, or a file']],
    options: [
      ['--message <name>', 'name of the message (default: the first)'],
      ['--members <csv>', 'people for a runbook file (default: its own)'],
      ['--member <key>', 'person of the file (default: the first), or of --batch'],
      ['--batch <id>', 'preview for a member of this batch'],
      ['--language <language>', "language instead of the person's"],
      ['--start <time>', 'start of the batch, such as +2h or 22:30'],
    ],
    more: `Sends nothing. Names the language and why, and each variable without a value with line and column. A file such as wave.yaml
needs no server; a published runbook is shown for a made-up member. A correction is shown as if the person had been told a
start a week earlier.`,
    examples: [
      'runbook preview-message user-migration --message cut-over-notice --language de',
      'runbook preview-message wave.yaml --message cut-over-notice --members wave.csv',
      'runbook preview-message wave.yaml --members wave.csv --member ada@contoso.com',
      'runbook preview-message --batch 7 --message cut-over-notice --member ada@contoso.com',
    ],
    run: async (...given) => (await import('../preview-message.ts')).runPreviewOfRunbook(...given),
  })
}

const VALIDATE_HELP = `
Exit code: 0 all files are valid (warnings are allowed), 1 a file has errors, 2 wrong usage.
A running API adds the functions of its workers to the standard ones: the API that a flag names, else that of the settings or an instance
that runs here, if it answers.
--write changes only what keeps what the earlier system did; docs/coming-from-the-earlier-system.md lists it. The rest stays for you.
Editors use the schema through a first line such as "# yaml-language-server: $schema=runbook.schema.json".
docs/runbook.md explains every key, problem code and migration rule, and how to ignore one.

Examples:
  $ matoolkit runbook validate examples/user-migration.yaml
  $ matoolkit runbook validate wave.yaml --members wave-members.csv
  $ matoolkit runbook validate wave.yaml --api-url https://matoolkit.contoso.com
  $ matoolkit runbook validate runbooks --offline --output json
  $ matoolkit runbook validate runbooks/*.yaml --output sarif > runbooks.sarif
  $ matoolkit runbook validate runbooks --write
  $ matoolkit runbook validate --schema > runbook.schema.json`

const INIT_HELP = `
Writes <name>.runbook.yaml and <name>.csv into this folder. Both are valid, and "runbook rehearse" takes them as they are. Editors know
files called *.runbook.yaml (docs/runbook.md). Without a name it asks on a terminal for what no flag says.

Examples:
  $ matoolkit runbook init wave --from fabrikam.com --to contoso.com
  $ matoolkit runbook init
  $ matoolkit runbook init pilot --start "2030-03-01 22:00" --notice-from migration@contoso.com --force`
