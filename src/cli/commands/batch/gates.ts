// `matoolkit batch get --gates` and `batch approve`: what is known before a phase starts, and what people decide about it.
import type { Answer, RequestOf } from '../../../api/client/endpoints.ts'
import { countText } from '../../../base/text/count-text.ts'
import { printable } from '../../../base/text/printable.ts'
import { readTime } from '../../input/typed-time.ts'
import {
  type CommandContext,
  type Flags,
  textFlag,
  usageError,
} from '../../program/command-context.ts'
import { askReason } from '../../terminal/prompt.ts'
import { type Column, DRY_RUN_FIELD } from '../../terminal/show.ts'
import { DRY_RUN, REASON, type Verb } from '../verb.ts'
import { namedBatch } from './named.ts'

type Gate = Answer<'GET /api/batches/{batchId}/gates'>['gates'][number]

const approvalsText = ({ approvals: { given, needed } }: Gate): string => `${given} of ${needed}`

function readyText({ readiness: { percent, neededPercent, isWaived } }: Gate): string {
  const needed = neededPercent === null ? '' : ` of ${neededPercent} %`
  return `${percent} %${needed}${isWaived ? ', waived' : ''}`
}

const missingText = ({ missing }: Gate): string => missing.join('; ')

const GATES: readonly Column<Gate>[] = [
  ['PHASE', 'phaseName'],
  ['DUE', 'dueAt'],
  ['GATE', 'state'],
  ['APPROVALS', approvalsText],
  ['READY', readyText],
  ['MISSING', missingText, 'whole'],
]

const GATE: readonly Column<Gate & { readonly isDryRun: boolean }>[] = [
  ['phase', 'phaseName'],
  ['due', 'dueAt'],
  ['gate', 'state'],
  ['approvals', approvalsText],
  ['ready', readyText],
  ['missing', missingText],
  DRY_RUN_FIELD,
]

export async function runGates(
  { client, show }: CommandContext,
  [id]: readonly string[],
): Promise<void> {
  const params = namedBatch(id)
  const whole = await client.call('GET /api/batches/{batchId}/gates', { params })
  const { gates, openReviews, failedMembers, holds } = whole
  const empty = `No phase of batch ${id} has a gate.`
  await show.list({ whole, rows: gates, columns: GATES, empty })
  const reviews = openReviews.removal + openReviews.move + openReviews.join
  show.say(
    `${countText(failedMembers, 'failed member')}, ${countText(reviews, 'open review')}, ${countText(holds.length, 'hold')}.`,
  )
  for (const gate of gates) for (const line of gateLines(gate)) show.say(printable(line))
}

/** What a gate looks at, and what people decided. */
const gateLines = ({ phaseName, earlierPhases, supplies, decisions }: Gate): string[] => [
  ...earlierPhases.map(
    ({ phaseName: earlier, status, passed, members, failed, openSteps }) =>
      `  before ${phaseName}: ${earlier} ${status}, ${passed} of ${members} passed, ${failed} failed, ${countText(openSteps, 'open step')}`,
  ),
  ...supplies.map(
    ({ noun, name, free, needed }) =>
      `  before ${phaseName}: ${noun} ${name}, ${free} free, ${needed} needed`,
  ),
  ...decisions.map((one) => `  ${phaseName}: ${decisionText(one)}`),
]

const decisionText = ({
  kind,
  by,
  reason,
  isCounted,
  endedBecause,
}: Gate['decisions'][number]): string =>
  `${kind} by ${by}: ${reason}${isCounted ? '' : ` (${endedBecause ?? 'no longer counts'})`}`

const DECIDE = 'POST /api/batches/{batchId}/gates/{phaseName}'

async function decide(
  context: CommandContext,
  [id, phase]: readonly string[],
  flags: Flags,
  decision: Omit<RequestOf<typeof DECIDE>['body'], 'reason' | 'dryRun'>,
): Promise<void> {
  const reason = await askReason(context)
  const params = { ...namedBatch(id), phaseName: phase! }
  const body = { ...decision, reason, dryRun: flags.dryRun === true }
  const { gate, isDryRun } = await context.client.call(DECIDE, { params, body })
  await context.show.one({ ...gate, isDryRun }, GATE)
  const isLate =
    gate.state === 'open' && gate.dueAt !== null && new Date(gate.dueAt) <= context.io.now()
  if (isLate && !flags.dryRun)
    context.show.say(`If the batch is held, resume it: matoolkit resume --batch ${id}`)
}

function until(context: CommandContext, flags: Flags): { readonly until: string } {
  const text = textFlag(flags, 'until')
  if (text === undefined)
    throw usageError('Say when the waiver ends: --until "+2h" or --until 22:30.')
  return { until: readTime(context, text) }
}

const ID = ['<id>', 'id of the batch'] as const
const PHASE = ['<phase>', 'name of the phase'] as const

export const APPROVE_VERB: Verb = {
  name: 'approve',
  about: 'decide at the gate of a phase',
  args: [ID, PHASE],
  options: [
    ['--waive', 'accept fewer ready members instead'],
    ['--until <time>', 'when the waiver ends: +2h, 22:30'],
    ['--withdraw', 'withdraw your approval; with --waive the waiver'],
    ['--second-person', 'as the second person of matoolkit up, to try it on one machine'],
    REASON,
    DRY_RUN,
  ],
  more: `An approval counts once for each person, and not for the publisher of the version.
On one machine you publish and a second person approves: --second-person. Elsewhere people sign in.
It is void when the version, the members or the time change. batch get --gates shows what is missing.`,
  examples: [
    'batch approve 7 cutover --reason "checked with the help desk"',
    'batch approve 7 cutover --waive --until +2h --reason "the missing five come next week"',
    'batch approve 7 cutover --withdraw --reason "mail flow is down"',
  ],
  run: (context, args, flags) => {
    const kind = flags.waive ? 'waiver' : 'approval'
    if (flags.withdraw) return decide(context, args, flags, { decision: 'withdraw', kind })
    if (flags.waive)
      return decide(context, args, flags, { decision: 'waive', ...until(context, flags) })
    if (flags.until !== undefined) throw usageError('--until is the end of a waiver: add --waive.')
    return decide(context, args, flags, { decision: 'approve' })
  },
}
