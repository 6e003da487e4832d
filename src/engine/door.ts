// The one door through which a batch changes: lock the batch, load the facts, decide, write the moves, the counters, the events
// and the outgoing messages, all in one transaction. Orchestrator, scheduler and API come in here; nothing else writes a status.

import { ORCHESTRATOR_EVENTS, type Send } from '../bus/bus.ts'
import { enqueueNew, hint, withdraw } from '../bus/outbox.ts'
import { writeChanges } from '../db/changes.ts'
import { time } from '../db/columns.ts'
import { type Counts, copyCounts } from '../db/counts.ts'
import type { Db, Tx } from '../db/db.ts'
import { loadMembers, loadPhases, lockBatch } from '../db/facts.ts'
import { loadMarks } from '../db/phases.ts'
import {
  type LoadedSteps,
  loadStepsOfBatch,
  loadStepsOfMembers,
  planIn,
  type ShortStep,
  type StepRow,
  stepOf,
  type Wanted,
} from '../db/step-facts.ts'
import {
  countOutstanding,
  findContended,
  listBatchesWaiting,
  listOutstandingJobs,
  listQueued,
} from '../db/waits.ts'
import { findWorkerLimit } from '../db/workers.ts'
import { Draft, type JobRecord } from '../domain/decide/draft.ts'
import { checkFuse, close, count } from '../domain/decide/finish.ts'
import { listOf, pendingStep, planNamed } from '../domain/decide/plan.ts'
import { sendQueued } from '../domain/decide/send.ts'
import { onWithdrawn } from '../domain/decide/settle.ts'
import { slotsToReuse } from '../domain/decide/window.ts'
import { type Batch, isUnsettled, type Phase, type Step, type StepPlan } from '../domain/facts.ts'
import type { Json } from '../domain/json.ts'
import type { Runbook } from '../domain/runbook.ts'
import { MatoolkitError } from '../errors.ts'
import { requireNobodyElsewhere } from './reopening.ts'
import type { RunbookCache } from './runbook-cache.ts'
import { changeVersion, isBehind } from './transition.ts'

export interface Door {
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

export interface Visit {
  readonly tx: Tx
  readonly draft: Draft
  readonly door: Door
  /** Slots this change may use besides those it frees, by worker. */
  readonly room: Map<string, number>
  /** False when others may be changing other members of the batch at the same time: see beside.ts. */
  readonly isAlone: boolean
  /** The phases' counters as they were read, by the phase's id. */
  readonly countsLoaded: ReadonlyMap<number, Counts>
}

/** Runs one change of one batch. What `work` returns is returned once everything is committed. */
export async function changeBatch<T>(
  door: Door,
  batchId: number,
  actor: string,
  work: (visit: Visit) => Promise<T>,
): Promise<T> {
  return door.db.transaction(async (tx) => {
    const visit = await enter(door, tx, batchId, actor)
    const result = await work(visit)
    await leave(visit)
    return result
  })
}

/**
 * Locks the batch, loads what every decision needs, and puts the batch on the active version if it is not yet. For changes of two
 * batches at once; else use `changeBatch`. Whoever enters leaves or throws: some of the version's rows are written here already.
 */
export async function enter(door: Door, tx: Tx, batchId: number, actor: string): Promise<Visit> {
  const visit = await makeVisit(door, tx, lockBatch(tx, batchId), batchId, actor, true)
  if (isBehind(visit.draft.batch)) await takeVersion(visit)
  return visit
}

/** The facts about a batch that is being locked, alone or shared. */
export async function makeVisit(
  door: Door,
  tx: Tx,
  locking: Promise<Batch | null>,
  batchId: number,
  actor: string,
  isAlone: boolean,
): Promise<Visit> {
  const [batch, phases] = await Promise.all([locking, loadPhases(tx, batchId)])
  if (!batch) throw new MatoolkitError('BATCH_NOT_FOUND', { batchId })
  const versions = new Set([
    batch.runbookVersion,
    batch.activeVersion,
    ...phases.map((phase) => phase.runbookVersion),
  ])
  const runbooks = new Map<number, Runbook>()
  for (const version of versions) {
    runbooks.set(version, await door.runbooks.get(tx, batch.runbookName, version))
  }
  const { random } = door
  const draft = new Draft({ now: door.clock.now(), actor, batch, phases, runbooks, random })
  const countsLoaded = new Map(phases.map((phase) => [phase.id, copyCounts(phase)]))
  return { tx, draft, door, room: new Map(), isAlone, countsLoaded }
}

/** The active version for a batch under way. `how` overrules what its publisher decided. */
export async function takeVersion(
  visit: Visit,
  how: Parameters<typeof changeVersion>[3] = {},
): Promise<void> {
  await bringBatchSteps(visit)
  await changeVersion(visit.tx, visit.draft, (ids) => bringMembers(visit, ids), how)
}

/** Counts, closes, sends what may be sent, and writes everything. */
export async function leave(visit: Visit): Promise<void> {
  const { tx, draft } = visit
  count(draft)
  checkFuse(draft)
  if (draft.wantsWithdrawal)
    await callBackJobs(visit, `the batch is held: ${draft.batch.heldReason}`)
  await sendInRoom(visit)
  count(draft)
  close(draft)
  const sends = jobMessages(draft)
  await Promise.all([writeChanges(tx, draft), sends.length > 0 && enqueueNew(tx, sends, draft.now)])
  await requireNobodyElsewhere(visit)
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
export async function sendInRoom(visit: Visit): Promise<void> {
  await useFreedSlots(visit)
  sendQueued(visit.draft, visit.room)
  await useSlotsLeft(visit)
}

/** A job that ended leaves a slot; it is used again at once, within the batch's fair part while another batch waits too. */
async function useFreedSlots(visit: Visit): Promise<void> {
  const { tx, draft, room } = visit
  if (draft.attempts.length === 0) return
  const freed = new Map<string, number>()
  for (const { workerId } of draft.attempts) freed.set(workerId, (freed.get(workerId) ?? 0) + 1)
  const contended = await findContended(tx, [...freed.keys()], draft.batch.id)
  for (const [workerId, slots] of freed) {
    const usable = contended.has(workerId) ? await fairPart(visit, workerId, slots) : slots
    room.set(workerId, (room.get(workerId) ?? 0) + usable)
  }
}

async function fairPart(
  { tx, draft, door }: Visit,
  workerId: string,
  freed: number,
): Promise<number> {
  const waiting = await listBatchesWaiting(tx, workerId)
  const rivals = waiting.filter((batchId) => batchId !== draft.batch.id).length
  // The jobs that ended are still among those that are out: their rows go when this change is written.
  const out = (await countOutstanding(tx, workerId)).get(draft.batch.id) ?? 0
  const limit = (await findWorkerLimit(tx, workerId)) ?? door.maxOutstanding
  return slotsToReuse(limit, rivals, out - freed, freed)
}

/**
 * Slots that the members at hand left over (theirs was the last step for now) go to members of the same batch that wait for one.
 * Filling them in a transaction of its own cost a third more transactions on a batch larger than the window.
 */
async function useSlotsLeft(visit: Visit): Promise<void> {
  const { tx, draft, room, isAlone } = visit
  if (draft.batch.heldAt !== null) return
  for (const [workerId, left] of room) {
    if (left <= 0) continue
    const lock = isAlone ? 'none' : 'take'
    const queued = await listQueued(tx, workerId, draft.batch.id, left, lock)
    const fresh = queued.filter(({ stepId }) => !draft.steps.has(stepId))
    if (fresh.length === 0) continue
    const memberIds = fresh.flatMap(({ memberId }) => memberId ?? [])
    // Somebody beside us may be at one of them, and may want one of ours: waiting for each other would never end.
    await bringMembers(visit, memberIds, { isOptional: true })
    if (fresh.some(({ memberId }) => memberId === null)) await bringBatchSteps(visit)
    sendQueued(draft, room)
  }
}

export const jobMessages = ({ batch, jobs }: Draft): Send[] =>
  jobs.map((job) => jobMessage(batch, job))

function jobMessage(
  batch: Batch,
  { jobId, step, functionName, params, notAfter }: JobRecord,
): Send {
  const owner = step.kind === 'init' ? { initExecutionId: step.id } : { stepExecutionId: step.id }
  return {
    topic: 'worker-jobs',
    messageId: jobId,
    type: 'worker-job',
    workerId: step.plan.workerId,
    expiresAt: notAfter,
    body: {
      jobId,
      batchId: batch.id,
      workerId: step.plan.workerId,
      functionName,
      parameters: params as { [key: string]: Json },
      notAfter: time(notAfter)!,
      correlationData: {
        ...owner,
        isInitStep: step.kind === 'init',
        runbookName: batch.runbookName,
        runbookVersion: step.plan.runbookVersion,
      },
    },
  }
}

interface Bringing extends Omit<Wanted, 'onlyNext'> {
  /** Steps that this transaction inserted. */
  readonly newIds?: ReadonlySet<number>
  /** Members whom somebody beside us has are left out, not waited for. */
  readonly isOptional?: boolean
}

/** Members and their steps into the draft. Unless the batch is ours alone the members are locked first. */
export async function bringMembers(
  { tx, draft, door, isAlone }: Visit,
  memberIds: readonly number[],
  options: Bringing = {},
): Promise<void> {
  const missing = options.newIds ? memberIds : memberIds.filter((id) => !draft.members.has(id))
  if (missing.length === 0) return
  const lock = isAlone ? 'none' : options.isOptional ? 'skip' : 'wait'
  // Whoever ends, fails or stops a member needs all of its steps, and has the batch alone: see beside.ts.
  const wanted = { ...options, onlyNext: !isAlone && options.newIds === undefined }
  // Given to the connection at once, in this order: what is read after the lock is read when the lock is ours.
  const locking = loadMembers(tx, missing, lock)
  const ids = lock === 'skip' ? (await locking).map(({ id }) => id) : missing
  const [members, steps] = await Promise.all([
    locking,
    loadStepsOfMembers(tx, draft.batch.id, ids, wanted),
    !isAlone && refreshMarks(tx, draft),
  ])
  draft.addMembers(members)
  await addSteps(door, tx, draft, steps, options.newIds)
}

const isBeingWritten = ({ status, expandedAt }: Phase): boolean =>
  status === 'dispatched' && expandedAt === null

/** How far the steps of phases are written, as of now: somebody beside us may have gone on, but not past whom we have locked. */
export async function refreshMarks(tx: Tx, draft: Draft): Promise<void> {
  const moving = draft.phases.filter(isBeingWritten)
  if (moving.length === 0) return
  const marks = await loadMarks(tx, draft.batch.id)
  for (const phase of moving) phase.expandedThrough = marks.get(phase.id)!
}

/** Init steps and the rollback of init into the draft. */
export async function bringBatchSteps({ tx, draft, door }: Visit): Promise<void> {
  const rows = await loadStepsOfBatch(tx, draft.batch.id)
  await addSteps(door, tx, draft, { rows, short: [] })
}

async function addSteps(
  door: Door,
  tx: Tx,
  draft: Draft,
  loaded: LoadedSteps,
  newIds: ReadonlySet<number> = new Set(),
): Promise<void> {
  const { rows, short } = loaded
  for (const version of versionsOf(loaded)) {
    if (draft.runbooks.has(version)) continue
    const runbook = await door.runbooks.get(tx, draft.batch.runbookName, version)
    draft.runbooks.set(version, runbook)
  }
  const listFor = listsOf(draft)
  const steps: Step[] = []
  for (const row of rows) {
    const plan = planIn(row) ?? planOfPhaseStep(listFor(row), row.stepName, row)
    steps.push(stepOf(row, plan))
  }
  for (const one of short) {
    const list = listFor(one)
    const name = list?.[one.place]?.name ?? `at place ${one.place}`
    steps.push(stepInShort(one, planOfPhaseStep(list, name, one)))
  }
  // By id, so that what is decided does not depend on the order in which the database finds rows.
  steps.sort((a, b) => a.id - b.id)
  for (const step of steps) draft.addStep(step, newIds.has(step.id))
}

function stepInShort({ id, phaseId, memberId, wait, job }: ShortStep, plan: StepPlan): Step {
  const step = pendingStep(plan, { id, kind: 'phase', phaseId, memberId })
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
type Definitions = ReturnType<typeof listOf>

/** The runbook's list that a phase step stands in, looked up once for a run of steps of one phase and version. */
function listsOf(draft: Draft): (step: PhaseStep) => Definitions {
  let last: { phaseId: number | null; runbookVersion: number; list: Definitions } | undefined
  return ({ phaseId, runbookVersion }) => {
    // Step after step is of the same phase.
    if (last?.phaseId !== phaseId || last.runbookVersion !== runbookVersion) {
      const list = listOf(draft, { kind: 'phase', phaseId, originStepId: null }, runbookVersion)
      last = { phaseId, runbookVersion, list }
    }
    return last.list
  }
}

function planOfPhaseStep(
  list: Definitions,
  stepName: string,
  { id, runbookVersion }: PhaseStep,
): StepPlan {
  const plan = list && planNamed(list, stepName, runbookVersion)
  if (plan) return plan
  throw new Error(`version ${runbookVersion} has no phase step "${stepName}" (step ${id})`)
}

/** Takes back the jobs that no worker has taken, of the whole batch or of some members. Bounded by the workers' windows. */
export async function callBackJobs(
  visit: Visit,
  why: string,
  memberIds?: readonly number[],
): Promise<void> {
  const { tx, draft, door } = visit
  if (!door.canWithdraw) return
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
  await bringMembers(visit, members, { stepIds: back.map(({ stepId }) => stepId) })
  if (members.length < back.length) await bringBatchSteps(visit)
  for (const { stepId } of back) onWithdrawn(draft, draft.steps.get(stepId)!, why)
}
