// `matoolkit hold` and `matoolkit resume`: the whole system, a runbook, a worker, a batch or a member. A hold takes effect at once and
// asks for its reason afterwards; a resume of the whole system first shows what would start.
import type { Command } from 'commander'
import { countText } from '../../base/text/count-text.ts'
import type { Json } from '../../base/text/json.ts'
import { printable } from '../../base/text/printable.ts'
import {
  type CommandContext,
  type Flags,
  pathSegment,
  showPages,
  textFlag,
  usageError,
} from '../program/command-context.ts'
import type { Io } from '../terminal/io.ts'
import { askReason, confirm } from '../terminal/prompt.ts'
import { type Column, DRY_RUN_FIELD, type Row } from '../terminal/show.ts'
import { showBatch } from './batch/lists.ts'
import { memberPath } from './batch/paths.ts'
import { runResume as resumeBatch } from './batch/starting.ts'
import { type Held, heldBatch, heldWorker, holdThenAsk } from './hold-first.ts'
import { type StartsAnswer, warnStarts } from './starts.ts'
import { addVerb, CHANGE, DRY_RUN, REASON, type Verb } from './verb.ts'

const SCOPES: NonNullable<Verb['options']> = [
  ['--all', 'the whole system'],
  ['--runbook <name>', 'all batches of a runbook'],
  ['--worker <id>', 'everything for a worker'],
  ['--batch <id>', 'one batch'],
  ['--member <batch-and-member...>', 'one member: id of the batch, key or id'],
]

const HOLDS: readonly Column[] = [
  ['SCOPE', 'scope'],
  ['WHAT', 'name', 'whole'],
  ['SINCE', 'heldAt'],
  ['BY', 'heldBy'],
  ['REASON', 'reason'],
  ['ENDS WITH', 'endsWith', 'whole'],
]
const HELD: readonly Column[] = [
  ['held', 'hold.name'],
  ['withdrawn jobs', 'withdrawnJobs'],
  ['running jobs', 'runningJobs'],
  ['reason', 'hold.reason'],
  ['ends with', 'hold.endsWith'],
]
const RESUMED: readonly Column[] = [
  ['resumed', 'hold.name'],
  ['batches', 'starts.batches'],
  ['phases starting', 'starts.phases'],
  ['steps starting', 'starts.steps'],
  DRY_RUN_FIELD,
]

/** Null when nothing is named. Throws for more than one. */
async function heldBy(context: CommandContext, flags: Flags): Promise<Held | null> {
  const given = ['all', 'runbook', 'worker', 'batch', 'member'].filter(
    (name) => flags[name] !== undefined,
  )
  if (given.length === 0) return null
  if (given.length > 1)
    throw usageError(`Name one of them, not ${given.map((name) => `--${name}`).join(' and ')}.`)
  if (flags.all) return { path: '/api', name: 'the whole system', flags: '--all' }
  const runbook = textFlag(flags, 'runbook')
  if (runbook !== undefined) {
    const path = `/api/runbooks/${pathSegment(runbook)}`
    return { path, name: `runbook ${runbook}`, flags: `--runbook ${runbook}` }
  }
  const worker = textFlag(flags, 'worker')
  if (worker !== undefined) return heldWorker(worker)
  const batch = textFlag(flags, 'batch')
  if (batch !== undefined) return heldBatch(batch)
  const [batchId, member, ...more] = flags.member as readonly string[]
  if (member === undefined || more.length > 0)
    throw usageError(
      '--member takes the id of the batch and the member: --member 7 ann@contoso.com.',
    )
  const path = await memberPath(context, batchId, member)
  const name = `member ${member} of batch ${batchId}`
  return { path, name, flags: `--member ${batchId} ${member}` }
}

const listHolds = (context: CommandContext): Promise<void> =>
  showPages(context, {
    path: '/api/holds',
    rows: 'holds',
    columns: HOLDS,
    empty: 'Nothing is held.',
  })

async function giveReason(context: CommandContext, held: Held): Promise<void> {
  const reason = await askReason(context)
  const { body } = await context.client.put<Row>(`${held.path}/hold`, { body: { reason } })
  await context.show.one(body as Json, 'hold' in body ? HELD : [['batch', 'batch.id']])
}

async function runHold(
  context: CommandContext,
  [action]: readonly string[],
  flags: Flags,
): Promise<void> {
  const held = await heldBy(context, flags)
  if (action !== undefined && action !== 'list' && action !== 'reason')
    throw usageError(`"${action}" is no action: use list, reason, or a flag such as --all.`)
  if (action === 'list' || (held === null && action === undefined && flags.reason === undefined))
    return listHolds(context)
  if (held === null) throw usageError(`Say what to hold: ${scopeFlags()}.`)
  if (action === 'reason') return giveReason(context, held)
  const body = await holdThenAsk(context, held)
  if ('hold' in body) await context.show.one(body as Json, HELD)
  else await showBatch(context, body)
}

async function runResume(
  context: CommandContext,
  _: readonly string[],
  flags: Flags,
): Promise<void> {
  const held = await heldBy(context, flags)
  if (held === null) throw usageError(`Say what to resume: ${scopeFlags()}.`)
  const batch = textFlag(flags, 'batch')
  if (batch !== undefined) return resumeBatch(context, [batch], flags)
  await resumeHeld(context, held, flags)
}

/** Says what starts, then ends the hold. */
export async function resumeHeld(context: CommandContext, held: Held, flags: Flags): Promise<void> {
  const { client, show } = context
  const path = `${held.path}/resume`
  if (flags.all && !flags.dryRun) {
    const { body } = await client.post<Row>(path, { body: { reason: 'dry run', dryRun: true } })
    sayStarts(context, body)
    const what = `Resume the whole system? ${startsText(body.starts as Row)}`
    await confirm(context, { what, members: 0 })
  }
  const dryRun = flags.dryRun === true
  const body: Json = { reason: dryRun ? 'dry run' : await askReason(context), dryRun }
  const done = await client.post<Row>(path, { body })
  // Said before the question of --all, and the same after it.
  if (!flags.all || dryRun) sayStarts(context, done.body)
  show.say(printable(startsText(done.body.starts as Row)))
  await show.one(done.body as Json, RESUMED)
}

const STARTS_SAID = 10

/** The first phases and steps that start, in the words of every change that starts something. */
function sayStarts(context: CommandContext, { starts, startsAtOnce }: Row): void {
  const { phases, steps } = startsAtOnce as unknown as StartsAnswer
  const room = Math.max(0, STARTS_SAID - phases.length)
  const said = { phases: phases.slice(0, STARTS_SAID), steps: steps.slice(0, room) }
  warnStarts(context, said)
  const more = phases.length + steps.length - said.phases.length - said.steps.length
  if (more > 0) context.io.err(`warning: and more; ${startsText(starts as Row)}`)
}

function startsText({ batches, phases, steps }: Row): string {
  if (Number(phases) + Number(steps) === 0) return 'Nothing starts at once.'
  const what = [
    ...(Number(steps) > 0 ? [countText(Number(steps), 'step')] : []),
    ...(Number(phases) > 0 ? [countText(Number(phases), 'due phase')] : []),
  ]
  return `At once start: ${what.join(' and ')} in ${countText(Number(batches), 'batch', 'batches')}.`
}

const scopeFlags = (): string => '--all, --runbook, --worker, --batch or --member'

export function addHoldCommands(program: Command, io: Io): void {
  addVerb(program, io, {
    name: 'hold',
    about: 'stop sending: everything, or a part',
    args: [['[action]', '"list" (default): holds in force; "reason": say why']],
    options: [...SCOPES, ['--limit <number>', 'maximum number of rows of the list'], REASON],
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
