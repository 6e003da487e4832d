// One job from its message to its answer. Whatever happens to a function, the answer says so: a success, or a failure with its
// reason. Two ends have no answer. A job whose deadline passed before it began is not begun. One that was stopped because the
// worker stops says nothing, because nobody knows how far it came: it is given back, to be run again. When it comes back, or comes
// from a worker that died, a function that is not idempotent is not run again: its job fails as of unknown outcome.
import type { ReceivedMessage } from '../bus/bus.ts'
import { EXPIRED } from '../bus/bus.ts'
import type { Clock } from '../clock.ts'
import type { Json } from '../domain/json.ts'
import { type Message, readMessage } from '../domain/messages.ts'
import { hintFor } from '../domain/spelling.ts'
import { holdsMark } from '../domain/template.ts'
import { messageOf } from '../errors.ts'
import type { Catalogue, WorkerFunction } from './catalogue.ts'
import { ApiError, type Secrets, type Tenant } from './m365/api.ts'
import { fitParameters } from './parameters.ts'
import type { CachedResult } from './result-cache.ts'
import { resolveSecrets, watchedSecrets } from './secrets/reference.ts'

export interface Job extends Pick<Message<'worker-job'>, 'jobId' | 'batchId' | 'functionName'> {
  readonly parameters: { readonly [key: string]: Json }
  readonly notAfter: Date | null
  /** It was given to a worker before, which may have run it. */
  readonly isRepeated: boolean
  /** As it came, known to us or not: the sender finds its step by it. */
  readonly correlation: { readonly [key: string]: Json } | null
}

/** Why a message is put aside: a word for machines and a sentence for people. */
export interface RefusedJob {
  readonly reason: string
  readonly description: string
}

export function readJob(received: ReceivedMessage, workerId: string): Job | RefusedJob {
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
  const isRepeated = received.deliveryCount > 1
  return { jobId, batchId, functionName, parameters, notAfter, isRepeated, correlation }
}

/**
 * A job past its deadline is not begun and goes where the bus puts one that nobody took in time. A Failure would use up a retry
 * of a poll that never asked.
 */
export function whyTooLate({ notAfter }: Job, now: Date): RefusedJob | null {
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

type Outcome = { readonly result: Json } | { readonly failure: NonNullable<CachedResult['error']> }

/** Runs the job's function. Null when the job was stopped with the worker and must be given back. */
export async function runJob(job: Job, setting: JobSetting): Promise<CachedResult | null> {
  const { clock, workerId } = setting
  const startedAt = clock.now()
  const outcome = await outcomeOf(job, setting)
  if (outcome === null) return null
  const isSuccess = 'result' in outcome
  const result = isSuccess ? outcome.result : null
  const endedAt = clock.now()
  return {
    jobId: job.jobId,
    batchId: job.batchId,
    workerId,
    functionName: job.functionName,
    status: isSuccess ? 'Success' : 'Failure',
    resultType: result === null || typeof result === 'boolean' ? 'Boolean' : 'Object',
    result,
    error: isSuccess ? null : outcome.failure,
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
  if (job.isRepeated && !found.isIdempotent) return fail('OutcomeUnknown', OUTCOME_UNKNOWN)
  return attempt(found, job, setting)
}

const OUTCOME_UNKNOWN =
  'A worker was given this job before and did not answer, and the function is not one that may be run twice. Look in the tenant what was done, then retry the step or mark it as done.'

class DeadlineReached extends Error {
  override readonly name = 'DeadlineReached'
}

class WorkerStops extends Error {
  override readonly name = 'WorkerStops'
}

async function attempt(
  one: WorkerFunction,
  job: Job,
  setting: JobSetting,
): Promise<Outcome | null> {
  const { clock, givingUp, tenant } = setting
  const abort = new AbortController()
  const ended = new AbortController()
  const stop = () => abort.abort(new WorkerStops('the worker stops'))
  if (givingUp.aborted) stop()
  givingUp.addEventListener('abort', stop)
  if (job.notAfter) void abortAt(job.notAfter, clock, abort, ended.signal)
  const { secrets, hide } = watchedSecrets(tenant.secrets)
  try {
    const outcome = await runFunction(
      one,
      job,
      { ...setting, tenant: withSecrets(tenant, secrets) },
      abort.signal,
    )
    return hideIn(outcome, hide)
  } catch (error) {
    const reason: unknown = abort.signal.reason
    if (reason instanceof WorkerStops) return null
    if (reason instanceof DeadlineReached) return fail(reason.name, reason.message)
    return hideIn(failureOf(error), hide)
  } finally {
    ended.abort()
    givingUp.removeEventListener('abort', stop)
  }
}

/** The tenant of this job: the same, with a vault that is watched. */
const withSecrets = (tenant: Tenant, secrets: Secrets): Tenant =>
  Object.create(tenant, { secrets: { value: secrets, enumerable: true } }) as Tenant

async function runFunction(
  one: WorkerFunction,
  { jobId, parameters }: Job,
  { clock, tenant }: JobSetting,
  signal: AbortSignal,
): Promise<Outcome> {
  const given = { ...parameters }
  const known = holdsMark(given) ? await resolveSecrets(given, tenant.secrets, signal) : given
  const fitted = fitParameters(one, known as Job['parameters'])
  if ('misfits' in fitted)
    return fail('UnfitParameters', `The parameters do not fit ${one.name}: ${fitted.misfits}`)
  // A function that ignores its signal and succeeds has succeeded: what happened counts, not what should have.
  const result: unknown = await one.run({ params: fitted.params, tenant, signal, jobId, clock })
  return asJson(result, one.name)
}

/** What JSON makes of it, which is what travels. A function of a customer may return anything, a cycle included. */
function asJson(result: unknown, name: string): Outcome {
  let text: string | undefined
  try {
    text = JSON.stringify(result)
  } catch (error) {
    return fail(
      'UnusableResult',
      `${name} has run, but its result is no JSON (${messageOf(error).split('\n')[0]}). Look in the tenant what was done, and correct the function.`,
    )
  }
  const bytes = text === undefined ? 0 : Buffer.byteLength(text)
  if (bytes > RESULT_BYTES_MAX)
    return fail(
      'ResultTooLarge',
      `The result has ${bytes} bytes; a message carries ${RESULT_BYTES_MAX}. The function must return less.`,
    )
  return { result: text === undefined ? null : (JSON.parse(text) as Json) }
}

function hideIn(outcome: Outcome, hide: <T extends Json>(value: T) => T): Outcome {
  if ('result' in outcome) return { result: hide(outcome.result) }
  return { failure: { ...outcome.failure, message: hide(outcome.failure.message) } }
}

function failureOf(error: unknown): Outcome {
  if (!(error instanceof ApiError))
    return fail(error instanceof Error ? error.name : 'Error', messageOf(error))
  const { code, isThrottled, attempts } = error
  const message = error.message.slice(0, MESSAGE_CHARS_MAX)
  return { failure: { message, type: code, isThrottled, attempts } }
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

const MESSAGE_CHARS_MAX = 2_000
/** A message holds 256 KB; this leaves room for its envelope. */
const RESULT_BYTES_MAX = 200_000

function fail(type: string, message: string): Outcome {
  const shown = message.slice(0, MESSAGE_CHARS_MAX)
  return { failure: { message: shown, type, isThrottled: false, attempts: 1 } }
}
