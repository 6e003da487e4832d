// `matoolkit batch gates`, `approve`, `waive` and `withdraw`: what is known before a phase starts, and what people decide about it.
import { countText } from '../../../base/text/count-text.ts'
import type { Json } from '../../../base/text/json.ts'
import { printable } from '../../../base/text/printable.ts'
import { readTime } from '../../input/typed-time.ts'
import {
  type CommandContext,
  type Flags,
  pathSegment,
  textFlag,
  usageError,
} from '../../program/command-context.ts'
import { askReason } from '../../terminal/prompt.ts'
import { type Column, DRY_RUN_FIELD, type Row, rowsIn } from '../../terminal/show.ts'
import { DRY_RUN, REASON, type Verb } from '../verb.ts'
import { batchPath } from './paths.ts'

const approvalsText = ({ approvals }: Row): string => {
  const { given, needed } = approvals as Row
  return `${Number(given)} of ${Number(needed)}`
}

function readyText({ readiness }: Row): string {
  const { percent, neededPercent, isWaived } = readiness as Row
  const needed = neededPercent === null ? '' : ` of ${Number(neededPercent)} %`
  return `${Number(percent)} %${needed}${isWaived ? ', waived' : ''}`
}

const missingText = ({ missing }: Row): string => (missing as string[]).join('; ')

const GATES: readonly Column[] = [
  ['PHASE', 'phaseName'],
  ['DUE', 'dueAt'],
  ['GATE', 'state'],
  ['APPROVALS', approvalsText],
  ['READY', readyText],
  ['MISSING', missingText, 'whole'],
]

const GATE: readonly Column[] = [
  ['phase', 'phaseName'],
  ['due', 'dueAt'],
  ['gate', 'state'],
  ['approvals', approvalsText],
  ['ready', readyText],
  ['missing', missingText],
  DRY_RUN_FIELD,
]

async function runGates(context: CommandContext, [id]: readonly string[]): Promise<void> {
  const { body } = await context.client.get<Row>(`${batchPath(id)}/gates`)
  const gates = rowsIn(body, 'gates')
  const empty = `No phase of batch ${id} has a gate.`
  await context.show.list({ whole: body as Json, rows: gates, columns: GATES, empty })
  const { removal, move, join } = body.openReviews as Record<string, number>
  const reviews = (removal ?? 0) + (move ?? 0) + (join ?? 0)
  context.show.say(
    `${countText(Number(body.failedMembers), 'failed member')}, ${countText(reviews, 'open review')}, ${countText(rowsIn(body, 'holds').length, 'hold')}.`,
  )
  for (const gate of gates) {
    for (const { phaseName, status, passed, members, failed, openSteps } of rowsIn(
      gate,
      'earlierPhases',
    ))
      context.show.say(
        printable(
          `  before ${String(gate.phaseName)}: ${String(phaseName)} ${String(status)}, ${Number(passed)} of ${Number(members)} passed, ${Number(failed)} failed, ${countText(Number(openSteps), 'open step')}`,
        ),
      )
    for (const { noun, name, free, needed } of rowsIn(gate, 'supplies'))
      context.show.say(
        printable(
          `  before ${String(gate.phaseName)}: ${String(noun)} ${String(name)}, ${Number(free)} free, ${Number(needed)} needed`,
        ),
      )
    for (const one of rowsIn(gate, 'decisions'))
      context.show.say(printable(`  ${String(gate.phaseName)}: ${decisionText(one)}`))
  }
}

const decisionText = ({ kind, by, reason, isCounted, endedBecause }: Row): string =>
  `${String(kind)} by ${String(by)}: ${String(reason)}${isCounted ? '' : ` (${String(endedBecause ?? 'no longer counts')})`}`

const decide =
  (
    verb: 'approve' | 'waive' | 'withdraw',
    more: (context: CommandContext, flags: Flags) => Record<string, Json>,
  ) =>
  async (context: CommandContext, [id, phase]: readonly string[], flags: Flags): Promise<void> => {
    const fields = more(context, flags)
    const reason = await askReason(context)
    const body: Json = { reason, ...fields, dryRun: flags.dryRun === true }
    const path = `${batchPath(id)}/gates/${pathSegment(phase!)}/${verb}`
    const done = await context.client.post<Row>(path, { body })
    const gate: Row = { ...(done.body.gate as Row), isDryRun: done.body.isDryRun as Json }
    await context.show.one(gate as Json, GATE)
    const isLate =
      gate.state === 'open' &&
      gate.dueAt !== null &&
      new Date(String(gate.dueAt)) <= context.io.now()
    if (isLate && !flags.dryRun)
      context.show.say(`If the batch is held, resume it: matoolkit batch resume ${id}`)
  }

function until(context: CommandContext, flags: Flags): Record<string, Json> {
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
    run: decide('approve', () => ({})),
  },
  {
    name: 'waive',
    about: 'accept fewer ready members at a gate',
    args: [ID, PHASE],
    options: [['--until <time>', 'when the waiver ends: +2h, 22:30'], REASON, DRY_RUN],
    examples: ['batch waive 7 cutover --until +2h --reason "the missing five come next week"'],
    run: decide('waive', until),
  },
  {
    name: 'withdraw',
    about: 'withdraw your approval of a phase',
    args: [ID, PHASE],
    options: [['--waiver', 'withdraw the waiver instead'], REASON, DRY_RUN],
    examples: ['batch withdraw 7 cutover --reason "mail flow is down"'],
    run: decide('withdraw', (_, flags) => ({
      kind: flags.waiver === true ? 'waiver' : 'approval',
    })),
  },
]
