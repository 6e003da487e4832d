// `matoolkit review`: source changes that wait for a person. A decision names the reviews as they were listed; the API refuses it
// when one of them is no longer open.
import type { Command } from 'commander'
import type { ListedRow } from '../../api/client/endpoints.ts'
import { EXIT, MatoolkitError } from '../../base/errors/errors.ts'
import { printable } from '../../base/text/printable.ts'
import { timeFlag } from '../input/typed-time.ts'
import {
  type CommandContext,
  type Flags,
  idOf,
  loadPages,
  showPages,
  textFlag,
} from '../program/command-context.ts'
import type { Io } from '../terminal/io.ts'
import { askReason, confirm } from '../terminal/prompt.ts'
import type { Column } from '../terminal/show.ts'
import { sayRefused } from './batch/member-actions.ts'
import { type DecidedReviews, questionOf, resultOf } from './review-texts.ts'
import { warnLost, warnStarts } from './starts.ts'
import { addVerb, CHANGE, DRY_RUN, PAGED, type RunCommand, type Verb } from './verb.ts'

/** What a person types, and what the API calls it. */
const API_KINDS = { removal: 'removal', latecomer: 'join', move: 'move' } as const
type ReviewKindFlag = keyof typeof API_KINDS
const KINDS = Object.keys(API_KINDS) as ReviewKindFlag[]
const MOVE_CHOICES = ['reschedule', 'move'] as const
type MoveChoiceFlag = (typeof MOVE_CHOICES)[number]

const REVIEWS: readonly Column<ListedRow<'GET /api/reviews'>>[] = [
  ['ID', 'id'],
  ['KIND', ({ kind }) => KINDS.find((flag) => API_KINDS[flag] === kind)],
  ['RUNBOOK', 'runbookName'],
  ['BATCH', 'batchId'],
  ['MEMBER', 'memberKey', 'whole'],
  ['FROM', ({ kind, fromTime }) => (kind === 'move' ? fromTime : null)],
  ['TO', 'toTime'],
  ['CAUSE', 'cause', 'spare'],
  ['SINCE', 'since', 'spare'],
  ['REASON', 'reason'],
]
const SCOPE = [
  ['--runbook <name>', 'only of this runbook'],
  ['--batch <id>', 'only of this batch'],
  ['--to <time>', 'only to this time of the source'],
] as const
const KIND = ['--kind <kind>', 'only of this kind', KINDS] as const

const ALLOW_OVERDUE = ['--allow-overdue', 'allow phases to start at once'] as const

/** Arguments and flags of a decision, for `review` and its aliases. */
const DECISION = {
  args: [['[id...]', 'ids from "review list"; none without --all']],
  options: [['--all', 'all of --runbook or --batch'], ...SCOPE, ...CHANGE, DRY_RUN],
} satisfies Partial<Verb>

const queryOf = (context: CommandContext, kind: ReviewKindFlag | undefined, flags: Flags) => ({
  kind: kind && API_KINDS[kind],
  runbook: textFlag(flags, 'runbook'),
  batchId: textFlag(flags, 'batch'),
  toTime: timeFlag(context, flags, 'to'),
})

const kindIn = (flags: Flags): ReviewKindFlag | undefined =>
  textFlag(flags, 'kind') as ReviewKindFlag | undefined

export interface ReviewVerdict {
  readonly verdict: 'approve' | 'dismiss'
  readonly kind: ReviewKindFlag | undefined
  readonly choice?: MoveChoiceFlag | undefined
}

async function decideReviews(
  context: CommandContext,
  given: readonly string[],
  flags: Flags,
  verdict: ReviewVerdict,
): Promise<void> {
  const { kind, choice } = verdict
  const reviewIds = await idsFrom(context, given, flags, verdict)
  const isApproval = verdict.verdict === 'approve'
  const request = {
    decision: verdict.verdict,
    reviewIds,
    ...(isApproval && kind !== undefined && { kind: API_KINDS[kind] }),
    ...(choice !== undefined && { choice }),
    ...(isApproval && flags.allowOverdue === true && { allowOverdue: true }),
  }
  const decide = (consent: { readonly reason: string; readonly dryRun?: boolean }) =>
    context.client.call('POST /api/reviews', { body: { ...request, ...consent } })
  const trial = textFlag(flags, 'reason') ?? 'dry run'
  const tried = await decide({ reason: trial, dryRun: true })
  warnStarts(context, tried.startsAtOnce)
  warnLost(context, tried.approvalsLost)
  if (flags.dryRun) return showDecided(context, tried, verdict)
  // Without consent the API refuses overdue phases; there is nothing to ask.
  if (tried.overdue.length === 0 || flags.allowOverdue === true) {
    const what = tried.groups.map((group) => questionOf(group, verdict)).join('\n')
    await confirm(context, { what, members: reviewIds.length })
  }
  const done = await decide({ reason: await askReason(context) })
  await showDecided(context, done, verdict)
}

async function showDecided(
  context: CommandContext,
  done: DecidedReviews,
  verdict: ReviewVerdict,
): Promise<void> {
  const { show, io } = context
  if (show.format === 'table') {
    for (const group of done.groups) show.say(printable(resultOf(group, verdict, done)))
    if (done.isDryRun) show.say('Dry run: nothing was changed.')
  } else await show.one(done, DECIDED)
  sayRefused(context, done)
  if (done.refusedCount > 0) io.exitCode = EXIT.failed
}

const DECIDED: readonly Column<DecidedReviews>[] = [
  ['done', 'doneCount'],
  ['refused', 'refusedCount'],
  ['dry run', ({ isDryRun }) => (isDryRun ? 'yes: nothing was done' : null)],
]

/** The ids that are named, or all of a runbook or batch. No ids never means all. */
async function idsFrom(
  context: CommandContext,
  given: readonly string[],
  flags: Flags,
  { verdict, kind }: ReviewVerdict,
): Promise<number[]> {
  if (given.length > 0 && !flags.all) return given.map((text) => idOf('review', text))
  const query = queryOf(context, kind, flags)
  const isNarrow = query.runbook !== undefined || query.batchId !== undefined
  const isOneKind = verdict === 'dismiss' || kind !== undefined
  if (!flags.all || !isNarrow || !isOneKind || given.length > 0) {
    const kindFlag = verdict === 'approve' ? '--kind and ' : ''
    const reason = `Name the ids, or --all with ${kindFlag}--runbook or --batch.`
    throw new MatoolkitError('USAGE', { reason })
  }
  const { rows } = await loadPages(context, 'GET /api/reviews', { query })
  if (rows.length > 0) return rows.map(({ id }) => id)
  throw new MatoolkitError('REFUSED', { reason: 'No such reviews are open.' })
}

const run =
  (verdict: ReviewVerdict['verdict']): RunCommand =>
  (context, given, flags) => {
    const choice = textFlag(flags, 'choice') as MoveChoiceFlag | undefined
    return decideReviews(context, given, flags, { verdict, kind: kindIn(flags), choice })
  }

export function addReviewCommands(program: Command, io: Io): void {
  const noun = program.command('review').description('decide on changes from data sources')
  addVerb(noun, io, {
    name: 'list',
    about: 'list changes that wait for a person',
    choices: [KIND],
    options: [...SCOPE, ...PAGED],
    run: (context, _, flags) => {
      const kind = kindIn(flags)
      return showPages(context, 'GET /api/reviews', {
        given: { query: queryOf(context, kind, flags) },
        columns: REVIEWS,
        empty: kind ? `No ${kind}s need a decision.` : 'Nothing needs a decision.',
      })
    },
    examples: ['review list', 'review list --kind removal --runbook user-migration --output csv'],
  })
  addVerb(noun, io, {
    ...DECISION,
    options: [...DECISION.options, ALLOW_OVERDUE],
    name: 'approve',
    about: 'make the changes of these reviews',
    choices: [
      KIND,
      ['--choice <choice>', 'reschedule the whole batch, or move its members', MOVE_CHOICES],
    ],
    more: `Approve one kind at a time. A removal: the member leaves the batch. A latecomer: it joins, and an ended batch opens
again. A move: the member goes to the wave that the source has it in. When a whole wave has a new date, --choice says
whether the batch is rescheduled or its members move. A new date that makes phases overdue is refused without --allow-overdue.`,
    examples: [
      'review approve 12 13 --reason "left the company"',
      'review approve 44 45 --choice reschedule --reason "new date agreed"',
      'review approve --all --kind latecomer --runbook user-migration --reason "agreed with HR"',
    ],
    run: run('approve'),
  })
  addVerb(noun, io, {
    ...DECISION,
    name: 'dismiss',
    about: 'reject the changes',
    choices: [KIND],
    examples: [
      'review dismiss 31 --reason "goes with the next wave"',
      'review dismiss --all --runbook user-migration --reason "HR was down"',
    ],
    run: run('dismiss'),
  })
}
