// A batch under way takes up the version that is active: once, in the transaction of whoever comes to it first after the
// publishing, before anything else is decided about it. So nothing ever acts on a batch that has not been put on the version.
import type { Tx } from '../db/db.ts'
import { insertPhases, listMembersIdle, listMembersOpenIn, rehomeSteps } from '../db/phases.ts'
import { findRunbookVersion } from '../db/runbooks.ts'
import type { Draft } from '../domain/decide/draft.ts'
import { cancelStep } from '../domain/decide/fail.ts'
import { rerunInit } from '../domain/decide/lifecycle.ts'
import { phaseOrder, queueNextOfMember } from '../domain/decide/next.ts'
import {
  describeUpgrade,
  type PhaseToCreate,
  type PhaseUpgrade,
  type Publication,
  planUpgrade,
  type VersionUpgrade,
} from '../domain/decide/version-upgrade.ts'
import type { Batch, Phase } from '../domain/facts.ts'
import { isBatchEnded, isOpen } from '../domain/transitions.ts'

/** A newer version is active. A batch that has ended stays on its own: what is decided for batches under way is not for it. */
export const isOutdated = ({ status, runbookVersion, activeVersion }: Batch): boolean =>
  runbookVersion < activeVersion && !isBatchEnded(status)

/**
 * Puts the batch on the active version. The steps of the batch itself must be among the facts, those of members not yet:
 * `bring` loads some. `how` overrules what the publisher decided.
 */
export async function upgradeBatch(
  tx: Tx,
  draft: Draft,
  bring: (memberIds: readonly number[]) => Promise<void>,
  how: Partial<Pick<Publication, 'overdueBehavior' | 'rerunInit'>> = {},
): Promise<void> {
  const { batch } = draft
  const from = batch.runbookVersion
  const publication = await findRunbookVersion(tx, batch.runbookName, batch.activeVersion)
  const runbook = draft.runbooks.get(batch.activeVersion)
  if (!publication || !runbook)
    throw new Error(`version ${batch.activeVersion} of ${batch.runbookName} is not there`)
  const transition = planUpgrade(batch, draft.phases, runbook, { ...publication, ...how })
  await takePhases(tx, draft, transition, bring)
  draft.changeBatch({ runbookVersion: batch.activeVersion })
  if (transition.init === 'rerun') rerunInit(draft, batch.activeVersion)
  draft.note('version_changed', describeUpgrade(from, transition), {
    details: detailsOf(transition),
  })
}

async function takePhases(
  tx: Tx,
  draft: Draft,
  { phases, publication: { version } }: VersionUpgrade,
  bring: (memberIds: readonly number[]) => Promise<void>,
): Promise<void> {
  for (const { supersedes, because } of phases) {
    if (!supersedes) continue
    draft.transitionPhase(supersedes, 'supersede', `version ${version} was published: ${because}`, {
      completedAt: draft.now,
    })
  }
  const made = await makePhases(tx, draft, phases, version)
  const moves = phases.flatMap(({ supersedes, creates }) => {
    const to = creates && !creates.isOverdue && made.get(creates)
    return supersedes && to && hasSteps(supersedes) ? [{ from: supersedes, to }] : []
  })
  if (moves.length > 0) {
    const ids = moves.map(({ from, to }) => ({ from: from.id, to: to.id }))
    await rehomeSteps(tx, draft.batch.id, ids)
    for (const { from, to } of moves) moveCounts(draft, from, to)
  }
  await cancelLeft(tx, draft, phases, bring)
  await releaseWaiting(tx, draft, phases, bring)
}

async function makePhases(
  tx: Tx,
  draft: Draft,
  fates: readonly PhaseUpgrade[],
  version: number,
): Promise<ReadonlyMap<PhaseToCreate, Phase>> {
  const wanted = fates.flatMap(({ creates, because }) => (creates ? [{ creates, because }] : []))
  const planned = wanted.map(({ creates }) => creates)
  const made = new Map<PhaseToCreate, Phase>()
  if (planned.length === 0) return made
  const ids = await insertPhases(tx, draft.batch.id, version, planned, draft.now)
  for (const [place, { creates, because }] of wanted.entries()) {
    const phase = phaseOf(creates, ids[place]!, version, draft.now)
    draft.addPhase(phase, `version ${version}: ${because}`)
    made.set(creates, phase)
  }
  return made
}

function phaseOf(planned: PhaseToCreate, id: number, version: number, now: Date): Phase {
  const { isOverdue, ...words } = planned
  return {
    ...words,
    id,
    runbookVersion: version,
    status: isOverdue ? 'skipped' : 'pending',
    skippedBecause: isOverdue ? 'overdue' : null,
    dispatchedAt: null,
    expandedThrough: 0,
    expandedAt: null,
    completedAt: isOverdue ? now : null,
    fuseAcknowledged: 0,
    steps: noSteps(),
    members: nobody(),
  }
}

const noSteps = (): Phase['steps'] => ({
  pending: 0,
  dispatched: 0,
  polling: 0,
  succeeded: 0,
  failed: 0,
  poll_timeout: 0,
  rolled_back: 0,
  cancelled: 0,
  skipped: 0,
})

const nobody = (): Phase['members'] => ({ total: 0, passed: 0, failed: 0, stopped: 0, removed: 0 })

const hasSteps = ({ steps }: Phase): boolean => Object.values(steps).some((count) => count > 0)

function moveCounts(draft: Draft, from: Phase, to: Phase): void {
  draft.changePhase(to, { steps: from.steps, members: from.members })
  draft.changePhase(from, { steps: noSteps(), members: nobody() })
}

/** Steps written ahead in a phase that nobody will do any more. */
async function cancelLeft(
  tx: Tx,
  draft: Draft,
  fates: readonly PhaseUpgrade[],
  bring: (memberIds: readonly number[]) => Promise<void>,
): Promise<void> {
  const left = fates.flatMap(({ supersedes }) => supersedes ?? [])
  const waiting = left.filter(({ steps }) => steps.pending + steps.dispatched + steps.polling > 0)
  if (waiting.length === 0) return
  const ids = new Set<number | null>(waiting.map(({ id }) => id))
  await bring(
    await listMembersOpenIn(
      tx,
      draft.batch.id,
      waiting.map(({ id }) => id),
    ),
  )
  for (const step of draft.steps.values()) {
    if (ids.has(step.phaseId) && isOpen(step.status))
      cancelStep(draft, step, `phase ${draft.phaseOf(step)!.name} is not done any more`)
  }
}

/**
 * A phase that had not begun may stand before one that has: a rerun of one that is late. Whoever waited for it in the later one
 * goes on when it is taken away. Few wait so: those who joined or whose retry fell due between two versions.
 */
async function releaseWaiting(
  tx: Tx,
  draft: Draft,
  fates: readonly PhaseUpgrade[],
  bring: (memberIds: readonly number[]) => Promise<void>,
): Promise<void> {
  const gone = fates.flatMap(({ supersedes }) => supersedes ?? [])
  const followsOne = (phase: Phase) =>
    gone.some((earlier) => phaseOrder([earlier, phase])[0] === earlier)
  if (!draft.phases.some((phase) => phase.status === 'dispatched' && followsOne(phase))) return
  const ids = await listMembersIdle(tx, draft.batch.id)
  await bring(ids)
  for (const id of ids) queueNextOfMember(draft, draft.member(id))
}

/** What became of each phase, for machines. */
const detailsOf = ({ publication, phases, init }: VersionUpgrade) => ({
  version: publication.version,
  overdueBehavior: publication.overdueBehavior,
  init,
  phases: phases.map(({ name, fate, from, dueAt, because }) => ({
    ...{ name, fate, from, because },
    dueAt: dueAt?.toISOString() ?? null,
  })),
})
