// A runbook's automation: whether the scheduler runs its query. Off until a person turns it on.
import { z } from 'zod'
import type { Automation } from '../../db/orders/automation.ts'
import { findAutomation, setAutomation } from '../../engine/orders/automation.ts'
import { etagOf, requireEtag } from '../http/etag.ts'
import { change, read } from '../route.ts'
import { nameText, nullableDateTime, nullableText, reason } from '../shapes/shapes.ts'

const automation = z
  .strictObject({
    runbookName: z.string(),
    automationEnabled: z.boolean(),
    enabledAt: nullableDateTime,
    enabledBy: nullableText,
    disabledAt: nullableDateTime,
    disabledBy: nullableText,
  })
  .meta({ id: 'Automation' })

const shownAutomation = ({
  isEnabled,
  runbookName,
  ...rest
}: Automation): z.input<typeof automation> => {
  const { enabledAt, enabledBy, disabledAt, disabledBy } = rest
  return { runbookName, automationEnabled: isEnabled, enabledAt, enabledBy, disabledAt, disabledBy }
}
const automationEtag = ({ isEnabled, enabledAt, disabledAt }: Automation) =>
  etagOf(isEnabled, enabledAt, disabledAt)

const path = '/api/runbooks/{name}/automation'
const params = z.strictObject({ name: nameText })

const getRoute = read({
  method: 'GET',
  path,
  operation: 'getAutomation',
  tag: 'runbooks',
  summary: 'Show whether the scheduler runs the runbook’s query, and who decided it',
  rule: 'reader',
  errors: ['RUNBOOK_UNKNOWN'],
  params,
  answers: { 200: automation },
  handle: async ({ engine, params: { name: runbookName } }) => {
    const found = await findAutomation(engine.db, runbookName)
    return { status: 200, body: shownAutomation(found), etag: automationEtag(found) }
  },
})

const putRoute = change({
  method: 'PUT',
  path,
  operation: 'setAutomation',
  tag: 'runbooks',
  summary: 'Turn automation on or off; unfinished batches continue either way',
  rule: 'admin',
  action: 'automation.set',
  takes: 'json',
  comparesState: true,
  errors: ['RUNBOOK_UNKNOWN'],
  params,
  body: z.strictObject({ enabled: z.boolean(), reason: reason.optional() }),
  answers: { 200: automation },
  handle: async ({ engine, params: { name: runbookName }, body, by, ifMatch }) => {
    const before = await findAutomation(engine.db, runbookName)
    requireEtag(ifMatch, automationEtag(before), `The automation of runbook "${runbookName}"`)
    const isEnabled = body.enabled
    const now = await setAutomation(engine, { runbookName, isEnabled, actor: by.name })
    return {
      status: 200,
      body: shownAutomation(now),
      etag: automationEtag(now),
      auditNote: now.isChanged
        ? {
            subject: `runbook ${before.runbookName}`,
            reason: body.reason ?? null,
            before: { automationEnabled: before.isEnabled },
            after: { automationEnabled: isEnabled },
          }
        : null,
    }
  },
})

export const AUTOMATION_ROUTES = [getRoute, putRoute]
