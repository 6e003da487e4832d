// `matoolkit worker …`: the workers, their load and their credentials.
import type { Command } from 'commander'
import type { Answer } from '../../api/client/endpoints.ts'
import { durationText } from '../../base/text/duration.ts'
import type { CommandContext } from '../program/command-context.ts'
import type { Io } from '../terminal/io.ts'
import { type Column, fieldsFrom } from '../terminal/show.ts'
import { resumeHeld } from './hold.ts'
import { heldWorker, holdThenAsk } from './hold-first.ts'
import { heldColumn, sayHeldSystem } from './holds-in-force.ts'
import { addVerb, DRY_RUN, REASON } from './verb.ts'

const WORKER_ARG = ['<worker>', 'id of the worker, as in the list'] as const

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

async function runDrain(context: CommandContext, [worker]: readonly string[]): Promise<void> {
  await holdThenAsk(context, heldWorker(worker!))
  await showWorker(context, [worker!])
}

async function showWorker(
  { client, io, show }: CommandContext,
  [workerId]: readonly string[],
): Promise<void> {
  const params = { workerId: workerId! }
  const worker = await client.call('GET /api/workers/{workerId}', { params })
  await show.one(worker, fieldsFrom(WORKERS))
  const { throttles: rows } = worker
  if (show.format !== 'table' || rows.length === 0) return
  io.out('')
  await show.list({ whole: worker, rows, columns: THROTTLES, empty: '' })
}

export function addWorkerCommands(program: Command, io: Io): void {
  const noun = program.command('worker').description('inspect and drain workers')
  addVerb(noun, io, {
    name: 'list',
    about: 'list workers with their load',
    examples: ['worker list', 'worker list --output json'],
    run: async (context) => {
      const { client, show } = context
      const whole = await client.call('GET /api/workers')
      const held = heldColumn<Worker>(
        await sayHeldSystem(context),
        'worker',
        ({ workerId }) => workerId,
      )
      const empty = 'No worker has reported yet.'
      await show.list({ whole, rows: whole.workers, columns: [...WORKERS, held], empty })
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
}
