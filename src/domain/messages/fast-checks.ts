// Fast checks for the two messages that make up nearly all traffic. True means that the body is a job or a successful result
// with exactly the fields our own program writes, so the schemas in messages.ts would accept it. Everything else goes to the
// schemas, which also name the problem. The schemas took 7 µs per message, this takes less than one;
// test/domain/messages/fast-checks.test.ts keeps both equal.
import { isObject } from '../../base/text/json.ts'
import { TRACEPARENT } from '../../base/text/reserved-names.ts'

type Fields = Readonly<Record<string, unknown>>

export function isOwnJob(body: Fields): boolean {
  return (
    countFields(body) === JOB_FIELDS + countJobExtras(body) &&
    isTraceparent(body.traceparent) &&
    (body.signature === undefined || isText(body.signature)) &&
    (body.isPolled === undefined || typeof body.isPolled === 'boolean') &&
    isText(body.jobId) &&
    isId(body.batchId) &&
    isText(body.workerId) &&
    isText(body.functionName) &&
    isObject(body.parameters) &&
    isId(body.timeoutSec) &&
    isInstant(body.notAfter) &&
    isOwnCorrelation(body.correlationData)
  )
}

export function isOwnSuccess(body: Fields): boolean {
  return (
    countFields(body) ===
      RESULT_FIELDS +
        countGiven(body.togetherMax) +
        countGiven(body.traceparent) +
        countGiven(body.effect) &&
    isTraceparent(body.traceparent) &&
    body.status === 'Success' &&
    body.error === null &&
    body.result !== undefined &&
    isText(body.jobId) &&
    isId(body.batchId) &&
    isText(body.workerId) &&
    isText(body.functionName) &&
    typeof body.resultType === 'string' &&
    isDuration(body.durationMs) &&
    isInstant(body.timestamp) &&
    (body.togetherMax === undefined || isId(body.togetherMax)) &&
    (body.effect === undefined || isObject(body.effect)) &&
    isOwnCorrelation(body.correlationData)
  )
}

/** Field counts: with the fields checked above, no others fit. */
const JOB_FIELDS = 8
const RESULT_FIELDS = 11
const CORRELATION_FIELDS = 4

function isOwnCorrelation(value: unknown): boolean {
  if (!isObject(value)) return false
  return (
    countFields(value) === CORRELATION_FIELDS &&
    (isId(value.stepExecutionId) || isId(value.initExecutionId)) &&
    typeof value.isInitStep === 'boolean' &&
    isText(value.runbookName) &&
    isId(value.runbookVersion)
  )
}

const countJobExtras = ({ signature, isPolled, traceparent }: Fields): number =>
  countGiven(signature) + countGiven(isPolled) + countGiven(traceparent)

const isTraceparent = (value: unknown): boolean =>
  value === undefined || (typeof value === 'string' && TRACEPARENT.test(value))

const countGiven = (value: unknown): number => (value === undefined ? 0 : 1)

function countFields(value: Fields): number {
  let count = 0
  for (const _ in value) count += 1
  return count
}

const isText = (value: unknown): boolean => typeof value === 'string' && value !== ''
const isId = (value: unknown): boolean => Number.isSafeInteger(value) && (value as number) > 0
const isDuration = (value: unknown): boolean => Number.isFinite(value) && (value as number) >= 0

const INSTANT_LENGTH = '2026-03-01T10:00:00.000Z'.length
let lastInstant = ''

/** As `toISOString` writes it. Messages of a chunk share most times, so the last valid one is cached. */
function isInstant(value: unknown): boolean {
  if (value === lastInstant) return true
  if (typeof value !== 'string' || value.length !== INSTANT_LENGTH) return false
  const ms = Date.parse(value)
  if (Number.isNaN(ms) || new Date(ms).toISOString() !== value) return false
  lastInstant = value
  return true
}
