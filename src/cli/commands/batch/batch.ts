// `matoolkit batch …`: what the commands are called and take.
import type { Command } from 'commander'
import type { Io } from '../../terminal/io.ts'
import { addVerb, CHANGE, DRY_RUN, PAGED, type Verb, WAITING } from '../verb.ts'
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
  stepAction,
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

const ID = ['<id>', 'the id of the batch'] as const
const STEP = [
  '<step-id>',
  'the id of the step, as batch steps, failures and member show it',
] as const
const FILE = ['<file>', 'the members (CSV, UTF-8)'] as const

const LOOKING: readonly Verb[] = [
  {
    name: 'list',
    about: 'list batches, newest first',
    options: [
      ['--runbook <name>', 'of this runbook'],
      ['--status <list>', 'detected, init_dispatched, active, completed, failed, cancelled'],
      ['--manual', 'only manual ones'],
      ['--held', 'only those that are held'],
      ...PAGED,
    ],
    choices: [['--sort <order>', 'in this order', ['newest', 'oldest', 'start', 'start_latest']]],
    examples: [
      'batch list',
      'batch list --runbook user-migration --status active',
      'batch list -o json',
    ],
    run: runListBatches,
  },
  {
    name: 'get',
    about: 'show a batch with its phases',
    args: [ID],
    examples: ['batch get 7', 'batch get 7 --output yaml'],
    run: runGetBatch,
  },
  {
    name: 'summary',
    about: 'show who is where, how fast it goes, what comes next and when it will end',
    args: [ID],
    examples: ['batch summary 7'],
    run: runSummary,
  },
  {
    name: 'phases',
    about: 'list the phases with counts of members and steps',
    args: [ID],
    examples: ['batch phases 7'],
    run: runListPhases,
  },
  {
    name: 'members',
    about: 'list the members',
    args: [ID],
    options: [
      ['--status <list>', 'active, failed, removed'],
      ['--search <text>', 'whose key holds this'],
      ['--failed-phase <name>', 'who failed in this phase'],
      ['--failed-step <name>', 'who failed in this step'],
      ['--error <text>', 'whose error holds this'],
      ...PAGED,
    ],
    choices: [['--sort <order>', 'in this order', ['id', 'key']]],
    examples: [
      'batch members 7 --status failed',
      'batch members 7 --all --output csv > members.csv',
    ],
    run: runListMembers,
  },
  {
    name: 'steps',
    about: 'list the steps',
    args: [ID],
    options: [
      ['--kind <list>', 'phase, init, rollback, removal; phase unless given'],
      ['--status <list>', 'pending, dispatched, polling, succeeded, failed, poll_timeout, …'],
      ['--phase <name>', 'of this phase'],
      ['--step <name>', 'of this name'],
      ['--member <who>', 'of this member, by id or key'],
      ['--worker <id>', 'of this worker'],
      ['--error <text>', 'whose error holds this'],
      ...PAGED,
    ],
    examples: ['batch steps 7 --status failed', 'batch steps 7 --member ada@contoso.com'],
    run: runListSteps,
  },
]

const WATCHING: Verb = {
  name: 'watch',
  about: 'follow a batch until it ends: phases, failures as they come, when it will end',
  isText: true,
  args: [ID],
  options: [WAITING[1]!],
  more: `A picture on a terminal, a line for each change elsewhere; as json a line, as yaml a document and as csv a record for each
event and each new state. Ctrl-C stops watching and nothing else.

Exit code: 0 the batch was completed, 1 it failed or was cancelled, 8 time was up, 130 you stopped watching.`,
  examples: [
    'batch watch 7',
    'batch watch 7 --timeout 8h > watch.log',
    'batch watch 7 --timeout 8h --output json',
  ],
  run: async (context, args) => (await import('./watch.ts')).runWatch(context, args),
}

const REPORTING: Verb = {
  name: 'report',
  about: 'write the outcome of a batch to a file: who passed, who failed where and why',
  args: [ID],
  options: [
    ['--file <path>', 'where to; batch-{id}-report.html unless given, - for the terminal'],
    ['--force', 'replace a file that is there'],
  ],
  choices: [
    [
      '--format <format>',
      'html is a page to read and print, csv has a line for each member, json everything; as the name of the file ends, else html',
      ['html', 'csv', 'json'],
    ],
  ],
  more: 'The file names people: only you can read it until you say otherwise.',
  examples: ['batch report 7 --file wave-7.html --force', 'batch report 7 --format csv --file -'],
  run: async (...given) => (await import('./report.ts')).runReport(...given),
}

const CHANGING: readonly Verb[] = [
  {
    name: 'create',
    about: 'create a manual batch from a member file',
    args: [['<runbook>', 'the name of the runbook'], FILE],
    options: [['--reason <text>', 'why; kept in the audit'], DRY_RUN],
    more: 'The whole file is checked first; every problem is told with its row and column. The batch waits to be advanced.',
    examples: [
      'batch create user-migration pilot.csv --dry-run',
      'batch create user-migration pilot.csv',
    ],
    run: runCreate,
  },
  {
    name: 'advance',
    about: 'begin the next phase of a manual batch',
    args: [ID],
    options: [
      ['--phase <name>', 'refuse unless this is the next one'],
      ['--allow-stragglers', 'although some are not through the phase before'],
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
    about: 'add the members of a file; they catch up on what has begun',
    args: [ID, FILE],
    options: [['--reason <text>', 'why; kept in the audit'], DRY_RUN],
    examples: ['batch add-members 7 latecomers.csv --dry-run'],
    run: runAddMembers,
  },
  {
    name: 'remove-member',
    about: 'remove a member: open steps are cancelled and removal steps run',
    args: [
      ['<batch-id>', 'the id of the batch'],
      ['<member>', 'the id or the key of the member'],
    ],
    options: CHANGE,
    examples: ['batch remove-member 7 ada@contoso.com --reason "leaves the company"'],
    run: runRemoveMember,
  },
]

const OPERATING: readonly Verb[] = [
  {
    name: 'hold',
    about: 'send nothing new; jobs that no worker has taken are called back',
    args: [ID],
    options: [CHANGE[0]!, DRY_RUN],
    examples: ['batch hold 7 --reason "mailboxes are slow"'],
    run: runHold,
  },
  {
    name: 'resume',
    about: 'go on after a hold',
    args: [ID],
    options: [CHANGE[0]!, DRY_RUN, ...WAITING],
    examples: ['batch resume 7 --reason "fast again" --wait'],
    run: runResume,
  },
  {
    name: 'restart',
    about: 'take a batch that failed in init back to init',
    args: [ID],
    options: [CHANGE[0]!, DRY_RUN, ...WAITING],
    examples: ['batch restart 7 --reason "group was missing"'],
    run: runRestart,
  },
  {
    name: 'reschedule',
    about: 'give a batch another start; phases that have not begun move with it',
    args: [ID, ['<time>', 'the new start with its zone, such as 2030-03-01T20:00:00Z']],
    options: [['--allow-overdue', 'although phases would begin at once'], CHANGE[0]!, DRY_RUN],
    examples: ['batch reschedule 7 2030-03-08T20:00:00Z --reason "week of the audit" --dry-run'],
    run: runReschedule,
  },
  {
    name: 'clone',
    about: 'make a manual batch of the members of another that has ended for them',
    args: [ID],
    options: [['--members <list>', 'which of them: active, failed, removed'], CHANGE[0]!, DRY_RUN],
    examples: ['batch clone 7 --members failed --reason "second try"'],
    run: runClone,
  },
]

/** Who is meant by what is done for many. */
const WHO = [
  ['--all', 'everybody it is for'],
  ['--member <who...>', 'these, by id or key'],
  ['--failed-phase <name>', 'who failed in this phase'],
  ['--failed-step <name>', 'who failed in this step'],
  ['--error <text>', 'whose error holds this'],
] as const

const HELPING: readonly Verb[] = [
  {
    name: 'retry',
    about: 'let failed members try again',
    args: [ID],
    options: [...WHO, ['--from-step <name>', 'from this step on'], ...CHANGE, DRY_RUN, ...WAITING],
    examples: [
      'batch retry 7 --failed-step set-licence --dry-run',
      'batch retry 7 --all --reason "licences bought" --yes --wait',
    ],
    run: runRetry,
  },
  {
    name: 'redo',
    about: 'let members do a step and all later ones again',
    args: [ID],
    options: [
      ...WHO,
      ['--from-step <name>', 'the first step to do again'],
      ...CHANGE,
      DRY_RUN,
      ...WAITING,
    ],
    examples: ['batch redo 7 --member ada@contoso.com --from-step set-address --reason "typo"'],
    run: runRedo,
  },
  {
    name: 'set-variable',
    about: 'give members a variable, as if a step had put it out',
    args: [ID],
    options: [...WHO, ['--set <name=value>', 'the variable'], ...CHANGE, DRY_RUN],
    examples: ['batch set-variable 7 --member 4711 --set LicenceSku=E5 --reason "wrong in HR"'],
    run: runSetVariable,
  },
  {
    name: 'skip',
    about: 'let a member go on without a step',
    args: [STEP],
    options: [...CHANGE, DRY_RUN],
    examples: ['batch skip 90210 --reason "has no archive"'],
    run: stepAction('skip'),
  },
  {
    name: 'mark-done',
    about: 'say that a step was done by hand; its member goes on after it',
    args: [STEP],
    options: [['--outputs <list>', 'what it would have put out: Name=value,…'], ...CHANGE, DRY_RUN],
    examples: ['batch mark-done 90210 --outputs UserId=4711 --reason "made in the portal"'],
    run: stepAction('done'),
  },
  {
    name: 'accept-late',
    about: 'take a success that came too late for the result of the step after all',
    args: [STEP],
    options: [...CHANGE, DRY_RUN],
    examples: ['batch accept-late 90210 --reason "the mailbox is there"'],
    run: stepAction('accept-late'),
  },
]

export function addBatchCommands(program: Command, io: Io): void {
  const noun = program.command('batch').description('look after batches and their members')
  const verbs = [...LOOKING, WATCHING, REPORTING, ...CHANGING, ...OPERATING, ...HELPING]
  for (const verb of verbs) addVerb(noun, io, verb)
}
