// A job as it comes: read from its message, or refused. A job that waited in the queue past its limit is not started.

import type { JobKeys, SignatureFault } from '../../base/keys/job-keys.ts'
import type { Json } from '../../base/text/json.ts'
import { sameName } from '../../base/text/same-name.ts'
import type { ReceivedMessage } from '../../bus/bus.ts'
import { type Message, readMessage } from '../../domain/messages/messages.ts'

export interface Job extends Pick<Message<'worker-job'>, 'jobId' | 'batchId' | 'functionName'> {
  readonly parameters: { readonly [key: string]: Json }
  /** Counts from the start; null when the sender gave none. */
  readonly timeoutSec: number | null
  /** The job is not started later. */
  readonly notAfter: Date | null
  /** The step has `poll`: it runs again until its function is complete. */
  readonly isPolled?: boolean
  /** Its orchestrator gives no time limit, as ours always does. */
  readonly isOfEarlierSystem?: boolean
  /** Delivered before: another worker may have run it. */
  readonly isRepeated: boolean
  /** Trace context of the sender. */
  readonly traceparent?: string | null
  /** Tells this delivery of the job from another. */
  readonly delivery?: string
  /** Echoed unchanged: the sender finds its step by it. */
  readonly correlation: { readonly [key: string]: Json } | null
}

/** Why a message is dead-lettered: a code for machines and a sentence for people. */
export interface RefusedJob {
  readonly reason: string
  readonly description: string
}

const FAULTS: Readonly<Record<SignatureFault, string>> = {
  JobUnsigned:
    'The job is not signed, and this worker runs signed jobs only. If matoolkit sent it, set MATOOLKIT_JOB_KEY_FILE for every process; otherwise it is forged.',
  JobKeyUnknown:
    'The job is signed with a key that this worker does not have. Give every process the same MATOOLKIT_JOB_KEY_FILE.',
  JobForged:
    'The signature does not fit the job: it was forged or changed. Find out who can write to the database.',
}

/** With keys, nothing of a job is believed before its signature. */
export function readJob(
  received: ReceivedMessage,
  workerId: string,
  keys: JobKeys | null = null,
): Job | RefusedJob {
  const fault = keys?.faultIn(received.body)
  if (fault) return { reason: fault, description: FAULTS[fault] }
  const read = readMessage(received.type, received.body, 'worker-job')
  if (!read.ok) return { reason: 'Unreadable', description: read.reason }
  const { message } = read
  if (message.messageType !== 'worker-job') {
    return {
      reason: 'WrongTopic',
      description: `A worker received a ${message.messageType} message.`,
    }
  }
  if (!sameName(message.workerId, workerId)) {
    // A subscription without its filter receives every worker's jobs.
    const description = `Worker ${workerId} received a job for worker ${message.workerId}. Check the filter of its subscription.`
    return { reason: 'WrongWorker', description }
  }
  const { jobId, batchId, functionName, parameters } = message
  const notAfter = message.notAfter ? new Date(message.notAfter) : null
  const correlation = correlationIn(received.body)
  const isRepeated = received.deliveryCount > 1
  const timeoutSec = message.timeoutSec ?? null
  const isPolled = message.isPolled ?? false
  const isOfEarlierSystem = timeoutSec === null && notAfter === null
  const times = { timeoutSec, notAfter, isPolled, isRepeated, isOfEarlierSystem }
  const { sequence, token } = received.lease
  const trace = { traceparent: message.traceparent ?? null, delivery: `${sequence} ${token}` }
  return { jobId, batchId, functionName, parameters, ...times, ...trace, correlation }
}

/** Why it is not started any more; null while it is in time. The limit is the end of its queue, or of its change window. */
export const whyTooLate = ({ notAfter }: Job, now: Date): string | null =>
  notAfter === null || notAfter > now
    ? null
    : `it waited until ${notAfter.toISOString()}, its limit, and was not started`

/** `readMessage` drops fields it does not know; a sender gets all of its own back. */
function correlationIn(body: string): Job['correlation'] {
  const fields = Object.entries(JSON.parse(body) as { [key: string]: Json })
  const found = fields.find(([name]) => sameName(name, 'correlationdata'))?.[1]
  return typeof found === 'object' && found !== null && !Array.isArray(found) ? found : null
}
