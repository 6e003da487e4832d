// Loading: batches with their phases, then members, steps and their definitions, into the drafts; several batches with the same
// statements. Statements go to the connection in the order of the code, so that whatever is read after a lock is read under it.

import { MatoolkitError } from '../../base/errors/errors.ts'
import type { Tx } from '../../db/connection/db.ts'
import { copyCounters } from '../../db/state/counters.ts'
import { type LockedBatch, loadMembers, loadPhasesOf } from '../../db/state/facts.ts'
import { loadHoldsOf } from '../../db/state/holds.ts'
import { loadMarks } from '../../db/state/phases.ts'
import {
  definitionIn,
  type LoadedSteps,
  loadStepsOfBatch,
  loadStepsOfMembers,
  type ShortStep,
  type StepRow,
  type StepsToLoad,
  stepOf,
} from '../../db/state/step-facts.ts'
import { definitionNamed, pendingStep, runbookStepsFor } from '../../domain/decide/definitions.ts'
import { Draft, type DraftFacts } from '../../domain/decide/draft.ts'
import type { Runbook } from '../../domain/runbook/read.ts'
import { hasConditions } from '../../domain/runbook/steps.ts'
import {
  type Batch,
  isBeingExpanded,
  type Phase,
  type Step,
  type StepDefinition,
} from '../../domain/state/facts.ts'
import { holdsAmong } from '../../domain/state/holds.ts'
import type { BatchAccess, BatchTransaction, Engine } from './engine.ts'
import { windowStateOf } from './window-state.ts'

interface BatchesToLoad {
  readonly locking: Promise<readonly LockedBatch[]>
  readonly batchIds: readonly number[]
  readonly actor: string
  readonly access: BatchAccess
}

/** The batches that `locking` is about to lock, their phases and their versions of the runbook, in the order of `batchIds`. */
export async function loadBatches(
  engine: Engine,
  tx: Tx,
  { locking, batchIds, actor, access }: BatchesToLoad,
): Promise<BatchTransaction[]> {
  const now = engine.clock.now()
  const [locked, phases, holds, factsOf] = await Promise.all([
    locking,
    loadPhasesOf(tx, batchIds),
    loadHoldsOf(tx, batchIds),
    engine.functions.factsOf(tx, now),
  ])
  const byId = new Map(locked.map((batch) => [batch.id, batch]))
  const batchTxs: BatchTransaction[] = []
  for (const batchId of batchIds) {
    const batch = byId.get(batchId)
    if (!batch) throw new MatoolkitError('BATCH_NOT_FOUND', { batchId })
    const draft = await draftOf(engine, tx, batch, phases.get(batchId)!, { actor, now, factsOf })
    draft.holds = holdsAmong(holds, draft.batch)
    setWindow(engine, draft)
    const countsLoaded = new Map(draft.phases.map((phase) => [phase.id, copyCounters(phase)]))
    batchTxs.push({ tx, draft, engine, freeSlots: new Map(), access, countsLoaded })
  }
  return batchTxs
}

/** By the batch's version: call it again after an upgrade. */
export function setWindow(engine: Engine, draft: Draft): void {
  const { batch, runbooks, now } = draft
  draft.window = windowStateOf(engine, runbooks.get(batch.runbookVersion)!, batch, now)
}

async function draftOf(
  engine: Engine,
  tx: Tx,
  batch: LockedBatch,
  phases: readonly Phase[],
  { actor, now, factsOf }: Pick<DraftFacts, 'actor' | 'now' | 'factsOf'>,
): Promise<Draft> {
  if (batch.epoch === null) throw new MatoolkitError('DATABASE_RESTORED')
  const versions = new Set([
    batch.runbookVersion,
    batch.activeVersion,
    ...phases.map((phase) => phase.runbookVersion),
  ])
  const runbooks = new Map<number, Runbook>()
  for (const version of versions) {
    runbooks.set(version, await engine.runbooks.get(tx, batch.runbookName, version))
  }
  const { random, queueLimitSec } = engine
  return new Draft({
    now,
    actor,
    ...(factsOf && { factsOf }),
    batch: batch as Batch,
    phases,
    runbooks,
    random,
    queueLimitSec,
  })
}

interface LoadOptions extends Omit<StepsToLoad, 'onlyNext'> {
  /** Steps that this transaction inserted. */
  readonly newIds?: ReadonlySet<number>
  /** Skip members that another transaction has locked, rather than wait for them. */
  readonly isOptional?: boolean
}

/** Loads members with their steps. Under a shared lock the members are locked first. */
export async function loadMembersWithSteps(
  batchTx: BatchTransaction,
  memberIds: readonly number[],
  options: LoadOptions = {},
): Promise<void> {
  await loadMembersTogether([{ batchTx, memberIds }], options)
}

/** Members of one of several batches in the same transaction. */
export interface MembersToLoad {
  readonly batchTx: BatchTransaction
  readonly memberIds: readonly number[]
}

/** The same for several batches, all with the same access. */
export async function loadMembersTogether(
  wanted: readonly MembersToLoad[],
  options: LoadOptions = {},
): Promise<void> {
  const ownerOf = new Map<number, BatchTransaction>()
  for (const { batchTx, memberIds } of wanted) {
    const { members } = batchTx.draft
    for (const id of memberIds) if (options.newIds || !members.has(id)) ownerOf.set(id, batchTx)
  }
  if (ownerOf.size === 0) return
  const owners = [...new Set(ownerOf.values())]
  const [{ tx, access }] = owners as [BatchTransaction]
  const isShared = access === 'shared'
  const missing = [...ownerOf.keys()]
  const lock = isShared ? (options.isOptional ? 'skip' : 'wait') : 'none'
  // Ending, failing or stopping a member needs all of its steps, and the exclusive lock.
  const drafts = owners.map(({ draft }) => draft)
  // A step that its conditions leave out is followed by the next one in the same transaction.
  const mayLeaveOut = drafts.some(({ runbooks }) => [...runbooks.values()].some(hasConditions))
  const onlyNext = isShared && options.newIds === undefined && !mayLeaveOut
  const stepsToLoad = { ...options, onlyNext }
  const locking = loadMembers(tx, missing, lock)
  const ids = lock === 'skip' ? (await locking).map(({ id }) => id) : missing
  const batchIds = drafts.map(({ batch }) => batch.id)
  const [members, steps] = await Promise.all([
    locking,
    loadStepsOfMembers(tx, batchIds, ids, stepsToLoad),
    isShared && refreshExpansionMarks(tx, drafts),
  ])
  for (const member of members) ownerOf.get(member.id)!.draft.addMembers([member])
  for (const [owner, own] of stepsBy(owners, ownerOf, steps))
    await addSteps(owner, own, options.newIds)
}

function stepsBy(
  owners: readonly BatchTransaction[],
  ownerOf: ReadonlyMap<number, BatchTransaction>,
  { rows, short }: LoadedSteps,
): Map<BatchTransaction, LoadedSteps> {
  if (owners.length === 1) return new Map([[owners[0]!, { rows, short }]])
  const parts = new Map(
    owners.map((owner) => [owner, { rows: [] as StepRow[], short: [] as ShortStep[] }]),
  )
  for (const row of rows) parts.get(ownerOf.get(row.memberId!)!)!.rows.push(row)
  for (const step of short) parts.get(ownerOf.get(step.memberId)!)!.short.push(step)
  return parts
}

/** Loads the init steps and the rollback of init. */
export async function loadBatchSteps(batchTx: BatchTransaction): Promise<void> {
  const rows = await loadStepsOfBatch(batchTx.tx, batchTx.draft.batch.id)
  await addSteps(batchTx, { rows, short: [] })
}

/** Reads again how far phases are expanded: a transaction that shares the batch may have gone further, but not past locked members. */
export async function refreshExpansionMarks(tx: Tx, drafts: readonly Draft[]): Promise<void> {
  const expanding = drafts.filter(({ phases }) => phases.some(isBeingExpanded))
  if (expanding.length === 0) return
  const marks = await loadMarks(
    tx,
    expanding.map(({ batch }) => batch.id),
  )
  for (const { phases } of expanding)
    for (const phase of phases.filter(isBeingExpanded)) phase.expandedThrough = marks.get(phase.id)!
}

async function addSteps(
  { engine, tx, draft }: BatchTransaction,
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
  for (const row of short) {
    const list = listFor(row)
    const name = list?.[row.place]?.name ?? `at place ${row.place}`
    steps.push(stepInShort(row, definitionOfPhaseStep(list, name, row)))
  }
  // By id: a decision must not depend on the order in which the database finds rows.
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
  step.mayHaveEffect = job.mayHaveEffect
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
type StepList = ReturnType<typeof runbookStepsFor>

/** The runbook's list of a phase step. Steps come phase by phase, so the last list is mostly the next one too. */
function listsOf(draft: Draft): (step: PhaseStep) => StepList {
  let last: { phaseId: number | null; runbookVersion: number; list: StepList } | undefined
  return ({ phaseId, runbookVersion }) => {
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
  list: StepList,
  stepName: string,
  { id, runbookVersion }: PhaseStep,
): StepDefinition {
  const definition = list && definitionNamed(list, stepName, runbookVersion)
  if (definition) return definition
  throw new Error(`version ${runbookVersion} has no phase step "${stepName}" (step ${id})`)
}
