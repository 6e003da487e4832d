// Jobs that stay in the database next to a broker: what the composed bus says about where a message is.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import type { Bus, MessagePlace } from '../../src/bus/bus.ts'
import { withKeptJobs } from '../../src/bus/kept-jobs.ts'
import { UNUSED } from './under-test.ts'

const LAPSED: MessagePlace = { is: 'lapsed', renewedAt: new Date(0) }

it('awaits a job next to a broker unless the database says who has it, and believes it about results', async () => {
  const places: readonly MessagePlace[] = [{ is: 'queued' }, LAPSED, { is: 'gone' }]
  const close = async () => {}
  const stored = { ...UNUSED, close, locate: async () => [...places] }
  const bus = withKeptJobs(UNUSED as Bus, stored)
  const ids = ['a', 'b', 'c']
  const unknown = { is: 'unknown' }
  assert.deepEqual(await bus.locate('worker-jobs', ids), [{ is: 'queued' }, unknown, unknown])
  assert.deepEqual(await bus.locate('worker-results', ids), [{ is: 'queued' }, LAPSED, unknown])
})
