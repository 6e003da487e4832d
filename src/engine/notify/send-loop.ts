// The service that tells people: looks for conditions, sends messages, deletes old ones. Runs next to an orchestrator, if the settings name
// channels.
import type { Clock } from '../../base/run/clock.ts'
import { everyLoop, type Service } from '../../base/run/service.ts'
import type { NotificationSettings } from '../../domain/notifications/rules.ts'
import { LOOK_INTERVAL_MS, lookForConditions } from '../needs/notifications.ts'
import type { Engine } from '../transactions/engine.ts'
import { pruneOld, type SenderOptions, sendDue } from './sender.ts'

const SEND_INTERVAL_MS = 1_000
const PRUNE_INTERVAL_MS = 3_600_000

export interface NotificationOptions extends Omit<SenderOptions, 'db' | 'channels' | 'clock'> {
  readonly engine: Engine
  readonly settings: NotificationSettings
  readonly clock: Clock
  readonly newId: () => string
  readonly onError: (error: unknown) => void
}

export function makeNotifications(options: NotificationOptions): Service {
  const { engine, settings, clock, newId, onError } = options
  const sender = { ...options, db: engine.db, channels: settings.channels }
  const sending = everyLoop({
    name: 'notifications to send',
    clock,
    intervalMs: SEND_INTERVAL_MS,
    runOnce: async (_now, stopping) => {
      while (!stopping.aborted && (await sendDue(sender, stopping)) > 0);
    },
    onError,
  })
  const looking = everyLoop({
    name: 'conditions',
    clock,
    intervalMs: LOOK_INTERVAL_MS,
    runOnce: async () => {
      const found = await lookForConditions({ engine, settings, newId })
      if (found && found.opened + found.cleared > 0) sending.nudge()
    },
    onError,
  })
  const pruning = everyLoop({
    name: 'old notifications',
    clock,
    intervalMs: PRUNE_INTERVAL_MS,
    runOnce: async (_now, stopping) => {
      while (!stopping.aborted && (await pruneOld(sender)) > 0);
    },
    onError,
  })
  const loops = [looking, sending, pruning]
  return {
    name: 'notifications',
    start: () => {
      for (const loop of loops) loop.start()
    },
    stop: async (giveUp) => {
      await Promise.all(loops.map((loop) => loop.stop(giveUp)))
    },
  }
}
