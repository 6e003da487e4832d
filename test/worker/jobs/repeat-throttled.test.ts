// A custom or PowerShell function that is throttled by a service it calls itself: repeated inside the worker, and told in the result.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { z } from 'zod'
import {
  catalogueOf,
  defineFunction,
  TOUCHES_NOTHING,
  type WorkerFunction,
} from '../../../src/worker/functions/catalogue.ts'
import { NO_TENANT } from '../../../src/worker/functions/tenant.ts'
import { runJob } from '../../../src/worker/jobs/run-job.ts'
import { leapingClock } from '../../m365/functions/setting.ts'

const named = (name: string, message: string, more: object = {}) =>
  Object.assign(new Error(message), { name, ...more })

/** The patterns of the earlier system, for Graph and for Exchange Online. */
const THROTTLED: readonly Error[] = [
  named('ServiceException', 'TooManyRequests'),
  named('RuntimeException', 'Response status code does not indicate success: 429 (unknown).'),
  named('RuntimeException', 'The request was throttled.'),
  named('RuntimeException', 'Rate limit is exceeded.'),
  named('RuntimeException', 'Server Busy'),
  named('ServerBusyException', 'Try later.'),
  named('RuntimeException', 'MicroDelay 5000 is enforced.'),
  named('RuntimeException', 'BackoffException'),
  named('RuntimeException', 'Too many concurrent connections opened.'),
  named('HttpError', 'No.', { status: 429 }),
]

async function outcomeOf(
  throwing: readonly Error[],
  more: Partial<Pick<WorkerFunction, 'isIdempotent' | 'repeatsWhenThrottled'>> = {},
) {
  const clock = leapingClock()
  let calls = 0
  let lent = 0
  const own = defineFunction({
    ...TOUCHES_NOTHING,
    ...more,
    name: 'Sync-Badge',
    description: 'Ours.',
    parameters: z.strictObject({}),
    run: async () => {
      const error = throwing[calls++]
      if (error) throw error
      return 'done'
    },
  })
  const correlation = { stepExecutionId: 1 }
  const times = { timeoutSec: null, notAfter: null, isRepeated: false, correlation }
  const job = { jobId: 'step-1', batchId: 1, functionName: 'Sync-Badge', parameters: {}, ...times }
  const result = await runJob(job, {
    workerId: 'w',
    catalogue: catalogueOf([own]),
    clock,
    tenant: NO_TENANT,
    stopping: new AbortController().signal,
    waits: () => {
      lent += 1
      return () => {
        lent -= 1
      }
    },
  })
  assert.equal(lent, 0, 'the slot is its own again')
  return { ...result!, calls, waitedSec: clock.waitedMs() / 1_000 }
}

describe('a throttled custom function', () => {
  for (const error of THROTTLED)
    it(`is called again after ${error.name}: ${error.message}`, async () => {
      const { status, result, calls, waitedSec } = await outcomeOf([error])
      assert.deepEqual([status, result, calls], ['Success', 'done', 2])
      assert.ok(waitedSec >= 2 && waitedSec <= 2.6, String(waitedSec))
    })

  it('waits as long as the service says', async () => {
    const said = named('RuntimeException', 'TooManyRequests. Retry-After: 17')
    assert.equal((await outcomeOf([said])).waitedSec, 17)
    const carried = named('RuntimeException', 'TooManyRequests', { retryAfterSec: 9 })
    assert.equal((await outcomeOf([carried])).waitedSec, 9)
  })

  it('fails after five attempts, and its result says that it was throttled', async () => {
    const { status, error, calls, waitedSec } = await outcomeOf(Array(9).fill(THROTTLED[0]))
    assert.deepEqual([status, calls], ['Failure', 5])
    const { type, message, isThrottled, attempts } = error!
    assert.deepEqual(
      [type, message, isThrottled, attempts],
      ['ServiceException', 'TooManyRequests', true, 5],
    )
    assert.ok(waitedSec >= 30 && waitedSec <= 39, String(waitedSec))
  })

  it('is not called again when it must not run twice, and says so', async () => {
    const { error, calls } = await outcomeOf([THROTTLED[0]!], { isIdempotent: false })
    assert.deepEqual([calls, error!.isThrottled, error!.attempts], [1, true, 1])
    const undeclared = { isIdempotent: false, repeatsWhenThrottled: true }
    assert.equal((await outcomeOf([THROTTLED[0]!], undeclared)).calls, 2)
  })

  const OTHERS = ['User not found', 'Group 4290c9f1-1429-4a4e-8429-aa429bb42999 is missing', '401']
  for (const message of OTHERS)
    it(`fails at once after "${message}"`, async () => {
      const { error, calls, waitedSec } = await outcomeOf([named('RuntimeException', message)])
      assert.deepEqual([calls, error!.isThrottled, error!.attempts, waitedSec], [1, false, 1, 0])
    })
})
