import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { virtualClock } from '../../../src/base/run/clock.ts'
import { inLanes, SoonAnswer } from '../../../src/base/run/soon.ts'

const START = new Date('2026-03-01T10:00:00Z')

describe('an answer that may be slow', () => {
  it('comes as it is loaded, and serves for a while when the next one is late', async () => {
    const clock = virtualClock(START)
    let isAway = false
    let loads = 0
    const load = () => {
      loads += 1
      return isAway ? new Promise<number>(() => {}) : Promise.resolve(loads)
    }
    const answer = new SoonAnswer({ clock, limitMs: 700, keptMs: 60_000, load })
    assert.equal(await answer.get(), 1)
    isAway = true
    const late = [answer.get(), answer.get()]
    await clock.advance(700)
    assert.deepEqual(await Promise.all(late), [1, 1])
    assert.equal(loads, 2, 'asked once, however many wait')
    await clock.advance(60_000)
    const tooOld = answer.get()
    await clock.advance(700)
    assert.equal(await tooOld, null)
  })

  it('is null when it fails, whatever was before', async () => {
    const clock = virtualClock(START)
    let fails = false
    const load = async () => {
      if (fails) throw new Error('away')
      return 1
    }
    const answer = new SoonAnswer({ clock, limitMs: 700, keptMs: 60_000, load })
    assert.equal(await answer.get(), 1)
    fails = true
    assert.equal(await answer.get(), null)
  })
})

describe('lanes', () => {
  it('run everything once, so many at a time', async () => {
    let [running, most] = [0, 0]
    const done: number[] = []
    await inLanes([1, 2, 3, 4, 5, 6, 7], 3, async (item) => {
      running += 1
      most = Math.max(most, running)
      await Promise.resolve()
      running -= 1
      done.push(item)
    })
    assert.deepEqual([most, done.toSorted()], [3, [1, 2, 3, 4, 5, 6, 7]])
  })

  it('tell the first failure', () =>
    assert.rejects(
      inLanes([1, 2], 2, async () => {
        throw new Error('away')
      }),
      /away/,
    ))
})
