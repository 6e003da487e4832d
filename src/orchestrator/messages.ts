// Handling messages: each is routed to its batch, and the messages of a chunk are decided together, batch by batch and in order, in one
// transaction. When that fails each batch is handled alone, then each message, so that a poison message harms only itself: it goes to
// the dead letters with its reason, and its batch is held.

import { MatoolkitError } from '../base/errors/errors.ts'
import { isTransient } from '../base/errors/transient.ts'
import { safeReasonOf } from '../base/log/redact.ts'
import { chunksOf } from '../base/run/chunks.ts'
import { leavesSlots } from '../domain/decide/job-limit.ts'
import { beginBatch, onPhaseDue } from '../domain/decide/lifecycle.ts'
import { removeMember } from '../domain/decide/membership.ts'
import { queueNextOfMember } from '../domain/decide/next.ts'
import { onResult } from '../domain/decide/settle.ts'
import { onWake } from '../domain/decide/wake.ts'
import type { Message } from '../domain/messages/messages.ts'
import { concurrently } from '../engine/transactions/concurrently.ts'
import {
  type BatchAccess,
  type BatchTransaction,
  type Engine,
  NeedsExclusiveLock,
} from '../engine/transactions/engine.ts'
import { ensureStepsOfJoiners } from '../engine/transactions/expand.ts'
import { finish } from '../engine/transactions/finish.ts'
import { holdAfterFailure } from '../engine/transactions/hold-on-failure.ts'
import {
  loadBatchSteps,
  loadMembersTogether,
  loadMembersWithSteps,
} from '../engine/transactions/loading.ts'
import { begin } from '../engine/transactions/locking.ts'
import { loadStartFacts } from '../engine/transactions/phase-starts.ts'
import { BATCHES_TOGETHER, mayBeOneBatch } from '../engine/transactions/several-batches.ts'
import { withdrawJobs } from '../engine/transactions/withdraw.ts'
import { type MessageVerdict, type RoutedMessage, routeMessages } from './message-routing.ts'
import { admitLeavers } from './outside-leavers.ts'

const ACTOR = 'orchestrator'

/**
 * One verdict per message, in order. Throws when the database is unavailable: all messages come again. Calls `onSlots` when slots may
 * be free to fill: results mostly reuse the slots they free, and a look per chunk cost 4 µs a step.
 */
export async function handleMessages(
  engine: Engine,
  messages: readonly Message[],
  onSlots: () => void = () => {},
): Promise<MessageVerdict[]> {
  const verdicts: MessageVerdict[] = messages.map(() => 'ack')
  if (messages.some(({ messageType }) => messageType !== 'worker-result')) onSlots()
  const routed = await routeMessages(engine, messages, verdicts)
  const groups = [...Map.groupBy(routed, ({ batchId }) => batchId)].map(([batchId, messages]) => ({
    batchId,
    messages,
  }))
  const byAccess = Map.groupBy(groups, accessFor)
  const portions = [...byAccess].flatMap(([access, some]) =>
    [...chunksOf(some, BATCHES_TOGETHER)].map((portion) => ({ access, portion })),
  )
  await concurrently(engine, portions, ({ access, portion }) =>
    handleGroups({ engine, verdicts, onSlots }, portion, access),
  )
  return verdicts
}

/** Messages of one batch, in order. */
interface Group {
  readonly batchId: number
  readonly messages: readonly RoutedMessage[]
}

interface Handling {
  readonly engine: Engine
  readonly verdicts: MessageVerdict[]
  readonly onSlots: () => void
}

/** In one transaction; what cannot be handled there batch by batch, then message by message. */
async function handleGroups(
  handling: Handling,
  groups: readonly Group[],
  access: BatchAccess,
): Promise<void> {
  let ending: readonly Group[] = []
  try {
    ending = await decideGroups(handling, groups, access)
  } catch (error) {
    if (error instanceof NeedsExclusiveLock) ending = groups
    else if (groups.length > 1 && mayBeOneBatch(error))
      await concurrently(handling.engine, groups, (group) =>
        handleGroups(handling, [group], access),
      )
    else if (isTransient(error)) throw error
    else await handleFailure(handling, groups[0]!, access, error)
  }
  if (ending.length > 0) await handleGroups(handling, ending, 'exclusive')
}

/** Handles the messages of a group that failed one by one, or gives up the only one. */
async function handleFailure(
  handling: Handling,
  { batchId, messages }: Group,
  access: BatchAccess,
  error: unknown,
): Promise<void> {
  if (messages.length > 1) {
    for (const message of messages)
      await handleGroups(handling, [{ batchId, messages: [message] }], access)
    return
  }
  handling.verdicts[messages[0]!.index] = {
    deadLetter: 'HandlerFailed',
    description: safeReasonOf(error).slice(0, 1_000),
  }
  const isUnknown = error instanceof MatoolkitError && error.code === 'BATCH_NOT_FOUND'
  if (!isUnknown) await holdAfterFailure(handling.engine, batchId, error, ACTOR)
}

/** Returns the groups that need their batch's exclusive lock; the others are committed. */
async function decideGroups(
  { engine, onSlots }: Handling,
  groups: readonly Group[],
  access: BatchAccess,
): Promise<readonly Group[]> {
  const batchIds = groups.map(({ batchId }) => batchId)
  const { decided, ending } = await engine.db.transaction(async (tx) => {
    const begun = await begin(engine, tx, { batchIds, actor: ACTOR, access })
    const all = groups.map((group, at) => ({ ...group, batchTx: begun[at]! }))
    const ending = access === 'shared' ? all.filter(mayEndPhase) : []
    const decided = all.filter((group) => !ending.includes(group))
    await loadResults(decided)
    for (const group of decided) {
      const leaving = await loadOthers(group)
      for (const routed of group.messages) decide(group.batchTx, routed, leaving)
    }
    await finish(decided.map(({ batchTx }) => batchTx))
    return { decided, ending }
  })
  for (const { batchTx } of decided) engine.pace.note(batchTx.draft)
  if (decided.some(({ batchTx }) => leavesSlots(batchTx.draft))) onSlots()
  return ending
}

interface GroupInTransaction extends Group {
  readonly batchTx: BatchTransaction
}

const accessFor = ({ messages }: Group): BatchAccess =>
  messages.every(changesOnlyItsMember) ? 'shared' : 'exclusive'

/** Most likely. A failure may be the member's last one, and failed members are counted on the batch. */
function changesOnlyItsMember({ message, step, job }: RoutedMessage): boolean {
  if (message.messageType !== 'worker-result' || message.status === 'Failure') return false
  return step !== null && step.memberId !== null && job?.kind === 'phase'
}

/** With the shared lock, the end of a phase would be found out last and the work done twice: in small batches, half of all work. */
const mayEndPhase = ({ batchTx: { draft }, messages }: GroupInTransaction): boolean =>
  draft.phases.some(({ status, steps }) => {
    const open = steps.pending + steps.dispatched + steps.polling
    return status === 'dispatched' && open > 0 && open <= messages.length
  })

/** Loads the members of results and hints, for all batches at once. */
function loadResults(groups: readonly GroupInTransaction[]): Promise<void> {
  const stepIds: number[] = []
  const wanted = groups.map(({ batchTx, messages }) => {
    const steps = messages.flatMap(({ step }) => step ?? [])
    stepIds.push(...steps.map(({ id }) => id))
    return { batchTx, memberIds: steps.flatMap(({ memberId }) => memberId ?? []) }
  })
  return loadMembersTogether(wanted, { stepIds })
}

/** Loads what else the group is about. Returns the members who may leave. */
async function loadOthers({ batchTx, messages }: GroupInTransaction): Promise<ReadonlySet<number>> {
  if (messages.some(({ step }) => step?.memberId === null)) await loadBatchSteps(batchTx)
  const due = messages.flatMap(({ message }) =>
    message.messageType === 'phase-due' ? [batchTx.draft.phase(message.phaseExecutionId)] : [],
  )
  await loadStartFacts(batchTx, due)
  const added = membersIn(messages, 'member-added')
  await loadMembersWithSteps(batchTx, added)
  // A member who has failed or left meanwhile, or whose batch was cancelled, gets no steps: nobody would run them, and the phase
  // could not close.
  const isCancelled = batchTx.draft.batch.status === 'cancelled'
  const joining = added.filter((id) => !isCancelled && batchTx.draft.member(id).status === 'active')
  if (joining.length > 0) await ensureStepsOfJoiners(batchTx, joining)
  const removed = membersIn(messages, 'member-removed')
  if (removed.length === 0) return new Set()
  await loadMembersWithSteps(batchTx, removed)
  const leaving = await admitLeavers(batchTx, removed)
  if (leaving.size > 0) await withdrawJobs(batchTx, 'the member left', { memberIds: [...leaving] })
  return leaving
}

/** Each once: a message that came twice must not count as two leavers. */
const membersIn = (
  group: readonly RoutedMessage[],
  type: 'member-added' | 'member-removed',
): number[] => [
  ...new Set(
    group.flatMap(({ message }) => (message.messageType === type ? [message.batchMemberId] : [])),
  ),
]

function decide(
  { draft }: BatchTransaction,
  { message, step }: RoutedMessage,
  leaving: ReadonlySet<number>,
): void {
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
      if (leaving.has(member.id) && member.status !== 'removed')
        removeMember(draft, member, 'source', 'no longer in the source')
    }
  }
}
