// What an operator asks at night, each by one command: what failed and why, what is stuck, what happened, what happened to this one
// person; and who works, and what the sources said.
import type { Command } from 'commander'
import type { Json } from '../../domain/json.ts'
import {
  type CommandContext,
  type Flags,
  pathSegment,
  sayRest,
  showPages,
  textFlag,
} from '../command-context.ts'
import { type Io, printable } from '../terminal/io.ts'
import { type Column, type Row, showSection } from '../terminal/show.ts'
import { batchPath, findMemberId, memberPath } from './batch/lists.ts'
import { addVerb, PAGED } from './verb.ts'

const BATCH = ['<batch-id>', 'the id of the batch'] as const
const rowsIn = (body: Row, name: string): Row[] => body[name] as unknown as Row[]

const FAILURES: readonly Column[] = [
  ['COUNT', 'count'],
  ['PHASE', 'phaseName'],
  ['STEP', 'stepName'],
  ['LAST SEEN', 'lastSeenAt', 'spare'],
  ['STEP ID', 'sample.stepId'],
  ['ERROR', 'sample.message'],
]
const STUCK: readonly Column[] = [
  ['WHAT', 'kind'],
  ['COUNT', 'count'],
  ['SINCE', 'since', 'spare'],
  ['WORKER', 'workerId'],
  ['STEP ID', 'stepId'],
  ['BECAUSE', 'because'],
]
const WAITS: readonly Column[] = [
  ['WORKER', 'workerId'],
  ['WAITS FOR', 'what'],
  ['STEPS', 'count'],
  ['SINCE', 'since'],
  ['NEXT', 'wakeAt'],
]
const EVENTS: readonly Column[] = [
  ['AT', 'at'],
  ['MEMBER', 'memberKey'],
  ['PHASE', 'phaseName', 'spare'],
  ['STEP', 'stepName'],
  ['WHAT', ({ thing, event }) => `${String(thing)} ${String(event)}`],
  ['TO', 'toStatus', 'spare'],
  ['BY', 'actor', 'spare'],
  ['BECAUSE', 'because'],
]

/** A noun that is a command by itself. */
export function addFailureCommands(program: Command, io: Io): void {
  addVerb(program, io, {
    name: 'failures',
    about: 'what failed and why, errors of one kind taken together',
    args: [BATCH],
    examples: ['failures 7', 'failures 7 --output json'],
    run: async (context, [id]) => {
      const { client, show } = context
      const { body } = await client.get<Row>(`${batchPath(id)}/failures`)
      const rows = rowsIn(body, 'groups')
      await show.list({
        whole: body as Json,
        rows,
        columns: FAILURES,
        empty: 'Nothing has failed.',
      })
      const all = `batch steps ${id} --status failed,poll_timeout --all has every one`
      sayRest(context, rows.length, Number(body.groupCount), `the largest groups; ${all}`)
      if (rows.length === 0) return
      const isInit = rows.every(({ phaseName }) => phaseName === null)
      const again = isInit ? `batch restart ${id}` : `batch retry ${id} --failed-step <step>`
      show.say(`When the cause is gone, try again with: matoolkit ${again}`)
    },
  })
}

export function addStuckCommands(program: Command, io: Io): void {
  addVerb(program, io, {
    name: 'stuck',
    about: 'what does not go on, and why',
    args: [BATCH],
    more: 'Exit code: 0, also when something is stuck.',
    examples: ['stuck 7'],
    run: async ({ client, show }, [id]) => {
      const { body } = await client.get<Row>(`${batchPath(id)}/stuck`)
      const rows = rowsIn(body, 'items')
      await show.list({ whole: body as Json, rows, columns: STUCK, empty: 'Nothing is stuck.' })
      const waiting = rowsIn(body, 'waiting')
      if (show.format === 'table')
        await showSection(show, 'What open steps wait for', waiting, WAITS)
    },
  })
}

export function addEventCommands(program: Command, io: Io): void {
  addVerb(program, io, {
    name: 'events',
    about: 'what happened in a batch, newest first',
    args: [BATCH],
    options: [
      ['--member <who>', 'to this member, by id or key'],
      ['--thing <list>', 'only of batch, phase, member, step'],
      ['--oldest', 'oldest first'],
      ...PAGED,
    ],
    examples: ['events 7 --thing batch,phase', 'events 7 --member ada@contoso.com --oldest'],
    run: listEvents,
  })
}

async function listEvents(
  context: CommandContext,
  [id]: readonly string[],
  flags: Flags,
): Promise<void> {
  const member = textFlag(flags, 'member')
  const memberId = member && (await findMemberId(context, id, member))
  await showPages(context, {
    path: `${batchPath(id)}/events`,
    query: {
      memberId,
      thing: textFlag(flags, 'thing'),
      sort: flags.oldest ? 'oldest' : 'newest',
    },
    rows: 'events',
    columns: EVENTS,
    empty: 'Nothing has happened.',
  })
}

export function addMemberCommands(program: Command, io: Io): void {
  const noun = program.command('member').description('look at one person')
  addVerb(noun, io, {
    name: 'show',
    about: 'one person’s whole story: data, steps, what happened and why',
    args: [BATCH, ['<member>', 'the id or the key of the member']],
    examples: ['member show 7 ada@contoso.com', 'member show 7 4711 --output json'],
    run: showMember,
  })
}

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
const MEMBER_STEPS: readonly Column[] = [
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

/** As many of somebody's events as the API tells at once. */
const EVENTS_MAX = 500

async function showMember(context: CommandContext, [id, member]: readonly string[]): Promise<void> {
  const { client, show } = context
  const { body } = await client.get<Row>(await memberPath(context, id, member))
  await show.one(body as Json, MEMBER)
  const events = rowsIn(body, 'events')
  if (events.length === EVENTS_MAX) {
    const who = String((body.member as Row).id)
    context.io.err(
      `The newest ${EVENTS_MAX} events are shown; events ${id} --member ${who} --all has every one.`,
    )
  }
  if (show.format !== 'table') return
  const { data, outputs } = body.member as Row
  await showSection(show, 'Data', valuesOf(data as Row), VALUES)
  await showSection(show, 'Outputs of steps', valuesOf(outputs as Row), VALUES)
  await showSection(show, 'Steps', rowsIn(body, 'steps'), MEMBER_STEPS)
  const columns = EVENTS.filter(([title]) => title !== 'MEMBER')
  await showSection(show, 'What happened, newest first', events, columns)
}

const valuesOf = (map: Row): Row[] => Object.entries(map).map(([name, value]) => ({ name, value }))

const WORKERS: readonly Column[] = [
  ['WORKER', 'workerId'],
  ['STATE', ({ isKnown, isSilent }) => (isKnown ? (isSilent ? 'silent' : 'ok') : 'unknown')],
  ['VERSION', 'version', 'spare'],
  ['SLOTS', 'slots', 'spare'],
  ['OUT', 'outstanding'],
  ['WAITING', 'waiting'],
  ['FUNCTIONS', ({ functions }) => (functions as string[]).length, 'spare'],
  ['LAST SEEN', 'lastSeenAt'],
]

export function addWorkerCommands(program: Command, io: Io): void {
  const noun = program.command('worker').description('see who works')
  addVerb(noun, io, {
    name: 'list',
    about: 'list workers with their load',
    examples: ['worker list', 'worker list --output json'],
    run: async ({ client, show }) => {
      const { body } = await client.get<Row>('/api/workers')
      const rows = rowsIn(body, 'workers')
      const empty = 'No worker has announced itself.'
      await show.list({ whole: body as Json, rows, columns: WORKERS, empty })
    },
  })
}

const ISSUES: readonly Column[] = [
  ['MEMBER', 'memberKey', 'whole'],
  ['COLUMN', 'column'],
  ['BATCH', 'batchId'],
  ['KIND', 'kind', 'spare'],
  ['FOUND', 'foundAt', 'spare'],
  ['ISSUE', 'reason'],
]

export function addSourceIssueCommands(program: Command, io: Io): void {
  addVerb(program, io, {
    name: 'source-issues',
    about: 'rows of a data source that could not be used, and changes that were not made',
    args: [['<runbook>', 'the name of the runbook']],
    options: PAGED,
    examples: ['source-issues user-migration', 'source-issues user-migration --all -o csv'],
    run: async (context, [name]) => {
      const path = `/api/runbooks/${pathSegment(name!)}`
      await showPages(context, {
        path: `${path}/issues`,
        rows: 'issues',
        columns: ISSUES,
        empty: 'The last good tick left nothing unused.',
      })
      const { body } = await context.client.get<{ ticks: Row[] }>(`${path}/ticks`, { limit: 1 })
      const [last] = body.ticks
      if (!last) context.io.err('warning: the data source was not asked yet')
      else if (last.outcome === 'failed') {
        context.io.err(printable(`warning: the last tick failed: ${String(last.error)}`))
      }
    },
  })
}
