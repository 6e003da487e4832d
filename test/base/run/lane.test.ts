// Lanes: how much works at once, who waits, and who is refused.
import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { Lane, LanePerKey } from '../../../src/base/run/lane.ts'

const refusal = () => new Error('full')

/** Work that ends when it is told to. */
function workIn(lane: Pick<Lane, 'run'>) {
  const ends: (() => void)[] = []
  const begun: number[] = []
  const start = (number: number) =>
    lane.run(() => {
      begun.push(number)
      return new Promise<number>((resolve) => ends.push(() => resolve(number)))
    })
  return { ends, begun, start }
}

describe('a lane', () => {
  it('works on so much at once; the others follow in order', async () => {
    const { ends, begun, start } = workIn(new Lane({ places: 2, waitingMax: 9, refusal }))
    const all = [1, 2, 3, 4].map(start)
    assert.deepEqual(begun, [1, 2])
    ends[1]!()
    assert.equal(await all[1], 2)
    assert.deepEqual(begun, [1, 2, 3])
    ends[0]!()
    await all[0]
    assert.deepEqual(begun, [1, 2, 3, 4])
    ends[2]!()
    ends[3]!()
    assert.deepEqual(await Promise.all(all), [1, 2, 3, 4])
  })

  it('refuses at once what may not even wait, and has its place again after a failure', async () => {
    const lane = new Lane({ places: 1, waitingMax: 1, refusal })
    const { ends, start } = workIn(lane)
    const [first, second] = [start(1), start(2)]
    await assert.rejects(start(3), /full/)
    ends[0]!()
    await first
    ends[1]!()
    await second
    await assert.rejects(
      lane.run(() => Promise.reject(new Error('broken'))),
      /broken/,
    )
    assert.ok(lane.isIdle)
  })

  it('begins nothing new while it is paused, and then continues in order', async () => {
    const lane = new Lane({ places: 1, waitingMax: 9, refusal })
    const { ends, begun, start } = workIn(lane)
    const all = [start(1)]
    await lane.pausedDuring(async () => {
      all.push(start(2), start(3))
      ends[0]!()
      await all[0]
      assert.deepEqual(begun, [1])
    })
    assert.deepEqual(begun, [1, 2])
    ends[1]!()
    await all[1]
    ends[2]!()
    assert.equal(await all[2], 3)
  })

  it('is one for each key, and nobody fills that of another', async () => {
    const lanes = new LanePerKey({ places: 1, waitingMax: 0, refusal })
    const { ends, start } = workIn({ run: (work) => lanes.run('ann', work) })
    const first = start(1)
    await assert.rejects(start(2), /full/)
    assert.equal(await lanes.run('bob', async () => 'bob'), 'bob')
    ends[0]!()
    await first
    assert.equal(await lanes.run('ann', async () => 'again'), 'again')
  })
})
