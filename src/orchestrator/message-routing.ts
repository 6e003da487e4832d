// Routing: the batch, and where there is one the step, that each message belongs to. Messages that belong to no batch get their
// verdict here: a worker's hello is recorded, anything unknown goes to the dead letters.

import { MatoolkitError } from '../base/errors/errors.ts'
import { isTransient } from '../base/errors/transient.ts'
import { safeReasonOf } from '../base/log/redact.ts'
import { insertEvents } from '../db/state/changes.ts'
import { readEpoch } from '../db/state/epochs.ts'
import { loadOwners, type StepOwner } from '../db/state/facts.ts'
import { findMemberBatch } from '../db/state/members.ts'
import { findPhaseBatch } from '../db/state/phases.ts'
import { recordWorker } from '../db/state/workers.ts'
import { type JobName, type Message, parseJobId } from '../domain/messages/messages.ts'
import { type EventRecord, eventRecord } from '../domain/state/event-record.ts'
import { beforeRestore, detailsOfLost } from '../domain/state/restores.ts'
import type { Engine } from '../engine/transactions/engine.ts'
import { repeatStops } from '../engine/transactions/stops.ts'

export type MessageVerdict = 'ack' | { readonly deadLetter: string; readonly description: string }

export interface RoutedMessage {
  readonly index: number
  readonly message: Message
  readonly batchId: number
  readonly step: StepOwner | null
  /** The parts of a result's job id; null when it is none of ours. */
  readonly job: JobName | null
}

/** Messages with their batches, in order. Writes the verdicts of all others. */
export async function routeMessages(
  engine: Engine,
  messages: readonly Message[],
  verdicts: MessageVerdict[],
): Promise<RoutedMessage[]> {
  const jobs = messages.map(jobOf)
  const isFirstEpoch =
    jobs.some((job) => job !== null && job.epoch !== '') && (await readEpoch(engine.db)) === ''
  const stepIds = messages.flatMap((message, index) => stepIdOf(message, jobs[index]!) ?? [])
  const phaseIds = messages.flatMap((message) =>
    message.messageType === 'phase-due' ? [message.phaseExecutionId] : [],
  )
  const owners = new Map(
    stepIds.length > 0
      ? (await loadOwners(engine.db, stepIds)).map((owner) => [owner.id, owner])
      : [],
  )
  const batchOfPhase = new Map(
    phaseIds.length > 0
      ? (await findPhaseBatch(engine.db, phaseIds)).map(({ id, batchId }) => [id, batchId])
      : [],
  )
  const batchOfMember = await findBatchesOfMembers(engine, messages)
  const routed: RoutedMessage[] = []
  const unknown: number[] = []
  for (const [index, message] of messages.entries()) {
    const epoch = jobs[index]?.epoch ?? ''
    if (message.messageType === 'worker-hello') verdicts[index] = await hearHello(engine, message)
    else if (isFirstEpoch && epoch !== '') verdicts[index] = unknownEpoch(message, epoch)
    else if (
      message.messageType === 'worker-job' ||
      message.messageType === 'worker-recall' ||
      message.messageType === 'worker-stop'
    ) {
      verdicts[index] = {
        deadLetter: 'WrongTopic',
        description: `A ${message.messageType} came to the orchestrator; it is for workers.`,
      }
    } else {
      const job = jobs[index]!
      const stepId = stepIdOf(message, job)
      const step = stepId === null ? null : (owners.get(stepId) ?? null)
      const batchId =
        message.messageType === 'phase-due'
          ? batchOfPhase.get(message.phaseExecutionId)
          : (step?.batchId ?? batchIdOf(message))
      const isMissing = step === null && needsStep(message)
      const isForeign =
        'batchMemberId' in message && batchOfMember.get(message.batchMemberId) !== batchId
      if (batchId === undefined || isMissing || isForeign) unknown.push(index)
      else routed.push({ index, message, batchId, step, job })
    }
  }
  if (unknown.length > 0) await judgeUnknown(engine, messages, unknown, verdicts)
  return routed
}

/**
 * A database that was never restored gives out no epoch. A worker may tell of a later life of it, or make one up: a person decides, because
 * a new epoch holds everything and sends the jobs of every worker again.
 */
const unknownEpoch = (message: Message, epoch: string): MessageVerdict => ({
  deadLetter: 'UnknownEpoch',
  description: `The ${message.messageType} names epoch ${epoch}, which this database never began. If it was restored from a backup, run "matoolkit db restored".`,
})

/** Results of steps that a restore undid are recorded; everything else goes to the dead letters. */
async function judgeUnknown(
  engine: Engine,
  messages: readonly Message[],
  unknown: readonly number[],
  verdicts: MessageVerdict[],
): Promise<void> {
  const epoch = await readEpoch(engine.db, engine.seen)
  if (epoch === null) throw new MatoolkitError('DATABASE_RESTORED')
  const events: EventRecord[] = []
  for (const index of unknown) {
    const message = messages[index]!
    const job = jobOf(message)
    if (message.messageType === 'worker-result' && job !== null && job.epoch !== epoch) {
      const subject = { jobId: message.jobId, details: detailsOfLost(message) }
      const because = beforeRestore(message.jobId)
      events.push(eventRecord('system', 'result_before_restore', because, subject))
    } else verdicts[index] = unknownSubject(message)
  }
  if (events.length === 0) return
  const now = engine.clock.now()
  await engine.db.transaction((tx) => insertEvents(tx, null, now, 'orchestrator', events))
}

async function findBatchesOfMembers(
  engine: Engine,
  messages: readonly Message[],
): Promise<ReadonlyMap<number, number>> {
  const ids = messages.flatMap((message) =>
    'batchMemberId' in message ? [message.batchMemberId] : [],
  )
  if (ids.length === 0) return new Map()
  return new Map((await findMemberBatch(engine.db, ids)).map(({ id, batchId }) => [id, batchId]))
}

const needsStep = ({ messageType }: Message): boolean =>
  messageType === 'worker-result' || messageType === 'poll-check' || messageType === 'retry-check'

const jobOf = (message: Message): JobName | null =>
  message.messageType === 'worker-result' ? parseJobId(message.jobId) : null

/**
 * A result's step comes from its job id: foreign workers may garble the correlation data. It counts where a worker of the earlier system
 * names the job by an id of its own.
 */
function stepIdOf(message: Message, job: JobName | null): number | null {
  if (message.messageType === 'worker-result') {
    const { stepExecutionId, initExecutionId } = message.correlationData ?? {}
    return job?.stepId ?? stepExecutionId ?? initExecutionId ?? null
  }
  if (message.messageType === 'poll-check' || message.messageType === 'retry-check')
    return message.stepExecutionId
  return null
}

const batchIdOf = (message: Message): number | undefined =>
  'batchId' in message && typeof message.batchId === 'number' ? message.batchId : undefined

function unknownSubject(message: Message): MessageVerdict {
  const subject =
    message.messageType === 'worker-result' ? `job "${message.jobId}"` : message.messageType
  return {
    deadLetter: 'UnknownSubject',
    description: `No batch, member or step in this database matches ${subject}.`,
  }
}

/** An announcement that cannot be stored must not take the messages next to it along. */
async function hearHello(
  engine: Engine,
  message: Message<'worker-hello'>,
): Promise<MessageVerdict> {
  try {
    await recordHello(engine, message)
    return 'ack'
  } catch (error) {
    if (isTransient(error)) throw error
    return { deadLetter: 'HandlerFailed', description: safeReasonOf(error).slice(0, 1_000) }
  }
}

async function recordHello(engine: Engine, message: Message<'worker-hello'>): Promise<void> {
  const now = engine.clock.now()
  await engine.db.transaction(async (tx) => {
    const hello = {
      workerId: message.workerId,
      version: message.version ?? null,
      slots: message.slots ?? null,
      functions: message.functions,
      throttles: message.throttles ?? [],
    }
    const isNew = await recordWorker(tx, hello, now)
    await repeatStops(engine, tx, message.workerId)
    if (!isNew) return
    const because = `worker ${message.workerId} announced itself with ${message.functions.length} functions`
    await insertEvents(tx, null, now, message.workerId, [
      eventRecord('worker', 'first_seen', because),
    ])
  })
}
