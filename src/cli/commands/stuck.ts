// `matoolkit status <batch>`: the blocked work of a batch, and what open steps wait for.
import type { Answer } from '../../api/client/endpoints.ts'
import type { CommandContext } from '../program/command-context.ts'
import { type Column, showSection } from '../terminal/show.ts'
import { namedBatch } from './batch/named.ts'
import { ACTION_COLUMNS } from './member.ts'
import { sayHeadline } from './needs.ts'
import { sayFailures } from './next-commands.ts'

type Stuck = NonNullable<Answer<'GET /api/needs'>['stuck']>

const STUCK: readonly Column<Stuck['items'][number]>[] = [
  ['WHAT', ({ kind }) => kind.replaceAll('_', ' ')],
  ['COUNT', 'count'],
  ['SINCE', 'since', 'spare'],
  ['WORKER', 'workerId'],
  ['STEP ID', 'stepId'],
  ['BECAUSE', 'because'],
]
const WAITED_FOR = {
  slot: 'a free slot',
  job: 'the result (running)',
  retry: 'the next attempt',
  poll: 'the next poll',
}
const WAITS: readonly Column<Stuck['waiting'][number]>[] = [
  ['WORKER', 'workerId'],
  ['WAIT FOR', ({ kind }) => WAITED_FOR[kind]],
  ['STEPS', 'count'],
  ['SINCE', 'since'],
  ['NEXT', 'wakeAt'],
]

export async function showStuck(context: CommandContext, id: string): Promise<void> {
  const { client, show } = context
  const whole = await client.call('GET /api/needs', { query: namedBatch(id) })
  const { items: rows, waiting } = whole.stuck!
  if (show.format === 'table') sayHeadline(context, whole)
  await show.list({ whole, rows, columns: STUCK, empty: 'Nothing is stuck.' })
  if (show.format !== 'table') return
  const ways = rows.flatMap(({ actions }) => actions)
  await showSection(show, 'What you can do', ways, ACTION_COLUMNS)
  await showSection(show, 'What open steps wait for', waiting, WAITS)
  await sayFailures(context, id)
}
