// `matoolkit batch …`: names, arguments and flags of the commands.

import type { Command } from 'commander'
import { STATUSES } from '../../../domain/state/transitions.ts'
import { statusesByWord } from '../../../domain/state/words.ts'
import { textFlag, usageError } from '../../program/command-context.ts'
import type { Io } from '../../terminal/io.ts'
import {
  addVerb,
  BATCH_ARG,
  CHANGE,
  DRY_RUN,
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
  runOverrideWindow,
} from './actions.ts'
import { runCompare } from './compare.ts'
import { EXPORT_VERB } from './export.ts'
import { runForecast } from './forecast.ts'
import { APPROVE_VERB, runGates } from './gates.ts'
import {
  BATCH_ORDERS,
  MEMBER_ORDERS,
  runGetBatch,
  runListBatches,
  runListMembers,
  runListPhases,
  runListSteps,
  STATE_NAMES,
} from './lists.ts'
import {
  runMove,
  runReadd,
  runRemove,
  runRollback,
  runSetVariable,
  runUndo,
} from './member-actions.ts'
import { MESSAGES_VERB } from './messages.ts'
import { MEMBERS_ARG, NAMED_SELECTION, SELECTION } from './select-people.ts'
import { runReschedule } from './starting.ts'
import { runAnyRetry, runSkip, stepAction } from './step-actions.ts'
import { runUndoInit } from './undo.ts'

const ID = ['<id>', 'id of the batch'] as const
const STEP = ['<step-id>', 'id of the step, from batch steps or failures'] as const
const FILE = ['<file>', 'member file (CSV, UTF-8)'] as const

const READ_VERBS: readonly Verb[] = [
  {
    name: 'list',
    about: 'list batches, newest first',
    options: [
      ['--runbook <name>', 'only of this runbook'],
      ['--manual', 'only manual batches'],
      ['--held', 'only held batches'],
      ['--tonight', 'only with the cut-over in the last 12 or next 18 hours, in order'],
      ...PAGED,
    ],
    lists: [
      ['--status <list>', 'only with these statuses', STATUSES.batch, statusesByWord('batch')],
    ],
    choices: [['--sort <order>', 'sort order', BATCH_ORDERS]],
    examples: [
      'batch list --tonight',
      'batch list --runbook user-migration --status active',
      'batch list -o json',
    ],
    run: runListBatches,
  },
  {
    name: 'get',
    about: 'show the overview: people, phases, end, needs',
    args: [ID],
    options: [
      ['--forecast', 'when each phase ends, and what that rests on'],
      ['--gates', 'what phases still need to start, and who decided what'],
      ['--with <batch-id>', 'side by side with another batch: people, times, pace, causes'],
    ],
    more: `Half of such nights end by the p50, nine of ten by the p90. Each figure says what it rests on: the pace of the last 15
minutes, the last rehearsal, or the pace of other phases. Where it would be a guess there is none. A phase before the cut-over must end
before T-0, a later one before the next is due. At a gate a member is ready when it has passed every step of every earlier phase.`,
    examples: [
      'batch get 7 --forecast',
      'batch get 7 --gates --output json',
      'batch get 7 --with 3',
    ],
    run: (context, args, flags) => {
      if ([flags.forecast, flags.gates, flags.with].filter(Boolean).length > 1)
        throw usageError('Use one of --forecast, --gates and --with.')
      if (flags.with) return runCompare(context, [...args, textFlag(flags, 'with')])
      if (flags.forecast) return runForecast(context, args)
      return flags.gates ? runGates(context, args) : runGetBatch(context, args)
    },
  },
  {
    name: 'phases',
    about: 'list only the phases, for scripts',
    args: [ID],
    examples: ['batch phases 7'],
    run: runListPhases,
  },
  {
    name: 'members',
    about: 'list members: where they are, what comes next',
    args: [ID],
    options: [
      ['--state <list>', STATE_NAMES],
      ['--phase <name>', 'only now in this phase'],
      ['--step <name>', 'only now at this step'],
      ['--search <text>', 'only with this text in the key'],
      ['--failed-phase <name>', 'only failed in this phase'],
      ['--failed-step <name>', 'only failed in this step'],
      ['--error <text>', 'only with this text in the error'],
      ...PAGED,
    ],
    lists: [['--status <list>', 'only with these statuses', STATUSES.member]],
    choices: [['--sort <order>', 'sort order', MEMBER_ORDERS]],
    examples: [
      'batch members 7 --state cutting-over --phase cutover',
      'batch members 7 --state failed,rolled-back',
      'batch members 7 --all --output csv > members.csv',
    ],
    run: runListMembers,
  },
  {
    name: 'steps',
    about: 'list steps',
    args: [ID],
    options: [
      ['--kind <list>', 'phase, init, rollback, removal, undo (default: phase)'],
      ['--phase <name>', 'only of this phase'],
      ['--step <name>', 'only steps with this name'],
      ['--member <member>', 'only of this member, by id or key'],
      ['--worker <id>', 'only of this worker'],
      ['--error <text>', 'only with this text in the error'],
      ...PAGED,
    ],
    lists: [['--status <list>', 'only with these statuses', STATUSES.step, statusesByWord('step')]],
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
  EXPORT_VERB,
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
    options: [...CHANGE, DRY_RUN],
    more: 'New members catch up on phases that have started.',
    examples: ['batch add-members 7 latecomers.csv --dry-run'],
    run: runAddMembers,
  },
  {
    name: 'reschedule',
    about: 'move the cut-over time of a batch',
    args: [ID, ['<time>', 'new start: +2h, -30m, 22:30, 2030-03-08T20:00:00Z']],
    options: [['--allow-overdue', 'allow phases to start at once'], ...CHANGE, DRY_RUN],
    more: `Phases that have not started move with the start time. +2h and -30m count from the present start; 22:30 is the next such
time. A time without a zone is in yours; --zone takes another, or "runbook". Times that clocks skip or repeat are refused.`,
    examples: [
      'batch reschedule 7 +2h --reason "network is down"',
      'batch reschedule 7 "2030-03-08 20:00" --zone Europe/Berlin --reason "week of the audit" --dry-run',
    ],
    run: runReschedule,
  },
  {
    name: 'override-window',
    about: 'send steps outside the change windows',
    args: [ID],
    options: [
      ['--until <time>', 'end of the override: +2h, 06:00'],
      ['--end', 'end an override now'],
      ...CHANGE,
      DRY_RUN,
    ],
    more: `Until then the batch ignores the change windows of its runbook and of the system, freezes included. Other batches keep theirs.`,
    examples: ['batch override-window 7 --until +2h --reason "the bank agreed" --dry-run'],
    run: runOverrideWindow,
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

const MEMBER_VERBS: readonly Verb[] = [
  {
    name: 'retry',
    about: 'retry what failed, or repeat what passed',
    args: [ID],
    options: [
      ...SELECTION,
      ['--from-step <name>', 'first step to run'],
      ['--again', 'also members who passed --from-step: they repeat it and all later steps'],
      ['--step-id <id>', 'one failed step, such as one of a rollback or removal'],
      ['--init', 'the init of a batch that failed in it'],
      ...CHANGE,
      DRY_RUN,
      ...WAITING,
    ],
    examples: [
      'batch retry 7 --failed-step set-licence --dry-run',
      'batch retry 7 --all --reason "licences bought" --yes --wait',
      'batch retry 7 --member ada@contoso.com --from-step set-address --again --reason "typo"',
      'batch retry 7 --step-id 90210 --reason "mailbox is unlocked"',
      'batch retry 7 --init --reason "group was missing"',
    ],
    run: runAnyRetry,
  },
  {
    name: 'remove-member',
    about: 'remove members and run removal steps',
    args: [BATCH_ARG, MEMBERS_ARG],
    options: [...NAMED_SELECTION, ...CHANGE, DRY_RUN, ...WAITING],
    more: 'Open steps of the members are cancelled.',
    examples: [
      'batch remove-member 7 ada@contoso.com --reason "leaves the company"',
      'batch remove-member 7 --members-file pilot.csv --reason "wrong list" --dry-run',
    ],
    run: runRemove,
  },
  {
    name: 'move-member',
    about: 'move members to another batch',
    args: [BATCH_ARG, MEMBERS_ARG],
    options: [
      ['--to <batch-id>', 'batch to move to: its id, or the day or time of its cut-over'],
      ...NAMED_SELECTION,
      ...CHANGE,
      DRY_RUN,
    ],
    more: `They keep data, outputs and passed steps; no removal steps run.
Refused once a step of T-0 or later was sent for a member.
The data source does not move them back; a row in a third group still moves them.`,
    examples: ['batch move-member 7 ada@contoso.com --to 2026-12-01 --reason "on leave tonight"'],
    run: runMove,
  },
  {
    name: 'rollback',
    about: 'roll back what members have passed',
    args: [BATCH_ARG, MEMBERS_ARG],
    options: [
      ['--from-step <name>', 'first step to roll back'],
      ['--from-phase <name>', 'first phase to roll back'],
      ...NAMED_SELECTION,
      ...CHANGE,
      DRY_RUN,
      ...WAITING,
    ],
    more: `Each step's own rollback runs, the last step's first; you see them before you confirm.
Steps that did nothing are left out. The members end as failed and can be retried.`,
    examples: [
      'batch rollback 7 ada@contoso.com --reason "wrong person" --dry-run',
      'batch rollback 7 --members ada@contoso.com,ben@contoso.com --from-phase cutover --reason "too early"',
    ],
    run: runRollback,
  },
  {
    name: 'undo',
    about: 'undo what was changed for members',
    args: [BATCH_ARG, MEMBERS_ARG],
    options: [
      ['--past-no-return', 'also what came before the point of no return'],
      ['--init', 'what init of the batch changed; undo its members first'],
      ...NAMED_SELECTION,
      ...CHANGE,
      DRY_RUN,
      ...WAITING,
    ],
    more: `The inverse of each change runs, the last change first; you see them before you confirm.
What no job changed, and what someone changed since, is left alone.
For all members of a batch that runs, hold it first; the undo begins when you resume it.`,
    examples: [
      'batch undo 7 --all --reason "the wave is off" --dry-run',
      'batch undo 7 ada@contoso.com --reason "wrong person"',
      'batch undo 7 --init --reason "the wave is off" --dry-run',
    ],
    run: (context, args, flags) => (flags.init ? runUndoInit : runUndo)(context, args, flags),
  },
  {
    name: 'readd-member',
    about: 'add removed members again',
    args: [BATCH_ARG, MEMBERS_ARG],
    options: [...NAMED_SELECTION, ...CHANGE, DRY_RUN, ...WAITING],
    more: `They continue after the steps they had passed. If removal steps were sent, they start over.
The data source does not remove them again before their keys have reappeared there.`,
    examples: [
      'batch readd-member 7 ada@contoso.com --reason "stays after all"',
      'batch readd-member 7 --members ada@contoso.com,ben@contoso.com --dry-run',
    ],
    run: runReadd,
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

const STEP_OR_BATCH = ['<id>', 'id of the step, or of the batch with members'] as const
const STEP_NAME = ['--step <name>', 'step of the members (default: the one that failed)'] as const

const STEP_VERBS: readonly Verb[] = [
  {
    name: 'skip',
    about: 'skip a step, or mark it as done',
    args: [STEP_OR_BATCH],
    options: [
      ['--done', 'it was done by hand'],
      ['--outputs <list>', 'outputs of a step that was done: Name=value,…'],
      STEP_NAME,
      ...SELECTION,
      ...CHANGE,
      DRY_RUN,
    ],
    more: `The id is a step's. With flags that select members it is a batch's, and each member passes its failed
step, or the one that --step names.`,
    examples: [
      'batch skip 90210 --reason "has no archive"',
      'batch skip 7 --failed-step copy-archive --error "no archive" --reason "have none" --dry-run',
      'batch skip 90210 --done --outputs UserId=4711 --reason "made in the portal"',
      'batch skip 7 --failed-step create-user --done --reason "made in the portal"',
    ],
    run: runSkip,
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
  'Look:': [...READ_VERBS, MESSAGES_VERB],
  'Act on a batch:': BATCH_VERBS,
  'Decide at a gate:': [APPROVE_VERB],
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
