// `matoolkit member …`: one member's data, steps and events; hold and resume members.

import type { Command } from 'commander'
import type { Answer } from '../../api/client/endpoints.ts'
import { EXIT } from '../../base/errors/errors.ts'
import { printable } from '../../base/text/printable.ts'
import { isUnderWay, stateWord } from '../../domain/state/person-state.ts'
import { FAILED_STEP_STATUSES } from '../../domain/state/transitions.ts'
import { type CommandContext, type Flags, showPages, textFlag } from '../program/command-context.ts'
import type { Io } from '../terminal/io.ts'
import { type Column, showSection } from '../terminal/show.ts'
import { STATE_NAMES, stateCell, stateFlag } from './batch/lists.ts'
import { MESSAGES_OF_MEMBER } from './batch/messages.ts'
import { namedMember } from './batch/named.ts'
import { runShowEffects } from './batch/undo.ts'
import { EVENT_COLUMNS } from './events.ts'
import { sayMeaning } from './next-commands.ts'
import { ATTEMPT_COLUMN, NOW_COLUMN, polledText } from './step-texts.ts'
import { addVerb, BATCH_ARG, MEMBER_ARG, PAGED } from './verb.ts'
import { statusIn } from './words.ts'

type MemberPage = Answer<'GET /api/batches/{batchId}/members/{memberId}'>
type Step = MemberPage['steps'][number]

const MEMBER: readonly Column<MemberPage>[] = [
  ['member', 'member.memberKey'],
  ['id', 'member.id'],
  ['batch', 'member.batchId'],
  ['state', ({ state, member }) => stateWord(state, member.movedToBatchId)],
  ['where', 'where'],
  ['joined', 'member.joinedAt'],
  ['failed', 'member.failedAt'],
  ['removed', 'member.leftAt'],
  ['removed by', 'member.removedBy'],
  ['moved to batch', 'member.movedToBatchId'],
]
const STEPS: readonly Column<Step>[] = [
  ['ID', 'id'],
  ['KIND', 'kind', 'spare'],
  ['PHASE', 'phaseName'],
  ['STEP', 'stepName'],
  ['STATUS', statusIn('step', 'status')],
  ATTEMPT_COLUMN,
  ['POLLS', 'pollCount', 'spare'],
  NOW_COLUMN,
  ['ENDED', 'completedAt'],
  ['ERROR', 'errorMessage'],
]
const NEXT: readonly Column<MemberPage['next'][number]>[] = [
  ['PHASE', 'phaseName'],
  ['STEP', 'stepName'],
  ['AT', 'at'],
]
const VALUES: readonly Column<{ readonly name: string; readonly value: unknown }>[] = [
  ['NAME', 'name'],
  ['VALUE', 'value'],
]

export const ACTION_COLUMNS: readonly Column<MemberPage['actions'][number]>[] = [
  ['TO', 'about'],
  ['RUN', ({ command }) => `matoolkit ${command}`, 'whole'],
]

/** The API returns no more events with a member. */
const EVENTS_MAX = 500

export function addMemberCommands(program: Command, io: Io): void {
  const noun = program.command('member').description('find and inspect members')
  addVerb(noun, io, {
    name: 'find',
    about: 'find people in all batches',
    args: [['[text]', 'key, old or new address, or another value of their data']],
    options: [
      ['--not-moved', 'only people who have still to be cut over, each once'],
      ['--state <list>', STATE_NAMES],
      ['--runbook <name>', 'only in batches of this runbook'],
      ...PAGED,
    ],
    more: 'Shows where they are, what comes next and when. If no one has the text, similar people are listed. Without a text, everyone the options select.',
    examples: [
      'member find ada@contoso.com',
      'member find --not-moved',
      'member find --not-moved --output csv > left.csv',
    ],
    run: runFindMember,
  })
  addVerb(noun, io, {
    name: 'show',
    about: "show a member's data, steps and events",
    args: [BATCH_ARG, MEMBER_ARG],
    options: [['--effects', 'only what was changed, with the inverse of each change']],
    examples: [
      'member show 7 ada@contoso.com',
      'member show 7 4711 --output json',
      'member show 7 ada@contoso.com --effects',
    ],
    run: (context, args, { effects }) => (effects ? runShowEffects : runShowMember)(context, args),
  })
}

type Found = Answer<'GET /api/members'>['members'][number]

const FOUND: readonly Column<Found>[] = [
  ['MEMBER', 'member.memberKey', 'whole'],
  ['NAME', 'name', 'spare'],
  ['BATCH', 'batch.id'],
  ['RUNBOOK', 'batch.runbookName'],
  ['CUT-OVER', 'batch.batchStartTime'],
  ['STATE', ({ member }) => stateCell(member)],
  ['PHASE', ({ member }) => currentOf(member)?.phaseName],
  ['STEP', ({ member }) => currentOf(member)?.stepName],
  ['NOW', 'member.where'],
  ['ERROR', ({ member }) => member.failure?.error],
  ['NEXT', nextText],
]
const RECENT_EVENTS = 5

const currentOf = ({ step, failure }: Found['member']) => step ?? failure

function nextText({ nextPhase, member }: Found): string | null {
  if (nextPhase === null || !isUnderWay(member.state)) return null
  const { phaseName, dueAt } = nextPhase
  return `${phaseName} ${dueAt === null ? 'when it is advanced' : `at ${dueAt}`}`
}

const PEOPLE: readonly Column<Found>[] = [
  ['MEMBER', 'member.memberKey', 'whole'],
  ['NAME', 'name'],
  ['DEPARTMENT', 'department'],
  ['BATCH', 'batch.id'],
  ['RUNBOOK', 'batch.runbookName', 'spare'],
  ['CUT-OVER', 'batch.batchStartTime'],
  ['STATE', ({ member }) => stateCell(member)],
  ['CUT OVER AT', 'member.cutOverAt', 'spare'],
  ['NOW', 'member.where'],
]

const filterOf = (flags: Flags) => ({
  notCutOver: flags.notMoved === true ? ('true' as const) : undefined,
  state: stateFlag(flags),
  runbook: textFlag(flags, 'runbook'),
})

async function runFindMember(
  context: CommandContext,
  [text]: readonly string[],
  flags: Flags,
): Promise<void> {
  const { client, io, show } = context
  const query = filterOf(flags)
  if (text === undefined) {
    const empty = flags.notMoved === true ? 'Everyone is cut over.' : 'No one matches.'
    return showPages(context, 'GET /api/members', { given: { query }, columns: PEOPLE, empty })
  }
  const whole = await client.call('GET /api/members', { query: { ...query, text } })
  const { members: rows } = whole
  if (whole.how === 'near') io.err(`No one has "${text}". Similar people:`)
  const empty = `No one in any batch has "${text}" as a key or in their data.`
  await show.list({ whole, rows, columns: FOUND, empty })
  if (!whole.isComplete) io.err(`The newest ${rows.length} are shown; use a longer text.`)
  if (rows.length === 0) io.exitCode = EXIT.notFound
  if (rows.length !== 1 || show.format !== 'table') return
  const { batch, member, reference } = rows[0]!
  const params = { batchId: batch.id, memberId: member.id }
  const given = { params, query: reference === null ? {} : { reference } }
  const detail = await client.call('GET /api/batches/{batchId}/members/{memberId}', given)
  const columns = EVENT_COLUMNS.filter(([title]) => title !== 'MEMBER')
  const events = detail.events.slice(0, RECENT_EVENTS)
  await showSection(show, 'What happened last', events, columns)
  show.say(
    `\nEverything, and what you can do: matoolkit member show ${batch.id} ${member.memberKey}`,
  )
}

async function runShowMember(
  context: CommandContext,
  [id, member]: readonly string[],
): Promise<void> {
  const { client, show } = context
  const params = await namedMember(context, id, member)
  const page = await client.call('GET /api/batches/{batchId}/members/{memberId}', { params })
  await show.one(page, MEMBER)
  const { events, steps } = page
  if (events.length === EVENTS_MAX) {
    context.io.err(
      `Only the newest ${EVENTS_MAX} events are shown; for all: events ${id} --member ${page.member.id} --all`,
    )
  }
  if (show.format !== 'table') return
  await showSection(show, 'What you can do', page.actions, ACTION_COLUMNS)
  if (page.blockedBecause) show.say(`Not possible now: ${page.blockedBecause}.`)
  await showSection(show, 'What comes next', page.next, NEXT)
  await showSection(show, 'Messages to the person', page.messages, MESSAGES_OF_MEMBER)
  await showSection(show, 'Data', valuesOf(page.member.data), VALUES)
  await showSection(show, 'Outputs of steps', valuesOf(page.member.outputs), VALUES)
  await showSection(show, 'Steps', steps, STEPS)
  sayPolls(show, steps)
  sayMeanings(show, steps)
  const columns = EVENT_COLUMNS.filter(([title]) => title !== 'MEMBER')
  await showSection(show, 'Events, newest first', events, columns)
}

/** What steps that are being polled said last. */
function sayPolls(show: CommandContext['show'], steps: readonly Step[]): void {
  const polling = steps.filter(({ status }) => status === 'polling')
  for (const step of polling) {
    const text = polledText(step)
    if (text !== null) show.say(printable(`${step.stepName}: ${text}`))
  }
}

/** Below the table: a sentence does not fit a cell. The same meaning is told once. */
function sayMeanings(show: CommandContext['show'], steps: readonly Step[]): void {
  const failed = steps.flatMap(({ status, stepName, meaning }) =>
    meaning && FAILED.includes(status) ? [{ stepName, meaning }] : [],
  )
  for (const same of Map.groupBy(failed, ({ meaning }) => meaning.id).values()) {
    const names = [...new Set(same.map(({ stepName }) => stepName))].join(', ')
    show.say(printable(`\nWhat the error of ${names} means:`))
    sayMeaning(show, same[0]!.meaning)
  }
}

const FAILED: readonly string[] = FAILED_STEP_STATUSES

const valuesOf = (map: Readonly<Record<string, unknown>>) =>
  Object.entries(map).map(([name, value]) => ({ name, value }))
