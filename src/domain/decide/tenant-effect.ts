// Which steps change a tenant, by what their functions declare. Nothing is known about a function that nobody declared, or about one that a
// member's data names, so these count as changes.

import { mayChangeTenant } from '../runbook/function-facts.ts'
import type { Step } from '../state/facts.ts'
import { runbookStepOf } from './definitions.ts'
import type { Draft } from './draft.ts'

/** The next job of the step may change a tenant. A poll repeats what was sent. */
export function changesTenant(draft: Draft, step: Step): boolean {
  const isRepeat = step.status === 'polling' && step.functionName !== null
  const functionName = isRepeat ? step.functionName : runbookStepOf(draft, step)?.function
  if (functionName == null) return true
  return mayChangeTenant(draft.factsOf(step.definition.workerId, functionName))
}

/** The step must wait: its job may change a tenant, and no change window is open. */
export const isOutsideWindow = (draft: Draft, step: Step): boolean =>
  !draft.window.isOpen && changesTenant(draft, step)
