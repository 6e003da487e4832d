// The one door through which a batch changes: lock the batch, load the facts, decide, write the moves, the counters, the events
// and the outgoing messages, all in one transaction. Orchestrator, scheduler and API come in here; nothing else writes a status.

import { ORCHESTRATOR_EVENTS, type OutgoingMessage } from '../bus/bus.ts'
import { enqueueNew, hint, withdraw } from '../bus/outbox.ts'
import { writeChanges } from '../db/changes.ts'
import { timeParam } from '../db/columns.ts'
import { type Counts, copyCounts } from '../db/counts.ts'
import type { Db, Tx } from '../db/db.ts'
import { loadMembers, loadPhases, lockBatch } from '../db/facts.ts'
import { loadMarks } from '../db/phases.ts'
import {
  definitionIn,
  type LoadedSteps,
  loadStepsOfBatch,
  loadStepsOfMembers,
  type ShortStep,
  type StepRow,
  type StepsToLoad,
  stepOf,
} from '../db/step-facts.ts'
import {
  countOutstanding,
  findContended,
  listBatchesWaiting,
  listOutstandingJobs,
  listQueued,
} from '../db/waits.ts'
import { findWorkerLimit } from '../db/workers.ts'
import { definitionNamed, pendingStep, runbookStepsFor } from '../domain/decide/definitions.ts'
import { Draft, type JobRecord } from '../domain/decide/draft.ts'
import { checkFuse, closeFinished, updateCounters } from '../domain/decide/finish.ts'
import { sendQueued } from '../domain/decide/send.ts'
import { onWithdrawn } from '../domain/decide/settle.ts'
import { slotsToReuse } from '../domain/decide/window.ts'
import {
  type Batch,
  isUnsettled,
  type Phase,
  type Step,
  type StepDefinition,
} from '../domain/facts.ts'
import type { Json } from '../domain/json.ts'
import type { Runbook } from '../domain/runbook/read.ts'
import { MatoolkitError } from '../errors.ts'
import { requireActiveNowhereElse } from './reopening.ts'
import type { RunbookCache } from './runbook-cache.ts'
import { isOutdated, upgradeBatch } from './version-upgrade.ts'

export interface Engine {
  readonly db: Db
  readonly clock: { now(): Date }
  readonly runbooks: RunbookCache
  /** 0 ≤ random() < 1, for the jitter of retries; from the seed in simulations. */
  readonly random: () => number
  /** Unsettled jobs per worker, where the worker's row does not say otherwise. */
  readonly maxOutstanding: number
  /** False when the transport cannot call back messages. */
  readonly canWithdraw: boolean
}

export interface BatchTransaction {
  readonly tx: Tx
  readonly draft: Draft
  readonly engine: Engine
  /** Slots this change may use besides those it frees, by worker. */
  readonly freeSlots: Map<string, number>
  /** False when others may be changing other members of the batch at the same time: see beside.ts. */
  readonly isExclusive: boolean
  /** The phases' counters as they were read, by the phase's id. */
  readonly countsLoaded: ReadonlyMap<number, Counts>
}

/** Runs one change of one batch. What `work` returns is returned once everything is committed. */
export async function changeBatch<T>(
  engine: Engine,
  batchId: number,
  actor: string,
  work: (batchTx: BatchTransaction) => Promise<T>,
): Promise<T> {
  return engine.db.transaction(async (tx) => {
    const batchTx = await begin(engine, tx, batchId, actor)
    const result = await work(batchTx)
    await commit(batchTx)
    return result
  })
}

/**
 * Locks the batch, loads what every decision needs, and puts the batch on the active version if it is not yet. For changes of two
 * batches at once; else use `changeBatch`. Whoever enters leaves or throws: some of the version's rows are written here already.
 */
export async function begin(
  engine: Engine,
  tx: Tx,
  batchId: number,
  actor: string,
): Promise<BatchTransaction> {
  const batchTx = await loadTransaction(engine, tx, lockBatch(tx, batchId), batchId, actor, true)
  if (isOutdated(batchTx.draft.batch)) await upgradeVersion(batchTx)
  return batchTx
}

/** The facts about a batch that is being locked, alone or shared. */
export async function loadTransaction(
  engine: Engine,
  tx: Tx,
  locking: Promise<Batch | null>,
  batchId: number,
  actor: string,
  isExclusive: boolean,
): Promise<BatchTransaction> {
  const [batch, phases] = await Promise.all([locking, loadPhases(tx, batchId)])
  if (!batch) throw new MatoolkitError('BATCH_NOT_FOUND', { batchId })
  const versions = new Set([
    batch.runbookVersion,
    batch.activeVersion,
    ...phases.map((phase) => phase.runbookVersion),
  ])
  const runbooks = new Map<number, Runbook>()
  for (const version of versions) {
    runbooks.set(version, await engine.runbooks.get(tx, batch.runbookName, version))
  }
  const { random } = engine
  const draft = new Draft({ now: engine.clock.now(), actor, batch, phases, runbooks, random })
  const countsLoaded = new Map(phases.map((phase) => [phase.id, copyCounts(phase)]))
  return { tx, draft, engine, freeSlots: new Map(), isExclusive, countsLoaded }
}

/** The active version for a batch under way. `how` overrules what its publisher decided. */
export async function upgradeVersion(
  batchTx: BatchTransaction,
  how: Parameters<typeof upgradeBatch>[3] = {},
): Promise<void> {
  await loadBatchSteps(batchTx)
  await upgradeBatch(batchTx.tx, batchTx.draft, (ids) => loadMembersWithSteps(batchTx, ids), how)
}

/** Counts, closes, sends what may be sent, and writes everything. */
export async function commit(batchTx: BatchTransaction): Promise<void> {
  const { tx, draft } = batchTx
  updateCounters(draft)
  checkFuse(draft)
  if (draft.wantsWithdrawal)
    await withdrawJobs(batchTx, `the batch is held: ${draft.batch.heldReason}`)
  await sendIntoFreeSlots(batchTx)
  updateCounters(draft)
  closeFinished(draft)
  const sends = jobMessages(draft)
  await Promise.all([writeChanges(tx, draft), sends.length > 0 && enqueueNew(tx, sends, draft.now)])
  await requireActiveNowhereElse(batchTx)
  if (hasWorkForClock(draft)) await hint(tx, ORCHESTRATOR_EVENTS)
}

/** What only the clock's loop takes up is there already: it need not come by itself, up to a second later. */
const hasWorkForClock = ({ batch, phases, changedPhases, isBatchChanged, now }: Draft): boolean =>
  (isBatchChanged || changedPhases.size > 0) &&
  batch.status === 'active' &&
  phases.some(
    (phase) =>
      isBeingWritten(phase) ||
      (phase.status === 'pending' && phase.dueAt !== null && phase.dueAt <= now),
  )

/** Sends what waits while its worker has room: slots that this change was given, and those that it frees. */
export async function sendIntoFreeSlots(batchTx: BatchTransaction): Promise<void> {
  await useFreedSlots(batchTx)
  sendQueued(batchTx.draft, batchTx.freeSlots)
  await useSlotsLeft(batchTx)
}

/** A job that ended leaves a slot; it is used again at once, within the batch's fair part while another batch waits too. */
async function useFreedSlots(batchTx: BatchTransaction): Promise<void> {
  const { tx, draft, freeSlots } = batchTx
  if (draft.attempts.length === 0) return
  const freed = new Map<string, number>()
  for (const { workerId } of draft.attempts) freed.set(workerId, (freed.get(workerId) ?? 0) + 1)
  const contended = await findContended(tx, [...freed.keys()], draft.batch.id)
  for (const [workerId, slots] of freed) {
    const usable = contended.has(workerId) ? await fairPart(batchTx, workerId, slots) : slots
    freeSlots.set(workerId, (freeSlots.get(workerId) ?? 0) + usable)
  }
}

async function fairPart(
  { tx, draft, engine }: BatchTransaction,
  workerId: string,
  freed: number,
): Promise<number> {
  const waiting = await listBatchesWaiting(tx, workerId)
  const rivals = waiting.filter((batchId) => batchId !== draft.batch.id).length
  // The jobs that ended are still among those that are out: their rows go when this change is written.
  const out = (await countOutstanding(tx, workerId)).get(draft.batch.id) ?? 0
  const limit = (await findWorkerLimit(tx, workerId)) ?? engine.maxOutstanding
  return slotsToReuse(limit, rivals, out - freed, freed)
}

/**
 * Slots that the members at hand left over (theirs was the last step for now) go to members of the same batch that wait for one.
 * Filling them in a transaction of its own cost a third more transactions on a batch larger than the window.
 */
async function useSlotsLeft(batchTx: BatchTransaction): Promise<void> {
  const { tx, draft, freeSlots, isExclusive } = batchTx
  if (draft.batch.heldAt !== null) return
  for (const [workerId, left] of freeSlots) {
    if (left <= 0) continue
    const lock = isExclusive ? 'none' : 'take'
    const queued = await listQueued(tx, workerId, draft.batch.id, left, lock)
    const fresh = queued.filter(({ stepId }) => !draft.steps.has(stepId))
    if (fresh.length === 0) continue
    const memberIds = fresh.flatMap(({ memberId }) => memberId ?? [])
    // Somebody beside us may be at one of them, and may want one of ours: waiting for each other would never end.
    await loadMembersWithSteps(batchTx, memberIds, { isOptional: true })
    if (fresh.some(({ memberId }) => memberId === null)) await loadBatchSteps(batchTx)
    sendQueued(draft, freeSlots)
  }
}

export const jobMessages = ({ batch, jobs }: Draft): OutgoingMessage[] =>
  jobs.map((job) => jobMessage(batch, job))

function jobMessage(
  batch: Batch,
  { jobId, step, functionName, params, notAfter }: JobRecord,
): OutgoingMessage {
  const owner = step.kind === 'init' ? { initExecutionId: step.id } : { stepExecutionId: step.id }
  return {
    topic: 'worker-jobs',
    messageId: jobId,
    type: 'worker-job',
    workerId: step.definition.workerId,
    expiresAt: notAfter,
    body: {
      jobId,
      batchId: batch.id,
      workerId: step.definition.workerId,
      functionName,
      parameters: params as { [key: string]: Json },
      notAfter: timeParam(notAfter)!,
      correlationData: {
        ...owner,
        isInitStep: step.kind === 'init',
        runbookName: batch.runbookName,
        runbookVersion: step.definition.runbookVersion,
      },
    },
  }
}

interface Bringing extends Omit<StepsToLoad, 'onlyNext'> {
  /** Steps that this transaction inserted. */
  readonly newIds?: ReadonlySet<number>
  /** Members whom somebody beside us has are left out, not waited for. */
  readonly isOptional?: boolean
}

/** Members and their steps into the draft. Unless the batch is ours alone the members are locked first. */
export async function loadMembersWithSteps(
  { tx, draft, engine, isExclusive }: BatchTransaction,
  memberIds: readonly number[],
  options: Bringing = {},
): Promise<void> {
  const missing = options.newIds ? memberIds : memberIds.filter((id) => !draft.members.has(id))
  if (missing.length === 0) return
  const lock = isExclusive ? 'none' : options.isOptional ? 'skip' : 'wait'
  // Whoever ends, fails or stops a member needs all of its steps, and has the batch alone: see beside.ts.
  const wanted = { ...options, onlyNext: !isExclusive && options.newIds === undefined }
  // Given to the connection at once, in this order: what is read after the lock is read when the lock is ours.
  const locking = loadMembers(tx, missing, lock)
  const ids = lock === 'skip' ? (await locking).map(({ id }) => id) : missing
  const [members, steps] = await Promise.all([
    locking,
    loadStepsOfMembers(tx, draft.batch.id, ids, wanted),
    !isExclusive && refreshExpansionMarks(tx, draft),
  ])
  draft.addMembers(members)
  await addSteps(engine, tx, draft, steps, options.newIds)
}

const isBeingWritten = ({ status, expandedAt }: Phase): boolean =>
  status === 'dispatched' && expandedAt === null

/** How far the steps of phases are written, as of now: somebody beside us may have gone on, but not past whom we have locked. */
export async function refreshExpansionMarks(tx: Tx, draft: Draft): Promise<void> {
  const moving = draft.phases.filter(isBeingWritten)
  if (moving.length === 0) return
  const marks = await loadMarks(tx, draft.batch.id)
  for (const phase of moving) phase.expandedThrough = marks.get(phase.id)!
}

/** Init steps and the rollback of init into the draft. */
export async function loadBatchSteps({ tx, draft, engine }: BatchTransaction): Promise<void> {
  const rows = await loadStepsOfBatch(tx, draft.batch.id)
  await addSteps(engine, tx, draft, { rows, short: [] })
}

async function addSteps(
  engine: Engine,
  tx: Tx,
  draft: Draft,
  loaded: LoadedSteps,
  newIds: ReadonlySet<number> = new Set(),
): Promise<void> {
  const { rows, short } = loaded
  for (const version of versionsOf(loaded)) {
    if (draft.runbooks.has(version)) continue
    const runbook = await engine.runbooks.get(tx, draft.batch.runbookName, version)
    draft.runbooks.set(version, runbook)
  }
  const listFor = listsOf(draft)
  const steps: Step[] = []
  for (const row of rows) {
    const definition = definitionIn(row) ?? definitionOfPhaseStep(listFor(row), row.stepName, row)
    steps.push(stepOf(row, definition))
  }
  for (const one of short) {
    const list = listFor(one)
    const name = list?.[one.place]?.name ?? `at place ${one.place}`
    steps.push(stepInShort(one, definitionOfPhaseStep(list, name, one)))
  }
  // By id, so that what is decided does not depend on the order in which the database finds rows.
  steps.sort((a, b) => a.id - b.id)
  for (const step of steps) draft.addStep(step, newIds.has(step.id))
}

function stepInShort(
  { id, phaseId, memberId, wait, job }: ShortStep,
  definition: StepDefinition,
): Step {
  const step = pendingStep(definition, { id, kind: 'phase', phaseId, memberId })
  step.wait = wait
  if (job === null) return step
  step.status = 'dispatched'
  step.attempt = job.attempt
  step.retryCount = job.retryCount
  step.wasTaken = job.wasTaken
  step.jobId = job.jobId
  step.deadlineAt = job.deadlineAt
  return step
}

function versionsOf({ rows, short }: LoadedSteps): ReadonlySet<number> {
  const versions = new Set<number>()
  for (const { runbookVersion } of rows) versions.add(runbookVersion)
  for (const { runbookVersion } of short) versions.add(runbookVersion)
  return versions
}

type PhaseStep = Pick<StepRow, 'id' | 'phaseId' | 'runbookVersion'>
type Definitions = ReturnType<typeof runbookStepsFor>

/** The runbook's list that a phase step stands in, looked up once for a run of steps of one phase and version. */
function listsOf(draft: Draft): (step: PhaseStep) => Definitions {
  let last: { phaseId: number | null; runbookVersion: number; list: Definitions } | undefined
  return ({ phaseId, runbookVersion }) => {
    // Step after step is of the same phase.
    if (last?.phaseId !== phaseId || last.runbookVersion !== runbookVersion) {
      const list = runbookStepsFor(
        draft,
        { kind: 'phase', phaseId, originStepId: null },
        runbookVersion,
      )
      last = { phaseId, runbookVersion, list }
    }
    return last.list
  }
}

function definitionOfPhaseStep(
  list: Definitions,
  stepName: string,
  { id, runbookVersion }: PhaseStep,
): StepDefinition {
  const definition = list && definitionNamed(list, stepName, runbookVersion)
  if (definition) return definition
  throw new Error(`version ${runbookVersion} has no phase step "${stepName}" (step ${id})`)
}

/** Takes back the jobs that no worker has taken, of the whole batch or of some members. Bounded by the workers' windows. */
export async function withdrawJobs(
  batchTx: BatchTransaction,
  why: string,
  memberIds?: readonly number[],
): Promise<void> {
  const { tx, draft, engine } = batchTx
  if (!engine.canWithdraw) return
  // A job that this very change has settled is still out by the table: its deadline passed, say, and that blew the fuse.
  const out = (await listOutstandingJobs(tx, draft.batch.id, memberIds)).filter(({ stepId }) => {
    const step = draft.steps.get(stepId)
    return step === undefined || isUnsettled(step)
  })
  if (out.length === 0) return
  const taken = new Set(
    await withdraw(
      tx,
      'worker-jobs',
      out.map(({ jobId }) => jobId),
    ),
  )
  const back = out.filter(({ jobId }) => taken.has(jobId))
  if (back.length === 0) return
  const members = back.flatMap(({ memberId }) => (memberId === null ? [] : [memberId]))
  await loadMembersWithSteps(batchTx, members, { stepIds: back.map(({ stepId }) => stepId) })
  if (members.length < back.length) await loadBatchSteps(batchTx)
  for (const { stepId } of back) onWithdrawn(draft, draft.steps.get(stepId)!, why)
}
