// The news of a batch's change windows: they close with work left, they open, somebody overrides them. Each is said once.

import { isBatchEnded } from '../state/transitions.ts'
import type { Draft } from './draft.ts'
import type { Refusal } from './membership.ts'

/** Nothing of it is sent any more. */
const isOver = ({ status, rollbackOpen, removalOpen, undoOpen }: Draft['batch']): boolean =>
  isBatchEnded(status) && rollbackOpen + removalOpen + undoOpen === 0

const OPEN = { windowClosedAt: null, windowOpensAt: null }

/** People who were told that the window is closed hear that it is open. */
export function noteOpened(draft: Draft): void {
  if (draft.batch.windowClosedAt === null) return
  if (!isOver(draft.batch))
    draft.note('window_opened', 'the change window is open: waiting steps are sent')
  draft.changeBatch(OPEN)
}

/** Returns whether people do not know yet: they do unless it was open since they were told, and nobody looked meanwhile. */
export function noteClosed(draft: Draft, hasOpenedSince: boolean): boolean {
  const known = hasOpenedSince ? null : draft.batch.windowClosedAt
  draft.changeBatch({ windowClosedAt: known ?? draft.now, windowOpensAt: draft.window.until })
  return known === null
}

/** Sends steps outside the change windows until then; null ends an override. The windows' state must be read again. */
export function overrideWindows(draft: Draft, until: Date | null, reason: string): Refusal {
  const { batch, now, actor } = draft
  if (isOver(batch)) return `batch ${batch.id} is already ${batch.status}`
  if (until !== null && until <= now)
    return `the override would end at ${until.toISOString()}, which has passed`
  const former = batch.windowOverrideUntil
  if (until === null && (former === null || former <= now))
    return `batch ${batch.id} has no override of its change windows`
  draft.changeBatch({
    ...OPEN,
    windowOverrideUntil: until,
    windowOverrideBy: until && actor,
    windowOverrideReason: until && reason,
  })
  if (until === null) draft.note('window_override_ended', reason)
  else draft.note('window_overridden', `until ${until.toISOString()}: ${reason}`)
  return null
}
