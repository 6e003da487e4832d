// Which steps change a tenant. A standard function that only looks does not; nothing is known about a custom function, or about one that
// a member's data names, so these count as changes.
import type { Step } from '../facts.ts'
import { functionFacts } from '../runbook/lint/function-facts.ts'
import { runbookStepOf } from './definitions.ts'
import type { Draft } from './draft.ts'

const known = new Map<string, boolean>()
const NAMES_KEPT_MAX = 1_000

/** False for a function of the standard catalogue that only reads. */
function mayChangeTenant(functionName: string): boolean {
  const found = known.get(functionName)
  if (found !== undefined) return found
  const facts = functionFacts(functionName)
  // A mail to a person changes no tenant.
  const mayChange = facts === null || !(facts.isCheck || facts.isNotice)
  if (known.size < NAMES_KEPT_MAX) known.set(functionName, mayChange)
  return mayChange
}

/** The next job of the step may change a tenant. A poll repeats what was sent. */
export function changesTenant(draft: Draft, step: Step): boolean {
  const isRepeat = step.status === 'polling' && step.functionName !== null
  const functionName = isRepeat ? step.functionName : runbookStepOf(draft, step)?.function
  return functionName == null || mayChangeTenant(functionName)
}

/** The step must wait: its job may change a tenant, and no change window is open. */
export const isOutsideWindow = (draft: Draft, step: Step): boolean =>
  !draft.window.isOpen && changesTenant(draft, step)
