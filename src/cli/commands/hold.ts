// `matoolkit hold` and `matoolkit resume`: the whole system, a runbook, a worker, a batch or a member. A hold takes effect at once and
// asks for its reason afterwards, because people are being cut over meanwhile; a resume first shows what would start.
import type { Command } from 'commander'
import type { Answer, ListedRow, RequestOf } from '../../api/client/endpoints.ts'
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
import { runHoldMembers, runResumeMembers } from './batch/member-actions.ts'
import { namedBatch, namedMember } from './batch/named.ts'
import { waitAndShow } from './batch/results.ts'
import { isSelecting, SELECTION } from './batch/select-people.ts'
import { capital } from './holds-in-force.ts'
import { warnStarts } from './starts.ts'
import { addVerb, CHANGE, DRY_RUN, type Verb, WAITING } from './verb.ts'

const SCOPES: NonNullable<Verb['options']> = [
  ['--all', 'the whole system'],
  ['--runbook <name>', 'all batches of a runbook'],
  ['--worker <id>', 'everything for a worker'],
  ['--batch <id>', 'one batch'],
  ['--member <batch-and-member...>', 'one member: id of the batch, key or id'],
]

type Resumed = Answer<'POST /api/holds/resume'>
/** A hold, with its jobs when it has just begun. */
type Stopped = Answer<'POST /api/holds'>
type Explained = Answer<'PUT /api/holds'> & Partial<Omit<Stopped, 'hold'>>

/** What a person names: its name, the flags that name it, and how the API names it. */
interface Held {
  readonly name: string
  readonly flags: string
  readonly target: Pick<RequestOf<'POST /api/holds'>['body'], 'scope' | 'target' | 'batchId'>
}

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

/** Some members of the batch that --batch names. */
const PEOPLE = SELECTION.filter(([flag]) => !/^--(?:all|member <)/.test(flag))
const isOfPeople = ({ all, member, ...flags }: Flags): boolean => isSelecting(flags)

const SCOPE_FLAGS = ['all', 'runbook', 'worker', 'batch', 'member'] as const
type Scope = (typeof SCOPE_FLAGS)[number]

/** Null when nothing is named. Throws for more than one. */
function scopeIn(flags: Flags): Scope | null {
  const given = SCOPE_FLAGS.filter((name) => flags[name] !== undefined)
  if (given.length > 1)
    throw usageError(`Name one of them, not ${given.map((name) => `--${name}`).join(' and ')}.`)
  return given[0] ?? null
}

async function heldBy(context: CommandContext, flags: Flags, scope: Scope): Promise<Held> {
  if (scope === 'all')
    return { name: 'the whole system', flags: '--all', target: { scope: 'system' } }
  if (scope === 'member') {
    const [batchId, member, ...more] = flags.member as readonly string[]
    if (member === undefined || more.length > 0)
      throw usageError(
        '--member takes the id of the batch and the member: --member 7 ann@contoso.com.',
      )
    const named = await namedMember(context, batchId, member)
    return {
      name: `member ${member} of batch ${batchId}`,
      flags: `--member ${batchId} ${member}`,
      target: { scope, target: `${named.memberId}`, batchId: named.batchId },
    }
  }
  const given = textFlag(flags, scope)!
  const target = scope === 'batch' ? `${namedBatch(given).batchId}` : given
  return { name: `${scope} ${target}`, flags: `--${scope} ${target}`, target: { scope, target } }
}

const listHolds = (context: CommandContext): Promise<void> =>
  showPages(context, 'GET /api/holds', {
    given: {},
    columns: HOLDS,
    empty: 'Nothing is held.',
  })

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
  if (isOfPeople(flags)) return runHoldMembers(context, [batchOfPeople(flags)], flags)
  if (flags.dryRun) throw usageError('--dry-run goes with flags that select members.')
  const held = await heldBy(context, flags, scope)
  const { client, show } = context
  if (action === 'reason') {
    const body = { ...held.target, reason: await askReason(context) }
    return show.one<Explained>(await client.call('PUT /api/holds', { body }), HELD)
  }
  const stopped = await holdThenAsk({ ...context, flags }, held)
  if (flags.wait) await waitForRunning(context, scope)
  await show.one<Explained>(stopped, HELD)
}

function batchOfPeople(flags: Flags): string {
  const batchId = textFlag(flags, 'batch')
  if (batchId !== undefined) return batchId
  throw usageError('Name the batch of the members: --batch <id>.')
}

/**
 * `--reason mail bounces`: a reason without quotes is several words for the shell. A hold is never refused for that: the words are its
 * reason.
 */
function withWholeReason(words: readonly string[], flags: Flags) {
  const [first, ...more] = words
  const isAction = first === 'list' || first === 'reason'
  const rest = isAction ? more : words
  const reason = textFlag(flags, 'reason')
  if (reason === undefined || rest.length === 0) return { action: first, flags }
  const whole = [reason, ...rest].join(' ')
  return { action: isAction ? first : undefined, flags: { ...flags, reason: whole } }
}

/** Holds at once, says what stopped, then asks for the reason. Returns the last answer. */
async function holdThenAsk(
  { client, io, show, flags }: CommandContext,
  held: Held,
): Promise<Stopped> {
  const reason = textFlag(flags, 'reason')
  const stopped = await client.call('POST /api/holds', {
    body: { ...held.target, ...(reason !== undefined && { reason }) },
  })
  show.say(printable(`${capital(held.name)} is held. ${stoppedText(stopped)}`))
  if (reason !== undefined || !io.canAsk) return stopped
  const given = await io.ask('Reason: ')
  if (given.trim() === '') {
    io.err(
      printable(
        `${capital(held.name)} stays held without a reason. Give one with: matoolkit hold reason ${held.flags} --reason <text>`,
      ),
    )
    return stopped
  }
  const body = { ...held.target, reason: given }
  return { ...stopped, ...(await client.call('PUT /api/holds', { body })) }
}

function stoppedText({ withdrawnJobs: withdrawn, runningJobs: running }: Stopped): string {
  if (withdrawn + running === 0) return 'Nothing new is sent; no job was waiting or running.'
  const taken =
    running === 0
      ? 'no job is running'
      : `${countText(running, 'job is', 'jobs are')} running and ${running === 1 ? 'finishes' : 'finish'}`
  const back =
    withdrawn === 0
      ? 'no job was waiting'
      : `${countText(withdrawn, 'job was', 'jobs were')} withdrawn`
  return `Nothing new is sent: ${back}, ${taken}.`
}

/** Says what starts, asks where something does, then ends the hold. Of a batch it sends the etag of what the person saw. */
async function runResume(
  context: CommandContext,
  _: readonly string[],
  flags: Flags,
): Promise<void> {
  const { client, io, show } = context
  const scope = scopeIn(flags)
  if (scope === null) throw usageError(`Say what to resume: ${scopeFlags()}.`)
  if (isOfPeople(flags)) return runResumeMembers(context, [batchOfPeople(flags)], flags)
  if (flags.wait && scope !== 'batch') throw usageError('--wait goes with --batch.')
  const { name, target } = await heldBy(context, flags, scope)
  const endpoint = 'POST /api/holds/resume'
  const dry = { ...target, reason: textFlag(flags, 'reason') ?? 'dry run', dryRun: true }
  const { answer: tried, etag } = await client.tagged(endpoint, { body: dry })
  sayStarts(context, tried)
  const { phases, steps } = tried.starts
  const isAsked = scope === 'all' || (io.canAsk && phases + steps > 0)
  const what = `Resume ${name}? ${startsText(tried.starts)}`
  if (isAsked && !flags.dryRun) await confirm(context, { what, members: 0 })
  const done = flags.dryRun
    ? tried
    : await client.call(
        endpoint,
        { body: { ...target, reason: await askReason(context) } },
        { ifMatch: flags.yes ? null : etag },
      )
  if (flags.wait && !flags.dryRun) return waitAndShow(context, target.target!)
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
      ...PEOPLE,
      ['--limit <number>', 'maximum number of rows of the list'],
      ...CHANGE,
      DRY_RUN,
      ['--wait', 'with --all: return when the last running job has ended'],
    ],
    more: 'A hold takes effect at once and asks for its reason afterwards. Jobs that no worker has started are withdrawn; running ones finish. Flags that select members hold those of --batch, after a preview; everyone else continues.',
    examples: [
      'hold --all',
      'hold --runbook user-migration --reason "mailboxes are slow"',
      'hold --worker worker-01 --reason "certificate expired"',
      'hold --batch 7',
      'hold --member 7 ann@contoso.com --reason "on leave"',
      'hold --batch 7 --failed-step set-licence --reason "licences are ordered" --dry-run',
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
    options: [
      ...SCOPES,
      ['--held', 'every held member of --batch'],
      ...PEOPLE,
      ...CHANGE,
      DRY_RUN,
      ...WAITING,
    ],
    more: 'What another hold covers stays held. Time on hold does not count for retries and polls.',
    examples: [
      'resume --all --reason "mail flows again"',
      'resume --batch 7 --held --reason "licences are there"',
      'resume --batch 7 --reason "fast again" --wait',
      'resume --runbook user-migration --dry-run',
    ],
    run: runResume,
  })
}
