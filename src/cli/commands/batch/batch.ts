// `matoolkit batch …`: names, arguments and flags of the commands.
import type { Command } from 'commander'
import type { Io } from '../../terminal/io.ts'
import {
  addVerb,
  BATCH_ARG,
  CHANGE,
  DRY_RUN,
  MEMBER_ARG,
  PAGED,
  REASON,
  RUNBOOK_ARG,
  TIMEOUT,
  type Verb,
  WAITING,
} from '../verb.ts'
import {
  runAddMembers,
  runAdvance,
  runCancel,
  runClone,
  runCreate,
  runHold,
  runRemoveMember,
  runReschedule,
  runRestart,
  runResume,
} from './actions.ts'
import {
  runGetBatch,
  runListBatches,
  runListMembers,
  runListPhases,
  runListSteps,
  runSummary,
} from './lists.ts'
import { runRedo, runRetry, runSetVariable } from './member-actions.ts'
import { stepAction } from './step-actions.ts'

const ID = ['<id>', 'id of the batch'] as const
const STEP = ['<step-id>', 'id of the step, from batch steps or failures'] as const
const FILE = ['<file>', 'member file (CSV, UTF-8)'] as const

const READ_VERBS: readonly Verb[] = [
  {
    name: 'list',
    about: 'list batches, newest first',
    options: [
      ['--runbook <name>', 'only of this runbook'],
      ['--status <list>', 'detected, init_dispatched, active, completed, failed, cancelled'],
      ['--manual', 'only manual batches'],
      ['--held', 'only held batches'],
      ...PAGED,
    ],
    choices: [['--sort <order>', 'sort order', ['newest', 'oldest', 'start', 'start_latest']]],
    examples: [
      'batch list',
      'batch list --runbook user-migration --status active',
      'batch list -o json',
    ],
    run: runListBatches,
  },
  {
    name: 'get',
    about: 'show status and phases of a batch',
    args: [ID],
    examples: ['batch get 7', 'batch get 7 --output yaml'],
    run: runGetBatch,
  },
  {
    name: 'summary',
    about: 'show counts, pace and expected end',
    args: [ID],
    examples: ['batch summary 7'],
    run: runSummary,
  },
  {
    name: 'phases',
    about: 'list phases with member and step counts',
    args: [ID],
    examples: ['batch phases 7'],
    run: runListPhases,
  },
  {
    name: 'members',
    about: 'list members',
    args: [ID],
    options: [
      ['--status <list>', 'active, failed, removed'],
      ['--search <text>', 'only with this text in the key'],
      ['--failed-phase <name>', 'only failed in this phase'],
      ['--failed-step <name>', 'only failed in this step'],
      ['--error <text>', 'only with this text in the error'],
      ...PAGED,
    ],
    choices: [['--sort <order>', 'sort order', ['id', 'key']]],
    examples: [
      'batch members 7 --status failed',
      'batch members 7 --all --output csv > members.csv',
    ],
    run: runListMembers,
  },
  {
    name: 'steps',
    about: 'list steps',
    args: [ID],
    options: [
      ['--kind <list>', 'phase, init, rollback, removal (default: phase)'],
      ['--status <list>', 'pending, dispatched, polling, succeeded, failed, poll_timeout, …'],
      ['--phase <name>', 'only of this phase'],
      ['--step <name>', 'only steps with this name'],
      ['--member <member>', 'only of this member, by id or key'],
      ['--worker <id>', 'only of this worker'],
      ['--error <text>', 'only with this text in the error'],
      ...PAGED,
    ],
    examples: ['batch steps 7 --status failed', 'batch steps 7 --member ada@contoso.com'],
    run: runListSteps,
  },
  {
    name: 'watch',
    about: 'follow a batch until it ends',
    isText: true,
    args: [ID],
    options: [TIMEOUT],
    more: `On a terminal a live screen, in a pipe a line per change. With --output, a record per event and per new state.
Ctrl-C stops watching; the batch continues.

Exit code: 0 the batch completed, 1 it failed or was cancelled, 8 the timeout was reached, 130 you stopped watching.`,
    examples: [
      'batch watch 7',
      'batch watch 7 --timeout 8h > watch.log',
      'batch watch 7 --timeout 8h --output json',
    ],
    run: async (context, args) => (await import('./watch.ts')).runWatch(context, args),
  },
  {
    name: 'report',
    about: 'write a report of a batch',
    args: [ID],
    options: [
      ['--file <path>', 'file to write, - for stdout (default: batch-{id}-report.html)'],
      ['--force', 'replace an existing file'],
    ],
    choices: [['--format <format>', 'format (default: by file name)', ['html', 'csv', 'json']]],
    more: `html is a page to read and print, csv has a line per member, json has everything.
The report names people: the file is readable by you only.`,
    examples: ['batch report 7 --file wave-7.html --force', 'batch report 7 --format csv --file -'],
    run: async (...given) => (await import('./report.ts')).runReport(...given),
  },
]

const BATCH_VERBS: readonly Verb[] = [
  {
    name: 'create',
    about: 'create a manual batch from a CSV file',
    args: [RUNBOOK_ARG, FILE],
    options: [REASON, DRY_RUN],
    more: `The whole file is checked first; every problem is listed with row and column.
The batch starts when you advance it.`,
    examples: [
      'batch create user-migration pilot.csv --dry-run',
      'batch create user-migration pilot.csv',
    ],
    run: runCreate,
  },
  {
    name: 'advance',
    about: 'start the next phase of a manual batch',
    args: [ID],
    options: [
      ['--phase <name>', 'expected next phase; any other is refused'],
      ['--allow-stragglers', 'start even if members are still in the previous phase'],
      ...CHANGE,
      DRY_RUN,
      ...WAITING,
    ],
    examples: ['batch advance 7', 'batch advance 7 --phase cutover --yes --wait --timeout 8h'],
    run: runAdvance,
  },
  {
    name: 'cancel',
    about: 'end a batch for good',
    args: [ID],
    options: [...CHANGE, DRY_RUN, ...WAITING],
    examples: ['batch cancel 7 --reason "postponed to autumn"'],
    run: runCancel,
  },
  {
    name: 'add-members',
    about: 'add members from a CSV file',
    args: [ID, FILE],
    options: [REASON, DRY_RUN],
    more: 'New members catch up on phases that have started.',
    examples: ['batch add-members 7 latecomers.csv --dry-run'],
    run: runAddMembers,
  },
  {
    name: 'remove-member',
    about: 'remove a member and run removal steps',
    args: [BATCH_ARG, MEMBER_ARG],
    options: CHANGE,
    more: 'Open steps of the member are cancelled.',
    examples: ['batch remove-member 7 ada@contoso.com --reason "leaves the company"'],
    run: runRemoveMember,
  },
  {
    name: 'hold',
    about: 'hold a batch',
    args: [ID],
    options: [REASON, DRY_RUN],
    more: 'A held batch sends no jobs. Jobs that no worker has started are withdrawn.',
    examples: ['batch hold 7 --reason "mailboxes are slow"'],
    run: runHold,
  },
  {
    name: 'resume',
    about: 'resume a held batch',
    args: [ID],
    options: [REASON, DRY_RUN, ...WAITING],
    examples: ['batch resume 7 --reason "fast again" --wait'],
    run: runResume,
  },
  {
    name: 'restart',
    about: 'restart a batch that failed in init',
    args: [ID],
    options: [REASON, DRY_RUN, ...WAITING],
    examples: ['batch restart 7 --reason "group was missing"'],
    run: runRestart,
  },
  {
    name: 'reschedule',
    about: 'move the cut-over time of a batch',
    args: [ID, ['<time>', 'new start with time zone, such as 2030-03-01T20:00:00Z']],
    options: [['--allow-overdue', 'allow phases to start at once'], REASON, DRY_RUN],
    more: 'Phases that have not started move with the start time.',
    examples: ['batch reschedule 7 2030-03-08T20:00:00Z --reason "week of the audit" --dry-run'],
    run: runReschedule,
  },
  {
    name: 'clone',
    about: 'copy finished members into a new manual batch',
    args: [ID],
    options: [['--members <list>', 'statuses to copy: active, failed, removed'], REASON, DRY_RUN],
    examples: ['batch clone 7 --members failed --reason "second try"'],
    run: runClone,
  },
]

/** Flags that select members. */
const SELECTION = [
  ['--all', 'select all members'],
  ['--member <member...>', 'select these members, by id or key'],
  ['--failed-phase <name>', 'select members that failed in this phase'],
  ['--failed-step <name>', 'select members that failed in this step'],
  ['--error <text>', 'select members with this text in the error'],
] as const

const MEMBER_VERBS: readonly Verb[] = [
  {
    name: 'retry',
    about: 'retry failed members',
    args: [ID],
    options: [
      ...SELECTION,
      ['--from-step <name>', 'first step to run'],
      ...CHANGE,
      DRY_RUN,
      ...WAITING,
    ],
    examples: [
      'batch retry 7 --failed-step set-licence --dry-run',
      'batch retry 7 --all --reason "licences bought" --yes --wait',
    ],
    run: runRetry,
  },
  {
    name: 'redo',
    about: 'repeat a step and later ones for members',
    args: [ID],
    options: [
      ...SELECTION,
      ['--from-step <name>', 'first step to repeat'],
      ...CHANGE,
      DRY_RUN,
      ...WAITING,
    ],
    examples: ['batch redo 7 --member ada@contoso.com --from-step set-address --reason "typo"'],
    run: runRedo,
  },
  {
    name: 'set-variable',
    about: 'set a variable for members',
    args: [ID],
    options: [...SELECTION, ['--set <name=value>', 'variable and value'], ...CHANGE, DRY_RUN],
    more: 'Later steps see the value as if a step had returned it.',
    examples: ['batch set-variable 7 --member 4711 --set LicenceSku=E5 --reason "wrong in HR"'],
    run: runSetVariable,
  },
]

const STEP_VERBS: readonly Verb[] = [
  {
    name: 'skip',
    about: 'skip a step',
    args: [STEP],
    options: [...CHANGE, DRY_RUN],
    examples: ['batch skip 90210 --reason "has no archive"'],
    run: stepAction('skip'),
  },
  {
    name: 'mark-done',
    about: 'mark a step as done by hand',
    args: [STEP],
    options: [['--outputs <list>', 'outputs of the step: Name=value,…'], ...CHANGE, DRY_RUN],
    examples: ['batch mark-done 90210 --outputs UserId=4711 --reason "made in the portal"'],
    run: stepAction('done'),
  },
  {
    name: 'accept-late',
    about: "accept a late success as the step's result",
    args: [STEP],
    options: [...CHANGE, DRY_RUN],
    examples: ['batch accept-late 90210 --reason "the mailbox is there"'],
    run: stepAction('accept-late'),
  },
]

/** The headings of `matoolkit batch --help`, in order. */
const GROUPS: Readonly<Record<string, readonly Verb[]>> = {
  'Look:': READ_VERBS,
  'Act on a batch:': BATCH_VERBS,
  'Repair members:': MEMBER_VERBS,
  'Repair steps:': STEP_VERBS,
}

export function addBatchCommands(program: Command, io: Io): void {
  const noun = program.command('batch').description('manage batches and their members')
  for (const [heading, verbs] of Object.entries(GROUPS)) {
    noun.commandsGroup(heading)
    for (const verb of verbs) addVerb(noun, io, verb)
  }
  noun.commandsGroup('Look:').helpCommand(true)
}
