import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { virtualClock } from '../../../src/base/run/clock.ts'
import { errorPauseMs, everyLoop } from '../../../src/base/run/service.ts'

const START = new Date('2026-03-01T10:00:00Z')

/** A loop on a virtual clock that records when it ran, in milliseconds since the start. */
function observedLoop(intervalMs: number, work: (run: number) => unknown = () => {}) {
  const clock = virtualClock(START)
  const ranAt: number[] = []
  const errors: string[] = []
  const loop = everyLoop({
    name: 'observed',
    clock,
    intervalMs,
    runOnce: async (now) => {
      ranAt.push(+now - +START)
      return await work(ranAt.length)
    },
    onError: (error, inARow) => errors.push(`${(error as Error).message} ${inARow}`),
  })
  return { clock, loop, ranAt, errors }
}

describe('a loop', () => {
  it('runs at start and at every interval until it stops', async () => {
    const { clock, loop, ranAt } = observedLoop(1_000)
    loop.start()
    await clock.advance(3_500)
    assert.deepEqual(ranAt, [0, 1_000, 2_000, 3_000])
    await loop.stop()
    await clock.advance(10_000)
    assert.equal(ranAt.length, 4)
    assert.equal(clock.nextWakeAt(), null)
  })

  it('runs at once when nudged, and restarts the interval', async () => {
    const { clock, loop, ranAt } = observedLoop(1_000)
    loop.start()
    await clock.advance(300)
    loop.nudge()
    loop.nudge()
    await clock.advance(1_000)
    assert.deepEqual(ranAt, [0, 300, 1_300])
    await loop.stop()
  })

  it('runs again at the time that a run returns, at the interval if that is sooner, at once if it is past', async () => {
    const times = [300, 5_000, 100, null]
    const { clock, loop, ranAt } = observedLoop(1_000, (run) => {
      const ms = times[run - 1]
      return ms == null ? ms : new Date(+START + ms)
    })
    loop.start()
    await clock.advance(2_500)
    assert.deepEqual(ranAt, [0, 300, 1_300, 1_300, 2_300])
    await loop.stop()
  })

  it('runs again right after a run that was nudged, and never twice at a time', async () => {
    const gate = Promise.withResolvers<void>()
    let atWork = 0
    const { clock, loop, ranAt } = observedLoop(1_000, async (run) => {
      atWork += 1
      assert.equal(atWork, 1)
      if (run === 1) await gate.promise
      atWork -= 1
    })
    loop.start()
    await clock.advance(100)
    loop.nudge()
    loop.nudge()
    await clock.advance(100)
    assert.deepEqual(ranAt, [0])
    gate.resolve()
    await clock.advance(0)
    assert.deepEqual(ranAt, [0, 200])
    await loop.stop()
  })

  it('pauses longer after each error in a row, ignores nudges meanwhile, and recovers', async () => {
    const { clock, loop, ranAt, errors } = observedLoop(100, (run) => {
      if (run <= 3) throw new Error('no')
    })
    loop.start()
    await clock.advance(500)
    loop.nudge()
    await clock.advance(6_500)
    assert.deepEqual(ranAt.slice(0, 5), [0, 1_000, 3_000, 7_000])
    await clock.advance(100)
    assert.equal(ranAt.at(-1), 7_100)
    assert.deepEqual(errors, ['no 1', 'no 2', 'no 3'])
    await loop.stop()
  })

  it('bounds the pause after errors, never below its interval', () => {
    const pauses = [1, 2, 5, 6, 1_000_000].map((inARow) => errorPauseMs(200, inARow))
    assert.deepEqual(pauses, [1_000, 2_000, 16_000, 30_000, 30_000])
    assert.equal(errorPauseMs(300_000, 1), 300_000)
  })

  it('signals the current run to end, and stop waits for it', async () => {
    const gate = Promise.withResolvers<void>()
    let told: AbortSignal | undefined
    const clock = virtualClock(START)
    const loop = everyLoop({
      name: 'slow',
      clock,
      intervalMs: 1_000,
      runOnce: async (_now, signal) => {
        told = signal
        await gate.promise
      },
      onError: assert.fail,
    })
    loop.start()
    await clock.advance(0)
    let stopped = false
    const stopping = loop.stop().then(() => {
      stopped = true
    })
    await clock.advance(60_000)
    assert.equal(told?.aborted, true)
    assert.equal(stopped, false)
    gate.resolve()
    await stopping
  })

  it('stops waiting for a run when the caller gives up', async () => {
    const gate = Promise.withResolvers<void>()
    const { loop } = observedLoop(1_000, () => gate.promise)
    loop.start()
    const grace = new AbortController()
    const stopping = loop.stop(grace.signal)
    grace.abort()
    await assert.rejects(stopping, { code: 'SERVICE_STILL_RUNNING', message: /"observed"/ })
    await assert.rejects(loop.stop(AbortSignal.abort()), { code: 'SERVICE_STILL_RUNNING' })
    assert.throws(() => loop.start(), /already started/)
    gate.resolve()
    await loop.stop()
    await loop.stop()
  })

  it('survives hundreds of starts and stops at any moment', async () => {
    const { clock, loop, ranAt } = observedLoop(10, async (run) => {
      if (run % 3 === 0) await clock.wait(1)
      if (run % 5 === 0) throw new Error('now and then')
    })
    for (let round = 0; round < 500; round++) {
      loop.start()
      if (round % 2 === 0) loop.nudge()
      if (round % 7 === 0) await clock.advance(round % 25)
      const stopping = [loop.stop(), loop.stop()]
      await clock.advance(1)
      await Promise.all(stopping)
    }
    assert.ok(ranAt.length >= 500)
    const runs = ranAt.length
    await clock.advance(60_000)
    assert.equal(ranAt.length, runs)
    assert.equal(clock.nextWakeAt(), null)
  })

  it('refuses an interval of zero', () => {
    for (const intervalMs of [0, -1, Number.NaN]) {
      assert.throws(() => observedLoop(intervalMs), RangeError)
    }
  })
})
