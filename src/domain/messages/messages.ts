// The ten messages between the roles: bodies, and ids that make sending twice harmless. Writing is strict. Reading is
// tolerant: keys in any case (older workers write PascalCase), informative fields may be missing or null, unknown fields are
// ignored. `parameters` and `result` are never touched. Reading never throws: an invalid body yields a reason, which becomes
// the dead letter's description and never quotes the body (it may hold personal data).

import { z } from 'zod'
import {
  isDeeperThan,
  isObject,
  JSON_DEPTH_MAX,
  type Json,
  type JsonObject,
  parseStorable,
} from '../../base/text/json.ts'
import { TRACEPARENT } from '../../base/text/reserved-names.ts'
import { sameName } from '../../base/text/same-name.ts'
import { WORKER_ID } from '../../base/text/worker-id.ts'
import { functionFacts } from '../runbook/function-facts.ts'
import { isOwnJob, isOwnSuccess } from './fast-checks.ts'

const id = z.int().positive()
const count = z.int().nonnegative()
const text = z.string().min(1)
/** For people only; a time without a zone is no reason to refuse a message. */
const informative = z.iso.datetime({ offset: true, local: true })
const instant = z.iso.datetime({ offset: true })
// Passed through: copying would dominate the cost and could lose a key named __proto__.
const jsonObject = z.custom<JsonObject>(isObject, 'expected an object')
const json = z.custom<Json>((value) => value !== undefined, 'expected a value or null')

const ofRunbook = { runbookName: text, runbookVersion: id }
const correlation = { stepExecutionId: id, initExecutionId: id, isInitStep: z.boolean() }
const failure = {
  message: z.string(),
  type: z.string(),
  isThrottled: z.boolean(),
  attempts: count,
  /** `none`: the worker knows that it called nothing. Without it a call may have had an effect. */
  effect: z.enum(['none', 'possible']),
  /** A retry cannot help: the function or its parameters are wrong. */
  isFinal: z.boolean(),
}

const statuses = z.enum(['Success', 'Failure'])
const statusInAnyCase = z.string().transform((given, context) => {
  const known = statuses.options.find((option) => sameName(option, given))
  if (known) return known
  context.addIssue('expected Success or Failure')
  return z.NEVER
})

/** Some workers send an error as plain text. */
const bareSentence = z.string().transform((message) => ({ message }))

type Shape = Readonly<Record<string, z.ZodType>>
type Optional<S extends Shape> = { [K in keyof S]: z.ZodOptional<z.ZodNullable<S[K]>> }

function optional<S extends Shape>(shape: S): Optional<S> {
  const pairs = Object.entries(shape).map(([key, type]) => [key, type.nullish()])
  return Object.fromEntries(pairs) as Optional<S>
}

/** Informative fields: an invalid value counts as missing, so that a finished job is not taken for lost. */
function informing<S extends Shape>(shape: S): { [K in keyof S]: z.ZodCatch<Optional<S>[K]> } {
  const pairs = Object.entries(shape).map(([key, type]) => [key, type.nullish().catch(null)])
  return Object.fromEntries(pairs) as { [K in keyof S]: z.ZodCatch<Optional<S>[K]> }
}

/** `needed` fields are required. `others` are always written but may be missing or null when read. */
/** A worker's type of failure: a hold or a cancel told it not to start the job. */
export const GIVEN_BACK = 'GivenBack'
/** Jobs in one message: their ids stay far below its limit. */
export const STOPPED_MAX = 1_000

function event<N extends Shape, O extends Shape>(needed: N, others: O) {
  return {
    write: z.strictObject({ ...needed, ...others }),
    read: z.object({ ...needed, ...optional(others) }),
  }
}

const jobNeeds = {
  jobId: text,
  batchId: id,
  workerId: text,
  functionName: text,
  parameters: jsonObject,
}
/** The job may run for `timeoutSec` from its start, which is not after `notAfter`. */
const jobTimes = { timeoutSec: z.number().positive(), notAfter: instant }
/** Written only if true: the step has `poll`, so a function need not wait for what is not there yet. */
const isPolled = z.boolean()
const jobCorrelation = z.strictObject({
  ...correlation,
  ...ofRunbook,
  stepExecutionId: id.optional(),
  initExecutionId: id.optional(),
})
const readCorrelation = z.object(optional({ ...correlation, ...ofRunbook })).nullish()

const resultOthers = {
  batchId: id,
  functionName: text,
  resultType: z.string(),
  durationMs: z.number().nonnegative(),
  timestamp: informative,
}

/** Far more than any worker has. The database stores it in 32 bits, and a larger one broke the announcements next to it. */
const SLOTS_MAX = 1_000_000
const slots = z.int().positive().max(SLOTS_MAX)
const togetherMax = slots
/** W3C trace context. Written first, so that a transport finds it without parsing. For telemetry only: no decision reads it. */
const traceparent = z.string().regex(TRACEPARENT)

const workerFunction = z.object({
  name: text,
  description: z.string().nullish(),
  parameters: jsonObject,
  result: jsonObject.nullish(),
  // Facts that this program cannot read count as none: the function then counts as a change.
  facts: functionFacts.optional().catch(undefined),
})

/** Of one that no runbook can name, nobody could ask anything. */
const helloNeeds = { workerId: z.string().regex(WORKER_ID), functions: z.array(workerFunction) }
const helloOthers = { version: text, slots }
/** A quota of a service that the worker calls: its gate and how many calls may go at once. For people only. */
const throttle = z.object({
  name: text.max(100),
  closedUntil: instant.nullable(),
  concurrency: count,
  calls: count,
  queued: count,
  throttled: count,
  throttledSec: z.number().nonnegative(),
})
const throttles = z.array(throttle).max(20)
export type AnnouncedThrottle = z.output<typeof throttle>

export const MESSAGE_FORMATS = {
  'batch-init': event(
    { batchId: id },
    { ...ofRunbook, batchStartTime: informative.nullable(), memberCount: count },
  ),
  'phase-due': event(
    { batchId: id, phaseExecutionId: id },
    { ...ofRunbook, phaseName: text, offsetMinutes: z.int(), dueAt: informative.nullable() },
  ),
  'member-added': event({ batchId: id, batchMemberId: id }, { ...ofRunbook, memberKey: text }),
  'member-removed': event({ batchId: id, batchMemberId: id }, { ...ofRunbook, memberKey: text }),
  'poll-check': event(
    { stepExecutionId: id },
    { ...ofRunbook, batchId: id, stepName: text, pollCount: count, isInitStep: z.boolean() },
  ),
  'retry-check': event(
    { stepExecutionId: id },
    { ...ofRunbook, batchId: id, isInitStep: z.boolean() },
  ),
  'worker-job': {
    write: z.strictObject({
      traceparent: traceparent.optional(),
      ...jobNeeds,
      ...jobTimes,
      correlationData: jobCorrelation,
      isPolled: isPolled.optional(),
      signature: text.optional(),
    }),
    read: z.object({
      ...jobNeeds,
      ...optional({ ...jobTimes, isPolled, signature: text }),
      correlationData: readCorrelation,
      ...informing({ traceparent }),
    }),
  },
  'worker-result': {
    write: z.strictObject({
      traceparent: traceparent.optional(),
      ...resultOthers,
      jobId: text,
      workerId: text,
      status: statuses,
      result: json,
      error: z.strictObject(failure).nullable(),
      /** Echoed from the job. */
      correlationData: jsonObject.nullable(),
      /** The job was done together with others, in a call that takes so many: the worker's job limit may be that high. */
      togetherMax: togetherMax.optional(),
      /** What it changed and how to take that back (src/domain/state/effects.ts). Without one nobody knows. */
      effect: jsonObject.optional(),
    }),
    read: z.object({
      ...informing(resultOthers),
      jobId: text,
      workerId: text.nullish(),
      status: statusInAnyCase,
      result: json.default(null),
      error: z
        .union([z.object(informing(failure)), bareSentence])
        .nullish()
        .catch(null),
      /** The job id identifies the job; garbled correlation data does not undo its result. */
      correlationData: readCorrelation.catch(null),
      ...informing({ togetherMax, traceparent, effect: jsonObject }),
    }),
  },
  /** Sent by a worker at start and every 20 seconds: its id and functions. Schemas are JSON Schema. */
  'worker-hello': {
    write: z.strictObject({ ...helloNeeds, ...helloOthers, throttles: throttles.optional() }),
    read: z.object({ ...helloNeeds, ...optional(helloOthers), ...informing({ throttles }) }),
  },
  /** Asks a worker, after a restore of the database, to send again what it remembers of jobs that ended since. */
  'worker-recall': event({ workerId: text, since: instant, epoch: text }, {}),
  /** Tells every process of a worker which jobs it must not start any more, where a transport cannot take them back. */
  'worker-stop': event(
    { workerId: text, jobIds: z.array(text).max(STOPPED_MAX), because: text },
    {},
  ),
} as const

export type MessageType = keyof typeof MESSAGE_FORMATS
/** A body as we send it, by type. */
export type Body<T extends MessageType = MessageType> = {
  [K in MessageType]: Readonly<z.input<(typeof MESSAGE_FORMATS)[K]['write']>>
}[T]
/** A message as read from any peer. */
export type Message<T extends MessageType = MessageType> = {
  [K in MessageType]: { readonly messageType: K } & Readonly<
    z.output<(typeof MESSAGE_FORMATS)[K]['read']>
  >
}[T]
export type ReadMessage<T extends MessageType = MessageType> =
  | { readonly ok: true; readonly message: Message<T> }
  | { readonly ok: false; readonly reason: string }
export type WrittenMessage =
  | { readonly ok: true; readonly text: string }
  | { readonly ok: false; readonly reason: string }

export const MESSAGE_TYPES = Object.keys(MESSAGE_FORMATS) as MessageType[]

/** Jobs and results carry their type only as a message property, as their peers expect; others also in the body. */
const NAMED_BY_PROPERTY: readonly MessageType[] = ['worker-job', 'worker-result']

/** The text to send. `ok: false` is a bug in our own program. */
export function writeMessage<T extends MessageType>(type: T, body: Body<T>): WrittenMessage {
  if (isOwn(type, body)) return { ok: true, text: JSON.stringify(body) }
  const checked = MESSAGE_FORMATS[type].write.safeParse(body)
  if (!checked.success) return { ok: false, reason: misfit(type, checked.error) }
  const named = NAMED_BY_PROPERTY.includes(type) ? body : { messageType: type, ...body }
  return { ok: true, text: JSON.stringify(named) }
}

/** Exactly as our own program writes it: nothing to check and nothing to fold. */
function isOwn(type: MessageType, body: object): boolean {
  if (type === 'worker-result') return isOwnSuccess(body as JsonObject)
  return type === 'worker-job' && isOwnJob(body as JsonObject)
}

/**
 * Reads a body. `type` is the MessageType property; if null, the body's own `messageType` counts, and without one the type that the
 * topic implies: peers that know one type per topic name none.
 */
export function readMessage<T extends MessageType>(type: T, text: string): ReadMessage<T>
export function readMessage(
  type: string | null,
  text: string,
  implied?: MessageType | null,
): ReadMessage
export function readMessage(
  type: string | null,
  text: string,
  implied: MessageType | null = null,
): ReadMessage {
  try {
    return readBody(type, parseStorable(text), implied)
  } catch {
    return { ok: false, reason: `The body (${text.length} characters) is not JSON.` }
  }
}

function readBody(type: string | null, value: unknown, implied: MessageType | null): ReadMessage {
  if (!isObject(value)) return { ok: false, reason: `The body is ${kindOf(value)}, not an object.` }
  if (isDeeperThan(value, JSON_DEPTH_MAX)) {
    return { ok: false, reason: `The body is nested deeper than ${JSON_DEPTH_MAX} levels.` }
  }
  const named = value.messageType ?? value.MessageType ?? null
  const known = MESSAGE_TYPES.find((known) => known === (type ?? named ?? implied))
  if (!known) {
    const given = type === null ? 'missing' : `"${type.slice(0, TYPE_SHOWN_MAX)}"`
    return {
      ok: false,
      reason: `The message type is ${given}; known: ${MESSAGE_TYPES.join(', ')}.`,
    }
  }
  if (named !== null && named !== known) {
    return { ok: false, reason: `The message is a ${known}, but its body names another type.` }
  }
  if (isOwn(known, value)) return asMessage(known, value)
  const read = MESSAGE_FORMATS[known].read.safeParse(foldKeys(value, KEYS[known]))
  return read.success
    ? asMessage(known, read.data)
    : { ok: false, reason: misfit(known, read.error) }
}

const asMessage = (messageType: MessageType, fields: object): ReadMessage => ({
  ok: true,
  message: Object.assign(fields, { messageType }) as Message,
})

const TYPE_SHOWN_MAX = 64
const ISSUES_SHOWN_MAX = 3

function misfit(type: MessageType, error: z.ZodError): string {
  const issues = error.issues.slice(0, ISSUES_SHOWN_MAX)
  const parts = issues.map(({ path, message }) => `${path.join('.') || 'body'}: ${message}`)
  return `The body does not fit a ${type}: ${parts.join('; ')}.`
}

/** Our spelling of each key by its lower-case form, for the envelope and its two inner objects. */
interface Keys {
  readonly spelling: ReadonlyMap<string, string>
  readonly inside: ReadonlyMap<string, Keys>
}

const keysOf = (shape: object, inside: Readonly<Record<string, Keys>> = {}): Keys => ({
  spelling: new Map(
    Object.keys(shape).flatMap((key) => [
      [key, key],
      [key.toLowerCase(), key],
    ]),
  ),
  inside: new Map(Object.entries(inside)),
})

const INSIDE = { correlationData: keysOf({ ...correlation, ...ofRunbook }), error: keysOf(failure) }
const KEYS = Object.fromEntries(
  MESSAGE_TYPES.map((type) => [type, keysOf(MESSAGE_FORMATS[type].read.shape, INSIDE)]),
) as Record<MessageType, Keys>

/** Keys in our spelling, without unknown ones. Our spelling wins over other cases of the same key. */
function foldKeys(value: JsonObject, { spelling, inside }: Keys): JsonObject {
  const folded: Record<string, Json> = {}
  for (const [key, part] of Object.entries(value)) {
    const name = spelling.get(key) ?? spelling.get(key.toLowerCase())
    if (name === undefined || (name !== key && Object.hasOwn(value, name))) continue
    const keys = inside.get(name)
    folded[name] = keys && isObject(part) ? (foldKeys(part, keys) as Json) : part
  }
  return folded
}

function kindOf(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'a list' : `a ${typeof value}`
}

/** Kinds of jobs, and the first word of their ids. */
const JOB_WORDS = {
  phase: 'step',
  init: 'init',
  rollback: 'rollback',
  removal: 'removal',
  undo: 'undo',
} as const
export type JobKind = keyof typeof JOB_WORDS

export interface JobName {
  readonly kind: JobKind
  readonly stepId: number
  /** 0 is the first attempt; never reset, so ids are never reused. */
  readonly attempt: number
  /** 0 is the job itself, k its k-th re-poll. */
  readonly poll: number
  /** The database's epoch when the job was sent; empty until the database is first restored from a backup. */
  readonly epoch: string
}

/** `step-7`, `step-7-retry-2`, `step-7-retry-2-poll-3`; after a restore `step-7-retry-2~k3f9qz`. */
export function jobIdOf({ kind, stepId, attempt, poll, epoch }: JobName): string {
  const retry = attempt > 0 ? `-retry-${attempt}` : ''
  return inEpoch(`${JOB_WORDS[kind]}-${stepId}${retry}${poll > 0 ? `-poll-${poll}` : ''}`, epoch)
}

const EPOCH_MARK = '~'

/** Ids repeat after a restore; with the epoch they differ from those that the lost time used. */
const inEpoch = (id: string, epoch: string): string =>
  epoch === '' ? id : `${id}${EPOCH_MARK}${epoch}`

/** The epoch that an id ends with. Costs no parsing: it is asked for every result. */
export function epochOf(id: string): string {
  const at = id.lastIndexOf(EPOCH_MARK)
  return at < 0 ? '' : id.slice(at + 1)
}

const EPOCH_LETTERS = 'abcdefghijklmnopqrstuvwxyz234567'
const EPOCH_CHARS = 6

/** Random, because two restores of one backup must not get the same. `random` gives 0 ≤ x < 1. */
export const newEpoch = (random: () => number): string =>
  Array.from(
    { length: EPOCH_CHARS },
    () => EPOCH_LETTERS[Math.floor(random() * EPOCH_LETTERS.length)],
  ).join('')

const KIND_OF_WORD = new Map(Object.entries(JOB_WORDS).map(([kind, word]) => [word, kind]))
const JOB_ID =
  /^(step|init|rollback|removal|undo)-([1-9]\d{0,15})(?:-retry-([1-9]\d{0,8}))?(?:-poll-([1-9]\d{0,8}))?(?:~([a-z2-7]{6}))?$/

/** Parses a job id; null when it is not ours. Each has one spelling, so ids compare as text. */
export function parseJobId(jobId: string): JobName | null {
  const parts = JOB_ID.exec(jobId)
  const stepId = Number(parts?.[2])
  if (!parts || !Number.isSafeInteger(stepId)) return null
  const kind = KIND_OF_WORD.get(parts[1] as 'step') as JobKind
  const [attempt, poll] = [Number(parts[3] ?? 0), Number(parts[4] ?? 0)]
  return { kind, stepId, attempt, poll, epoch: parts[5] ?? '' }
}

/** Ids of our messages: sent twice, a message has the same id, and the bus drops the second for ten minutes. A job's is its job id. */
export const messageIdOf = {
  batchInit: (batchId: number, epoch: string) => inEpoch(`batch-init-${batchId}`, epoch),
  memberAdded: (batchMemberId: number, epoch: string) =>
    inEpoch(`member-added-${batchMemberId}`, epoch),
  workerResult: (jobId: string) => `result-${jobId}`,
  /** What a worker remembers, sent again when it is asked after a restore. */
  recalledResult: (jobId: string, epoch: string) => `recalled-${epoch}-${jobId}`,
  workerRecall: (workerId: string, epoch: string) => `recall-${epoch}-${workerId}`,
  workerStop: (workerId: string, at: Date, part: number) =>
    `stop-${workerId}-${at.getTime()}-${part}`,
  workerHello: (workerId: string, at: Date) => `hello-${workerId}-${at.getTime()}`,
} as const
