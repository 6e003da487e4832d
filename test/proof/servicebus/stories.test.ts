// Stories of the whole system, told again over Service Bus: the real SDK, the tests' broker, workers without a database. The stories are the
// same files; `TEST_STORIES=all npm test -- test/bus/servicebus/stories` tells every one that does not depend on taking jobs back.
import { before } from 'node:test'
import { overServiceBus } from '../../stories/wire.ts'
import { tellOver } from '../../stories/world.ts'

const ALWAYS = ['happy-path', 'cut-over', 'rollback']

/** All but those that assert what only stored jobs, `locate` or the table of messages give, or that open a world of their own. */
const OTHERS = [
  'cancel',
  'cut-over',
  'found-by-address',
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
  'templates',
  'version-rerun',
]

before(() => tellOver(overServiceBus(['w1', 'w2'])))

const told = process.env.TEST_STORIES === 'all' ? [...ALWAYS, ...OTHERS] : ALWAYS
for (const name of told) await import(`../../stories/${name}.test.ts`)
