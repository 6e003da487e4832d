// `matoolkit worker …`: the workers, their load and their credentials.
import type { Command } from 'commander'
import { durationText } from '../../base/text/duration.ts'
import type { Json } from '../../base/text/json.ts'
import { type CommandContext, pathSegment } from '../program/command-context.ts'
import type { Io } from '../terminal/io.ts'
import { type Column, type Row, rowsIn } from '../terminal/show.ts'
import { resumeHeld } from './hold.ts'
import { heldWorker, holdThenAsk } from './hold-first.ts'
import { heldColumn, sayHeldSystem } from './holds-in-force.ts'
import { addVerb, DRY_RUN, REASON } from './verb.ts'
import { addWorkerCredentialCommands } from './worker-credential.ts'

const WORKER_ARG = ['<worker>', 'id of the worker, as in the list'] as const

const WORKERS: readonly Column[] = [
  ['WORKER', 'workerId'],
  ['STATE', 'state'],
  ['VERSION', 'version', 'spare'],
  ['SLOTS', 'slots', 'spare'],
  ['JOBS OUT', 'outstanding'],
  ['JOB LIMIT', 'jobLimit', 'spare'],
  ['WAITING', 'waiting'],
  ['THROTTLED', ({ throttles }) => throttledText(throttles as Row[])],
  ['FUNCTIONS', ({ functions }) => (functions as string[]).length, 'spare'],
  ['LAST SEEN', 'lastSeenAt'],
]

/** Closed gates by name; else how long they were closed so far. */
function throttledText(throttles: readonly Row[]): string {
  const closed = throttles.filter(({ closedUntil }) => closedUntil !== null)
  if (closed.length > 0)
    return closed.map(({ name, closedUntil }) => `${name} until ${String(closedUntil)}`).join(', ')
  const sec = throttles.reduce((sum, { throttledSec }) => sum + Number(throttledSec), 0)
  return sec > 0 ? `${durationText(sec * 1_000)} so far` : ''
}

const THROTTLES: readonly Column[] = [
  ['SERVICE', 'name', 'whole'],
  ['CLOSED UNTIL', 'closedUntil'],
  ['AT ONCE', 'concurrency'],
  ['CALLS', 'calls'],
  ['QUEUED', 'queued'],
  ['THROTTLED', 'throttled'],
  ['FOR', ({ throttledSec }) => durationText(Number(throttledSec) * 1_000)],
]

async function runDrain(context: CommandContext, [worker]: readonly string[]): Promise<void> {
  await holdThenAsk(context, heldWorker(worker!))
  await showWorker(context, [worker!])
}

async function showWorker(
  { client, io, show }: CommandContext,
  [workerId]: readonly string[],
): Promise<void> {
  const { body } = await client.get<Row>(`/api/workers/${pathSegment(workerId!)}`)
  const fields = WORKERS.map(([title, value]) => [title.toLowerCase(), value] as Column)
  await show.one(body as Json, fields)
  const rows = rowsIn(body, 'throttles')
  if (show.format !== 'table' || rows.length === 0) return
  io.out('')
  await show.list({ whole: body as Json, rows, columns: THROTTLES, empty: '' })
}

export function addWorkerCommands(program: Command, io: Io): void {
  const noun = program.command('worker').description('inspect and drain workers')
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
  addVerb(noun, io, {
    name: 'show',
    about: 'show a worker with its throttled services',
    args: [WORKER_ARG],
    examples: ['worker show contoso-worker', 'worker show contoso-worker --output json'],
    run: showWorker,
  })
  addVerb(noun, io, {
    name: 'drain',
    about: 'send a worker nothing new',
    args: [WORKER_ARG],
    options: [REASON],
    more: 'The same as "hold --worker". It finishes the jobs it has; jobs it has not started wait until "worker resume". "worker list" shows it as draining, then drained.',
    examples: ['worker drain contoso-worker --reason "patch the machine"'],
    run: runDrain,
  })
  addVerb(noun, io, {
    name: 'resume',
    about: 'send a drained worker jobs again',
    args: [WORKER_ARG],
    options: [REASON, DRY_RUN],
    more: 'Time on hold does not count for retries and polls.',
    examples: ['worker resume contoso-worker --reason "patched"'],
    run: (context, [worker], flags) => resumeHeld(context, heldWorker(worker!), flags),
  })
  addWorkerCredentialCommands(noun, io)
}
