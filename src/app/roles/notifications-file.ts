// The file of channels and rules, for orchestrators, the API and rehearsals.
import { readFileSync } from 'node:fs'
import { MatoolkitError, messageOf } from '../../base/errors/errors.ts'
import type { Config } from '../../base/settings/config.ts'
import { readNotificationSettings } from '../../domain/notifications/read-settings.ts'
import type { NotificationSettings } from '../../domain/notifications/rules.ts'

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
