// `matoolkit status`: one page over all batches. The first line says whether action is needed, and so does the exit code.
import type { Command } from 'commander'
import type { Answer } from '../../api/client/endpoints.ts'
import { EXIT } from '../../base/errors/errors.ts'
import { dashboardLink, secondToken } from '../../base/keys/local-token.ts'
import { durationText } from '../../base/text/duration.ts'
import { printable } from '../../base/text/printable.ts'
import { peopleText } from '../../domain/needs/failures.ts'
import { localTokenFor } from '../connection/instances.ts'
import type { CommandContext } from '../program/command-context.ts'
import { interruptible } from '../terminal/interrupt.ts'
import { type Io, inViewersZone } from '../terminal/io.ts'
import { openScreen, type Screen } from '../terminal/screen.ts'
import { type Column, makeShow, type Show, showSection } from '../terminal/show.ts'
import { cutTo } from '../terminal/text-width.ts'
import { sayHeadline } from './needs.ts'
import { showStuck } from './stuck.ts'
import { addVerb } from './verb.ts'

const REFRESH_MS = 5_000

export function addStatusCommands(program: Command, io: Io): void {
  addVerb(program, io, {
    name: 'status',
    about: 'show whether action is needed, and what runs',
    args: [['[batch-id]', 'id of a batch: its blocked work and why, what its steps wait for']],
    options: [
      ['--watch', 'refresh every 5 seconds until Ctrl-C'],
      ['--link', 'print the link to the dashboard instead'],
      ['--second-person', 'with --link: of the second person, who approves what you published'],
    ],
    more: `The first line says whether action is needed. Holds that a person set, while no phase is late
behind them, and manual batches that wait to be advanced are as planned, and need no action.

On one machine the link of --link holds a token: anyone with the link may do everything while the program runs. Elsewhere people
sign in on the page.

Exit code: 0 no action needed, 9 action needed; with --watch 130; of a batch 0, also when work is blocked.`,
    examples: ['status', 'status 7', 'status --output json', 'status --link'],
    run: (context, [id], flags) => {
      if (id !== undefined) return showStuck(context, id)
      if (flags.link) return showLink(context)
      return flags.watch ? watchStatus(context) : showOnce(context)
    },
  })
}

async function showLink({ client, profile, show, io, flags }: CommandContext): Promise<void> {
  const apiUrl = profile['api-url'].value!.replace(/\/$/, '')
  // Proves that the API is there, and that it is the one whose token this is.
  await client.call('GET /api/me')
  const token = localTokenFor(apiUrl)
  const own = token !== null && flags.secondPerson ? secondToken(token) : token
  const url = own === null ? `${apiUrl}/` : dashboardLink(apiUrl, own)
  // A link is text by nature, in a pipe too.
  if (flags.output === undefined) io.out(url)
  else await show.one({ url }, [['url', 'url']])
}

type Status = Answer<'GET /api/status'>
type Need = Status['needs'][number]
type Phase = Status['phases'][number]

const load = ({ client }: CommandContext): Promise<Status> => client.call('GET /api/status')

async function showOnce(context: CommandContext): Promise<void> {
  const body = await load(context)
  await showStatus(context.show, context.io, body)
  if (body.isActionNeeded) context.io.exitCode = EXIT.needed
}

/** Fields that differ at each look, and say nothing new. */
const MOVING: ReadonlySet<string> = new Set(['at', 'nightEndsAt', 'nightLatestAt', 'lastSeenAt'])

/** On a terminal the page is redrawn; elsewhere it is written again when it says something new. */
async function watchStatus(context: CommandContext): Promise<void> {
  const { io, show, clock } = context
  const screen = io.width === null || show.format !== 'table' ? null : openScreen(process.stdout)
  let last = ''
  try {
    await interruptible(async (interrupted) => {
      while (!interrupted.aborted) {
        const body = await load(context)
        const state = JSON.stringify(body, (name, value) => (MOVING.has(name) ? null : value))
        const isNew = state !== last
        last = state
        if (screen) await draw(screen, io, body)
        else if (isNew && show.format === 'table') await showStatus(show, io, body)
        else if (isNew) await show.entry(body, [])
        await clock.wait(REFRESH_MS, interrupted).catch(() => undefined)
      }
    })
  } finally {
    screen?.end()
  }
  io.exitCode = EXIT.interrupted
}

async function draw(screen: Screen, io: Io, body: Status): Promise<void> {
  const lines: string[] = []
  const { width, height } = screen
  const page: Io = {
    ...io,
    width,
    out: (text) => lines.push(...text.split('\n')),
    err: () => {},
  }
  await showStatus(makeShow('table', page), page, body)
  const fitting = lines.map((line) => cutTo(line, width - 1))
  screen.draw(fitting.slice(0, height - 1))
}

async function showStatus(show: Show, io: Io, body: Status): Promise<void> {
  if (show.format !== 'table') {
    return show.list({ whole: body, rows: body.needs, columns: NEEDS, empty: '' })
  }
  const { phases, sources, workers } = body
  sayHeadline({ show }, body)
  sayNeeds(show, body.needs)
  const now = new Date(body.at)
  const hasEnds = phases.some((phase) => endOf(phase) !== null)
  const columns = phaseColumns(now).filter(([title]) => hasEnds || title !== 'NIGHT ENDS')
  await showSection(show, 'Phases', phases, columns)
  await showSection(show, 'Holds', holdsOf(body), HOLDS)
  await showSection(show, 'Sources', sources, sourceColumns(now))
  await showSection(show, 'Workers', workers, WORKERS)
  show.say(`\nAs of ${inViewersZone(io, body.at)}. One person: matoolkit member find <text>`)
}

const NEEDS: readonly Column<Need>[] = [
  ['KIND', 'kind'],
  ['BATCH', 'batchId'],
  ['COUNT', 'count'],
  ['SEVERITY', 'severity'],
  ['PEOPLE', ({ causes }) => causes.flatMap(({ people }) => people).join(', ')],
  ['TEXT', 'text'],
  ['COMMAND', 'command', 'whole'],
]

/** Each with its people and its command. */
function sayNeeds(show: Show, needs: readonly Need[]): void {
  for (const { text, causes, command } of needs) {
    const why = causes.flatMap((cause) => [cause.text, peopleText(cause.people, cause.count)])
    const lines = [`\n- ${text}`, ...why.filter((line) => line !== ''), command]
    show.say(printable(lines.join('\n    ')))
  }
}

const phaseColumns = (now: Date): readonly Column<Phase>[] => [
  ['BATCH', 'batchId'],
  ['RUNBOOK', 'runbookName'],
  ['PHASE', 'phaseName'],
  ['TIME', ({ dueAt, startedAt }) => startedAt ?? dueAt],
  ['STATE', (phase) => stateOf(phase, now)],
  ['NIGHT ENDS', (phase) => endOf(phase)],
]

/** The estimate of `batch get` and `batch watch`. */
function endOf({ nightEndsAt, nightLatestAt, noEstimateBecause }: Phase): string | null {
  if (nightEndsAt !== null) return `about ${nightEndsAt}, latest ${nightLatestAt}`
  return noEstimateBecause === null ? null : `no estimate: ${noEstimateBecause}`
}

function stateOf(phase: Phase, now: Date): string {
  const { status, heldAt, dueAt, isManual, membersTotal, membersDone, membersActive } = phase
  const held = heldAt ? `, held since ${heldAt}` : ''
  if (status === 'dispatched') return `running, ${membersDone} of ${membersTotal} through${held}`
  if (isManual || dueAt === null) return `waits to be advanced${held}`
  const ms = +new Date(dueAt) - +now
  const when = ms < 0 ? `due ${durationText(-ms)} ago` : `in ${durationText(ms)}`
  return `${when}, ${membersActive} ${membersActive === 1 ? 'person' : 'people'}${held}`
}

/** Those that need no action: the others are told above, with the same command. */
function holdsOf({ needs, holds }: Status): Status['holds'] {
  const told = new Set(needs.map(({ command }) => command))
  return holds.filter(({ endsWith }) => !told.has(endsWith))
}

const HOLDS: readonly Column<Status['holds'][number]>[] = [
  ['HELD', 'name'],
  ['SINCE', 'heldAt'],
  ['BY', 'heldBy'],
  ['REASON', 'reason'],
  ['ENDS WITH', 'endsWith', 'whole'],
]

const sourceColumns = (now: Date): readonly Column<Status['sources'][number]>[] => [
  ['SOURCE OF', 'runbookName'],
  ['LAST TICK', 'lastTickAt'],
  ['RESULT', 'lastOutcome'],
  ['NEXT TICK', ({ nextTickAt }) => nextTickAt],
  ['IN', ({ nextTickAt }) => nextTickAt && durationText(+new Date(nextTickAt) - +now)],
]

const WORKERS: readonly Column<Status['workers'][number]>[] = [
  ['WORKER', 'workerId'],
  ['STATE', ({ isKnown, isSilent }) => (isKnown ? (isSilent ? 'silent' : 'ok') : 'never seen')],
  ['LAST SEEN', 'lastSeenAt'],
  ['SLOTS', 'slots'],
  ['IN HAND', 'busy'],
  ['WAITING', 'waiting'],
]
