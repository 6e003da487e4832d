// A runbook's automation: off until a person turns it on. Off stops membership changes and nothing else.

import { MatoolkitError } from '../../base/errors/errors.ts'
import type { Queryable } from '../../db/connection/db.ts'
import { type Automation, listAutomation, writeAutomation } from '../../db/orders/automation.ts'
import { insertEvents } from '../../db/state/changes.ts'
import { findLastVersion } from '../../db/state/runbooks.ts'
import { eventRecord } from '../../domain/state/event-record.ts'
import type { Engine } from '../transactions/engine.ts'

export interface AutomationOrder {
  readonly runbookName: string
  readonly isEnabled: boolean
  readonly actor: string
}

/** Refuses a name that was never published. */
export async function findAutomation(db: Queryable, runbookName: string): Promise<Automation> {
  await requirePublished(db, runbookName)
  const [found] = await listAutomation(db, [runbookName])
  return found ?? neverTurned(runbookName)
}

async function requirePublished(db: Queryable, name: string): Promise<void> {
  if ((await findLastVersion(db, name)) === 0) throw new MatoolkitError('RUNBOOK_UNKNOWN', { name })
}

const neverTurned = (runbookName: string): Automation => ({
  runbookName: runbookName.toLowerCase(),
  isEnabled: false,
  enabledAt: null,
  enabledBy: null,
  disabledAt: null,
  disabledBy: null,
})

/** Turns automation on or off. A repeat changes nothing, not even who turned it and when. */
export async function setAutomation(
  engine: Engine,
  { runbookName, isEnabled, actor }: AutomationOrder,
): Promise<Automation & { readonly isChanged: boolean }> {
  return engine.db.transaction(async (tx) => {
    const now = engine.clock.now()
    await requirePublished(tx, runbookName)
    const turned = await writeAutomation(tx, runbookName, isEnabled, actor, now)
    if (!turned) return { ...(await findAutomation(tx, runbookName)), isChanged: false }
    const event = isEnabled ? 'automation_enabled' : 'automation_disabled'
    const because = `automation of ${turned.runbookName} was turned ${isEnabled ? 'on' : 'off'}`
    const details = { name: turned.runbookName }
    await insertEvents(tx, null, now, actor, [eventRecord('runbook', event, because, { details })])
    return { ...turned, isChanged: true }
  })
}
