// Upgrading a batch to the active version of its runbook: once, in the first transaction that locks the batch exclusively after the
// publishing, before anything else is decided. So nothing acts on a batch that is behind.

import { listMembersIdle, listMembersOpenIn } from '../../db/state/members.ts'
import { insertPhases, rehomeSteps } from '../../db/state/phases.ts'
import { findRunbookVersion } from '../../db/state/runbooks.ts'
import { cancelStep } from '../../domain/decide/cancel.ts'
import type { Draft } from '../../domain/decide/draft.ts'
import { rerunInit } from '../../domain/decide/lifecycle.ts'
import { phaseOrder, queueNextOfMember } from '../../domain/decide/next.ts'
import {
  describeUpgrade,
  type PhaseToCreate,
  type PhaseUpgrade,
  type Publication,
  planUpgrade,
  type VersionUpgrade,
} from '../../domain/decide/version-upgrade.ts'
import {
  type Batch,
  noMemberCounts,
  noStepCounts,
  openSteps,
  type Phase,
  UNBEGUN,
} from '../../domain/state/facts.ts'
import { isBatchEnded, isOpen } from '../../domain/state/transitions.ts'
import type { BatchTransaction } from './engine.ts'
import { loadBatchSteps, loadMembersWithSteps } from './loading.ts'

/** A newer version is active. An ended batch keeps its own. */
export const isOutdated = ({ status, runbookVersion, activeVersion }: Batch): boolean =>
  runbookVersion < activeVersion && !isBatchEnded(status)

/** Upgrades the batch to the active version. `overrides` replaces what the publisher decided. */
export async function upgradeBatch(
  batchTx: BatchTransaction,
  overrides: Partial<Pick<Publication, 'overdueBehavior' | 'rerunInit'>> = {},
): Promise<void> {
  await loadBatchSteps(batchTx)
  const { tx, draft } = batchTx
  const { batch } = draft
  const from = batch.runbookVersion
  const publication = await findRunbookVersion(tx, batch.runbookName, batch.activeVersion)
  const runbook = draft.runbooks.get(batch.activeVersion)
  if (!publication || !runbook)
    throw new Error(`version ${batch.activeVersion} of ${batch.runbookName} is not in the database`)
  const upgrade = planUpgrade(batch, draft.phases, runbook, { ...publication, ...overrides })
  await upgradePhases(batchTx, upgrade)
  draft.changeBatch({ runbookVersion: batch.activeVersion })
  if (upgrade.init === 'rerun') rerunInit(draft, batch.activeVersion)
  draft.note('version_changed', describeUpgrade(from, upgrade), { details: detailsOf(upgrade) })
}

async function upgradePhases(
  batchTx: BatchTransaction,
  { phases, publication: { version } }: VersionUpgrade,
): Promise<void> {
  const { tx, draft } = batchTx
  for (const { supersedes, because } of phases) {
    if (!supersedes) continue
    draft.transitionPhase(supersedes, 'supersede', `version ${version} was published: ${because}`, {
      completedAt: draft.now,
    })
  }
  const created = await createPhases(batchTx, phases, version)
  const replacements = phases.flatMap(({ supersedes, creates }) => {
    const to = creates && !creates.isOverdue && created.get(creates)
    return supersedes && to && hasSteps(supersedes) ? [{ from: supersedes, to }] : []
  })
  if (replacements.length > 0) {
    const ids = replacements.map(({ from, to }) => ({ from: from.id, to: to.id }))
    await rehomeSteps(tx, draft.batch.id, ids)
    for (const { from, to } of replacements) transferCounts(draft, from, to)
  }
  await cancelDroppedSteps(batchTx, phases)
  await queueWaitingMembers(batchTx, phases)
}

async function createPhases(
  { tx, draft }: BatchTransaction,
  upgrades: readonly PhaseUpgrade[],
  version: number,
): Promise<ReadonlyMap<PhaseToCreate, Phase>> {
  const wanted = upgrades.flatMap(({ creates, because }) => (creates ? [{ creates, because }] : []))
  const toCreate = wanted.map(({ creates }) => creates)
  const created = new Map<PhaseToCreate, Phase>()
  if (toCreate.length === 0) return created
  const ids = await insertPhases(tx, draft.batch.id, version, toCreate, draft.now)
  for (const [place, { creates, because }] of wanted.entries()) {
    const phase = phaseOf(creates, ids[place]!, version, draft.now)
    draft.addPhase(phase, `version ${version}: ${because}`)
    created.set(creates, phase)
  }
  return created
}

function phaseOf(
  { isOverdue, ...schedule }: PhaseToCreate,
  id: number,
  version: number,
  now: Date,
): Phase {
  return {
    ...UNBEGUN,
    ...schedule,
    id,
    runbookVersion: version,
    status: isOverdue ? 'skipped' : 'pending',
    skippedBecause: isOverdue ? 'overdue' : null,
    completedAt: isOverdue ? now : null,
    steps: noStepCounts(),
    members: noMemberCounts(),
  }
}

const hasSteps = ({ steps }: Phase): boolean => Object.values(steps).some((count) => count > 0)

function transferCounts(draft: Draft, from: Phase, to: Phase): void {
  draft.changePhase(to, { steps: from.steps, members: from.members })
  draft.changePhase(from, { steps: noStepCounts(), members: noMemberCounts() })
}

/** Cancels steps written ahead in phases that the version drops. */
async function cancelDroppedSteps(
  batchTx: BatchTransaction,
  upgrades: readonly PhaseUpgrade[],
): Promise<void> {
  const { tx, draft } = batchTx
  const superseded = upgrades.flatMap(({ supersedes }) => supersedes ?? [])
  const open = superseded.filter((phase) => openSteps(phase) > 0)
  if (open.length === 0) return
  const ids = open.map(({ id }) => id)
  await loadMembersWithSteps(batchTx, await listMembersOpenIn(tx, draft.batch.id, ids))
  const isDropped = new Set<number | null>(ids)
  for (const step of draft.steps.values()) {
    if (isDropped.has(step.phaseId) && isOpen(step.status))
      cancelStep(draft, step, `phase ${draft.phaseOf(step)!.name} is no longer run`)
  }
}

/**
 * A superseded phase may come before one that has begun: a rerun that is late. Members who wait for it in the later phase continue.
 * They are few: joiners, and members whose retry fell due between two versions.
 */
async function queueWaitingMembers(
  batchTx: BatchTransaction,
  upgrades: readonly PhaseUpgrade[],
): Promise<void> {
  const { tx, draft } = batchTx
  const superseded = upgrades.flatMap(({ supersedes }) => supersedes ?? [])
  const followsOne = (phase: Phase) =>
    superseded.some((earlier) => phaseOrder([earlier, phase])[0] === earlier)
  if (!draft.phases.some((phase) => phase.status === 'dispatched' && followsOne(phase))) return
  const ids = await listMembersIdle(tx, draft.batch.id)
  await loadMembersWithSteps(batchTx, ids)
  for (const id of ids) queueNextOfMember(draft, draft.member(id))
}

/** The event's details, for programs. */
const detailsOf = ({ publication, phases, init }: VersionUpgrade) => ({
  version: publication.version,
  overdueBehavior: publication.overdueBehavior,
  init,
  phases: phases.map(({ name, outcome, from, dueAt, because }) => ({
    name,
    outcome,
    from,
    because,
    dueAt: dueAt?.toISOString() ?? null,
  })),
})
