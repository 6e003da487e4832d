// The switch of a runbook's automation: whether its query runs by itself. Off until a person turns it on.
import { z } from 'zod'
import type { Automation } from '../../db/automation.ts'
import { findAutomation, setAutomation } from '../../engine/automation.ts'
import { change, type Route, read } from '../route.ts'
import { nameText, nullableDateTime, nullableText, reason } from '../shapes.ts'
import { requireTag, tagOf } from '../state-tag.ts'

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

const shown = ({ isEnabled, runbookName, ...rest }: Automation): z.input<typeof automation> => {
  const { enabledAt, enabledBy, disabledAt, disabledBy } = rest
  return { runbookName, automationEnabled: isEnabled, enabledAt, enabledBy, disabledAt, disabledBy }
}
const tagOfSwitch = ({ isEnabled, enabledAt, disabledAt }: Automation) =>
  tagOf(isEnabled, enabledAt, disabledAt)

const path = '/api/runbooks/{name}/automation'
const params = z.strictObject({ name: nameText })

const getRoute = read({
  method: 'GET',
  path,
  operation: 'getAutomation',
  tag: 'runbooks',
  summary: 'Whether the runbook’s query runs by itself, and who decided that',
  rule: 'reader',
  errors: ['RUNBOOK_UNKNOWN'],
  params,
  answers: { 200: automation },
  handle: async ({ engine, params: { name: runbookName } }) => {
    const found = await findAutomation(engine.db, runbookName)
    return { status: 200, body: shown(found), etag: tagOfSwitch(found) }
  },
})

const putRoute = change({
  method: 'PUT',
  path,
  operation: 'setAutomation',
  tag: 'runbooks',
  summary: 'Turn the automation on or off; batches under way go on either way',
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
    requireTag(ifMatch, tagOfSwitch(before), `The automation of "${runbookName}"`)
    const isEnabled = body.enabled
    const now = await setAutomation(engine, { runbookName, isEnabled, actor: by.name })
    return {
      status: 200,
      body: shown(now),
      etag: tagOfSwitch(now),
      noted: now.isChanged
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

export const AUTOMATION_ROUTES: readonly Route[] = [getRoute, putRoute]
