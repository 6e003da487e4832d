// Notifications in a process: the file of channels and rules, and the service of an orchestrator.
import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import type { RealClock } from '../clock.ts'
import type { Config } from '../config.ts'
import { readNotificationSettings } from '../domain/notifications/read-settings.ts'
import type { NotificationSettings } from '../domain/notifications/rules.ts'
import type { Engine } from '../engine/engine.ts'
import { MatoolkitError, messageOf } from '../errors.ts'
import type { Log } from '../log.ts'
import { makeNotifications } from '../notifications/notifications.ts'
import type { Service } from '../service.ts'
import { makeTokens } from '../sign-in/token.ts'
import { graphEndpointOf, tokenEndpointsOf } from '../worker/m365/connect.ts'

/** Null without a file. Throws NOTIFICATIONS_FILE_INVALID with all problems. */
export function readNotificationsFile(
  file: Config['notificationsFile'],
): NotificationSettings | null {
  if (file === null) return null
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    throw new MatoolkitError('FILE_UNREADABLE', { file, reason: messageOf(error) })
  }
  const read = readNotificationSettings(text)
  if ('settings' in read) return read.settings
  const problems = read.problems
    .map(({ line, column, message }) => `\n  ${file}:${line}:${column} ${message}`)
    .join('')
  throw new MatoolkitError('NOTIFICATIONS_FILE_INVALID', { problems: `${problems}\n` })
}

/** Next to an orchestrator; nothing without a file. */
export function notificationsOf({
  engine,
  config,
  clock,
  log,
}: {
  readonly engine: Engine
  readonly config: Config
  readonly clock: RealClock
  readonly log: Log
}): Service[] {
  const settings = readNotificationsFile(config.notificationsFile)
  if (settings === null) return []
  const service = makeNotifications({
    ...{ engine, settings, clock },
    tokens: makeTokens(clock, tokenEndpointsOf(config)),
    graph: graphEndpointOf(config),
    newId: randomUUID,
    newToken: randomUUID,
    onFailed: (failure) => log.error(failure, 'A channel was not told'),
    onError: (err) => log.error({ err }, 'Notification error; notifications keep running'),
  })
  return [service]
}
