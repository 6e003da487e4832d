// Settings of the scheduler: data sources and ticks. Part of the table in config.ts.
import { aPath, setting, wholeNumber } from './kinds.ts'

export const SCHEDULER_SETTINGS = {
  sourceFolder: setting<string | null>('MATOOLKIT_SOURCE_FOLDER', aPath, {
    default: null,
    defaultShown: 'none; with `up` the folder in which it was started',
    description:
      'Folder for the files of csv data sources. A runbook names a file or folder inside it.',
  }),
  sourceTimeoutSec: setting('MATOOLKIT_SOURCE_TIMEOUT_SEC', wholeNumber(5, 3_600), {
    default: 300,
    description:
      'Time limit of a data source query; a longer one is cancelled, and the next tick tries again.',
  }),
  tickIntervalSec: setting('MATOOLKIT_TICK_INTERVAL_SEC', wholeNumber(10, 86_400), {
    default: 300,
    description:
      'Interval between the starts of two ticks of a runbook. Phases, polls and retries do not depend on it.',
  }),
}
