// `matoolkit handover`: the shift in one text, for the colleague who takes over; and who takes care of which need.
import type { Command } from 'commander'
import type { Answer } from '../../api/client/endpoints.ts'
import { EXIT } from '../../base/errors/errors.ts'
import { printable } from '../../base/text/printable.ts'
import { statesText } from '../../domain/state/person-state.ts'
import { timeFlag } from '../input/typed-time.ts'
import {
  type CommandContext,
  type Flags,
  textFlag,
  usageError,
} from '../program/command-context.ts'
import { type Io, inViewersZone } from '../terminal/io.ts'
import { askReason } from '../terminal/prompt.ts'
import { sayHeadline } from './needs.ts'
import { addVerb, REASON } from './verb.ts'

/** A shift, unless another time is given. */
const SHIFT_MS = 12 * 3_600_000
const DECISIONS_MAX = 100
const NEXT_MAX = 10

export function addHandoverCommands(program: Command, io: Io): void {
  addVerb(program, io, {
    name: 'handover',
    about: 'hand over the shift in one text',
    options: [
      ['--since <time>', 'decisions since then, such as -8h or 18:00 (default: -12h)'],
      ['--need <key>', 'decide about this need, by the key that the text shows'],
      ['--owner <who>', 'with --need: who takes care of it'],
      ['--accept', 'with --need: it is accepted as it is, until there is more to it'],
      REASON,
    ],
    more: `Says whether action is needed, each need with its owner, holds, every wave, what comes next, and what people decided
with their reasons. The decisions need the role Admin.

Exit code: as of status; with --need 0.`,
    examples: [
      'handover --since -8h',
      'handover --need people_failed:2 --owner ben@contoso.com --reason "asks the vendor"',
      'handover --need rows_left_out:wave --accept --reason "they left the company"',
    ],
    run: (context, _, flags) =>
      textFlag(flags, 'need') === undefined ? showHandover(context, flags) : decide(context, flags),
  })
}

type Wall = Answer<'GET /api/now'>
type Verdict = Answer<'GET /api/needs'>
type Need = Verdict['needs'][number]
type Decision = Answer<'GET /api/audit'>['entries'][number]

async function decide(context: CommandContext, flags: Flags): Promise<void> {
  const owner = textFlag(flags, 'owner')
  const isAccepted = flags.accept === true ? true : undefined
  if (owner === undefined && !isAccepted) throw usageError('Add --owner or --accept.')
  const body = {
    key: textFlag(flags, 'need')!,
    ...(owner !== undefined && { owner }),
    ...(isAccepted && { isAccepted }),
    reason: await askReason(context),
  }
  const need = await context.client.call('POST /api/needs', { body })
  if (context.show.format !== 'table') return context.show.one(need, [['key', 'key']])
  context.show.say(printable(lineOf(need)))
}

async function showHandover(context: CommandContext, flags: Flags): Promise<void> {
  const { client, show, io } = context
  // The wall's answer is shared for a second; who is needed is asked for itself.
  const verdict = await client.call('GET /api/needs')
  const { batches } = await client.call('GET /api/now')
  const since =
    timeFlag(context, flags, 'since') ?? new Date(+new Date(verdict.at) - SHIFT_MS).toISOString()
  const { holds } = await client.call('GET /api/holds')
  const { roles } = await client.call('GET /api/me')
  const decisions = roles.includes('Admin')
    ? (
        await client.call('GET /api/audit', {
          query: { from: since, limit: DECISIONS_MAX, reads: 'false' },
        })
      ).entries
    : null
  if (verdict.isActionNeeded) io.exitCode = EXIT.needed
  const { at, ...said } = verdict
  const whole = { at, since, verdict: said, holds, batches, decisions }
  if (show.format !== 'table')
    return show.list({
      whole,
      rows: verdict.needs,
      columns: [
        ['NEED', 'text'],
        ['OWNER', 'decision.owner'],
      ],
      empty: '',
    })
  const say = (title: string, lines: readonly string[]) => {
    if (lines.length === 0) return
    show.say(
      inViewersZone(io, printable([`\n${title}`, ...lines.map((line) => `- ${line}`)].join('\n'))),
    )
  }
  show.say(inViewersZone(io, `Hand-over at ${verdict.at}, since ${since}`))
  sayHeadline(context, verdict)
  say('What needs action', verdict.needs.map(lineOf))
  say('As planned, or accepted', verdict.planned.map(lineOf))
  say(
    'Holds',
    holds.map(
      ({ name, heldAt, heldBy, reason, endsWith }) =>
        `${name}, since ${heldAt} by ${heldBy}: ${reason} (${endsWith})`,
    ),
  )
  say('Waves', batches.map(waveLine))
  say('What comes next', nextLines(batches))
  if (decisions === null) show.say('\nWhat people decided: needs the role Admin.')
  else say('What people decided', decisions.toReversed().map(decisionLine))
}

function lineOf({ text, key, command, decision }: Need): string {
  if (decision === null) return `${text}. No one has it yet (${key})\n    ${command}`
  const { owner, by, at, reason, isAccepted } = decision
  const who = isAccepted ? '' : owner === null ? ' No one has it.' : ` ${owner} takes care of it.`
  return `${text}.${who} ${by} at ${at}: ${reason} (${key})\n    ${command}`
}

const waveLine = ({ batch, night }: Wall['batches'][number]): string => {
  const start = batch.batchStartTime === null ? '' : `, cut-over ${batch.batchStartTime}`
  const end = night?.endsAt
    ? `; ${night.phaseName} ends about ${night.endsAt}, latest ${night.p90}`
    : ''
  return `batch ${batch.id} of ${batch.runbookName}${start}: ${statesText(batch.members)}${end}`
}

const nextLines = (batches: Wall['batches']): string[] =>
  batches
    .flatMap(({ batch, phases }) =>
      phases.flatMap(({ phaseName, status, dueAt }) =>
        status === 'pending' && dueAt !== null ? [{ phaseName, dueAt, batchId: batch.id }] : [],
      ),
    )
    .sort((a, b) => Date.parse(a.dueAt) - Date.parse(b.dueAt))
    .slice(0, NEXT_MAX)
    .map(({ phaseName, dueAt, batchId }) => `${dueAt}: ${phaseName} of batch ${batchId}`)

const decisionLine = ({ at, actorName, action, subject, reason }: Decision): string =>
  `${at} ${actorName}: ${action} ${subject}${reason === null ? '' : `, because ${reason}`}`
