// One job from its message to its answer. Whatever happens to a function, the answer says so: a success, or a failure with its
// reason. Two ends have no answer. A job whose deadline passed before it began is not begun. One that was stopped because the
// worker stops says nothing, because nobody knows how far it came: it is given back, to be run again.
import type { Received } from '../bus/bus.ts'
import { EXPIRED } from '../bus/bus.ts'
import type { Clock } from '../clock.ts'
import type { Json } from '../domain/json.ts'
import { type Message, readMessage } from '../domain/messages.ts'
import { hintFor } from '../domain/spelling.ts'
import { messageOf } from '../errors.ts'
import type { Answer } from './answers.ts'
import type { Catalogue, WorkerFunction } from './catalogue.ts'
import type { Tenant } from './m365/api.ts'

export interface Job extends Pick<Message<'worker-job'>, 'jobId' | 'batchId' | 'functionName'> {
  readonly parameters: { readonly [key: string]: Json }
  readonly notAfter: Date | null
  /** As it came, known to us or not: the sender finds its step by it. */
  readonly correlation: { readonly [key: string]: Json } | null
}

/** Why a message is put aside: a word for machines and a sentence for people. */
export interface Refused {
  readonly reason: string
  readonly description: string
}

export function readJob(received: Received, workerId: string): Job | Refused {
  const read = readMessage(received.type ?? 'worker-job', received.body)
  if (!read.ok) return { reason: 'Unreadable', description: read.reason }
  const { message } = read
  if (message.messageType !== 'worker-job') {
    return { reason: 'WrongTopic', description: `A ${message.messageType} came to a worker.` }
  }
  if (message.workerId.toLowerCase() !== workerId.toLowerCase()) {
    // A subscription without its filter gets everybody's jobs.
    const description = `The job is for worker ${message.workerId}, this is ${workerId}. Check the subscription's filter.`
    return { reason: 'WrongWorker', description }
  }
  const { jobId, batchId, functionName, parameters } = message
  const notAfter = message.notAfter ? new Date(message.notAfter) : null
  const correlation = correlationIn(received.body)
  return { jobId, batchId, functionName, parameters, notAfter, correlation }
}

/**
 * A job past its deadline is not begun and goes where the bus puts one that nobody took in time. A Failure would use up a retry
 * of a poll that never asked.
 */
export function whyTooLate({ notAfter }: Job, now: Date): Refused | null {
  if (notAfter === null || notAfter > now) return null
  const description = `Its deadline ${notAfter.toISOString()} had passed before it was begun.`
  return { reason: EXPIRED, description }
}

/** `readMessage` keeps the fields it knows; whoever sent more gets more back. */
function correlationIn(body: string): Job['correlation'] {
  const fields = Object.entries(JSON.parse(body) as { [key: string]: Json })
  const found = fields.find(([name]) => name.toLowerCase() === 'correlationdata')?.[1]
  return typeof found === 'object' && found !== null && !Array.isArray(found) ? found : null
}

export interface JobSetting {
  readonly workerId: string
  readonly catalogue: Catalogue
  readonly clock: Clock
  readonly tenant: Tenant
  /** The worker gives up what it runs. */
  readonly givingUp: AbortSignal
}

type Outcome = { readonly result: Json } | { readonly failure: NonNullable<Answer['error']> }

/** Runs the job's function. Null when the job was stopped with the worker and must be given back. */
export async function runJob(job: Job, setting: JobSetting): Promise<Answer | null> {
  const { clock, workerId } = setting
  const startedAt = clock.now()
  const outcome = await outcomeOf(job, setting)
  if (outcome === null) return null
  const checked = 'result' in outcome ? withinSize(outcome) : outcome
  const isSuccess = 'result' in checked
  const result = isSuccess ? checked.result : null
  const endedAt = clock.now()
  return {
    jobId: job.jobId,
    batchId: job.batchId,
    workerId,
    functionName: job.functionName,
    status: isSuccess ? 'Success' : 'Failure',
    resultType: result === null || typeof result === 'boolean' ? 'Boolean' : 'Object',
    result,
    error: isSuccess ? null : checked.failure,
    durationMs: Math.round(+endedAt - +startedAt),
    timestamp: endedAt.toISOString(),
    correlationData: job.correlation,
  }
}

async function outcomeOf(job: Job, setting: JobSetting): Promise<Outcome | null> {
  const { catalogue, workerId } = setting
  const found = catalogue.get(job.functionName.toLowerCase())
  if (!found) {
    const names = [...catalogue.values()].map(({ name }) => name)
    const hint = hintFor(job.functionName, names, 'It has')
    return fail('UnknownFunction', `${workerId} has no function ${job.functionName}. ${hint}`)
  }
  const fitted = found.parameters.safeParse(job.parameters)
  if (!fitted.success) {
    // Names of parameters and what is wrong with them, never their values: those may be personal.
    const misfits = fitted.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`)
    const shown = misfits.slice(0, MISFITS_SHOWN_MAX).join('; ')
    return fail('UnfitParameters', `The parameters do not fit ${found.name}: ${shown}`)
  }
  return attempt(found, fitted.data, job, setting)
}

class DeadlineReached extends Error {
  override readonly name = 'DeadlineReached'
}

class WorkerStops extends Error {
  override readonly name = 'WorkerStops'
}

async function attempt(
  one: WorkerFunction,
  params: unknown,
  { jobId, notAfter }: Job,
  { clock, tenant, givingUp }: JobSetting,
): Promise<Outcome | null> {
  const abort = new AbortController()
  const ended = new AbortController()
  const stop = () => abort.abort(new WorkerStops('the worker stops'))
  if (givingUp.aborted) stop()
  givingUp.addEventListener('abort', stop)
  if (notAfter) void abortAt(notAfter, clock, abort, ended.signal)
  try {
    // A function that ignores its signal and succeeds has succeeded: what happened counts, not what should have.
    const call = { params, tenant, signal: abort.signal, jobId, clock }
    return { result: (await one.run(call)) ?? null }
  } catch (error) {
    const reason: unknown = abort.signal.reason
    if (reason instanceof WorkerStops) return null
    if (reason instanceof DeadlineReached) return fail(reason.name, reason.message)
    return fail(error instanceof Error ? error.name : 'Error', messageOf(error))
  } finally {
    ended.abort()
    givingUp.removeEventListener('abort', stop)
  }
}

async function abortAt(
  notAfter: Date,
  clock: Clock,
  abort: AbortController,
  ended: AbortSignal,
): Promise<void> {
  await clock.wait(+notAfter - +clock.now(), ended)
  if (ended.aborted) return
  abort.abort(new DeadlineReached(`stopped at its deadline ${notAfter.toISOString()}`))
}

const MISFITS_SHOWN_MAX = 5
const MESSAGE_CHARS_MAX = 2_000
/** A message holds 256 KB; this leaves room for its envelope. */
const RESULT_BYTES_MAX = 200_000

function fail(type: string, message: string): Outcome {
  const shown = message.slice(0, MESSAGE_CHARS_MAX)
  return { failure: { message: shown, type, isThrottled: false, attempts: 1 } }
}

function withinSize(outcome: { readonly result: Json }): Outcome {
  const bytes = Buffer.byteLength(JSON.stringify(outcome.result))
  if (bytes <= RESULT_BYTES_MAX) return outcome
  return fail(
    'ResultTooLarge',
    `The result has ${bytes} bytes; a message carries ${RESULT_BYTES_MAX}. The function must return less.`,
  )
}
