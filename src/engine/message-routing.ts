// Routing: the batch, and where there is one the step, that each message belongs to. Messages that belong to no batch get their
// verdict here: a worker's hello is recorded, anything unknown goes to the dead letters.
import { findMemberBatch, findPhaseBatch } from '../db/batches.ts'
import { insertEvents } from '../db/changes.ts'
import { loadOwners, type StepOwner } from '../db/facts.ts'
import { recordWorker } from '../db/workers.ts'
import { eventRecord } from '../domain/event-record.ts'
import { type JobName, type Message, parseJobId } from '../domain/messages.ts'
import type { Engine } from './engine.ts'

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
  for (const [index, message] of messages.entries()) {
    if (message.messageType === 'worker-hello') await recordHello(engine, message)
    else if (message.messageType === 'worker-job') {
      verdicts[index] = {
        deadLetter: 'WrongTopic',
        description: 'A job came to the orchestrator; jobs go to workers.',
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
      if (batchId === undefined || isMissing || isForeign) verdicts[index] = unknownSubject(message)
      else routed.push({ index, message, batchId, step, job })
    }
  }
  return routed
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

/** A result's step comes from its job id: foreign workers may garble the correlation data. */
function stepIdOf(message: Message, job: JobName | null): number | null {
  if (message.messageType === 'worker-result') return job?.stepId ?? null
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

async function recordHello(engine: Engine, message: Message<'worker-hello'>): Promise<void> {
  const now = engine.clock.now()
  await engine.db.transaction(async (tx) => {
    const hello = {
      workerId: message.workerId,
      version: message.version ?? null,
      slots: message.slots ?? null,
      functions: message.functions,
    }
    if (!(await recordWorker(tx, hello, now))) return
    const because = `worker ${message.workerId} announced itself with ${message.functions.length} functions`
    await insertEvents(tx, null, now, message.workerId, [
      eventRecord('worker', 'first_seen', because),
    ])
  })
}
