// What the roles say to each other: the nine messages, their bodies, and the ids that make sending one twice harmless.
// Writing is strict: every field, nothing else. Reading is tolerant: keys in any casing (older workers write PascalCase),
// fields that only inform may be missing or null, fields nobody knows are ignored. What a runbook or a function put inside
// `parameters` and `result` is never touched. Reading never throws: a body that cannot be understood gives a reason, which
// becomes the dead letter's description and therefore never quotes the body (it may hold personal data).
import { z } from 'zod'
import { isDeeperThan, JSON_DEPTH_MAX, type Json, parseStorable } from './json.ts'
import { isObject, isOwnJob, isOwnSuccess } from './own-messages.ts'

type JsonObject = Readonly<Record<string, Json>>

const id = z.int().positive()
const count = z.int().nonnegative()
const text = z.string().min(1)
/** For people to read; a peer's without a zone is no reason to refuse the message. Nothing is decided by it. */
const informative = z.iso.datetime({ offset: true, local: true })
const instant = z.iso.datetime({ offset: true })
// Passed through as they are: copying would cost more than everything else, and could lose a key named __proto__.
const jsonObject = z.custom<JsonObject>(isObject, 'expected an object')
const json = z.custom<Json>((value) => value !== undefined, 'expected a value or null')

const ofRunbook = { runbookName: text, runbookVersion: id }
const correlation = { stepExecutionId: id, initExecutionId: id, isInitStep: z.boolean() }
const failure = { message: z.string(), type: z.string(), isThrottled: z.boolean(), attempts: count }

const statuses = z.enum(['Success', 'Failure'])
const statusInAnyCase = z.string().transform((given, context) => {
  const known = statuses.options.find((option) => option.toLowerCase() === given.toLowerCase())
  if (known) return known
  context.addIssue('expected Success or Failure')
  return z.NEVER
})

/** Some workers send an error as the bare sentence. */
const bareSentence = z.string().transform((message) => ({ message }))

type Shape = Readonly<Record<string, z.ZodType>>
type Optional<S extends Shape> = { [K in keyof S]: z.ZodOptional<z.ZodNullable<S[K]>> }

function optional<S extends Shape>(shape: S): Optional<S> {
  const pairs = Object.entries(shape).map(([key, type]) => [key, type.nullish()])
  return Object.fromEntries(pairs) as Optional<S>
}

/** Nothing is decided by these: what does not fit counts as missing, so that a job which was done is not taken for lost. */
function informing<S extends Shape>(shape: S): { [K in keyof S]: z.ZodCatch<Optional<S>[K]> } {
  const pairs = Object.entries(shape).map(([key, type]) => [key, type.nullish().catch(null)])
  return Object.fromEntries(pairs) as { [K in keyof S]: z.ZodCatch<Optional<S>[K]> }
}

/** `needed`: what a message means nothing without. `others`: always written; when reading they may be missing or null. */
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

const workerFunction = z.object({
  name: text,
  description: z.string().nullish(),
  parameters: jsonObject,
  result: jsonObject.nullish(),
})

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
    write: z.strictObject({ ...jobNeeds, correlationData: jobCorrelation, notAfter: instant }),
    read: z.object({ ...jobNeeds, correlationData: readCorrelation, notAfter: instant.nullish() }),
  },
  'worker-result': {
    write: z.strictObject({
      ...resultOthers,
      jobId: text,
      workerId: text,
      status: statuses,
      result: json,
      error: z.strictObject(failure).nullable(),
      /** Sent back as it came with the job. */
      correlationData: jsonObject.nullable(),
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
      /** The job id decides; a worker that garbles what it was to send back has still done the job. */
      correlationData: readCorrelation.catch(null),
    }),
  },
  /** Said by a worker at start and every minute: who it is and what it can do. Schemas are JSON Schema. */
  'worker-hello': event(
    { workerId: text, functions: z.array(workerFunction) },
    { version: text, slots: z.int().positive() },
  ),
} as const

export type MessageType = keyof typeof MESSAGE_FORMATS
/** A body as we send it, by type. */
export type Body<T extends MessageType = MessageType> = {
  [K in MessageType]: Readonly<z.input<(typeof MESSAGE_FORMATS)[K]['write']>>
}[T]
/** A message as read from anybody. */
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

/** Jobs and results say their type only as a property of the message, as their peers expect; the others in the body too. */
const NAMED_BY_PROPERTY: readonly MessageType[] = ['worker-job', 'worker-result']

/** The text to send. `ok: false` is a mistake in our own program. */
export function writeMessage<T extends MessageType>(type: T, body: Body<T>): WrittenMessage {
  if (isOwn(type, body)) return { ok: true, text: JSON.stringify(body) }
  const checked = MESSAGE_FORMATS[type].write.safeParse(body)
  if (!checked.success) return { ok: false, reason: misfit(type, checked.error) }
  const named = NAMED_BY_PROPERTY.includes(type) ? body : { messageType: type, ...body }
  return { ok: true, text: JSON.stringify(named) }
}

/** Just as our own program writes it, and of a type that names itself by property: nothing to check any more, nothing to fold. */
function isOwn(type: MessageType, body: object): boolean {
  if (type === 'worker-result') return isOwnSuccess(body as JsonObject)
  return type === 'worker-job' && isOwnJob(body as JsonObject)
}

/**
 * Understands a body. `type` is the message's MessageType property; null when it has none, and then the body's own
 * `messageType` counts.
 */
export function readMessage<T extends MessageType>(type: T, text: string): ReadMessage<T>
export function readMessage(type: string | null, text: string): ReadMessage
export function readMessage(type: string | null, text: string): ReadMessage {
  try {
    return understand(type, parseStorable(text))
  } catch {
    return { ok: false, reason: `The body (${text.length} characters) is not JSON.` }
  }
}

function understand(type: string | null, value: unknown): ReadMessage {
  if (!isObject(value)) return { ok: false, reason: `The body is ${kindOf(value)}, not an object.` }
  if (isDeeperThan(value, JSON_DEPTH_MAX)) {
    return { ok: false, reason: `The body is nested deeper than ${JSON_DEPTH_MAX} levels.` }
  }
  const named = value.messageType ?? value.MessageType ?? null
  const known = MESSAGE_TYPES.find((one) => one === (type ?? named))
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
  if (isOwn(known, value)) return understood(known, value)
  const read = MESSAGE_FORMATS[known].read.safeParse(foldKeys(value, KEYS[known]))
  return read.success
    ? understood(known, read.data)
    : { ok: false, reason: misfit(known, read.error) }
}

const understood = (messageType: MessageType, fields: object): ReadMessage => ({
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

/** Our spelling of each key by its lower-case one, for the envelope and the two objects inside it that are ours too. */
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

/** Keys in our spelling; unknown ones are left out. Of several spellings of one key ours wins. */
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

/** What a job is for, and the word that its id starts with. */
const JOB_WORDS = { phase: 'step', init: 'init', rollback: 'rollback', removal: 'removal' } as const
export type JobKind = keyof typeof JOB_WORDS

export interface JobName {
  readonly kind: JobKind
  readonly stepId: number
  /** 0 is the first attempt; never reset, so an id is never used again. */
  readonly attempt: number
  /** 0 is the job itself, k its k-th re-poll. */
  readonly poll: number
}

/** `step-7`, `step-7-retry-2`, `step-7-retry-2-poll-3`. */
export function jobIdOf({ kind, stepId, attempt, poll }: JobName): string {
  const retry = attempt > 0 ? `-retry-${attempt}` : ''
  return `${JOB_WORDS[kind]}-${stepId}${retry}${poll > 0 ? `-poll-${poll}` : ''}`
}

const KIND_OF_WORD = new Map(Object.entries(JOB_WORDS).map(([kind, word]) => [word, kind]))
const JOB_ID =
  /^(step|init|rollback|removal)-([1-9]\d{0,15})(?:-retry-([1-9]\d{0,8}))?(?:-poll-([1-9]\d{0,8}))?$/

/** What a job id says, or null when it is none of ours. Exactly one spelling is ours, so ids compare as text. */
export function parseJobId(jobId: string): JobName | null {
  const parts = JOB_ID.exec(jobId)
  const stepId = Number(parts?.[2])
  if (!parts || !Number.isSafeInteger(stepId)) return null
  const kind = KIND_OF_WORD.get(parts[1] as 'step') as JobKind
  return { kind, stepId, attempt: Number(parts[3] ?? 0), poll: Number(parts[4] ?? 0) }
}

/**
 * Ids of the messages that we send: sent twice, a message has the same id, and the bus drops the second for ten minutes. `round`
 * counts deliberate repetitions (a restarted init, a member that rejoined). A job's message id is its job id.
 */
export const messageIdOf = {
  batchInit: (batchId: number, round: number) => `batch-init-${batchId}-${round}`,
  memberAdded: (batchMemberId: number, round: number) => `member-added-${batchMemberId}-${round}`,
  workerResult: (jobId: string) => `result-${jobId}`,
  workerHello: (workerId: string, at: Date) => `hello-${workerId}-${at.getTime()}`,
} as const
