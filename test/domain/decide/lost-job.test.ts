// When a job without a result is given up: never while it waits or runs.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { awaitUntil, type JobPlace } from '../../../src/domain/decide/lost-job.ts'
import { at, NOW } from './builders.ts'

/** A timeout of 10 s: lost 130 s after the last sign of life. */
const JOB = { timeoutSec: 10, deadlineAt: at(3_600), workerSeenAt: null }

const CASES: [
  what: string,
  place: JobPlace,
  job: Partial<typeof JOB> | object,
  until: Date | null,
][] = [
  ['a queued job', { is: 'queued' }, {}, at(130)],
  ['a job that a worker has', { is: 'leased' }, {}, at(130)],
  ['a job whose result is on its way', { is: 'answered' }, {}, at(130)],
  ['a dead letter, which is settled with its reason', { is: 'dead' }, {}, at(130)],
  ['a job that is gone', { is: 'gone' }, {}, null],
  ['a lapsed lease, not long ago', { is: 'lapsed', renewedAt: at(-129) }, {}, at(1)],
  ['a lapsed lease, long ago', { is: 'lapsed', renewedAt: at(-130) }, {}, null],
  [
    'a lapsed lease while its worker is alive',
    { is: 'lapsed', renewedAt: at(-500) },
    { workerSeenAt: at(-20) },
    at(110),
  ],
  [
    'a lapsed lease whose worker is silent too',
    { is: 'lapsed', renewedAt: at(-500) },
    { workerSeenAt: at(-600) },
    null,
  ],
  ['an unknown place until nobody can start it', { is: 'unknown' }, {}, at(3_730)],
  ['an unknown place after that', { is: 'unknown' }, { deadlineAt: at(-130) }, null],
]

for (const [what, place, job, until] of CASES) {
  const end = until === null ? 'is lost' : `is awaited for ${(+until - +NOW) / 1_000} s`
  it(`${what} ${end}`, () => {
    assert.deepEqual(awaitUntil({ ...JOB, ...job }, place, NOW), until)
  })
}
