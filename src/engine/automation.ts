// The switch of a runbook's automation: off until a person turns it on. Off freezes membership and nothing else.
import { type Automation, listAutomation, turnAutomation } from '../db/automation.ts'
import { insertEvents } from '../db/changes.ts'
import type { Queryable } from '../db/db.ts'
import { findLastVersion } from '../db/runbooks.ts'
import { MatoolkitError } from '../errors.ts'
import type { Engine } from './engine.ts'
import { runbookEvent } from './publish.ts'

export interface AutomationOrder {
  readonly runbookName: string
  readonly isEnabled: boolean
  readonly actor: string
}

/** How the switch stands. Refuses a name that was never published. */
export async function findAutomation(db: Queryable, runbookName: string): Promise<Automation> {
  await requirePublished(db, runbookName)
  const [found] = await listAutomation(db, [runbookName])
  return found ?? untouched(runbookName)
}

async function requirePublished(db: Queryable, name: string): Promise<void> {
  if ((await findLastVersion(db, name)) === 0) throw new MatoolkitError('RUNBOOK_UNKNOWN', { name })
}

const untouched = (runbookName: string): Automation => ({
  runbookName: runbookName.toLowerCase(),
  isEnabled: false,
  enabledAt: null,
  enabledBy: null,
  disabledAt: null,
  disabledBy: null,
})

/** Turns the switch. What stands so already is left alone, with who and when. */
export async function setAutomation(
  engine: Engine,
  { runbookName, isEnabled, actor }: AutomationOrder,
): Promise<Automation & { readonly isChanged: boolean }> {
  return engine.db.transaction(async (tx) => {
    const now = engine.clock.now()
    await requirePublished(tx, runbookName)
    const turned = await turnAutomation(tx, runbookName, isEnabled, actor, now)
    if (!turned) return { ...(await findAutomation(tx, runbookName)), isChanged: false }
    const event = isEnabled ? 'automation_enabled' : 'automation_disabled'
    const because = `automation of ${turned.runbookName} was turned ${isEnabled ? 'on' : 'off'}`
    const about = { name: turned.runbookName }
    await insertEvents(tx, null, now, actor, [runbookEvent(event, because, about)])
    return { ...turned, isChanged: true }
  })
}
