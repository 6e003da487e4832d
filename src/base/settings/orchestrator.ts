// Settings of the orchestrator: how many jobs it sends, change windows and notifications. Part of the table in config.ts.
import { aPath, declaredWorker, listSetting, setting, wholeNumber } from './kinds.ts'

export const ORCHESTRATOR_SETTINGS = {
  maxOutstanding: setting('MATOOLKIT_MAX_OUTSTANDING', wholeNumber(1, 1_000_000), {
    default: 1_000,
    description:
      'Maximum unsettled jobs per worker id; the rest wait. A worker gets what it finishes while one job is out, and 0.15 seconds more.',
  }),
  queueLimitSec: setting('MATOOLKIT_QUEUE_LIMIT_SEC', wholeNumber(60, 604_800), {
    default: 21_600,
    description:
      "How long a job may wait for a worker, besides its step's timeout. A job that none has started by then is sent again.",
  }),
  declaredWorkers: setting(
    'MATOOLKIT_DECLARED_WORKERS',
    listSetting(
      declaredWorker,
      'a list of worker ids (letters, digits, "_", ".", "-"; at most 63)',
    ),
    {
      default: [] as readonly string[],
      defaultShown: 'none',
      description:
        'Ids of workers that get jobs before they announce themselves, because they sleep until there is work or never do. Read when the orchestrator starts. Jobs for other unannounced workers wait. `worker-01:PascalCase` gets its jobs on Service Bus in that casing; set it for every process.',
    },
  ),
  windowsFile: setting<string | null>('MATOOLKIT_WINDOWS_FILE', aPath, {
    default: null,
    defaultShown: 'none: only the windows of runbooks count',
    description:
      'YAML file with the change windows of the system, the same for every orchestrator and API. See docs/runbook.md.',
  }),
  notificationsFile: setting<string | null>('MATOOLKIT_NOTIFICATIONS_FILE', aPath, {
    default: null,
    defaultShown: 'none: no one is notified',
    description:
      'YAML file with the channels and rules of notifications, the same for every orchestrator and API. See docs/notifications.md.',
  }),
}
