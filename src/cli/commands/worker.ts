// `matoolkit worker …`: the workers and their load.
import type { Command } from 'commander'
import { durationText } from '../../domain/duration.ts'
import type { Json } from '../../domain/json.ts'
import type { Io } from '../terminal/io.ts'
import { type Column, type Row, rowsIn } from '../terminal/show.ts'
import { heldColumn, sayHeldSystem } from './holds-in-force.ts'
import { addVerb } from './verb.ts'

const WORKERS: readonly Column[] = [
  ['WORKER', 'workerId'],
  ['STATE', ({ isKnown, isSilent }) => (isKnown ? (isSilent ? 'silent' : 'ok') : 'unknown')],
  ['VERSION', 'version', 'spare'],
  ['SLOTS', 'slots', 'spare'],
  ['JOBS OUT', 'outstanding'],
  ['AT MOST', 'window', 'spare'],
  ['WAITING', 'waiting'],
  ['THROTTLED', ({ throttles }) => throttledText(throttles as Row[])],
  ['FUNCTIONS', ({ functions }) => (functions as string[]).length, 'spare'],
  ['LAST SEEN', 'lastSeenAt'],
]

/** Closed gates by name; else how long they were closed so far. */
function throttledText(throttles: readonly Row[]): string {
  const closed = throttles.filter(({ closedUntil }) => closedUntil !== null)
  if (closed.length > 0)
    return closed
      .map(({ name, closedUntil }) => `${name} until ${String(closedUntil).slice(11, 19)} UTC`)
      .join(', ')
  const sec = throttles.reduce((sum, { throttledSec }) => sum + Number(throttledSec), 0)
  return sec > 0 ? `${durationText(sec * 1_000)} so far` : ''
}

export function addWorkerCommands(program: Command, io: Io): void {
  const noun = program.command('worker').description('inspect workers')
  addVerb(noun, io, {
    name: 'list',
    about: 'list workers with their load',
    examples: ['worker list', 'worker list --output json'],
    run: async (context) => {
      const { client, show } = context
      const { body } = await client.get<Row>('/api/workers')
      const rows = rowsIn(body, 'workers')
      const columns = [...WORKERS, heldColumn(await sayHeldSystem(context), 'worker', 'workerId')]
      const empty = 'No worker has reported yet.'
      await show.list({ whole: body as Json, rows, columns, empty })
    },
  })
}
