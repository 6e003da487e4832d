// Members leaving, coming back and moving to another batch.
import { isUnsettled, type Member, wasBegun } from '../facts.ts'
import { isOpen, isPassed } from '../transitions.ts'
import { beginRemoval } from './compensation.ts'
import type { Draft } from './draft.ts'
import { cancelOpenSteps } from './fail.ts'
import { effectiveSteps, queueNextOfMember } from './next.ts'
import { reopenStep } from './reopen-step.ts'

/** What a decision says when it does not do what was asked: the reason, in a sentence. */
export type Refusal = string | null

/** The member leaves: its open steps are cancelled, its removal steps begin once no job and no rollback of it is open. */
export function removeMember(draft: Draft, member: Member, by: string, why: string): Refusal {
  if (member.status === 'removed') return `member ${member.id} is removed already`
  cancelOpenSteps(draft, member.id, `the member was removed: ${why}`)
  draft.transitionMember(member, 'remove', why, {
    removedAt: draft.now,
    removedBy: by,
    removalNumber: member.removalNumber + 1,
  })
  beginRemoval(draft, member)
  queueNextOfMember(draft, member)
  return null
}

/** The member goes on in another batch: nothing is undone here. */
export function moveMemberOut(
  draft: Draft,
  member: Member,
  toBatchId: number,
  by: string,
): Refusal {
  if (member.status !== 'active') return `member ${member.id} is ${member.status}, not active`
  if ((draft.stepsOfMember.get(member.id) ?? []).some(isUnsettled)) {
    return `member ${member.id} has a job out; it can move when that is settled`
  }
  const why = `the member moved to batch ${toBatchId}`
  cancelOpenSteps(draft, member.id, why)
  draft.transitionMember(member, 'move_out', why, {
    removedAt: draft.now,
    removedBy: by,
    movedToBatchId: toBatchId,
  })
  return null
}

/** True when the member's last removal has steps that are not at their end. */
export const isCompensationOpen = (draft: Draft, member: Member): boolean =>
  (draft.stepsOfMember.get(member.id) ?? []).some(
    (step) => (step.kind === 'rollback' || step.kind === 'removal') && isOpen(step.status),
  )

/** True when a step of the member's last removal was sent: what it had passed may be undone. */
export const isCleanedUp = (draft: Draft, member: Member): boolean =>
  draft
    .siblings(member.id, 'removal')
    .some((step) => step.removalNumber === member.removalNumber && wasBegun(step))

/**
 * Back in the batch. If a removal step was sent, what was done may be undone: all steps are done again and outputs forgotten;
 * else the member carries on where it was. Only a person takes back whom a person removed.
 */
export function readmitMember(
  draft: Draft,
  member: Member,
  event: 'rejoin' | 'readd',
  why: string,
): Refusal {
  if (draft.batch.status === 'cancelled')
    return `batch ${draft.batch.id} is cancelled; clone it instead`
  if (member.status !== 'removed') return `member ${member.id} is ${member.status}, not removed`
  if (event === 'rejoin' && member.removedBy !== 'source') {
    return `member ${member.id} was removed by ${member.removedBy}; only a person can take it back`
  }
  if (isCompensationOpen(draft, member)) return `the removal of member ${member.id} has not ended`
  if ((draft.stepsOfMember.get(member.id) ?? []).some(isUnsettled)) {
    return `member ${member.id} has a job that is not settled`
  }
  const wasUndone = isCleanedUp(draft, member)
  draft.transitionMember(
    member,
    event,
    wasUndone ? `${why}; starts over, removal steps were sent` : why,
    {
      removedAt: null,
      removedBy: null,
      failedAt: null,
      movedToBatchId: null,
      ...(wasUndone && { outputs: {} }),
    },
  )
  for (const step of effectiveSteps(draft, member.id)) {
    if (wasUndone || !isPassed(step.status)) reopenStep(draft, step, why)
  }
  queueNextOfMember(draft, member)
  return null
}
