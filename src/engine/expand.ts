// Expansion: writing members' steps. A started phase is expanded for all its members in chunks; joiners and returning members get their
// steps in all started phases. Repeats and races create no step twice and miss nobody.
import { listMemberIds } from '../db/batches.ts'
import { lockExpansion } from '../db/phases.ts'
import { insertPhaseSteps, listWithoutSteps } from '../db/steps.ts'
import { definitionsOfPhase, pendingStep } from '../domain/decide/definitions.ts'
import { hasBegun, isEffective, queueNextOfMember } from '../domain/decide/next.ts'
import { isBeingExpanded, type Phase, type StepDefinition } from '../domain/facts.ts'
import type { BatchTransaction, Engine } from './engine.ts'
import { requireExclusive } from './engine.ts'
import { loadMembersWithSteps, refreshExpansionMarks } from './loading.ts'
import { changeBatch, changeMembers } from './locking.ts'

/** Members per transaction: some thousands of rows, a few tenths of a second, bounded memory. */
const MEMBERS_PER_CHUNK = 500

/**
 * Writes these members' steps in every phase that has started, and in other phases only those that `early` picks (a moving member
 * has passed them elsewhere). Loads all of the members' steps.
 */
export async function ensureSteps(
  batchTx: BatchTransaction,
  memberIds: readonly number[],
  early: (phase: Phase, definition: StepDefinition) => boolean = () => false,
): Promise<void> {
  const { draft } = batchTx
  const newIds = new Set<number>()
  for (const phase of draft.phases) {
    if (!isEffective(draft, phase)) continue
    const definitions = definitionsOfPhase(draft, phase)
    const toWrite = hasBegun(phase)
      ? definitions
      : definitions.filter((definition) => early(phase, definition))
    if (toWrite.length > 0) await writeSteps(batchTx, phase, memberIds, toWrite, newIds)
  }
  await loadMembersWithSteps(batchTx, memberIds, { all: true, newIds })
}

/**
 * The same for joiners, only in phases where they have no step yet. A phase expanded while their message was on its way has given
 * them steps of that time's version; a later version adds none (seed 520: one member's new step reopened a completed batch).
 */
export async function ensureStepsOfJoiners(
  batchTx: BatchTransaction,
  memberIds: readonly number[],
): Promise<void> {
  const { tx, draft } = batchTx
  const newIds = new Set<number>()
  for (const phase of draft.phases) {
    if (!isEffective(draft, phase) || !hasBegun(phase)) continue
    const without = await listWithoutSteps(tx, phase.id, memberIds)
    if (without.length > 0)
      await writeSteps(batchTx, phase, without, definitionsOfPhase(draft, phase), newIds)
  }
  await loadMembersWithSteps(batchTx, memberIds, { all: true, newIds })
}

async function writeSteps(
  { tx, draft }: BatchTransaction,
  phase: Phase,
  memberIds: readonly number[],
  definitions: readonly StepDefinition[],
  newIds: Set<number>,
): Promise<void> {
  const { ids } = await insertPhaseSteps(tx, draft.batch.id, phase.id, memberIds, definitions)
  for (const id of ids) newIds.add(id)
}

/** Writes steps of loaded members and adds them to the draft without reading them back: that statement took 8.6 µs a step. */
async function addSteps(
  { tx, draft }: BatchTransaction,
  phase: Phase,
  members: readonly number[],
  definitions: readonly StepDefinition[],
): Promise<void> {
  const byPlace = new Map(definitions.map((definition) => [definition.stepIndex, definition]))
  const written = await insertPhaseSteps(tx, draft.batch.id, phase.id, members, definitions)
  const { ids, memberIds, places } = written
  for (const [at, id] of ids.entries()) {
    const owner = { id, kind: 'phase', phaseId: phase.id, memberId: memberIds[at]! } as const
    draft.addStep(pendingStep(byPlace.get(places[at]!)!, owner), true)
  }
}

/**
 * A member who joined after another phase was expanded needs its steps there too: the message about the joiner may still be on its
 * way, and with this phase's steps alone the member would skip all earlier ones.
 */
async function catchUp(
  batchTx: BatchTransaction,
  phase: Phase,
  memberIds: readonly number[],
): Promise<void> {
  const { tx, draft } = batchTx
  for (const other of draft.phases) {
    const isExpanded = hasBegun(other) && !isBeingExpanded(other)
    if (other === phase || !isExpanded || !isEffective(draft, other)) continue
    const later = memberIds.filter((id) => id > other.expandedThrough)
    if (later.length === 0) continue
    const without = await listWithoutSteps(tx, other.id, later)
    if (without.length > 0)
      await addSteps(batchTx, other, without, definitionsOfPhase(draft, other))
  }
}

/**
 * Writes a started phase's next chunk, under the shared lock except for the last. False when nothing is left to do. `membersActive`
 * tells whether the first chunk is the last: then the shared lock is not tried.
 */
export async function expandPhase(
  engine: Engine,
  batchId: number,
  phaseId: number,
  actor: string,
  membersActive = MEMBERS_PER_CHUNK,
): Promise<boolean> {
  const change = membersActive < MEMBERS_PER_CHUNK ? changeBatch : changeMembers
  return change(engine, batchId, actor, async (batchTx) => {
    const { tx, draft } = batchTx
    const phase = draft.phase(phaseId)
    if (phase.status !== 'dispatched' || phase.expandedAt !== null) return false
    await lockExpansion(tx, phaseId)
    await refreshExpansionMarks(tx, draft)
    const ids = await listMemberIds(tx, batchId, 'active', phase.expandedThrough, MEMBERS_PER_CHUNK)
    const isLast = ids.length < MEMBERS_PER_CHUNK
    // The end of expansion may be the end of the phase.
    if (isLast) requireExclusive(batchTx)
    if (ids.length > 0) await writeChunk(batchTx, phase, ids)
    draft.changePhase(phase, {
      expandedThrough: ids.at(-1) ?? phase.expandedThrough,
      ...(isLast && { expandedAt: draft.now }),
    })
    // After the mark: a member who passed this phase before (a joiner, a rejoiner) may wait for it in a later one.
    for (const id of ids) queueNextOfMember(draft, draft.member(id))
    if (isLast) draft.note('expanded', 'every member has its steps', { phaseId })
    return !isLast
  })
}

async function writeChunk(
  batchTx: BatchTransaction,
  phase: Phase,
  ids: readonly number[],
): Promise<void> {
  await loadMembersWithSteps(batchTx, ids, { all: true })
  await addSteps(batchTx, phase, ids, definitionsOfPhase(batchTx.draft, phase))
  await catchUp(batchTx, phase, ids)
}
