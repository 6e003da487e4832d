// Settings of a process: its roles and its log. Part of the table in config.ts.
import { aPath, listSetting, oneOf, setting } from './kinds.ts'

export const ROLES = ['scheduler', 'orchestrator', 'worker', 'api'] as const
export type Role = (typeof ROLES)[number]

export const CONFIG_FILE = 'MATOOLKIT_CONFIG_FILE'

export const PROCESS_SETTINGS = {
  configFile: setting<string | null>(CONFIG_FILE, aPath, {
    default: null,
    description:
      'JSON file with settings under the same names. Can be set only in the environment.',
  }),
  roles: setting('MATOOLKIT_ROLES', listSetting(oneOf(ROLES), `a list of ${ROLES.join(', ')}`), {
    default: ROLES,
    defaultShown: ROLES.join(','),
    description: 'Roles that run in this process.',
  }),
  logLevel: setting('MATOOLKIT_LOG_LEVEL', oneOf(['silent', 'error', 'warn', 'info', 'debug']), {
    default: 'info',
    description: 'Lowest level that is logged.',
  }),
  logFormat: setting('MATOOLKIT_LOG_FORMAT', oneOf(['auto', 'json', 'pretty']), {
    default: 'auto',
    description: 'Format of log lines. `auto`: `pretty` on a terminal, `json` elsewhere.',
  }),
}
