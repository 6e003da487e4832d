// `matoolkit hold` and `matoolkit resume`: the whole system, a runbook, a worker, a batch or a member. A hold takes effect at once and
// asks for its reason afterwards; a resume of the whole system first shows what would start.
import type { Command } from 'commander'
import type { Answer, ListedRow } from '../../api/client/endpoints.ts'
import { countText } from '../../base/text/count-text.ts'
import { printable } from '../../base/text/printable.ts'
import {
  type CommandContext,
  type Flags,
  showPages,
  textFlag,
  usageError,
} from '../program/command-context.ts'
import type { Io } from '../terminal/io.ts'
import { askReason, confirm } from '../terminal/prompt.ts'
import { type Column, DRY_RUN_FIELD } from '../terminal/show.ts'
import { showBatch } from './batch/lists.ts'
import { runResume as resumeBatch } from './batch/starting.ts'
import {
  type Held,
  type HeldScope,
  heldBatch,
  heldMember,
  heldRunbook,
  heldSystem,
  heldWorker,
  holdThenAsk,
  withWholeReason,
} from './hold-first.ts'
import { warnStarts } from './starts.ts'
import { addVerb, CHANGE, DRY_RUN, REASON, type Verb } from './verb.ts'

const SCOPES: NonNullable<Verb['options']> = [
  ['--all', 'the whole system'],
  ['--runbook <name>', 'all batches of a runbook'],
  ['--worker <id>', 'everything for a worker'],
  ['--batch <id>', 'one batch'],
  ['--member <batch-and-member...>', 'one member: id of the batch, key or id'],
]

type Resumed = Answer<'POST /api/resume'>
/** A hold, with its jobs when it has just begun. */
type Explained = Answer<'PUT /api/hold'> &
  Partial<Pick<Answer<'POST /api/hold'>, 'withdrawnJobs' | 'runningJobs'>>

const HOLDS: readonly Column<ListedRow<'GET /api/holds'>>[] = [
  ['SCOPE', 'scope'],
  ['WHAT', 'name', 'whole'],
  ['SINCE', 'heldAt'],
  ['BY', 'heldBy'],
  ['REASON', 'reason'],
  ['ENDS WITH', 'endsWith', 'whole'],
]
const HELD: readonly Column<Explained>[] = [
  ['held', 'hold.name'],
  ['withdrawn jobs', 'withdrawnJobs'],
  ['running jobs', 'runningJobs'],
  ['reason', 'hold.reason'],
  ['ends with', 'hold.endsWith'],
]
const RESUMED: readonly Column<Resumed>[] = [
  ['resumed', 'hold.name'],
  ['batches', 'starts.batches'],
  ['phases starting', 'starts.phases'],
  ['steps starting', 'starts.steps'],
  DRY_RUN_FIELD,
]

const SCOPE_FLAGS = ['all', 'runbook', 'worker', 'batch', 'member'] as const
type Scope = (typeof SCOPE_FLAGS)[number]

/** Null when nothing is named. Throws for more than one. */
function scopeIn(flags: Flags): Scope | null {
  const given = SCOPE_FLAGS.filter((name) => flags[name] !== undefined)
  if (given.length > 1)
    throw usageError(`Name one of them, not ${given.map((name) => `--${name}`).join(' and ')}.`)
  return given[0] ?? null
}

async function heldBy(
  context: CommandContext,
  flags: Flags,
  scope: Exclude<Scope, 'batch'>,
): Promise<HeldScope> {
  if (scope === 'all') return heldSystem()
  if (scope === 'runbook') return heldRunbook(textFlag(flags, 'runbook')!)
  if (scope === 'worker') return heldWorker(textFlag(flags, 'worker')!)
  const [batchId, member, ...more] = flags.member as readonly string[]
  if (member === undefined || more.length > 0)
    throw usageError(
      '--member takes the id of the batch and the member: --member 7 ann@contoso.com.',
    )
  return heldMember(context, batchId, member)
}

const listHolds = (context: CommandContext): Promise<void> =>
  showPages(context, 'GET /api/holds', {
    given: {},
    columns: HOLDS,
    empty: 'Nothing is held.',
  })

async function giveReason({ client, show }: CommandContext, held: Held, reason: string) {
  const answer = await held.explain(client, reason)
  if ('hold' in answer) await show.one<Explained>(answer, HELD)
  else await show.one(answer, [['batch', 'batch.id']])
}

const LOOK_EVERY_MS = 1_000

/** Returns when the last job that was running has ended: from then on nothing changes in a tenant. */
async function waitForRunning({ client, clock, show }: CommandContext, scope: Scope) {
  if (scope !== 'all') throw usageError('--wait goes with --all.')
  const running = async () =>
    (await client.call('GET /api/status')).workers.reduce((sum, { busy }) => sum + busy, 0)
  while ((await running()) > 0) await clock.wait(LOOK_EVERY_MS)
  show.say('The last running job has ended: nothing runs now.')
}

async function runHold(
  context: CommandContext,
  words: readonly string[],
  given: Flags,
): Promise<void> {
  const { action, flags } = withWholeReason(words, given)
  const scope = scopeIn(flags)
  if (action !== undefined && action !== 'list' && action !== 'reason')
    throw usageError(`"${action}" is no action: use list, reason, or a flag such as --all.`)
  if (action === 'list' || (scope === null && action === undefined && flags.reason === undefined))
    return listHolds(context)
  if (scope === null) throw usageError(`Say what to hold: ${scopeFlags()}.`)
  const held: Held =
    scope === 'batch' ? heldBatch(textFlag(flags, 'batch')) : await heldBy(context, flags, scope)
  if (action === 'reason') return giveReason(context, held, await askReason(context))
  const answer = await holdThenAsk({ ...context, flags }, held)
  if (flags.wait) await waitForRunning(context, scope)
  if ('hold' in answer) await context.show.one<Explained>(answer, HELD)
  else await showBatch(context, answer)
}

async function runResume(
  context: CommandContext,
  _: readonly string[],
  flags: Flags,
): Promise<void> {
  const scope = scopeIn(flags)
  if (scope === null) throw usageError(`Say what to resume: ${scopeFlags()}.`)
  if (scope === 'batch') return resumeBatch(context, [textFlag(flags, 'batch')!], flags)
  await resumeHeld(context, await heldBy(context, flags, scope), flags)
}

/** Says what starts, then ends the hold. */
async function resumeHeld(context: CommandContext, held: HeldScope, flags: Flags): Promise<void> {
  const { client, show } = context
  if (flags.all && !flags.dryRun) {
    const tried = await held.resume(client, { reason: 'dry run', dryRun: true })
    sayStarts(context, tried)
    const what = `Resume the whole system? ${startsText(tried.starts)}`
    await confirm(context, { what, members: 0 })
  }
  const dryRun = flags.dryRun === true
  const reason = dryRun ? 'dry run' : await askReason(context)
  const done = await held.resume(client, { reason, dryRun })
  // Said before the question of --all, and the same after it.
  if (!flags.all || dryRun) sayStarts(context, done)
  show.say(printable(startsText(done.starts)))
  await show.one(done, RESUMED)
}

const STARTS_SAID = 10

/** The first phases and steps that start, in the words of every change that starts something. */
function sayStarts(context: CommandContext, { starts, startsAtOnce }: Resumed): void {
  const { phases, steps } = startsAtOnce
  const room = Math.max(0, STARTS_SAID - phases.length)
  const said = { phases: phases.slice(0, STARTS_SAID), steps: steps.slice(0, room) }
  warnStarts(context, said)
  const more = phases.length + steps.length - said.phases.length - said.steps.length
  if (more > 0) context.io.err(`warning: and more; ${startsText(starts)}`)
}

function startsText({ batches, phases, steps }: Resumed['starts']): string {
  if (phases + steps === 0) return 'Nothing starts at once.'
  const what = [
    ...(steps > 0 ? [countText(steps, 'step')] : []),
    ...(phases > 0 ? [countText(phases, 'due phase')] : []),
  ]
  return `At once start: ${what.join(' and ')} in ${countText(batches, 'batch', 'batches')}.`
}

const scopeFlags = (): string => '--all, --runbook, --worker, --batch or --member'

export function addHoldCommands(program: Command, io: Io): void {
  addVerb(program, io, {
    name: 'hold',
    about: 'stop sending: everything, or a part',
    args: [['[action...]', '"list" (default): holds in force; "reason": say why']],
    options: [
      ...SCOPES,
      ['--limit <number>', 'maximum number of rows of the list'],
      REASON,
      ['--wait', 'with --all: return when the last running job has ended'],
    ],
    more: 'A hold takes effect at once and asks for its reason afterwards. Jobs that no worker has started are withdrawn; running ones finish.',
    examples: [
      'hold --all',
      'hold --runbook user-migration --reason "mailboxes are slow"',
      'hold --worker worker-01 --reason "certificate expired"',
      'hold --member 7 ann@contoso.com --reason "on leave"',
      'hold list',
      'hold reason --all --reason "mail loops"',
    ],
    run: runHold,
  })
}

export function addResumeCommands(program: Command, io: Io): void {
  addVerb(program, io, {
    name: 'resume',
    about: 'end a hold',
    options: [...SCOPES, ...CHANGE, DRY_RUN],
    more: 'What another hold covers stays held. Time on hold does not count for retries and polls.',
    examples: [
      'resume --all --reason "mail flows again"',
      'resume --runbook user-migration --dry-run',
    ],
    run: runResume,
  })
}
