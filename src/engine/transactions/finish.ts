// The end of a transaction on a batch or on several: withdraw, send into free slots, count, close, and write rows, counters, events and messages. The database commits after it.
// A shared transaction changes nothing but its members and the counters.

import { MatoolkitError } from '../../base/errors/errors.ts'
import { countText } from '../../base/text/count-text.ts'
import type { Json } from '../../base/text/json.ts'
import { ORCHESTRATOR_EVENTS, type OutgoingMessage } from '../../bus/bus.ts'
import { hint } from '../../bus/hints.ts'
import { enqueueNew } from '../../bus/outbox.ts'
import { timeParam } from '../../db/connection/arrays.ts'
import { type Drafts, writeChanges, writeRows } from '../../db/state/changes.ts'
import { addToCounters } from '../../db/state/counters.ts'
import type { SeenEvent } from '../../db/state/epochs.ts'
import { listActiveElsewhere, lockMembership } from '../../db/state/members.ts'
import type { Draft, JobRecord } from '../../domain/decide/draft.ts'
import { checkFuse, closeFinished, updateCounters } from '../../domain/decide/finish.ts'
import { type Batch, hasStepsToWrite } from '../../domain/state/facts.ts'
import { isBatchEnded } from '../../domain/state/transitions.ts'
import { type BatchTransaction, type Engine, NeedsExclusiveLock } from './engine.ts'
import { sendIntoFreeSlots } from './slots.ts'
import { withdrawJobs } from './withdraw.ts'

const MEMBERS_NAMED_MAX = 3
const MEMBERS_LISTED_MAX = 1_000

/** All with the same access. */
export async function finish(batchTxs: readonly BatchTransaction[]): Promise<void> {
  const access = batchTxs[0]?.access
  if (access === 'exclusive') await finishExclusive(batchTxs)
  if (access === 'shared') await finishShared(batchTxs)
}

async function finishExclusive(batchTxs: readonly BatchTransaction[]): Promise<void> {
  const [{ tx, engine }] = batchTxs as [BatchTransaction]
  for (const batchTx of batchTxs) {
    const { draft } = batchTx
    updateCounters(draft)
    checkFuse(draft)
    if (draft.wantsWithdrawal)
      await withdrawJobs(batchTx, `the batch is held: ${draft.batch.heldReason}`)
  }
  await sendIntoFreeSlots(batchTxs)
  for (const { draft } of batchTxs) {
    updateCounters(draft)
    closeFinished(draft)
  }
  const drafts = draftsOf(batchTxs)
  const jobs = drafts.flatMap((draft) => jobMessages(draft, engine))
  const [newest] = await Promise.all([
    writeChanges(tx, drafts),
    jobs.length > 0 && enqueueNew(tx, jobs, drafts[0].now, engine.jobKeys),
  ])
  for (const batchTx of batchTxs) await requireActiveNowhereElse(batchTx)
  tellWatch(batchTxs, newest)
  if (drafts.some(hasWorkForTimers)) await hint(tx, ORCHESTRATOR_EVENTS)
}

async function finishShared(batchTxs: readonly BatchTransaction[]): Promise<void> {
  const [{ tx, engine }] = batchTxs as [BatchTransaction]
  await sendIntoFreeSlots(batchTxs)
  for (const { draft, countsLoaded } of batchTxs) {
    updateCounters(draft)
    requireMembersOnly(draft)
    for (const { id, fuseAcknowledged } of draft.changedPhases) {
      if (fuseAcknowledged !== countsLoaded.get(id)!.fuseAcknowledged)
        throw new NeedsExclusiveLock()
    }
  }
  const drafts = draftsOf(batchTxs)
  const jobs = drafts.flatMap((draft) => jobMessages(draft, engine))
  const [newest] = await Promise.all([
    writeRows(tx, drafts),
    jobs.length > 0 && enqueueNew(tx, jobs, drafts[0].now, engine.jobKeys),
  ])
  // Last, once all rows are written: adding locks the phase until the commit. Sent with the rows it overtook them, and chunks of one
  // phase waited for each other's writing: 15 ms each, an eighth of the rate.
  const counted = drafts.flatMap(({ changedPhases }) => [...changedPhases])
  const before = new Map(batchTxs.flatMap(({ countsLoaded }) => [...countsLoaded]))
  await addToCounters(tx, counted, before)
  for (const draft of drafts) {
    checkFuse(draft)
    closeFinished(draft)
    requireMembersOnly(draft)
  }
  tellWatch(batchTxs, newest)
}

function tellWatch(batchTxs: readonly BatchTransaction[], newest: SeenEvent | null): void {
  const [{ tx, engine }] = batchTxs as [BatchTransaction]
  const { watch, seen } = engine
  // If a failover loses this commit, nobody else has seen it. Without a watch (restores.ts) it would grow old and be purged.
  if (newest && seen.event)
    tx.afterCommit(() => {
      seen.event = newest
    })
  if (watch) tx.afterCommit(() => watch.committed(draftsOf(batchTxs)))
}

const draftsOf = (batchTxs: readonly BatchTransaction[]): Drafts =>
  batchTxs.map(({ draft }) => draft) as [Draft, ...Draft[]]

function requireMembersOnly({
  isBatchChanged,
  wantsWithdrawal,
  failureChanges,
  events,
}: Draft): void {
  const isWider = events.some(({ entity }) => entity === 'phase' || entity === 'batch')
  if (isBatchChanged || wantsWithdrawal || failureChanges > 0 || isWider)
    throw new NeedsExclusiveLock()
}

/** Timers have something to do now. Without a hint they would find it up to a second later. */
const hasWorkForTimers = ({ batch, phases, changedPhases, isBatchChanged, now }: Draft): boolean =>
  (isBatchChanged || changedPhases.size > 0) &&
  batch.status === 'active' &&
  phases.some(
    (phase) =>
      hasStepsToWrite(phase) ||
      (phase.status === 'pending' &&
        phase.dueAt !== null &&
        phase.dueAt <= now &&
        (phase.gateLookAt === null || phase.gateLookAt <= now)) ||
      (phase.soakEndsAt !== null && phase.soakEndsAt <= now),
  )

const jobMessages = (draft: Draft, { watch }: Engine): OutgoingMessage[] =>
  draft.jobs.map((job) => jobMessage(draft.batch, job, watch?.traceparentOf(draft, job) ?? null))

function jobMessage(
  batch: Batch,
  { jobId, step, functionName, params, timeoutSec, notAfter, expiresAt }: JobRecord,
  traceparent: string | null,
): OutgoingMessage {
  const owner = step.kind === 'init' ? { initExecutionId: step.id } : { stepExecutionId: step.id }
  return {
    topic: 'worker-jobs',
    messageId: jobId,
    type: 'worker-job',
    workerId: step.definition.workerId,
    expiresAt,
    body: {
      ...(traceparent !== null && { traceparent }),
      jobId,
      batchId: batch.id,
      workerId: step.definition.workerId,
      functionName,
      parameters: params as { [key: string]: Json },
      timeoutSec,
      notAfter: timeParam(notAfter)!,
      ...(step.definition.pollIntervalSec !== null && { isPolled: true }),
      correlationData: {
        ...owner,
        isInitStep: step.kind === 'init',
        runbookName: batch.runbookName,
        runbookVersion: step.definition.runbookVersion,
      },
    },
  }
}

/**
 * When an ended batch reopens, all its active members are in an unfinished batch again. Refused if one of them has joined another
 * batch since: nobody is active in two at once (I31). Runs after the rows are written, so members activated just now count.
 */
async function requireActiveNowhereElse({ tx, draft }: BatchTransaction): Promise<void> {
  const { batch, batchStatusLoaded } = draft
  if (!isBatchEnded(batchStatusLoaded) || isBatchEnded(batch.status)) return
  await lockMembership(tx, batch.runbookName)
  const elsewhere = await listActiveElsewhere(tx, batch.id, MEMBERS_LISTED_MAX)
  if (elsewhere.length === 0) return
  const named = elsewhere
    .slice(0, MEMBERS_NAMED_MAX)
    .map(({ key, batchId }) => `${key} in batch ${batchId}`)
  const count =
    elsewhere.length < MEMBERS_LISTED_MAX
      ? countText(elsewhere.length, 'member')
      : `at least ${countText(MEMBERS_LISTED_MAX, 'member')}`
  const others = elsewhere.length > MEMBERS_NAMED_MAX ? ' and others' : ''
  throw new MatoolkitError('REFUSED', {
    reason:
      `batch ${batch.id} has ended, and reopening it would bring back ${count} active elsewhere ` +
      `(${named.join(', ')}${others}): wait until they are done there, or use a new batch.`,
  })
}
