// What messages mean: each finds its batch, those of one batch are handled together in one transaction, in their order.
// A group that fails is taken apart, so that one poison message harms only itself: it ends in the dead letters with its reason,
// and its batch is held, because something that must not happen was about to.
import { findMemberBatch, findPhaseBatch } from '../db/batches.ts'
import { insertEvents } from '../db/changes.ts'
import { loadOwners, type StepOwner } from '../db/facts.ts'
import { isTransient } from '../db/transient.ts'
import { recordWorker } from '../db/workers.ts'
import { beginBatch, onPhaseDue } from '../domain/decide/lifecycle.ts'
import { removeMember } from '../domain/decide/membership.ts'
import { queueNextOfMember } from '../domain/decide/next.ts'
import { onResult } from '../domain/decide/settle.ts'
import { onWake } from '../domain/decide/wake.ts'
import { leavesSlots } from '../domain/decide/window.ts'
import { type JobName, type Message, parseJobId } from '../domain/messages.ts'
import { MatoolkitError, messageOf } from '../errors.ts'
import {
  type BatchTransaction,
  changeBatch,
  type Engine,
  loadBatchSteps,
  loadMembersWithSteps,
  withdrawJobs,
} from './engine.ts'
import { ensureStepsOfJoiners } from './expand.ts'
import { holdAfterFailure } from './poison.ts'
import { changeMembers } from './shared-lock.ts'

export type MessageVerdict = 'ack' | { readonly deadLetter: string; readonly description: string }

/** A message that has found its batch, and its step where it has one. */
interface Addressed {
  readonly index: number
  readonly message: Message
  readonly batchId: number
  readonly step: StepOwner | null
  /** What the job id of a result says; null when it is none of ours. */
  readonly job: JobName | null
}

const ACTOR = 'orchestrator'
/** Batches of one chunk that are changed at the same time: each has a lock and a connection of its own. */
const GROUPS_AT_ONCE = 4

/**
 * One verdict per message, in their order. Throws when the database cannot be used right now: all come again. `onSlots` is told
 * when there may be slots to fill. Results mostly use up the slots that they free, and looking after each chunk cost 4 µs a step.
 */
export async function handleMessages(
  engine: Engine,
  messages: readonly Message[],
  onSlots: () => void = () => {},
): Promise<MessageVerdict[]> {
  const verdicts: MessageVerdict[] = messages.map(() => 'ack')
  if (messages.some(({ messageType }) => messageType !== 'worker-result')) onSlots()
  const addressed = await findBatches(engine, messages, verdicts)
  const groups = [...Map.groupBy(addressed, (one) => one.batchId)]
  await eachOfSome(groups, engine.db.kind === 'pglite' ? 1 : GROUPS_AT_ONCE, ([batchId, group]) =>
    handleGroup(engine, batchId, group, verdicts, onSlots),
  )
  return verdicts
}

/** All of them, some at a time. Waits for those that are under way before it throws the first failure. */
async function eachOfSome<T>(
  all: readonly T[],
  atOnce: number,
  run: (one: T) => Promise<void>,
): Promise<void> {
  const left = all.values()
  const lane = async () => {
    for (const one of left) await run(one)
  }
  const ended = await Promise.allSettled(Array.from({ length: atOnce }, lane))
  const failed = ended.find((one) => one.status === 'rejected')
  if (failed) throw failed.reason
}

async function findBatches(
  engine: Engine,
  messages: readonly Message[],
  verdicts: MessageVerdict[],
): Promise<Addressed[]> {
  const jobs = messages.map(jobOf)
  const stepIds = messages.flatMap((message, index) => stepIdOf(message, jobs[index]!) ?? [])
  const phaseIds = messages.flatMap((message) =>
    message.messageType === 'phase-due' ? [message.phaseExecutionId] : [],
  )
  const owners = new Map(
    stepIds.length > 0 ? (await loadOwners(engine.db, stepIds)).map((one) => [one.id, one]) : [],
  )
  const phases = new Map(
    phaseIds.length > 0
      ? (await findPhaseBatch(engine.db, phaseIds)).map((one) => [one.id, one.batchId])
      : [],
  )
  const members = await batchesOfMembers(engine, messages)
  const found: Addressed[] = []
  for (const [index, message] of messages.entries()) {
    if (message.messageType === 'worker-hello') await greet(engine, message)
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
          ? phases.get(message.phaseExecutionId)
          : (step?.batchId ?? batchIdOf(message))
      const isMissing = step === null && needsStep(message)
      const isForeign = 'batchMemberId' in message && members.get(message.batchMemberId) !== batchId
      if (batchId === undefined || isMissing || isForeign) verdicts[index] = unknown(message)
      else found.push({ index, message, batchId, step, job })
    }
  }
  return found
}

async function batchesOfMembers(
  engine: Engine,
  messages: readonly Message[],
): Promise<ReadonlyMap<number, number>> {
  const ids = messages.flatMap((one) => ('batchMemberId' in one ? [one.batchMemberId] : []))
  if (ids.length === 0) return new Map()
  return new Map((await findMemberBatch(engine.db, ids)).map(({ id, batchId }) => [id, batchId]))
}

const needsStep = ({ messageType }: Message): boolean =>
  messageType === 'worker-result' || messageType === 'poll-check' || messageType === 'retry-check'

const jobOf = (message: Message): JobName | null =>
  message.messageType === 'worker-result' ? parseJobId(message.jobId) : null

/** The step that a message is about: by its job id, which says more than the correlation that foreign workers may garble. */
function stepIdOf(message: Message, job: JobName | null): number | null {
  if (message.messageType === 'worker-result') return job?.stepId ?? null
  if (message.messageType === 'poll-check' || message.messageType === 'retry-check')
    return message.stepExecutionId
  return null
}

const batchIdOf = (message: Message): number | undefined =>
  'batchId' in message && typeof message.batchId === 'number' ? message.batchId : undefined

function unknown(message: Message): MessageVerdict {
  const what =
    message.messageType === 'worker-result' ? `job "${message.jobId}"` : message.messageType
  return {
    deadLetter: 'UnknownSubject',
    description: `Nothing in this database is what ${what} speaks of.`,
  }
}

async function greet(engine: Engine, message: Message<'worker-hello'>): Promise<void> {
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
    await insertEvents(tx, null, now, message.workerId, [workerEvent('first_seen', because)])
  })
}

const workerEvent = (event: string, because: string) => ({
  thing: 'worker' as const,
  event,
  from: null,
  to: null,
  memberId: null,
  phaseId: null,
  stepId: null,
  attempt: null,
  jobId: null,
  because,
  details: null,
})

async function handleGroup(
  engine: Engine,
  batchId: number,
  group: readonly Addressed[],
  verdicts: MessageVerdict[],
  onSlots: () => void,
): Promise<void> {
  try {
    const change = group.every(isOfMember) ? changeMembers : changeBatch
    const draft = await change(engine, batchId, ACTOR, async (batchTx) => {
      await decideAll(batchTx, group)
      return batchTx.draft
    })
    if (leavesSlots(draft)) onSlots()
  } catch (error) {
    if (isTransient(error)) throw error
    if (group.length > 1) {
      for (const one of group) await handleGroup(engine, batchId, [one], verdicts, onSlots)
      return
    }
    verdicts[group[0]!.index] = {
      deadLetter: 'HandlerFailed',
      description: messageOf(error).slice(0, 1_000),
    }
    const isUnknown = error instanceof MatoolkitError && error.code === 'BATCH_NOT_FOUND'
    if (!isUnknown) await holdAfterFailure(engine, batchId, error, ACTOR)
  }
}

/** Most likely it touches nothing but its member. A failure may be the member's last one, which is counted on the batch. */
function isOfMember({ message, step, job }: Addressed): boolean {
  if (message.messageType !== 'worker-result' || message.status === 'Failure') return false
  return step !== null && step.memberId !== null && job?.kind === 'phase'
}

async function decideAll(batchTx: BatchTransaction, group: readonly Addressed[]): Promise<void> {
  await bringFacts(batchTx, group)
  for (const one of group) decideOne(batchTx, one)
}

async function bringFacts(batchTx: BatchTransaction, group: readonly Addressed[]): Promise<void> {
  const steps = group.flatMap(({ step }) => step ?? [])
  const memberIds = [...new Set(steps.flatMap(({ memberId }) => memberId ?? []))]
  await loadMembersWithSteps(batchTx, memberIds, { stepIds: steps.map(({ id }) => id) })
  if (steps.some(({ memberId }) => memberId === null)) await loadBatchSteps(batchTx)
  const added = membersIn(group, 'member-added')
  await loadMembersWithSteps(batchTx, added)
  // Who failed or left before this message came, or whose batch was cancelled, gets no steps: nobody would ever do them, and the
  // phase could not close.
  const isOver = batchTx.draft.batch.status === 'cancelled'
  const joining = added.filter((id) => !isOver && batchTx.draft.member(id).status === 'active')
  if (joining.length > 0) await ensureStepsOfJoiners(batchTx, joining)
  const removed = membersIn(group, 'member-removed')
  await loadMembersWithSteps(batchTx, removed)
  if (removed.length > 0) await withdrawJobs(batchTx, 'the member left', removed)
}

const membersIn = (
  group: readonly Addressed[],
  type: 'member-added' | 'member-removed',
): number[] =>
  group.flatMap(({ message }) => (message.messageType === type ? [message.batchMemberId] : []))

function decideOne({ draft }: BatchTransaction, { message, step }: Addressed): void {
  switch (message.messageType) {
    case 'worker-result':
      return onResult(draft, draft.steps.get(step!.id)!, message)
    case 'poll-check':
    case 'retry-check':
      return onWake(draft, draft.steps.get(step!.id)!)
    case 'batch-init':
      return beginBatch(draft)
    case 'phase-due': {
      const refusal = onPhaseDue(draft, draft.phase(message.phaseExecutionId))
      if (refusal) draft.note('phase_due_ignored', refusal, { phaseId: message.phaseExecutionId })
      return
    }
    case 'member-added':
      return queueNextOfMember(draft, draft.member(message.batchMemberId))
    case 'member-removed': {
      const member = draft.member(message.batchMemberId)
      if (member.status !== 'removed')
        removeMember(draft, member, 'source', 'no longer in the source')
    }
  }
}
