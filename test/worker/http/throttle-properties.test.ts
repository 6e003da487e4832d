// Thousands of calls with random lengths, refusals and aborts, by seed: all end, none goes while its gate is closed or beyond the
// limit, those of a kind go in the order in which they came, and nothing is left.
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { virtualClock } from '../../../src/base/run/clock.ts'
import { Throttle } from '../../../src/worker/http/throttle.ts'
import { START } from '../../kit/scripted-service.ts'

const SEEDS = 12
const CALLS = 500
const SCOPES = [null, 'Tenant_Application/Write/a/t', 'Tenant_Application/Read/a/t']

/** Small, fast and good enough to vary a test. */
function randomOf(seed: number): (below: number) => number {
  let state = seed + 1
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

async function run(seed: number) {
  const random = randomOf(seed)
  const clock = virtualClock(START)
  const max = 1 + random(12)
  const throttle = new Throttle({ clock, name: `seed ${seed}`, start: 1 + random(max), max })
  const closed = { read: { atMs: 0, untilMs: 0 }, write: { atMs: 0, untilMs: 0 } }
  const went = { read: [] as number[], write: [] as number[] }
  const counts = { answered: 0, refused: 0, aborted: 0, lost: 0 }
  let underWay = 0

  const call = async () => {
    const kind = random(2) === 0 ? 'read' : 'write'
    const abort = new AbortController()
    await clock.wait(random(60_000))
    const abortsAfterMs = random(4) === 0 ? random(30_000) : null
    if (abortsAfterMs !== null)
      void clock.wait(abortsAfterMs).then(() => abort.abort(new Error('over')))
    const cameMs = +clock.now()
    const passage = await throttle.enter(abort.signal, kind).catch(() => null)
    if (passage === null) return counts.aborted++
    assert.equal(abort.signal.aborted, false, 'an aborted call never goes')
    const { atMs, untilMs } = closed[kind]
    // One that was let in at the moment of closing goes.
    const nowMs = +clock.now()
    assert.ok(nowMs >= untilMs || nowMs === atMs, 'no call goes through a closed gate')
    underWay += 1
    assert.ok(underWay <= max, 'no more calls go than the maximum')
    assert.ok(throttle.state().calls >= underWay)
    went[kind].push(cameMs)
    await clock.wait(random(2_000), abort.signal)
    underWay -= 1
    const outcome = random(10)
    if (outcome === 0 || abort.signal.aborted) {
      passage.leave()
      return counts.lost++
    }
    if (outcome > 2) {
      passage.answered(new Headers())
      return counts.answered++
    }
    const waitMs = random(8_000)
    const scope = SCOPES[random(SCOPES.length)]!
    const atEndMs = +clock.now()
    for (const [name, gate] of Object.entries(closed))
      if (scope === null || scope.toLowerCase().includes(`/${name}/`))
        if (atEndMs + waitMs > gate.untilMs)
          Object.assign(gate, { atMs: atEndMs, untilMs: atEndMs + waitMs })
    passage.refused(waitMs, scope)
    return counts.refused++
  }

  const all = Promise.all(Array.from({ length: CALLS }, call))
  let isDone = false
  void all.finally(() => {
    isDone = true
  })
  // A stuck call would leave nothing to wait for, or never end.
  for (let next = clock.nextWakeAt(); next && !isDone; next = clock.nextWakeAt())
    await clock.advance(+next - +clock.now())
  assert.equal(isDone, true, `all calls end: ${JSON.stringify(throttle.state())}`)
  await all
  return { throttle, went, counts, max }
}

it('whatever happens, all calls end in order, within the limit, and leave nothing', async () => {
  const sums = { answered: 0, refused: 0, aborted: 0, lost: 0 }
  for (let seed = 0; seed < SEEDS; seed++) {
    const { throttle, went, counts, max } = await run(seed)
    const { calls, queued, concurrency, throttled } = throttle.state()
    assert.deepEqual([calls, queued, throttled], [0, 0, counts.refused], `seed ${seed}`)
    assert.ok(concurrency >= 1 && concurrency <= max, `seed ${seed}`)
    for (const came of Object.values(went))
      assert.deepEqual(
        came,
        came.toSorted((a, b) => a - b),
      )
    for (const name of ['answered', 'refused', 'aborted', 'lost'] as const)
      sums[name] += counts[name]
  }
  for (const count of Object.values(sums)) assert.ok(count > SEEDS * 10, JSON.stringify(sums))
})
