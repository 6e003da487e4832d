// Errors of notifications: the file, its channels and sent messages. Part of the table in errors.ts.
import { EXIT, errorRows } from './exit-codes.ts'

export const NOTIFICATION_ERRORS = errorRows({
  NOTIFICATIONS_FILE_INVALID: {
    http: 500,
    exit: EXIT.usage,
    sentence:
      'The file of notifications has problems. {problems} Correct them and start again; docs/notifications.md explains every key.',
  },
  NOTIFICATION_NOT_FOUND: {
    http: 404,
    exit: EXIT.notFound,
    sentence:
      'There is no message {id}: messages are kept for 30 days. List them with "matoolkit notification list".',
  },
  CHANNEL_UNKNOWN: {
    http: 404,
    exit: EXIT.notFound,
    sentence:
      'There is no channel "{channel}"; this API knows {known}. Name one of them, or add it to MATOOLKIT_NOTIFICATIONS_FILE.',
  },
})
