import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { virtualClock } from '../../src/clock.ts'
import type { Json } from '../../src/domain/json.ts'
import { catalogueOf } from '../../src/worker/catalogue.ts'
import { demoFunctions } from '../../src/worker/demo-functions.ts'
import { NO_TENANT } from '../../src/worker/m365/no-tenant.ts'

const START = new Date('2026-03-01T10:00:00Z')
const keys = Array.from({ length: 200 }, (_, index) => `user${index}@contoso.example`)

/** What the function gives, or the name of what it throws. */
async function call(name: string, params: Record<string, Json>, jobId = 'step-1'): Promise<Json> {
  const one = catalogueOf(demoFunctions({ workSec: 0 })).get(name.toLowerCase())!
  const signal = new AbortController().signal
  const fitted = one.parameters.parse(params)
  try {
    return await one.run({
      params: fitted,
      signal,
      jobId,
      clock: virtualClock(START),
      tenant: NO_TENANT,
    })
  } catch (error) {
    return (error as Error).name
  }
}

const countOf = async (wanted: string, name: string, jobId: string, params = {}) => {
  const results = await Promise.all(keys.map((Key) => call(name, { Key, ...params }, jobId)))
  return results.filter((result) => result === wanted).length
}

describe('demo functions', () => {
  it('give the same answer to the same job, and an id that belongs to the key', async () => {
    const ids = await Promise.all(['a', 'b', 'a'].map((Key) => call('Demo-Succeed', { Key })))
    assert.deepEqual(ids[0], ids[2])
    assert.notDeepEqual(ids[0], ids[1])
  })

  it('fail at first for some, twice for fewer, and then for nobody', async () => {
    const failing = (jobId: string) => countOf('Hiccup', 'Demo-Flaky', jobId, { FailPercent: 20 })
    const counts = [await failing('step-1'), await failing('step-1-retry-1')]
    assert.ok(counts[0]! > counts[1]! && counts[1]! > 0, String(counts))
    assert.equal(await failing('step-1-retry-2'), 0)
  })

  it('fail for the same few at every attempt', async () => {
    const failing = (jobId: string) => countOf('Obstacle', 'Demo-Fail', jobId, { FailPercent: 10 })
    const first = await failing('step-1')
    assert.ok(first > 5 && first < 40, String(first))
    assert.equal(await failing('step-1-retry-2'), first)
    assert.equal(await countOf('Obstacle', 'Demo-Fail', 'step-1', { FailPercent: 0 }), 0)
  })

  it('are not complete for a few polls, and for the stuck never', async () => {
    const isComplete = (result: Json) => (result as { complete: boolean }).complete
    const polled = async (Key: string, poll: number, StuckPercent = 0) => {
      const jobId = poll === 0 ? 'step-1' : `step-1-poll-${poll}`
      return isComplete(await call('Demo-Wait', { Key, Polls: 3, StuckPercent }, jobId))
    }
    for (const key of keys.slice(0, 20)) {
      const seen = [await polled(key, 0), await polled(key, 1), await polled(key, 2)]
      assert.deepEqual(seen, seen.toSorted(), 'once complete, it stays so')
      assert.equal(await polled(key, 3), true)
      assert.equal(await polled(key, 50, 100), false)
    }
  })

  it('take their time, and stop when they are told to', async () => {
    const clock = virtualClock(START)
    const [succeed] = demoFunctions({ workSec: 30 })
    const abort = new AbortController()
    const running = succeed!.run({
      params: {},
      signal: abort.signal,
      jobId: 'step-1',
      clock,
      tenant: NO_TENANT,
    })
    assert.ok(clock.nextWakeAt()! > START)
    abort.abort(new Error('enough'))
    await assert.rejects(running, /enough/)
  })
})
