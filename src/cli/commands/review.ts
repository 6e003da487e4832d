// `matoolkit removals`, `latecomers` and `moves`: what a data source wants and a person must decide. A decision names what was
// listed; what is no longer held as it was seen is refused by the API.
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
import { confirm } from '../terminal/confirm.ts'
import type { Io } from '../terminal/io.ts'
import type { Column } from '../terminal/show.ts'
import { askReason } from './batch/actions.ts'
import { type RefusedMembers, sayRefused } from './batch/member-actions.ts'
import { addVerb, CHANGE, DRY_RUN, PAGED } from './verb.ts'

type Kind = 'removal' | 'join' | 'move'

const HELD: readonly Column[] = [
  ['ID', 'id'],
  ['RUNBOOK', 'runbookName'],
  ['BATCH', 'batchId'],
  ['MEMBER', 'memberKey', 'whole'],
  ['TO', 'toTime'],
  ['CAUSE', 'cause', 'spare'],
  ['SINCE', 'since', 'spare'],
  ['REASON', 'reason'],
]
const OF = [
  ['--runbook <name>', 'of this runbook'],
  ['--batch <id>', 'of this batch'],
] as const
const WHICH = [['[id...]', 'which ones, as listed']] as const
const ALL = ['--all', 'all that are listed for --runbook or --batch'] as const

const queryOf = (kind: Kind, flags: Flags) => ({
  kind,
  runbook: textFlag(flags, 'runbook'),
  batchId: textFlag(flags, 'batch'),
})

function addList(noun: Command, io: Io, name: string, kind: Kind, what: string): void {
  addVerb(noun, io, {
    name: 'list',
    about: `list ${what} that wait for a person`,
    options: [...OF, ...PAGED],
    examples: [`${name} list`, `${name} list --runbook user-migration --output csv`],
    run: (context, _, flags) =>
      showPages(context, {
        path: '/api/held',
        query: queryOf(kind, flags),
        rows: 'held',
        columns: HELD,
        empty: `No ${what} wait.`,
      }),
  })
}

interface Decision {
  readonly kind: Kind
  readonly path: string
  /** What happens to them, after their number. */
  readonly words: string
  readonly fields?: (flags: Flags) => Record<string, Json>
}

const decide =
  ({ kind, path, words, fields }: Decision) =>
  async (context: CommandContext, given: readonly string[], flags: Flags): Promise<void> => {
    const reviewIds = await idsFrom(context, given, kind, flags)
    const dryRun = flags.dryRun === true
    if (!dryRun)
      await confirm(context, { what: `${reviewIds.length} ${words}.`, members: reviewIds.length })
    const body: Json = { reviewIds, reason: await askReason(context), dryRun, ...fields?.(flags) }
    const { body: done } = await context.client.post<RefusedMembers>(`/api/held/${path}`, { body })
    await context.show.one(done as unknown as Json, DECIDED)
    sayRefused(context, done)
    if (done.refusedCount > 0) context.io.exitCode = EXIT.failed
  }

const DECIDED: readonly Column[] = [
  ['done', 'doneCount'],
  ['refused', 'refusedCount'],
  ['dry run', ({ isDryRun }) => (isDryRun ? 'yes: nothing was done' : null)],
]

/** Those that are named, or all of a runbook or batch. Nothing named is never everything. */
async function idsFrom(
  context: CommandContext,
  given: readonly string[],
  kind: Kind,
  flags: Flags,
): Promise<number[]> {
  if (given.length > 0 && !flags.all) return given.map((one) => idOf('held change', one))
  const query = queryOf(kind, flags)
  const isNarrow = query.runbook !== undefined || query.batchId !== undefined
  if (!flags.all || !isNarrow || given.length > 0) {
    const reason = 'Name the ids, or --all with --runbook or --batch.'
    throw new MatoolkitError('USAGE', { reason })
  }
  const { rows } = await loadPages(context, { path: '/api/held', query, rows: 'held' })
  if (rows.length > 0) return rows.map(({ id }) => Number(id))
  throw new MatoolkitError('REFUSED', { reason: 'Nothing is held there.' })
}

export function addRemovalCommands(program: Command, io: Io): void {
  const noun = program.command('removals').description('decide about removals that are held')
  addList(noun, io, 'removals', 'removal', 'removals')
  addVerb(noun, io, {
    name: 'confirm',
    about: 'let them leave their batches, as the source wants it',
    args: WHICH,
    options: [ALL, ...OF, ...CHANGE, DRY_RUN],
    examples: ['removals confirm 12 13 --reason "left the company"'],
    run: decide({
      kind: 'removal',
      path: 'confirm-removals',
      words: 'members leave their batches',
    }),
  })
  addVerb(noun, io, {
    name: 'dismiss',
    about: 'keep them where they are',
    args: WHICH,
    options: [ALL, ...OF, ...CHANGE, DRY_RUN],
    examples: ['removals dismiss --all --runbook user-migration --reason "HR was down"'],
    run: decide({ kind: 'removal', path: 'dismiss', words: 'members stay where they are' }),
  })
}

export function addLatecomerCommands(program: Command, io: Io): void {
  const noun = program.command('latecomers').description('decide about members who came too late')
  addList(noun, io, 'latecomers', 'join', 'latecomers')
  addVerb(noun, io, {
    name: 'admit',
    about: 'let them join after all; a batch that has ended opens again',
    args: WHICH,
    options: [ALL, ...OF, ...CHANGE, DRY_RUN],
    examples: ['latecomers admit 31 --reason "agreed with HR"'],
    run: decide({ kind: 'join', path: 'admit', words: 'latecomers join' }),
  })
  addVerb(noun, io, {
    name: 'dismiss',
    about: 'leave them out',
    args: WHICH,
    options: [ALL, ...OF, ...CHANGE, DRY_RUN],
    examples: ['latecomers dismiss 31 --reason "goes with the next wave"'],
    run: decide({ kind: 'join', path: 'dismiss', words: 'latecomers are left out' }),
  })
}

export function addMoveCommands(program: Command, io: Io): void {
  const noun = program
    .command('moves')
    .description('decide about members who stand in another wave')
  addList(noun, io, 'moves', 'move', 'moves')
  addVerb(noun, io, {
    name: 'decide',
    about: 'reschedule the whole batch, move the members, or keep them',
    args: [['<choice>', 'reschedule, move or keep'], ...WHICH],
    options: [ALL, ...OF, ...CHANGE, DRY_RUN],
    examples: ['moves decide move 44 45 --reason "new date agreed"'],
    run: async (context, [choice, ...ids], flags) => {
      if (!['reschedule', 'move', 'keep'].includes(choice!)) {
        const reason = `"${choice}" is no choice: say reschedule, move or keep.`
        throw new MatoolkitError('USAGE', { reason })
      }
      const words = `members: ${choice}`
      await decide({
        kind: 'move',
        path: 'decide-moves',
        words,
        fields: () => ({ choice: choice! }),
      })(context, ids, flags)
    },
  })
}
