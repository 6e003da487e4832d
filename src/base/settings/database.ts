// Settings of the database, embedded or a server. Part of the table in config.ts.
import { aPath, oneOf, postgresUrl, setting, wholeNumber } from './kinds.ts'

export const DATABASE_SETTINGS = {
  databaseUrl: setting<string | null>('DATABASE_URL', postgresUrl, {
    default: null,
    defaultShown: 'the embedded database',
    description:
      'PostgreSQL server (15 or newer). Without it an embedded database runs in this process.',
    secret: true,
  }),
  databaseSignIn: setting('MATOOLKIT_DATABASE_SIGN_IN', oneOf(['password', 'identity']), {
    default: 'password',
    description:
      'How to sign in to PostgreSQL: with the password of DATABASE_URL, or as the managed or workload identity of this process (Azure).',
  }),
  dataDir: setting('MATOOLKIT_DATA_DIR', aPath, {
    default: '.matoolkit/data',
    description:
      'Folder of the embedded database, relative to the current folder. Allows one process at a time.',
  }),
  minFreeMb: setting('MATOOLKIT_MIN_FREE_MB', wholeNumber(64, 1_000_000), {
    default: 512,
    description:
      'Free space for the embedded database. With less everything is held, and no snapshot is taken.',
  }),
  poolSize: setting('MATOOLKIT_POOL_SIZE', wholeNumber(1, 200), {
    default: 10,
    description: 'Maximum connections of this process to the PostgreSQL server.',
  }),
}
