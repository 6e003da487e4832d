// `matoolkit review`: source changes that wait for a person. A decision names the reviews as they were listed; the API refuses it
// when one of them is no longer open.
import type { Command } from 'commander'
import type { Json } from '../../domain/json.ts'
import { EXIT, MatoolkitError } from '../../errors.ts'
import {
  type CommandContext,
  type Flags,
  idOf,
  loadPages,
  showPages,
  textFlag,
} from '../command-context.ts'
import type { Io } from '../terminal/io.ts'
import { askReason, confirm } from '../terminal/prompt.ts'
import type { Column } from '../terminal/show.ts'
import { type RefusedMembers, sayRefused } from './batch/member-actions.ts'
import { addVerb, CHANGE, DRY_RUN, PAGED, type RunCommand, type Verb } from './verb.ts'

/** What a person types, and what the API calls it. */
const API_KINDS = { removal: 'removal', latecomer: 'join', move: 'move' } as const
export type ReviewKindFlag = keyof typeof API_KINDS
const KINDS = Object.keys(API_KINDS) as ReviewKindFlag[]
const MOVE_CHOICES = ['reschedule', 'move'] as const
export type MoveChoiceFlag = (typeof MOVE_CHOICES)[number]

const REVIEWS: readonly Column[] = [
  ['ID', 'id'],
  ['KIND', ({ kind }) => KINDS.find((flag) => API_KINDS[flag] === kind) ?? String(kind)],
  ['RUNBOOK', 'runbookName'],
  ['BATCH', 'batchId'],
  ['MEMBER', 'memberKey', 'whole'],
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

/** Arguments and flags of a decision, for `review` and its aliases. */
export const DECISION = {
  args: [['[id...]', 'ids from "review list"; none without --all']],
  options: [['--all', 'all of --runbook or --batch'], ...SCOPE, ...CHANGE, DRY_RUN],
} satisfies Partial<Verb>

const queryOf = (kind: ReviewKindFlag | undefined, flags: Flags) => ({
  kind: kind && API_KINDS[kind],
  runbook: textFlag(flags, 'runbook'),
  batchId: textFlag(flags, 'batch'),
  toTime: textFlag(flags, 'to'),
})

const kindIn = (flags: Flags): ReviewKindFlag | undefined =>
  textFlag(flags, 'kind') as ReviewKindFlag | undefined

/** A list of one kind or of all. */
export const listVerb = (kind?: ReviewKindFlag) =>
  ({
    name: 'list',
    options: [...SCOPE, ...PAGED],
    run: (context, _, flags) => {
      const only = kind ?? kindIn(flags)
      return showPages(context, {
        path: '/api/reviews',
        query: queryOf(only, flags),
        rows: 'reviews',
        columns: REVIEWS,
        empty: `No ${only ? `${only} ` : ''}reviews are open.`,
      })
    },
  }) satisfies Partial<Verb>

export interface ReviewVerdict {
  readonly verdict: 'approve' | 'dismiss'
  readonly kind: ReviewKindFlag | undefined
  readonly choice?: MoveChoiceFlag | undefined
}

const APPROVED: Readonly<Record<ReviewKindFlag, string>> = {
  removal: 'members leave their batches',
  latecomer: 'latecomers join',
  move: 'members go to the wave that the source has them in',
}
const DISMISSED: Readonly<Record<ReviewKindFlag, string>> = {
  removal: 'members stay where they are',
  latecomer: 'latecomers are left out',
  move: 'members stay where they are',
}

function consequenceOf({ verdict, kind, choice }: ReviewVerdict): string {
  if (choice === 'reschedule') return 'members: their whole batch is rescheduled'
  if (kind !== undefined) return (verdict === 'approve' ? APPROVED : DISMISSED)[kind]
  return verdict === 'approve' ? 'changes are made as the source asks' : 'changes are not made'
}

export async function decideReviews(
  context: CommandContext,
  given: readonly string[],
  flags: Flags,
  verdict: ReviewVerdict,
): Promise<void> {
  const { kind, choice } = verdict
  const reviewIds = await idsFrom(context, given, flags, verdict)
  const dryRun = flags.dryRun === true
  if (!dryRun) {
    const what = `${reviewIds.length} ${consequenceOf(verdict)}.`
    await confirm(context, { what, members: reviewIds.length })
  }
  const isKindMeant = verdict.verdict === 'approve' && kind !== undefined
  const body: Json = {
    reviewIds,
    reason: await askReason(context),
    dryRun,
    ...(isKindMeant && { kind: API_KINDS[kind] }),
    ...(choice !== undefined && { choice }),
  }
  const { body: done } = await context.client.post<RefusedMembers>(
    `/api/reviews/${verdict.verdict}`,
    { body },
  )
  await context.show.one(done as unknown as Json, DECIDED)
  sayRefused(context, done)
  if (done.refusedCount > 0) context.io.exitCode = EXIT.failed
}

const DECIDED: readonly Column[] = [
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
  const query = queryOf(kind, flags)
  const isNarrow = query.runbook !== undefined || query.batchId !== undefined
  const isOneKind = verdict === 'dismiss' || kind !== undefined
  if (!flags.all || !isNarrow || !isOneKind || given.length > 0) {
    const kindFlag = verdict === 'approve' ? '--kind and ' : ''
    const reason = `Name the ids, or --all with ${kindFlag}--runbook or --batch.`
    throw new MatoolkitError('USAGE', { reason })
  }
  const { rows } = await loadPages(context, { path: '/api/reviews', query, rows: 'reviews' })
  if (rows.length > 0) return rows.map(({ id }) => Number(id))
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
    ...listVerb(),
    about: 'list changes that wait for a person',
    choices: [KIND],
    examples: ['review list', 'review list --kind removal --runbook user-migration --output csv'],
  })
  addVerb(noun, io, {
    ...DECISION,
    name: 'approve',
    about: 'make the changes of these reviews',
    choices: [
      KIND,
      ['--choice <choice>', 'reschedule the whole batch, or move its members', MOVE_CHOICES],
    ],
    more: `Approve one kind at a time. A removal: the member leaves the batch. A latecomer: it joins, and an ended batch opens
again. A move: the member goes to the wave that the source has it in. When a whole wave has a new date, --choice says
whether the batch is rescheduled or its members move.`,
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
