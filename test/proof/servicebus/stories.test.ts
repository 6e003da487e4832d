// Stories of the whole system, told again over Service Bus: the real SDK, the tests' broker, workers without a database. The stories are the
// same files.
import { after, before } from 'node:test'
import { overPostgres, overServiceBus } from '../../stories/wire.ts'
import { tellOver } from '../../stories/world.ts'

/** All but those that assert what only stored jobs, `locate` or the table of messages give, or that open a world of their own. */
const TOLD = [
  'cancel',
  'cut-over',
  'found-by-address',
  'happy-path',
  'init',
  'isolation',
  'joiner',
  'manual',
  'move',
  'no-effect',
  'nobody',
  'odd-results-unreadable',
  'outputs',
  'programme-by-hand',
  'programme-faults',
  'programme-immediate',
  'programme-leavers',
  'programme-redated',
  'programme-versions',
  'rejoin',
  'reschedule',
  'rollback',
  'templates',
  'version-rerun',
]

before(() => tellOver(overServiceBus(['w1', 'w2'])))
after(() => tellOver(overPostgres))

// Loaded again: the same files may run in this process over PostgreSQL.
for (const name of TOLD) await import(`../../stories/${name}.test.ts?over-servicebus`)
