// `matoolkit member …`: one member's data, steps and events.
import type { Command } from 'commander'
import type { Json } from '../../domain/json.ts'
import type { CommandContext } from '../command-context.ts'
import type { Io } from '../terminal/io.ts'
import { type Column, type Row, rowsIn, showSection } from '../terminal/show.ts'
import { memberPath } from './batch/paths.ts'
import { EVENT_COLUMNS } from './events.ts'
import { addVerb, BATCH_ARG, MEMBER_ARG } from './verb.ts'

const MEMBER: readonly Column[] = [
  ['member', 'member.memberKey'],
  ['id', 'member.id'],
  ['batch', 'member.batchId'],
  ['status', 'member.status'],
  ['joined', 'member.joinedAt'],
  ['failed', 'member.failedAt'],
  ['left', 'member.leftAt'],
  ['removed by', 'member.removedBy'],
  ['moved to batch', 'member.movedToBatchId'],
]
const STEPS: readonly Column[] = [
  ['ID', 'id'],
  ['KIND', 'kind', 'spare'],
  ['PHASE', 'phaseName'],
  ['STEP', 'stepName'],
  ['STATUS', 'status'],
  ['TRY', 'attempt', 'spare'],
  ['POLLS', 'pollCount', 'spare'],
  ['ENDED', 'completedAt'],
  ['ERROR', 'errorMessage'],
]
const VALUES: readonly Column[] = [
  ['NAME', 'name'],
  ['VALUE', 'value'],
]

const ACTIONS: readonly Column[] = [
  ['TO', 'about'],
  ['RUN', ({ command }) => `matoolkit ${String(command)}`, 'whole'],
]

/** The API returns no more events with a member. */
const EVENTS_MAX = 500

export function addMemberCommands(program: Command, io: Io): void {
  const noun = program.command('member').description('inspect a member')
  addVerb(noun, io, {
    name: 'show',
    about: "show a member's data, steps and events",
    args: [BATCH_ARG, MEMBER_ARG],
    examples: ['member show 7 ada@contoso.com', 'member show 7 4711 --output json'],
    run: runShowMember,
  })
}

async function runShowMember(
  context: CommandContext,
  [id, member]: readonly string[],
): Promise<void> {
  const { client, show } = context
  const { body } = await client.get<Row>(await memberPath(context, id, member))
  await show.one(body as Json, MEMBER)
  const events = rowsIn(body, 'events')
  if (events.length === EVENTS_MAX) {
    const memberId = String((body.member as Row).id)
    context.io.err(
      `Only the newest ${EVENTS_MAX} events are shown; for all: events ${id} --member ${memberId} --all`,
    )
  }
  if (show.format !== 'table') return
  await showSection(show, 'What you can do', rowsIn(body, 'actions'), ACTIONS)
  if (body.blockedBecause) show.say(`Not possible now: ${String(body.blockedBecause)}.`)
  const { data, outputs } = body.member as Row
  await showSection(show, 'Data', valuesOf(data as Row), VALUES)
  await showSection(show, 'Outputs of steps', valuesOf(outputs as Row), VALUES)
  await showSection(show, 'Steps', rowsIn(body, 'steps'), STEPS)
  const columns = EVENT_COLUMNS.filter(([title]) => title !== 'MEMBER')
  await showSection(show, 'Events, newest first', events, columns)
}

const valuesOf = (map: Row): Row[] => Object.entries(map).map(([name, value]) => ({ name, value }))
