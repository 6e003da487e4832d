// `matoolkit worker list`: the workers and their load, or one with its throttled services.
import type { Command } from 'commander'
import type { Answer } from '../../api/client/endpoints.ts'
import { durationText } from '../../base/text/duration.ts'
import type { CommandContext } from '../program/command-context.ts'
import type { Io } from '../terminal/io.ts'
import { type Column, fieldsFrom } from '../terminal/show.ts'
import { heldColumn, sayHeldSystem } from './holds-in-force.ts'
import { addVerb } from './verb.ts'

type Worker = Answer<'GET /api/workers/{workerId}'>
type Throttle = Worker['throttles'][number]

const WORKERS: readonly Column<Worker>[] = [
  ['WORKER', 'workerId'],
  ['STATE', 'state'],
  ['VERSION', 'version', 'spare'],
  ['SLOTS', 'slots', 'spare'],
  ['JOBS OUT', 'outstanding'],
  ['JOB LIMIT', 'jobLimit', 'spare'],
  ['WAITING', 'waiting'],
  ['THROTTLED', ({ throttles }) => throttledText(throttles)],
  ['FUNCTIONS', ({ functions }) => functions.length, 'spare'],
  ['LAST SEEN', 'lastSeenAt'],
]

/** Closed gates by name; else how long they were closed so far. */
function throttledText(throttles: readonly Throttle[]): string {
  const closed = throttles.filter(({ closedUntil }) => closedUntil !== null)
  if (closed.length > 0)
    return closed.map(({ name, closedUntil }) => `${name} until ${closedUntil}`).join(', ')
  const sec = throttles.reduce((sum, { throttledSec }) => sum + throttledSec, 0)
  return sec > 0 ? `${durationText(sec * 1_000)} so far` : ''
}

const THROTTLES: readonly Column<Throttle>[] = [
  ['SERVICE', 'name', 'whole'],
  ['CLOSED UNTIL', 'closedUntil'],
  ['AT ONCE', 'concurrency'],
  ['CALLS', 'calls'],
  ['QUEUED', 'queued'],
  ['THROTTLED', 'throttled'],
  ['FOR', ({ throttledSec }) => durationText(throttledSec * 1_000)],
]

async function listWorkers(context: CommandContext): Promise<void> {
  const { client, show } = context
  const whole = await client.call('GET /api/workers')
  const held = heldColumn<Worker>(
    await sayHeldSystem(context),
    'worker',
    ({ workerId }) => workerId,
  )
  const empty = 'No worker has reported yet.'
  await show.list({ whole, rows: whole.workers, columns: [...WORKERS, held], empty })
}

async function showWorker({ client, io, show }: CommandContext, workerId: string): Promise<void> {
  const params = { workerId }
  const worker = await client.call('GET /api/workers/{workerId}', { params })
  await show.one(worker, fieldsFrom(WORKERS))
  const { throttles: rows } = worker
  if (show.format !== 'table' || rows.length === 0) return
  io.out('')
  await show.list({ whole: worker, rows, columns: THROTTLES, empty: '' })
}

export function addWorkerCommands(program: Command, io: Io): void {
  const noun = program.command('worker').description('inspect workers')
  addVerb(noun, io, {
    name: 'list',
    about: 'list workers with their load, or show one',
    args: [['[worker]', 'id of the worker, with its throttled services']],
    more: '"hold --worker" sends a worker nothing new: it finishes its jobs, and is shown as draining, then as drained.',
    examples: ['worker list', 'worker list contoso-worker', 'worker list --output json'],
    run: (context, [worker]) =>
      worker === undefined ? listWorkers(context) : showWorker(context, worker),
  })
}
