// Who would have been told: the rehearsal looks for conditions as an orchestrator does, by the runbook's rules and those of the settings, if they
// are given. Messages are written and never sent: nothing here can send.
import { randomUUID } from 'node:crypto'
import { listUnapprovedGates } from '../../db/orders/gates.ts'
import { URGENT_KINDS } from '../../domain/notifications/conditions.ts'
import type { Channel, NotificationSettings } from '../../domain/notifications/rules.ts'
import type { Runbook } from '../../domain/runbook/model.ts'
import { GATES_AHEAD_MS } from '../../engine/needs/find-needs.ts'
import { LOOK_INTERVAL_MS, lookForConditions } from '../../engine/needs/notifications.ts'
import type { Engine } from '../../engine/transactions/engine.ts'

/** Hears everything, so that the report also has what no rule names. No channel of a file has this name. */
export const EVERYBODY = '*'
const FAR_MS = 1_000 * 86_400_000

const NOWHERE = { file: '' } as const
const channelNamed = (name: string): Channel => ({
  name,
  type: 'webhook',
  url: NOWHERE,
  key: NOWHERE,
  timeZone: 'UTC',
  quietHours: null,
  digestSec: null,
})

/** Without settings each channel that the runbook names is taken to exist. */
function settingsFor(
  { notifications }: Runbook,
  given: NotificationSettings | null,
): NotificationSettings {
  const named = [...new Set(notifications.flatMap(({ channels }) => channels))].map(channelNamed)
  const { channels, rules, urgent } = given ?? { channels: named, rules: [], urgent: URGENT_KINDS }
  const hears = { conditions: [], channels: [EVERYBODY], runbooks: null }
  return { channels: [...channels, channelNamed(EVERYBODY)], rules: [...rules, hears], urgent }
}

export class RehearsedNotifications {
  readonly #engine: Engine
  readonly #settings: NotificationSettings
  readonly #hasGates: boolean
  #lookedAtMs = Number.NEGATIVE_INFINITY

  constructor(engine: Engine, runbook: Runbook, settings: NotificationSettings | null) {
    this.#engine = engine
    this.#settings = settingsFor(runbook, settings)
    this.#hasGates = runbook.phases.some(({ gate }) => gate !== null)
  }

  /** As often as orchestrators look. */
  async look(): Promise<void> {
    const nowMs = +this.#engine.clock.now()
    if (nowMs - this.#lookedAtMs < LOOK_INTERVAL_MS) return
    this.#lookedAtMs = nowMs
    const settings = this.#settings
    await lookForConditions({ engine: this.#engine, settings, newId: randomUUID })
  }

  /** People hear of a gate a day before: the clock must not pass that moment. Infinity when there is none. */
  async nextMs(): Promise<number> {
    if (!this.#hasGates) return Number.POSITIVE_INFINITY
    const { db, clock } = this.#engine
    const from = new Date(+clock.now() + GATES_AHEAD_MS)
    const until = new Date(+from + FAR_MS)
    const sought = { after: from, until, aheadMs: GATES_AHEAD_MS, now: clock.now() }
    const [gate] = await listUnapprovedGates(db, sought, 1)
    return gate ? +gate.dueAt - GATES_AHEAD_MS : Number.POSITIVE_INFINITY
  }
}
