// Handling messages: each is routed to its batch, and the messages of one batch are decided together, in order, in one transaction.
// When a group fails its messages are handled one by one, so that a poison message harms only itself: it goes to the dead letters
// with its reason, and its batch is held.

import { beginBatch, onPhaseDue } from '../domain/decide/lifecycle.ts'
import { removeMember } from '../domain/decide/membership.ts'
import { queueNextOfMember } from '../domain/decide/next.ts'
import { onResult } from '../domain/decide/settle.ts'
import { onWake } from '../domain/decide/wake.ts'
import { leavesSlots } from '../domain/decide/window.ts'
import type { Message } from '../domain/messages.ts'
import { MatoolkitError } from '../errors.ts'
import { safeReasonOf } from '../redact.ts'
import { isTransient } from '../transient.ts'
import { concurrently } from './concurrently.ts'
import { type BatchTransaction, type Engine, requireExclusive } from './engine.ts'
import { ensureStepsOfJoiners } from './expand.ts'
import { holdAfterFailure } from './hold-on-failure.ts'
import { loadBatchSteps, loadMembersWithSteps } from './loading.ts'
import { changeBatch, changeMembers } from './locking.ts'
import { type MessageVerdict, type RoutedMessage, routeMessages } from './message-routing.ts'
import { admitLeavers } from './outside-leavers.ts'
import { withdrawJobs } from './withdraw.ts'

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
  const groups = [...Map.groupBy(routed, ({ batchId }) => batchId)]
  await concurrently(engine, groups, ([batchId, group]) =>
    handleGroup(engine, batchId, group, verdicts, onSlots),
  )
  return verdicts
}

async function handleGroup(
  engine: Engine,
  batchId: number,
  group: readonly RoutedMessage[],
  verdicts: MessageVerdict[],
  onSlots: () => void,
): Promise<void> {
  try {
    const change = group.every(changesOnlyItsMember) ? changeMembers : changeBatch
    const draft = await change(engine, batchId, ACTOR, async (batchTx) => {
      if (mayEndPhase(batchTx, group.length)) requireExclusive(batchTx)
      const leaving = await loadFor(batchTx, group)
      for (const routed of group) decide(batchTx, routed, leaving)
      return batchTx.draft
    })
    engine.pace.note(draft)
    if (leavesSlots(draft)) onSlots()
  } catch (error) {
    if (isTransient(error)) throw error
    if (group.length > 1) {
      for (const routed of group) await handleGroup(engine, batchId, [routed], verdicts, onSlots)
      return
    }
    verdicts[group[0]!.index] = {
      deadLetter: 'HandlerFailed',
      description: safeReasonOf(error).slice(0, 1_000),
    }
    const isUnknown = error instanceof MatoolkitError && error.code === 'BATCH_NOT_FOUND'
    if (!isUnknown) await holdAfterFailure(engine, batchId, error, ACTOR)
  }
}

/** Most likely. A failure may be the member's last one, and failed members are counted on the batch. */
function changesOnlyItsMember({ message, step, job }: RoutedMessage): boolean {
  if (message.messageType !== 'worker-result' || message.status === 'Failure') return false
  return step !== null && step.memberId !== null && job?.kind === 'phase'
}

/** With the shared lock, the end of a phase would be found out last and the work done twice: in small batches, half of all work. */
const mayEndPhase = ({ draft }: BatchTransaction, results: number): boolean =>
  draft.phases.some(({ status, steps }) => {
    const open = steps.pending + steps.dispatched + steps.polling
    return status === 'dispatched' && open > 0 && open <= results
  })

/** Loads what the group is about. Returns the members who may leave. */
async function loadFor(
  batchTx: BatchTransaction,
  group: readonly RoutedMessage[],
): Promise<ReadonlySet<number>> {
  const steps = group.flatMap(({ step }) => step ?? [])
  const memberIds = [...new Set(steps.flatMap(({ memberId }) => memberId ?? []))]
  await loadMembersWithSteps(batchTx, memberIds, { stepIds: steps.map(({ id }) => id) })
  if (steps.some(({ memberId }) => memberId === null)) await loadBatchSteps(batchTx)
  const added = membersIn(group, 'member-added')
  await loadMembersWithSteps(batchTx, added)
  // A member who has failed or left meanwhile, or whose batch was cancelled, gets no steps: nobody would run them, and the phase
  // could not close.
  const isCancelled = batchTx.draft.batch.status === 'cancelled'
  const joining = added.filter((id) => !isCancelled && batchTx.draft.member(id).status === 'active')
  if (joining.length > 0) await ensureStepsOfJoiners(batchTx, joining)
  const removed = membersIn(group, 'member-removed')
  if (removed.length === 0) return new Set()
  await loadMembersWithSteps(batchTx, removed)
  const leaving = await admitLeavers(batchTx, removed)
  if (leaving.size > 0) await withdrawJobs(batchTx, 'the member left', { memberIds: [...leaving] })
  return leaving
}

const membersIn = (
  group: readonly RoutedMessage[],
  type: 'member-added' | 'member-removed',
): number[] =>
  group.flatMap(({ message }) => (message.messageType === type ? [message.batchMemberId] : []))

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
