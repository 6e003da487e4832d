// Steps for members, set-based: everybody of a phase that has started, in chunks, or some members in every phase that has.
// One function writes the rows, so repeats and races create nothing twice and miss nobody.
import { listMemberIds } from '../db/batches.ts'
import { lockExpansion } from '../db/phases.ts'
import { insertPhaseSteps, listWithoutSteps } from '../db/steps.ts'
import { definitionsOfPhase, pendingStep } from '../domain/decide/definitions.ts'
import { hasBegun, isEffective, queueNextOfMember } from '../domain/decide/next.ts'
import type { Phase, StepDefinition } from '../domain/facts.ts'
import type { BatchTransaction, Engine } from './engine.ts'
import { requireExclusive } from './engine.ts'
import { loadMembersWithSteps, refreshExpansionMarks } from './loading.ts'
import { changeMembers } from './locking.ts'

/** Members per transaction: some thousands of rows, a few tenths of a second, memory that does not grow with the batch. */
const MEMBERS_PER_CHUNK = 500

/**
 * Rows for these members in every phase that has started: whoever joins late or comes back catches up in order. In phases that
 * have not started only the steps that `early` picks (those a member who moves has passed elsewhere). All of the members' steps
 * are among the facts afterwards.
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
    const wanted = hasBegun(phase)
      ? definitions
      : definitions.filter((definition) => early(phase, definition))
    if (wanted.length > 0) await writeSteps(batchTx, phase, memberIds, wanted, newIds)
  }
  await loadMembersWithSteps(batchTx, memberIds, { all: true, newIds })
}

/**
 * The same for those who have just joined, in the phases where they have no step yet. A phase that was written while the message about
 * the joining was on its way has given them theirs, of the version of that time: a later version asks no more of them than of
 * everybody else who was there (seed 520: a completed batch was opened again for one member's new step).
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

/**
 * The same for members whose steps are among the facts: the new ones come to them. Nothing is known of a row that was just written
 * but what was written, so it is not read back: the statement alone took 8.6 µs a step.
 */
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
 * Whoever joined after another phase was written needs its steps there as well: the message about the joining may still be on
 * its way, and with the steps of this phase alone the member would skip all earlier ones.
 */
async function catchUp(
  batchTx: BatchTransaction,
  phase: Phase,
  memberIds: readonly number[],
): Promise<void> {
  const { tx, draft } = batchTx
  for (const other of draft.phases) {
    const isWritten = hasBegun(other) && !(other.status === 'dispatched' && !other.expandedAt)
    if (other === phase || !isWritten || !isEffective(draft, other)) continue
    const later = memberIds.filter((id) => id > other.expandedThrough)
    if (later.length === 0) continue
    const without = await listWithoutSteps(tx, other.id, later)
    if (without.length > 0)
      await addSteps(batchTx, other, without, definitionsOfPhase(draft, other))
  }
}

/** Writes the next chunk of a phase that has started, beside others who change members. False when there was nothing left to do. */
export async function expandPhase(
  engine: Engine,
  batchId: number,
  phaseId: number,
  actor: string,
): Promise<boolean> {
  return changeMembers(engine, batchId, actor, async (batchTx) => {
    const { tx, draft } = batchTx
    const phase = draft.phase(phaseId)
    if (phase.status !== 'dispatched' || phase.expandedAt !== null) return false
    await lockExpansion(tx, phaseId)
    await refreshExpansionMarks(tx, draft)
    const ids = await listMemberIds(tx, batchId, 'active', phase.expandedThrough, MEMBERS_PER_CHUNK)
    const isLast = ids.length < MEMBERS_PER_CHUNK
    // The end of writing may be the end of the phase.
    if (isLast) requireExclusive(batchTx)
    if (ids.length > 0) await writeChunk(batchTx, phase, ids)
    draft.changePhase(phase, {
      expandedThrough: ids.at(-1) ?? phase.expandedThrough,
      ...(isLast && { expandedAt: draft.now }),
    })
    // After the mark has moved: whoever did this phase before (a joiner, one who came back) may wait in a later one for it.
    for (const id of ids) queueNextOfMember(draft, draft.member(id))
    if (isLast) draft.note('expanded', 'the steps of every member are written', { phaseId })
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
