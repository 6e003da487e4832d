// Members leave, come back, and move to another batch.
import { isCompensation, isUnsettled, type Member, mayHaveRun } from '../state/facts.ts'
import { isOpen, isPassed } from '../state/transitions.ts'
import { cancelOpenSteps } from './cancel.ts'
import { beginCleanup } from './compensation.ts'
import { endCorrections } from './corrections.ts'
import type { Draft } from './draft.ts'
import { effectiveSteps, queueNextOfMember } from './next.ts'
import { reopenStep } from './reopen-step.ts'

/** Why a decision did nothing, as a sentence; null when it was carried out. */
export type Refusal = string | null

/** Removes the member: cancels its open steps. Its cleanup starts once it has no unsettled job and no open rollback. */
export function removeMember(draft: Draft, member: Member, by: string, why: string): Refusal {
  if (member.status === 'removed') return `member ${member.id} is already removed`
  cancelOpenSteps(draft, member.id, `the member was removed: ${why}`)
  draft.transitionMember(member, 'remove', why, {
    removedAt: draft.now,
    removedBy: by,
    removalNumber: member.removalNumber + 1,
  })
  beginCleanup(draft, member)
  queueNextOfMember(draft, member)
  return null
}

/** Takes the member out of the batch without cleanup: it continues in another batch. */
export function moveMemberOut(
  draft: Draft,
  member: Member,
  toBatchId: number,
  by: string,
  reason?: string,
): Refusal {
  const no = refuseMoveOut(draft, member)
  if (no) return no
  const why = `the member moved to batch ${toBatchId}${reason ? `: ${reason}` : ''}`
  endCorrections(draft, member.id)
  cancelOpenSteps(draft, member.id, why)
  draft.transitionMember(member, 'move_out', why, {
    removedAt: draft.now,
    removedBy: by,
    movedToBatchId: toBatchId,
  })
  return null
}

/** Why the member cannot leave for another batch. A member whose cut-over has begun stays: half of it is in the other tenant. */
export function refuseMoveOut(draft: Draft, member: Member): Refusal {
  const { id, status } = member
  const sent = draft
    .siblings(id, 'phase')
    .find((step) => mayHaveRun(step) && draft.phase(step.phaseId!).offsetMinutes <= 0)
  if (sent)
    return `step ${sent.definition.stepName} was sent for member ${id}: its cut-over has begun; remove it or roll it back instead`
  if (status !== 'active') return `member ${id} is ${status}, not active`
  return (draft.stepsOfMember.get(id) ?? []).some(isUnsettled)
    ? `member ${id} has an unsettled job; move it when the job has settled`
    : null
}

/** True while a rollback, cleanup or undo of the member is open. */
export const isCompensationOpen = (draft: Draft, member: Member): boolean =>
  (draft.stepsOfMember.get(member.id) ?? []).some(
    (step) => isCompensation(step) && isOpen(step.status),
  )

/** True when an undo or a cleanup step of the last removal was sent: the effects of passed steps may be gone. */
export const isCleanedUp = (draft: Draft, member: Member): boolean =>
  draft.siblings(member.id, 'undo').some(mayHaveRun) ||
  draft
    .siblings(member.id, 'removal')
    .some((step) => step.removalNumber === member.removalNumber && mayHaveRun(step))

/**
 * Brings a removed member back. After a cleanup it starts over without outputs; else it continues where it was. Only a person
 * re-adds a member that a person removed.
 */
export function readmitMember(
  draft: Draft,
  member: Member,
  event: 'rejoin' | 'readd',
  why: string,
): Refusal {
  const no = refuseReadmission(draft, member, event)
  if (no) return no
  const wasCleanedUp = isCleanedUp(draft, member)
  draft.transitionMember(
    member,
    event,
    wasCleanedUp ? `${why}; starts over because cleanup steps were sent` : why,
    {
      removedAt: null,
      removedBy: null,
      failedAt: null,
      movedToBatchId: null,
      ...(wasCleanedUp && { outputs: {} }),
    },
  )
  for (const step of effectiveSteps(draft, member.id)) {
    if (wasCleanedUp || !isPassed(step.status)) reopenStep(draft, step, why)
  }
  queueNextOfMember(draft, member)
  return null
}

export function refuseReadmission(
  draft: Draft,
  member: Member,
  event: 'rejoin' | 'readd',
): Refusal {
  if (draft.batch.status === 'cancelled')
    return `batch ${draft.batch.id} is cancelled; clone it instead`
  if (member.status !== 'removed') return `member ${member.id} is ${member.status}, not removed`
  if (event === 'rejoin' && member.removedBy !== 'source') {
    return `member ${member.id} was removed by ${member.removedBy}; only a person can re-add it`
  }
  if (isCompensationOpen(draft, member)) return `the cleanup of member ${member.id} has not ended`
  return (draft.stepsOfMember.get(member.id) ?? []).some(isUnsettled)
    ? `member ${member.id} has an unsettled job`
    : null
}
