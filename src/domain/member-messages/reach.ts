// Who a runbook's messages would not reach as they are meant: people without an address, and people who get the default language for want of
// their own.
import type { SampleMember } from '../plan/run-plan.ts'
import type { Runbook } from '../runbook/model.ts'
import { scopeOf } from '../runbook/template.ts'
import { composeMessage, isFallback, isMailAddress } from './message-text.ts'

export interface Reach {
  readonly hasAddress: boolean
  readonly hasOwnLanguage: boolean
}

/** By all steps of the phases that tell the member something. */
export function reachOf(runbook: Runbook, { data, outputs }: SampleMember): Reach {
  const { messages, phases } = runbook
  const scope = scopeOf([outputs, data])
  const facts = { scope, startTime: null, correctsTime: null }
  const composed = phases.flatMap(({ steps }) =>
    steps.flatMap(({ notify }) => (notify ? [composeMessage(messages!, notify, facts)] : [])),
  )
  return {
    hasAddress: composed.every(({ to }) => isMailAddress(to)),
    hasOwnLanguage: composed.every((one) => !isFallback(one)),
  }
}
