// `matoolkit batch gates`, `approve`, `waive` and `withdraw`: what is known before a phase starts, and what people decide about it.
import type { Answer, RequestOf } from '../../../api/client/endpoints.ts'
import { countText } from '../../../base/text/count-text.ts'
import { printable } from '../../../base/text/printable.ts'
import { givenTo } from '../../connection/client.ts'
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

async function runGates({ client, show }: CommandContext, [id]: readonly string[]): Promise<void> {
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

const decide =
  <E extends `POST /api/batches/{batchId}/gates/{phaseName}/${'approve' | 'waive' | 'withdraw'}`>(
    endpoint: E,
    more: (
      context: CommandContext,
      flags: Flags,
    ) => Omit<NonNullable<RequestOf<E>['body']>, 'reason' | 'dryRun'>,
  ) =>
  async (context: CommandContext, [id, phase]: readonly string[], flags: Flags): Promise<void> => {
    const fields = more(context, flags)
    const reason = await askReason(context)
    const params = { ...namedBatch(id), phaseName: phase! }
    const body = { reason, ...fields, dryRun: flags.dryRun === true }
    const { gate, isDryRun } = await context.client.call(endpoint, givenTo<E>(params, body))
    await context.show.one({ ...gate, isDryRun }, GATE)
    const isLate =
      gate.state === 'open' && gate.dueAt !== null && new Date(gate.dueAt) <= context.io.now()
    if (isLate && !flags.dryRun)
      context.show.say(`If the batch is held, resume it: matoolkit batch resume ${id}`)
  }

function until(context: CommandContext, flags: Flags): { readonly until: string } {
  const text = textFlag(flags, 'until')
  if (text === undefined)
    throw usageError('Say when the waiver ends: --until "+2h" or --until 22:30.')
  return { until: readTime(context, text) }
}

const ID = ['<id>', 'id of the batch'] as const
const PHASE = ['<phase>', 'name of the phase'] as const

export const GATE_VERBS: readonly Verb[] = [
  {
    name: 'gates',
    about: 'show what phases still need to start',
    args: [ID],
    more: 'A member is ready when it has passed every step of every earlier phase.',
    examples: ['batch gates 7', 'batch gates 7 --output json'],
    run: runGates,
  },
  {
    name: 'approve',
    about: 'approve the start of a phase',
    args: [ID, PHASE],
    options: [REASON, DRY_RUN],
    more: `Counts once for each person, and not for the publisher of the version.
Void when the version, the members or the time change.`,
    examples: ['batch approve 7 cutover --reason "checked with the help desk"'],
    run: decide('POST /api/batches/{batchId}/gates/{phaseName}/approve', () => ({})),
  },
  {
    name: 'waive',
    about: 'accept fewer ready members at a gate',
    args: [ID, PHASE],
    options: [['--until <time>', 'when the waiver ends: +2h, 22:30'], REASON, DRY_RUN],
    examples: ['batch waive 7 cutover --until +2h --reason "the missing five come next week"'],
    run: decide('POST /api/batches/{batchId}/gates/{phaseName}/waive', until),
  },
  {
    name: 'withdraw',
    about: 'withdraw your approval of a phase',
    args: [ID, PHASE],
    options: [['--waiver', 'withdraw the waiver instead'], REASON, DRY_RUN],
    examples: ['batch withdraw 7 cutover --reason "mail flow is down"'],
    run: decide('POST /api/batches/{batchId}/gates/{phaseName}/withdraw', (_, flags) => ({
      kind: flags.waiver === true ? ('waiver' as const) : ('approval' as const),
    })),
  },
]
