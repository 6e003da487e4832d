// Expansion: writing members' steps. A started phase is expanded for all its members in chunks; joiners and returning members get their
// steps in all started phases. Repeats and races create no step twice and miss nobody.
import { listActiveAfter } from '../../db/state/members.ts'
import { lockExpansion } from '../../db/state/phases.ts'
import { insertPhaseSteps, listWithoutSteps } from '../../db/state/steps.ts'
import { definitionsOfPhase, pendingStep } from '../../domain/decide/definitions.ts'
import { hasBegun, isEffective, queueNextOfMember } from '../../domain/decide/next.ts'
import { shareText } from '../../domain/decide/ramp.ts'
import {
  hasStepsToWrite,
  isBeingExpanded,
  isBeyondRamp,
  type Phase,
  type StepDefinition,
} from '../../domain/state/facts.ts'
import type { BatchTransaction, Engine } from './engine.ts'
import { requireExclusive } from './engine.ts'
import { loadMembersTogether, loadMembersWithSteps, refreshExpansionMarks } from './loading.ts'
import { inBatches } from './locking.ts'

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
    const ahead = definitions.filter((definition) => early(phase, definition))
    const isTheirTurn = (id: number) => hasBegun(phase) && !isBeyondRamp(phase, id)
    const started = memberIds.filter(isTheirTurn)
    const others = memberIds.filter((id) => !isTheirTurn(id))
    if (started.length > 0) await writeSteps(batchTx, phase, started, definitions, newIds)
    if (ahead.length > 0 && others.length > 0)
      await writeSteps(batchTx, phase, others, ahead, newIds)
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
    const started = memberIds.filter((id) => !isBeyondRamp(phase, id))
    const phases = [{ batchId: draft.batch.id, phaseId: phase.id, memberIds: started }]
    const without = started.length === 0 ? [] : await listWithoutSteps(tx, phases)
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
  const phases = [{ batchId: draft.batch.id, phaseId: phase.id, memberIds }]
  const { ids } = await insertPhaseSteps(tx, phases, definitions)
  for (const id of ids) newIds.add(id)
}

/** The next members of a phase. */
interface Chunk {
  readonly batchTx: BatchTransaction
  readonly phase: Phase
  readonly memberIds: readonly number[]
}

/** Writes steps of loaded members and adds them to the drafts without reading them back: that statement took 8.6 µs a step. */
async function addSteps(chunks: readonly Chunk[]): Promise<void> {
  const listed = chunks.map((chunk) => {
    const { draft } = chunk.batchTx
    const definitions = definitionsOfPhase(draft, chunk.phase)
    const version = definitions[0]?.runbookVersion
    return {
      ...chunk,
      definitions,
      list: `${draft.batch.runbookName}@${version}/${chunk.phase.name}`,
    }
  })
  for (const same of Map.groupBy(listed, ({ list }) => list).values()) {
    const { batchTx, definitions } = same[0]!
    const chunkOf = new Map(same.flatMap((chunk) => chunk.memberIds.map((id) => [id, chunk])))
    const byPlace = new Map(definitions.map((definition) => [definition.stepIndex, definition]))
    const phases = same.map(({ batchTx: { draft }, phase, memberIds }) => ({
      batchId: draft.batch.id,
      phaseId: phase.id,
      memberIds,
    }))
    const { ids, memberIds, places } = await insertPhaseSteps(batchTx.tx, phases, definitions)
    for (const [at, id] of ids.entries()) {
      const memberId = memberIds[at]!
      const { batchTx, phase } = chunkOf.get(memberId)!
      const owner = { id, kind: 'phase', phaseId: phase.id, memberId } as const
      batchTx.draft.addStep(pendingStep(byPlace.get(places[at]!)!, owner), true)
    }
  }
}

/**
 * A member who joined after another phase was expanded needs its steps there too: the message about the joiner may still be on its
 * way, and with this phase's steps alone the member would skip all earlier ones.
 */
async function catchUp({ batchTx, phase, memberIds }: Chunk): Promise<void> {
  const { tx, draft } = batchTx
  for (const other of draft.phases) {
    const isExpanded = hasBegun(other) && !isBeingExpanded(other)
    if (other === phase || !isExpanded || !isEffective(draft, other)) continue
    const later = memberIds.filter((id) => id > other.expandedThrough)
    if (later.length === 0) continue
    const phases = [{ batchId: draft.batch.id, phaseId: other.id, memberIds: later }]
    const without = await listWithoutSteps(tx, phases)
    if (without.length > 0) await addSteps([{ batchTx, phase: other, memberIds: without }])
  }
}

/** A started phase whose steps are not all written. */
export interface PhaseToExpand {
  readonly id: number
  readonly batchId: number
}

/** Whether one transaction writes the steps of all members: then the batch's exclusive lock is taken at once. */
export const isSmall = (membersActive: number): boolean => membersActive < MEMBERS_PER_CHUNK

/** Members whose steps are written in one transaction, of all phases. */
export const EXPANDED_TOGETHER = MEMBERS_PER_CHUNK

/** Writes all steps of small phases, one of each batch, in one transaction. */
export function expandSmall(
  engine: Engine,
  phases: readonly PhaseToExpand[],
  actor: string,
): Promise<void> {
  const batchIds = phases.map(({ batchId }) => batchId)
  return inBatches(engine, { batchIds, actor, lock: 'exclusive' }, (batchTxs) =>
    writeChunks(batchTxs.map((batchTx, at) => ({ batchTx, phaseId: phases[at]!.id }))),
  )
}

/** Writes a started phase's next chunk, under the shared lock except for the last. */
export function expandLarge(
  engine: Engine,
  { id, batchId }: PhaseToExpand,
  actor: string,
): Promise<void> {
  const order = { batchIds: [batchId], actor, lock: 'shared-first' } as const
  return inBatches(engine, order, async ([batchTx]) => {
    const { tx, draft, access } = batchTx!
    if (access !== 'exclusive') {
      await lockExpansion(tx, id)
      await refreshExpansionMarks(tx, [draft])
    }
    await writeChunks([{ batchTx: batchTx!, phaseId: id }])
  })
}

async function writeChunks(
  phases: readonly { readonly batchTx: BatchTransaction; readonly phaseId: number }[],
): Promise<void> {
  const open = phases
    .map(({ batchTx, phaseId }) => ({ batchTx, phase: batchTx.draft.phase(phaseId) }))
    .filter(({ phase }) => hasStepsToWrite(phase))
  if (open.length === 0) return
  const marks = open.map(({ batchTx: { draft }, phase }) => ({
    batchId: draft.batch.id,
    after: phase.expandedThrough,
    through: phase.rampThrough,
  }))
  const active = await listActiveAfter(open[0]!.batchTx.tx, marks, MEMBERS_PER_CHUNK)
  const chunks = open.map((one) => ({ ...one, memberIds: active.get(one.batchTx.draft.batch.id)! }))
  // The end of expansion may be the end of the phase.
  for (const { batchTx, memberIds } of chunks) if (isLast(memberIds)) requireExclusive(batchTx)
  await loadMembersTogether(chunks, { all: true })
  await addSteps(chunks.filter(({ memberIds }) => memberIds.length > 0))
  for (const chunk of chunks) {
    await catchUp(chunk)
    endChunk(chunk)
  }
}

const isLast = (memberIds: readonly number[]): boolean => memberIds.length < MEMBERS_PER_CHUNK

function endChunk({ batchTx: { draft }, phase, memberIds }: Chunk): void {
  const isEnd = isLast(memberIds)
  const isShare = phase.rampThrough !== null
  draft.changePhase(phase, {
    expandedThrough:
      isEnd && isShare ? phase.rampThrough! : (memberIds.at(-1) ?? phase.expandedThrough),
    ...(isEnd && !isShare && { expandedAt: draft.now }),
  })
  // After the mark: a member who passed this phase before (a joiner, a rejoiner) may wait for it in a later one.
  for (const id of memberIds) queueNextOfMember(draft, draft.member(id))
  const whose = isShare ? `every member of ${shareText(phase)}` : 'every member'
  if (isEnd) draft.note('expanded', `${whose} has its steps`, { phaseId: phase.id })
}
